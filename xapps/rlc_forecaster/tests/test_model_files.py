"""Invalid models are refused with the fault."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
import tiny_model
from onnx import numpy_helper
from rlc_forecaster.cli import main
from rlc_forecaster.model_source import ModelSource
from rlc_forecaster.onnx_step import OnnxStep
from rlc_model import FEATURES, ContractError, write_contract
from rlc_model.manifest import Horizon


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
            {"horizon": Horizon(start_us=1_500, step_us=1_000, points=5)},
            r"horizon.startUs: 1500 is not a multiple",
        ),
        (
            changed_weights,
            {"horizon": Horizon(start_us=2_000, step_us=700, points=5)},
            r"horizon.stepUs: 700 is not a multiple",
        ),
        (
            changed_weights,
            {"horizon": Horizon(start_us=60_000_000, step_us=1_000, points=5)},
            r"needs 1800\d+ numbers per bearer",
        ),
        # Refused before the graph is loaded.
        (lambda: b"never read", {"state_size": 900_000}, "a state of 900000"),
    ],
    ids=["no graph", "features", "NaN", "axes", "start", "step", "far horizon", "huge state"],
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


def test_a_directory_is_read_once_and_refused_once(tmp_path: Path) -> None:
    source = ModelSource(tmp_path / "model", 1_000)
    change = source.poll()
    assert change is not None
    assert "SHA256SUMS" in str(change.refused)
    assert source.poll() is None
    tiny_model.write(tmp_path / "model")
    change = source.poll()
    assert change is not None
    assert change.model is not None
    assert source.poll() is None
    (tmp_path / "model" / "SHA256SUMS").unlink()
    change = source.poll()
    assert change is not None
    assert change.model is None
