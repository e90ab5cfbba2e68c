"""The lockstep protocol: frames, forecasts and errors."""

from __future__ import annotations

import io
import json
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import tiny_model
from ric.sm import mac, rlc, tc
from rlc_forecaster.core import Forecaster
from rlc_forecaster.lockstep import (
    Frame,
    FrameError,
    Kind,
    Session,
    read_frame,
    step_time,
    write_frame,
)
from rlc_forecaster.onnx_step import OnnxStep
from rlc_model import write_contract
from sojourn_interfaces import forecast_pb2 as pb

START_US = 1_700_000_000_000_000


def rlc_message(k: int, occupancy: dict[int, int]) -> bytes:
    records = rlc.zeros(len(occupancy))
    for row, (rnti, level) in zip(records, occupancy.items(), strict=True):
        row["rnti"], row["rbid"], row["txbuf_occ_bytes"] = rnti, 1, level
        row["txpdu_bytes"] = 2_000 * k
    return rlc.encode(records, START_US + 1_000 * k)


def frames(*parts: tuple[Kind, bytes]) -> bytes:
    out = io.BytesIO()
    for kind, message in parts:
        write_frame(out, kind, Frame(kind, START_US, message).to_body())
    return out.getvalue()


def answers(out: bytes) -> list[tuple[int, bytes]]:
    """Kind and body of every frame."""
    found = []
    while out:
        length, kind = struct.unpack_from("<IB", out)
        found.append((kind, out[5 : 4 + length]))
        out = out[4 + length :]
    return found


def lockstep(
    model: Path, incoming: bytes, *options: str
) -> tuple[int, list[tuple[int, bytes]], str]:
    done = subprocess.run(
        [sys.executable, "-m", "rlc_forecaster.cli", "lockstep", "--model", str(model), *options],
        input=incoming,
        capture_output=True,
        timeout=240,
        check=False,
    )
    return done.returncode, answers(done.stdout), done.stderr.decode()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model.write(tmp_path_factory.mktemp("tiny"))


def test_each_rlc_report_is_answered_with_the_engines_forecasts(model: Path) -> None:
    reports = [rlc_message(k, {17: 100 * k, 18: 7}) for k in range(20)]
    radio = mac.zeros(1)
    radio["rnti"], radio["dl_mcs1"], radio["dl_curr_tbs"] = 17, 9, 400
    sent = [(Kind.RLC, report) for report in reports]
    sent.insert(7, (Kind.MAC, mac.encode(radio, START_US + 6_500)))
    status, out, _ = lockstep(model, frames(*sent), "--measure")
    assert status == 0
    assert [kind for kind, _ in out] == [Kind.HELLO] + [Kind.FORECASTS] * 20

    session = Session(OnnxStep.load(model))
    expected = []
    for kind, message in sent:
        answer = session.answer(Frame(kind, START_US, message))
        session.learn()
        expected += [] if answer is None else [answer]
    assert [body for _, body in out[1:]] == expected
    last = pb.ForecastBatch.FromString(out[-1][1])
    assert [f.bearer.rnti for f in last.forecasts] == [17, 18]
    assert [s.quantity for s in last.forecasts[0].series] == [pb.OCCUPANCY_BYTES, pb.DRAIN_BYTES]
    assert list(last.quantiles) == pytest.approx(tiny_model.QUANTILES)
    assert last.sent_at_us == last.forecasts[0].origin_us == START_US + 19_000
    assert last.forecasts[0].source == pb.Forecast.MODEL


def test_mac_and_limits_reach_the_features(model: Path) -> None:
    plain, informed = (Session(OnnxStep.load(model)) for _ in range(2))
    radio = mac.zeros(1)
    radio["rnti"], radio["dl_mcs1"], radio["dl_curr_tbs"] = 17, 28, 90_000
    batches = {}
    for name, session in (("plain", plain), ("informed", informed)):
        for k in range(6):
            batches[name] = session.answer(
                Frame(Kind.RLC, START_US + 1_000 * k, rlc_message(k, {17: 50_000}))
            )
            if session is informed and k == 1:
                at_us = START_US + 1_500
                assert session.answer(Frame(Kind.MAC, at_us, mac.encode(radio, at_us))) is None
    assert batches["plain"] != batches["informed"]


@pytest.mark.skipif(not tc.available(), reason="the E2SM-TC codec is not installed")
def test_a_bad_pipeline_status_is_an_error(model: Path) -> None:
    status, out, stderr = lockstep(model, frames((Kind.TC_STATUS, b"\xff" * 9)), "--measure")
    assert status == 2
    assert "frame 1, TC_STATUS" in json.loads(out[-1][1])["error"]
    assert "Traceback" not in stderr


def test_a_late_report_has_an_empty_answer(model: Path) -> None:
    twice = rlc_message(1, {17: 1})
    _, out, _ = lockstep(model, frames((Kind.RLC, twice), (Kind.RLC, twice)), "--measure")
    assert len(out[1][1]) > 0
    assert out[2] == (Kind.FORECASTS, b"")


def test_the_hello_has_what_a_simulator_needs(model: Path) -> None:
    status, out, _ = lockstep(model, b"", "--measure", "1", "3", "--reports", "20")
    assert (status, len(out)) == (0, 1)
    hello: dict[str, Any] = json.loads(out[0][1])
    assert hello["model"] == "tiny:1"
    assert hello["points_us"] == [2_000, 3_000, 4_000, 5_000, 6_000]
    assert hello["quantities"] == ["OCCUPANCY_BYTES", "DRAIN_BYTES"]
    assert hello["quantiles"] == tiny_model.QUANTILES
    assert [(t["bearers"], t["reports"]) for t in hello["t_m"]] == [(1, 20), (3, 20)]
    assert all(t["median_us"] > 0 for t in hello["t_m"])
    _, unmeasured, _ = lockstep(model, b"", "--measure")
    again = json.loads(unmeasured[0][1])
    assert again.pop("t_m") == []
    assert again == {k: v for k, v in hello.items() if k != "t_m"}


def test_t_m_is_measured_for_the_requested_reports_and_bearers(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    on_report = Forecaster.on_report

    def counted(self: Forecaster, report: np.ndarray, at_us: int) -> Any:
        sizes.append(len(report))
        return on_report(self, report, at_us)

    monkeypatch.setattr(Forecaster, "on_report", counted)
    measured = step_time(OnnxStep.load(model), bearers=5, reports=30)
    assert (measured.bearers, measured.reports) == (5, 30)
    assert set(sizes) == {5}
    assert len(sizes) > 30, "warm-up reports are not measured"


def test_the_refusal_of_a_model_is_one_sentence(tmp_path: Path, model: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in model.iterdir():
        (broken / file.name).write_bytes(file.read_bytes())
    (broken / "model.onnx").write_bytes(b"none")
    for directory, reason in ((broken, "model.onnx"), (tmp_path / "none", "SHA256SUMS")):
        status, out, stderr = lockstep(directory, b"")
        assert status == 2
        ((kind, body),) = out
        assert kind == Kind.ERROR
        assert reason in json.loads(body)["error"]
        assert "Traceback" not in stderr
        assert json.loads(body)["error"] in stderr


def test_a_model_is_tried_within_the_bounds_of_the_service(tmp_path: Path) -> None:
    """128 MiB of tensors for 1000 bearers are exceeded; a simulator has few."""
    wide = np.zeros((tiny_model.STATE, 1 << 17), np.float32)
    nodes = [
        onnx.helper.make_node("MatMul", ["sum", "wide"], ["products"]),
        onnx.helper.make_node("ReduceMax", ["products"], ["extra"], axes=[1], keepdims=1),
    ]
    graph = tiny_model.graph(tiny_model.weights() | {"wide": wide}, further=nodes)
    write_contract(tmp_path, tiny_model.manifest(), graph)
    status, out, _ = lockstep(tmp_path, b"", "--measure")
    assert status == 2
    ((kind, body),) = out
    assert kind == Kind.ERROR
    refused = json.loads(body)["error"]
    assert re.match(r"model.onnx: (fails on a step of 1000 bearers|ends the process)", refused)


@pytest.mark.parametrize(
    ("incoming", "reason"),
    [
        (b"hello\n", "kind 0x6f"),
        (b"\x01\x00", "2 of 5 bytes of a head"),
        (struct.pack("<IB", 2**31, 1), "RLC frame of 2147483648 bytes; expected 9 to"),
        (struct.pack("<IB", 3, 1) + b"ab", "RLC frame of 3 bytes"),
        (struct.pack("<IB", 30, 1) + b"ab", "2 of 29 bytes of a body"),
        (struct.pack("<IB", 9, 0x81) + bytes(8), "kind 0x81; expected 0x01 RLC"),
        (frames((Kind.RLC, b"short")), "frame 1, RLC"),
    ],
)
def test_an_invalid_frame_ends_the_session_with_a_sentence(
    model: Path, incoming: bytes, reason: str
) -> None:
    status, out, stderr = lockstep(model, incoming, "--measure")
    assert status == 2
    assert out[-1][0] == Kind.ERROR
    assert reason in json.loads(out[-1][1])["error"]
    assert "Traceback" not in stderr


def test_frames_are_read_as_they_are_written() -> None:
    stream = io.BytesIO(frames((Kind.RLC, b"abc"), (Kind.MAC, b"")))
    assert read_frame(stream) == Frame(Kind.RLC, START_US, b"abc")
    assert read_frame(stream) == Frame(Kind.MAC, START_US, b"")
    assert read_frame(stream) is None
    with pytest.raises(FrameError, match="kind 0x82"):
        read_frame(io.BytesIO(struct.pack("<IB", 9, Kind.FORECASTS) + bytes(8)))


def test_the_service_still_checks_its_settings() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rlc_forecaster.cli", "--gateway", "example.org:1"],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 2
    assert "plain text to example.org:1" in done.stderr
