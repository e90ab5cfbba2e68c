"""Tries a model in a process of its own before it is served: see :mod:`rlc_model.trial`."""

from __future__ import annotations

import sys

from rlc_model import ContractError, ModelContract
from rlc_model import trial as bounded
from rlc_model.trial import UnfinishedTrialError

from rlc_forecaster.onnx_step import OnnxStep

_MODULE = "rlc_forecaster.model_trial"


class ModelTrial(bounded.ModelTrial):
    """Trials of models, one at a time, which another thread may end."""

    def __init__(self) -> None:
        super().__init__(_MODULE)

    def tried(self, contract: ModelContract, period_us: int) -> OnnxStep:
        """Tries a model, then loads it here.

        Raises:
            ContractError: As :class:`~rlc_forecaster.onnx_step.OnnxStep` and
                :meth:`rlc_model.trial.ModelTrial.try_model`.
            UnfinishedTrialError: As the latter; or something other than the model keeps it from
                loading here.
        """
        self.try_model(contract, period_us)
        try:
            return OnnxStep(contract, period_us)
        except ContractError as error:
            raise UnfinishedTrialError(f"the model passed its trial and then {error}") from error


def _step(contract: ModelContract, period_us: int, bearers: int) -> None:
    OnnxStep(contract, period_us).step_once(bearers)


if __name__ == "__main__":
    sys.exit(bounded.child(sys.argv[1:], _step))
