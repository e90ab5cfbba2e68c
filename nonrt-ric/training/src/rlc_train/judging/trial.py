"""Tries the model of a directory in a process of its own before it is judged, as the forecaster
does before it serves one: see :mod:`rlc_model.trial`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from rlc_model import FEATURES, ContractError, ModelContract
from rlc_model.contract import MODEL
from rlc_model.trial import ModelTrial, UnfinishedTrialError, child

from rlc_train.errors import TrainError
from rlc_train.export.runner import StepRunner

_MODULE = "rlc_train.judging.trial"


def tried(directory: Path, contract: ModelContract, period_us: int) -> StepRunner:
    """The graph of a model directory, tried.

    Raises:
        TrainError: The graph is not allowed, does not load, has another signature or needs more
            memory or CPU time than the bounds; or the trial has no result.
    """
    try:
        ModelTrial(_MODULE).try_model(contract, period_us)
    except (ContractError, UnfinishedTrialError) as error:
        raise TrainError(str(directory), str(error)) from error
    return StepRunner(contract.onnx, contract.manifest.state_size)


def _step(contract: ModelContract, _: int, bearers: int) -> None:
    state_size = contract.manifest.state_size
    try:
        runner = StepRunner(contract.onnx, state_size)
    except TrainError as error:
        raise ContractError(MODEL, str(error).removeprefix(f"{MODEL}: ")) from error
    contract.check_signature(*runner.signature())
    sample = np.zeros((bearers, len(FEATURES)), np.float32)
    try:
        runner.step(sample, np.zeros((bearers, state_size), np.float32))
    except Exception as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise ContractError(MODEL, f"fails on a step of {bearers} bearers: {first}") from error


if __name__ == "__main__":
    sys.exit(child(sys.argv[1:], _step))
