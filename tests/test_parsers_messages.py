"""Property tests of what arrives from nodes, gateways, clients and the programs' own processes."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from fake_flexric import KPM_DEFINITION, kpm_message, record, rlc_message
from flexric_bridge.gateway import _element
from flexric_bridge.kpm_definition import KpmDefinitionError
from flexric_bridge.kpm_definition import decode as decode_definition
from flexric_bridge.records import BlockError, Record, kpm_report, records
from flexric_bridge.sdk import V1_HEAD
from flexric_bridge.tc.messages import Refused, decode_control
from flexric_bridge.v1_reports import SubscriptionRefused, v1_report
from google.protobuf.message import DecodeError
from parser_peers import Peer, each, hold, judge
from ric.cli.sm import codec, decoded, encoded
from ric.errors import ServiceModelError
from ric.http import HttpError
from ric.sm import MAC_OID, RLC_OID, TC_V1_OID, kpm_bytes, mac, rlc, tc
from ric.sm.plain import event_trigger_period_ms
from rlc_forecaster.core import Layout
from rlc_forecaster.lockstep.frames import Frame, FrameError, Kind, read_frame, write_frame
from rlc_forecaster.selection import Selection, SelectionError
from rlc_model import Quantity
from sojourn_interfaces import forecast_pb2
from tc_controller.a1.server import _json
from tc_controller.core.inputs import parse_outcome
from tc_controller.live.fleet_view import view_of
from tc_controller.mode_client import answer_of
from tc_controller.mode_server import _asked
from tc_controller.reports import forecast_of, read_report

FILE = Path(__file__).parent.parent / "e2sm-tc-spec" / "vectors" / "v1.jsonl"
VECTORS = [json.loads(line) for line in FILE.read_text().splitlines()]


def v1_record(data: bytes) -> Record | str:
    """A report of E2SM-TC v1, or why its subscription was refused."""
    try:
        return v1_report(Record(1, data, 0, 1_000_000, 0))[0]
    except SubscriptionRefused as refusal:
        return str(refusal)


def vectors(kind: str) -> list[bytes]:
    return [bytes.fromhex(vector["hex"]) for vector in VECTORS if vector["kind"] == kind]


def plain(model: Any) -> list[bytes]:
    return [model.encode(model.zeros(count), 5) for count in (0, 1, 3)]


PLAIN = [
    Peer(
        "ric.sm.plain:PlainModel.decode",
        lambda data, _, model=model: model.decode(data),  # type: ignore[misc]
        ServiceModelError,
        f"^{name}: .*; expected ",
        plain(model),
        also=("ric.sm.plain:PlainModel.check",),
        write=lambda table, model=model: model.encode(table.records, table.tstamp_us),  # type: ignore[misc]
    )
    for name, model in (("rlc", rlc), ("mac", mac))
]
JSON = [
    Peer(
        "ric.sm.plain:PlainModel.from_json",
        lambda data, _: rlc.from_json(json_value(data)),
        ServiceModelError,
        "^(rlc|line): .*; expected ",
        [rlc.to_json(rlc.decode(message)) for message in plain(rlc)],
        check=lambda table: rlc.encode(table.records, table.tstamp_us),
    ),
    *(
        Peer(
            "ric.cli.sm:" + of.__name__,
            lambda data, _, of=of, step=step: list(of(step, data.split(b"\n"))),  # type: ignore[misc]
            (),
            "",
            seeds,
            check=lambda results: all(len(result) == 1 for result in results),
            also=["ric.cli.sm:_value_of_json", "ric.cli.sm:_bytes_of_hex"],
        )
        for of, step, seeds in (
            (decoded, codec("rlc", "control", "v1")[0], [plain(rlc)[1].hex().encode()]),
            (encoded, codec("tc", "control", "v1")[1], [VECTORS[-1]["value"], {"value": [1]}]),
        )
    ),
]


def json_value(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ServiceModelError("line", "text", str(error), "JSON") from None


TC = [
    Peer(
        "ric.sm.tc:decode",
        lambda data, _, kind=kind: tc.decode(kind, data),  # type: ignore[misc]
        ServiceModelError,
        "^tc: ",
        vectors(kind),
        write=lambda value, kind=kind: tc.encode(kind, value),  # type: ignore[misc]
    )
    for kind in sorted({vector["kind"] for vector in VECTORS})
]
OUTCOMES = [vector["value"] for vector in VECTORS if vector["kind"] == "control-outcome"]
REPORTS = [
    Peer(
        "tc_controller.reports:read_report",
        lambda data, _, oid=oid: read_report("gnb", oid, 5, data),  # type: ignore[misc]
        ServiceModelError,
        "^(rlc|mac|tc): ",
        seeds,
        also=["ric.sm.tc:decode_indication"],
    )
    for oid, seeds in (
        (RLC_OID, plain(rlc)),
        (MAC_OID, plain(mac)),
        (TC_V1_OID, vectors("indication")),
    )
]
SERIES = forecast_pb2.Series(quantity=forecast_pb2.OCCUPANCY_BYTES, values=[1, 2, 3, 4])
BATCH = forecast_pb2.ForecastBatch(
    node_id="gnb",
    quantiles=[0.1, 0.9],
    points_us=[11_000, 12_000],
    forecasts=[
        forecast_pb2.Forecast(
            bearer=forecast_pb2.Bearer(rnti=1, drb=1),
            series=[SERIES],
        )
    ],
)
REQUEST = forecast_pb2.ForecastRequest(
    node_id="gnb",
    bearers=[forecast_pb2.Bearer(rnti=1, drb=1)],
    quantities=[forecast_pb2.OCCUPANCY_BYTES, forecast_pb2.DRAIN_BYTES],
    quantiles=[0.1, 0.5],
)


def as_frame(frame: Frame | None) -> bytes:
    out = io.BytesIO()
    if frame is not None:
        write_frame(out, frame.kind, frame.to_body())
    return out.getvalue()


def as_selection(selection: Selection) -> None:
    assert all(0 < level < 1 for level in selection.quantiles)
    assert set(selection.quantities) <= set(Quantity)


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


MESSAGES = [
    Peer(
        "ric.sm.plain:event_trigger_period_ms",
        lambda data, _: event_trigger_period_ms(data),
        ServiceModelError,
        "^event trigger: ",
        [rlc.event_trigger(1), rlc.event_trigger(1000)],
        write=rlc.event_trigger,
    ),
    Peer(
        "tc_controller.core.inputs:parse_outcome",
        lambda data, _: parse_outcome(tc.decode("control-outcome", data)),
        ServiceModelError,
        "^tc: ",
        vectors("control-outcome"),
    ),
    Peer(
        "tc_controller.reports:forecast_of",
        lambda data, _: forecast_of(forecast_pb2.ForecastBatch.FromString(data)),
        DecodeError,
        "",
        [BATCH.SerializeToString()],
    ),
    Peer(
        "rlc_forecaster.selection:Selection.of",
        lambda data, _: Selection.of(forecast_pb2.ForecastRequest.FromString(data), Layout()),
        (SelectionError, DecodeError),
        r"^(quanti|bearers|node_id)|[Pp]ars",
        [REQUEST.SerializeToString()],
        check=as_selection,
    ),
    Peer(
        "rlc_forecaster.lockstep.frames:read_frame",
        lambda data, _: read_frame(io.BytesIO(data)),
        FrameError,
        "^(the stream ends|kind |[A-Z_]+ frame of )",
        [as_frame(Frame(kind, 5, b"abc")) for kind in (Kind.RLC, Kind.MAC, Kind.TC_STATUS)],
        write=as_frame,
    ),
    *(
        Peer(
            "ric.sm.kpm_bytes:decode",
            lambda data, _, kind=kind: kpm_bytes.decode(kind, data),  # type: ignore[misc]
            ServiceModelError,
            f"^kpm: {kind}: .*; expected ",
            [bytes.fromhex(digits) for digits in examples],
            check=json.dumps,
        )
        for kind, examples in (
            ("indication-header", ["00ee70c580", "00ee70c5803ffc4f60"]),
            ("indication", ["0c0000000100640000000041012000004003e7"]),
        )
    ),
    Peer(
        "flexric_bridge.kpm_definition:decode",
        lambda data, _: decode_definition(data),
        KpmDefinitionError,
        "^KPM RAN function definition: ",
        [KPM_DEFINITION],
    ),
    Peer(
        "flexric_bridge.records:records",
        lambda data, _: list(records(data)),
        BlockError,
        "expected a (head|message)",
        [record(1, rlc_message(), 1_000_000), record(1, b"", 500) + record(2, b"abc", 600, 3)],
    ),
    Peer(
        "flexric_bridge.records:kpm_report",
        lambda data, _: kpm_report(data),
        ServiceModelError,
        "^kpm: ",
        [kpm_message(100, {"DRB.UEThpDl": 2.5, "RRU.PrbTotDl": 7})],
    ),
    Peer(
        "flexric_bridge.v1_reports:v1_report",
        lambda data, _: v1_record(data),
        ServiceModelError,
        "^tc: ",
        [V1_HEAD.pack(len(header)) + header + b"abc" for header in vectors("indication-header")],
    ),
    Peer(
        "tc_controller.a1.server:_json",
        lambda data, _: _json(data),
        HttpError,
        "^body: .*; expected JSON",
        [{"a": [1, "\u00e9"]}],
        write=as_json,
    ),
    Peer(
        "tc_controller.mode_server:_asked",
        lambda data, _: _asked(data),
        HttpError,
        'expected {"mode": ',
        [{"mode": "off"}, {"configured": "observe"}],
    ),
    Peer(
        "tc_controller.mode_client:answer_of",
        lambda data, _: answer_of(data.decode(errors="replace")),
        ValueError,
        "",
        [{"mode": "off", "by": "noc", "meaning": "sends nothing", "since_us": 5}],
        write=as_json,
    ),
    Peer(
        "tc_controller.live.fleet_view:view_of",
        lambda data, _: view_of(data, ""),
        ValueError,
        "^no view of a controller",
        [{"now_us": 1, "replicas": [], "nodes": [], "bearers": []}],
        write=as_json,
    ),
    Peer(
        "flexric_bridge.gateway:_element",
        lambda data, _: _element(data),
        (),
        "",
        vectors("control"),
        check=lambda element: element is None or len(element) <= 16,
    ),
    Peer(
        "flexric_bridge.tc.messages:decode_control",
        lambda data, _: decode_control(vectors("control-header")[0], data),
        Refused,
        "",
        [
            bytes.fromhex(vector["hex"])
            for vector in VECTORS
            if vector["kind"] == "control" and "transaction" in vector["value"]
        ],
    ),
]


@pytest.mark.parametrize(
    ("peer", "data"),
    [
        (next(p for p in MESSAGES if p.parser.endswith(":_json")), b'{"a": 1e999}'),
        (JSON[0], b'{"tstamp": 9223372036854775808, "rb": []}'),
    ],
    ids=["infinite number", "time stamp of 64 bits"],
)
def test_numbers_that_cannot_be_written_again_are_refused(
    peer: Peer, data: bytes, tmp_path: Path
) -> None:
    assert not judge(peer, data, tmp_path / "input")


@each([*PLAIN, *JSON, *TC, *REPORTS, *MESSAGES])
def test_any_message_ends_in_a_value_or_a_typed_error(peer: Peer, tmp_path: Path) -> None:
    hold(peer, tmp_path)
