"""Invalid models are refused with the fault."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
import tiny_model
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from onnx import numpy_helper
from rlc_forecaster import model_source, model_trial
from rlc_forecaster.cli import main
from rlc_forecaster.model_source import ModelSource
from rlc_forecaster.onnx_step import OnnxStep
from rlc_model import FEATURES, ContractError, contract, read_contract, write_contract
from rlc_model import signature as signature_module
from rlc_model import trial as bounded_trial
from rlc_model.manifest import Horizon
from rlc_model.signature import sign


def changed_weights(**values: np.ndarray) -> bytes:
    return tiny_model.graph(tiny_model.weights() | values, features=len(values.get("w", FEATURES)))


def with_nan() -> bytes:
    values = tiny_model.weights()["c"]
    values[3] = np.nan
    return changed_weights(c=values)


def with_swapped_axes() -> bytes:
    """Quantities and points exchanged."""
    model = onnx.load_from_string(tiny_model.graph(tiny_model.weights()))
    (shape,) = (one for one in model.graph.initializer if one.name == "shape")
    swapped = numpy_helper.to_array(shape)[[0, 2, 1, 3]]
    shape.CopyFrom(numpy_helper.from_array(swapped, "shape"))
    return model.SerializeToString()


@pytest.mark.parametrize(
    ("graph", "changes", "message"),
    [
        (lambda: b"nothing of the kind", {}, r"^model.onnx: is not an ONNX model"),
        (
            lambda: changed_weights(w=np.zeros((7, tiny_model.STATE), np.float32)),
            {},
            r"input sample: is tensor\(float\) \(None, 7\)",
        ),
        (with_nan, {}, r"weight c: is NaN or infinite at element 3"),
        (with_swapped_axes, {}, r"^model.onnx: .*\bforecast\b"),
        (
            changed_weights,
            {"horizon": Horizon(points_us=(2_000, 3_000, 4_500, 6_000, 7_000))},
            r"horizon.pointsUs\[2\]: 4500 is not a multiple",
        ),
        (
            changed_weights,
            {
                "horizon": Horizon(points_us=tuple(range(937_000, 1_001_000, 1_000))),
                "quantiles": [(1 + k) / 33 for k in range(32)],
            },
            r"needs \d{7} numbers per bearer: .* forecasts for 1002 reports",
        ),
        # Refused before the graph is loaded.
        (lambda: b"never read", {"state_size": 900_000}, "a state of 900000"),
    ],
    ids=["no graph", "features", "NaN", "axes", "points", "far horizon", "huge state"],
)
def test_an_invalid_model_is_refused(
    tmp_path: Path, graph: Callable[[], bytes], changes: dict[str, object], message: str
) -> None:
    write_contract(tmp_path, tiny_model.manifest().model_copy(update=changes), graph())
    with pytest.raises(ContractError, match=message):
        OnnxStep.load(tmp_path)


def test_the_command_refuses_wrong_settings_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--listen", "0.0.0.0:5000"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("rlc-forecaster: ")
    assert "plain text on 0.0.0.0:5000" in err
    assert "Traceback" not in err


def test_a_period_that_no_node_has_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = "is no period of RLC reports; expected 1, 2, 5 or 10\n"
    assert main(["--period-ms", "3"]) == 2
    assert capsys.readouterr().err == f"rlc-forecaster: --period-ms: '3': {problem}"
    file = tmp_path / "settings.yaml"
    file.write_text("period_ms: 3\n")
    assert main(["--config", str(file)]) == 2
    assert capsys.readouterr().err == f"rlc-forecaster: settings.yaml: period_ms: 3: {problem}"
    monkeypatch.setenv("SOJOURN_PERIOD_MS", "3")
    assert main([]) == 2
    assert capsys.readouterr().err == f"rlc-forecaster: SOJOURN_PERIOD_MS: '3': {problem}"


def test_a_model_of_another_report_period_is_refused(tmp_path: Path) -> None:
    tiny_model.write(tmp_path)
    OnnxStep.load(tmp_path, 1_000)
    with pytest.raises(ContractError, match=r"samplePeriodUs: is 1000; reports come every 10000"):
        OnnxStep.load(tmp_path, 10_000)


def test_altered_bytes_are_refused(tmp_path: Path) -> None:
    tiny_model.write(tmp_path)
    with (tmp_path / "model.onnx").open("ab") as file:
        file.write(b"!")
    with pytest.raises(ContractError, match="SHA256SUMS has"):
        OnnxStep.load(tmp_path)


def test_features_in_another_order_are_refused(tmp_path: Path) -> None:
    tiny_model.write(tmp_path)
    text = (tmp_path / "manifest.json").read_text().replace("occupancy_bytes", "OCC", 1)
    data = text.encode()
    (tmp_path / "manifest.json").write_bytes(data)
    sums = (tmp_path / "SHA256SUMS").read_text().splitlines()
    digest = f"{hashlib.sha256(data).hexdigest()}  manifest.json"
    lines = [digest if line.endswith("manifest.json") else line for line in sums]
    (tmp_path / "SHA256SUMS").write_text("\n".join(lines) + "\n")
    with pytest.raises(ContractError, match=r"features: got .* in this order"):
        OnnxStep.load(tmp_path)


def outer_product(*, folded: bool) -> bytes:
    """A graph of 0.3 MB that computes a matrix of 6.4 GB, when it is loaded if `folded`."""
    column = np.zeros((40_000, 1), np.float32)
    nodes = [
        onnx.helper.make_node("ReduceSum", ["sum"], ["one"], keepdims=1),
        onnx.helper.make_node("MatMul", ["column", "row" if folded else "one"], ["left"]),
        onnx.helper.make_node("Identity" if folded else "MatMul",
                              ["left"] if folded else ["left", "row"], ["matrix"]),
        onnx.helper.make_node("ReduceMax", ["matrix"], ["extra"], keepdims=0),
    ]  # fmt: skip
    values = tiny_model.weights() | {"column": column, "row": column.T}
    return tiny_model.graph(values, further=nodes)


def slow(products: int = 5_000, size: int = 512) -> bytes:
    """Products with the same matrix, one after the other."""
    spread = np.full((tiny_model.STATE, size), 1e-3, np.float32)
    values = tiny_model.weights() | {"spread": spread, "wide": np.eye(size, dtype=np.float32)}
    nodes = [onnx.helper.make_node("MatMul", ["sum", "spread"], ["p0"])]
    nodes += [
        onnx.helper.make_node("MatMul", [f"p{k}", "wide"], [f"p{k + 1}"]) for k in range(products)
    ]
    nodes.append(
        onnx.helper.make_node("ReduceMax", [f"p{products}"], ["extra"], axes=[1], keepdims=1)
    )
    return tiny_model.graph(values, further=nodes)


POLL = """
import json, re, resource, sys
from pathlib import Path
from rlc_forecaster.model_source import ModelSource

change = ModelSource(Path(sys.argv[1]), 1_000).poll(0)
# Not ru_maxrss of itself: it counts the process that forked this one, too.
own = re.search(r"^VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
tried = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(json.dumps({"refused": change.problem, "peak_kib": [int(own[1]), tried]}))
"""


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (
            lambda: outer_product(folded=False),
            r"^model.onnx: (fails on a trial step|ends the proc)",
        ),
        (
            lambda: outer_product(folded=True),
            r"^model.onnx: (does not load|fails on|ends the proc)",
        ),
        (slow, r"^model.onnx: needs [\d.]+ ms for a step of 3 bearers; expected at most 10 ms"),
    ],
    ids=["memory of a step", "memory of loading", "time"],
)
def test_a_model_is_tried_within_bounds_of_memory_and_time(
    tmp_path: Path, graph: Callable[[], bytes], message: str
) -> None:
    write_contract(tmp_path, tiny_model.manifest(), graph())
    # The peak memory of the trial counts that of the process that forked it, so that one is small.
    done = subprocess.run(
        [sys.executable, "-c", POLL, str(tmp_path)], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert re.match(message, found["refused"])
    assert max(found["peak_kib"]) < 1 << 20


def test_a_model_that_needs_too_much_cpu_time_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_contract(tmp_path, tiny_model.manifest(), slow(products=9_000, size=2_048))
    monkeypatch.setattr(bounded_trial, "MAX_TRIAL_CPU_S", 1)
    source = ModelSource(tmp_path, 1_000)
    change = source.poll(0)
    assert change is not None
    assert change.problem == "model.onnx: needs more than 1 s of CPU time to load and to try"
    assert change.retry_in_s is None
    assert source.poll(1e6) is None, "it is the model's fault"


FIRST = "[ -e {flag} ] || {{ touch {flag}; {act}; }}"
"""What the process of a first trial does before it turns to the model."""


@pytest.mark.parametrize(
    ("act", "problem"),
    [
        ("kill -STOP $$", "its process does not end within 1 s"),
        ("kill -KILL $$", r"its process ends early \(status -9\)"),
        ("exit 1", r"its process ends early \(status 1\)"),
    ],
)
def test_a_trial_without_a_verdict_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str, problem: str
) -> None:
    """A process that is stopped for longer than the trial waits, is killed or cannot start."""
    python = tmp_path / "python"
    first = FIRST.format(flag=tmp_path / "flag", act=act)
    python.write_text(f'#!/bin/sh\n{first}\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    source = ModelSource(tiny_model.write(tmp_path / "model"), 1_000)
    with monkeypatch.context() as patched:
        patched.setattr(bounded_trial, "MAX_TRIAL_S", 1)
        patched.setattr(sys, "executable", str(python))
        change = source.poll(100.0)
    assert change is not None
    assert change.model is None
    assert re.match(f"the trial of the model has no result: {problem}", change.problem)
    assert change.retry_in_s is not None
    assert source.poll(100.0 + 0.9 * change.retry_in_s) is None
    change = source.poll(100.0 + change.retry_in_s)
    assert change is not None
    assert change.model is not None
    assert source.poll(1e6) is None


def test_a_process_that_cannot_be_forked_says_nothing_about_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = ModelSource(tiny_model.write(tmp_path), 1_000)
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", str(tmp_path / "none"))
        waits = []
        now_s = 0.0
        for _ in range(12):
            change = source.poll(now_s)
            assert change is not None
            assert "its process does not start: [Errno 2]" in change.problem
            assert change.retry_in_s is not None
            waits.append(change.retry_in_s)
            now_s += change.retry_in_s
    assert waits[0] <= 2
    assert waits[8] > waits[4] > waits[0]
    assert max(waits) <= 300, "it is tried for ever"
    change = source.poll(now_s)
    assert change is not None
    assert change.model is not None


def test_a_stop_ends_a_trial(tmp_path: Path) -> None:
    trial = model_trial.ModelTrial()
    trial.end()
    with pytest.raises(bounded_trial.UnfinishedTrialError, match="the program stops"):
        trial.tried(read_contract(tiny_model.write(tmp_path)), 1_000)


def test_a_model_whose_files_arrive_after_its_digests_is_accepted(tmp_path: Path) -> None:
    """A folder may be copied file by file, in any order."""
    whole = tiny_model.write(tmp_path / "whole")
    model = tmp_path / "model"
    model.mkdir()
    source = ModelSource(model, 1_000)
    now_s = 0.0
    for name in ("SHA256SUMS", "manifest.json", "model.onnx"):
        data = (whole / name).read_bytes()
        (model / name).write_bytes(data[: len(data) // 2])
        change = source.poll(now_s)
        assert change is not None
        assert change.retry_in_s is not None
        (model / name).write_bytes(data)
        now_s += change.retry_in_s
    change = source.poll(now_s + 300)
    assert change is not None
    assert change.model is not None


def test_only_the_accepted_model_is_confirmed_by_its_time(tmp_path: Path) -> None:
    model = tiny_model.write(tmp_path)
    source = ModelSource(model, 1_000)
    source.poll(0)
    accepted_at_s = source.written_at_s
    assert accepted_at_s is not None
    write_contract(model, tiny_model.manifest(), b"nothing of the kind")
    os.utime(model / "SHA256SUMS", (accepted_at_s + 60,) * 2)
    change = source.poll(2)
    assert change is not None
    assert change.model is None
    source.poll(4)
    assert source.written_at_s == accepted_at_s


def test_only_signed_models_are_loaded_if_keys_are_set(tmp_path: Path) -> None:
    private = Ed25519PrivateKey.generate()
    (tmp_path / "key.pem").write_bytes(
        private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    keys = tmp_path / "trusted.pem"
    keys.write_bytes(
        private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    model = tiny_model.write(tmp_path / "model")
    source = ModelSource(model, 1_000, keys)
    change = source.poll(0)
    assert change is not None
    assert "SHA256SUMS.sig: No such file" in change.problem
    sign(model, tmp_path / "key.pem")
    change = source.poll(0)
    assert change is not None
    assert change.model is not None
    signature = (model / "SHA256SUMS.sig").read_bytes()
    tiny_model.write(model, "2")
    (model / "SHA256SUMS.sig").write_bytes(signature)
    change = source.poll(0)
    assert change is not None
    assert "is no signature of SHA256SUMS by any of 1 trusted keys" in change.problem
    assert source.poll(0) is None


@pytest.mark.parametrize("after", range(1, 12))
def test_a_model_that_is_replaced_while_it_is_read_needs_its_own_signature(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """An unsigned one is put in place of a signed one after any of the reads."""
    private = Ed25519PrivateKey.generate()
    keys = tmp_path / "trusted.pem"
    keys.write_bytes(
        private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    model = tmp_path / "model"
    graph = tiny_model.graph(tiny_model.weights())
    write_contract(model, tiny_model.manifest("signed"), graph, private.sign)
    signature = (model / "SHA256SUMS.sig").read_bytes()
    read, reads = contract.read_bounded, 0

    def replaced_after(path: Path, limit: int) -> bytes:
        nonlocal reads
        content = read(path, limit)
        reads += 1
        if reads == after:
            write_contract(model, tiny_model.manifest("unsigned"), graph)
            (model / "SHA256SUMS.sig").write_bytes(signature)
        return content

    for module in (contract, signature_module, model_source):
        monkeypatch.setattr(module, "read_bounded", replaced_after)
    monkeypatch.setattr(
        model_trial.ModelTrial, "tried", lambda _, tried, period_us: OnnxStep(tried, period_us)
    )
    change = ModelSource(model, 1_000, keys).poll(0)
    assert change is not None
    assert change.model is None or change.model.name == "tiny:signed"
    assert (change.model is None) == (change.retry_in_s is not None)


def test_a_directory_is_read_once_and_refused_once(tmp_path: Path) -> None:
    source = ModelSource(tmp_path / "model", 1_000)
    change = source.poll(0)
    assert change is not None
    assert "SHA256SUMS" in change.problem
    assert source.poll(0) is None
    tiny_model.write(tmp_path / "model")
    change = source.poll(0)
    assert change is not None
    assert change.model is not None
    assert source.poll(0) is None
    (tmp_path / "model" / "SHA256SUMS").unlink()
    change = source.poll(0)
    assert change is not None
    assert change.model is None
