"""An exported model as it is served: of a model directory, or a candidate of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rlc_model import ContractError, read_contract

from rlc_train.candidate import Candidate
from rlc_train.errors import TrainError
from rlc_train.export.runner import ServedForecaster, StepRunner
from rlc_train.horizon import Layout
from rlc_train.judging.trial import tried


@dataclass(frozen=True, slots=True)
class JudgedModel:
    """A model to judge.

    Attributes:
        name: ``name:version``.
        layout: Axes of its forecasts.
        forecaster: The model with online calibration.
        runner: Its graph.
        context_us: Report period of limit, MCS and block size.
        warm_up: Samples before it is served.
        size_bytes: Of ``model.onnx``.
        data_sha256: Of the training data; empty for a candidate, whose run has it.
    """

    name: str
    layout: Layout
    forecaster: ServedForecaster
    runner: StepRunner
    context_us: int
    warm_up: int
    size_bytes: int
    data_sha256: str = ""

    @classmethod
    def load(cls, directory: Path) -> JudgedModel:
        """Reads a model directory.

        Raises:
            TrainError: It is not a model directory, or has another report period; as
                :func:`~rlc_train.judging.trial.tried`.
        """
        if not directory.is_dir():
            raise TrainError(str(directory), "is no folder; expected a model directory")
        try:
            contract = read_contract(directory)
        except ContractError as error:
            raise TrainError(str(directory), str(error)) from error
        manifest = contract.manifest
        layout = Layout.of(manifest)
        period_us = manifest.training_data.sample_period_us
        if period_us != layout.period_us:
            raise TrainError(
                str(directory),
                f"manifest.json: trainingData.samplePeriodUs is {period_us}; expected"
                f" {layout.period_us}",
            )
        runner = tried(directory, contract, period_us)
        forecaster = ServedForecaster(
            manifest.name,
            runner,
            manifest.min_max(),
            layout,
            tracked=True,
            absolute=manifest.target == "absolute",
        )
        return cls(
            manifest.name,
            layout,
            forecaster,
            runner,
            manifest.training_data.context_period_us,
            manifest.warm_up_steps,
            len(contract.onnx),
            manifest.training_data.sha256,
        )

    @classmethod
    def of(cls, name: str, candidate: Candidate, context_us: int) -> JudgedModel:
        """A candidate of a run."""
        runner = StepRunner(candidate.graph, candidate.state_size)
        forecaster = ServedForecaster(
            name, runner, candidate.scaler, candidate.layout, tracked=True
        )
        return cls(
            name,
            candidate.layout,
            forecaster,
            runner,
            context_us,
            candidate.warm_up,
            len(candidate.graph),
        )
