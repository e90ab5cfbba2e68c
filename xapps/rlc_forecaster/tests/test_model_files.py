"""Models that break the contract are refused with what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tiny_model
from rlc_forecaster.cli import main
from rlc_forecaster.onnx_step import OnnxStep
from rlc_model import ContractError, write_contract


def test_a_graph_that_is_none_is_refused(tmp_path: Path) -> None:
    write_contract(tmp_path, tiny_model.manifest(), b"nothing of the kind")
    with pytest.raises(ContractError, match=r"^model.onnx: does not load"):
        OnnxStep.load(tmp_path)


def test_a_graph_with_other_features_is_refused(tmp_path: Path) -> None:
    values = tiny_model.weights()
    values["w"] = np.zeros((9, tiny_model.STATE), np.float32)
    write_contract(tmp_path, tiny_model.manifest(), tiny_model.graph(values, features=9))
    with pytest.raises(ContractError, match=r"input sample: is tensor\(float\) \(None, 9\)"):
        OnnxStep.load(tmp_path)


def test_weights_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    values = tiny_model.weights()
    values["c"][3] = np.nan
    write_contract(tmp_path, tiny_model.manifest(), tiny_model.graph(values))
    with pytest.raises(ContractError, match="answers a trial step with NaN or infinity"):
        OnnxStep.load(tmp_path)


def test_the_command_refuses_wrong_settings_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--forecast.listen", "0.0.0.0:5000"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("rlc-forecaster: ")
    assert "plain text on 0.0.0.0:5000" in said
    assert "Traceback" not in said
