"""A model of the contract, run one step at a time by ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from rlc_model import FEATURES, ContractError, ModelContract, read_contract
from rlc_model.contract import MODEL, Tensor

from rlc_forecaster.core.forecast import Layout

TRIAL_ROWS = 3


class OnnxStep:
    """A :class:`~rlc_forecaster.core.step.StepModel` from a contract."""

    def __init__(self, contract: ModelContract) -> None:
        """Builds the session, compares its signature and runs one step on trial.

        Raises:
            ContractError: The graph does not load, has another signature or answers with what is
                not a number.
        """
        self._manifest = contract.manifest
        self._scaler = contract.manifest.min_max()
        self._layout = Layout(
            tuple(contract.manifest.quantities),
            contract.manifest.horizon.start_us,
            contract.manifest.horizon.step_us,
            contract.manifest.horizon.points,
            tuple(contract.manifest.quantiles),
        )
        self._columns = [FEATURES.index(q.value) for q in self._layout.quantities]
        self._span = self._scaler.span[self._columns][:, None, None]
        self._session = _session(contract.onnx)
        contract.check_signature(
            [_tensor(t) for t in self._session.get_inputs()],
            [_tensor(t) for t in self._session.get_outputs()],
        )
        self._try()

    @classmethod
    def load(cls, directory: Path) -> OnnxStep:
        """Reads a model directory.

        Raises:
            ContractError: As :func:`rlc_model.read_contract` and the constructor.
        """
        return cls(read_contract(directory))

    @property
    def name(self) -> str:
        """``name:version``."""
        return self._manifest.name

    @property
    def layout(self) -> Layout:
        """The axes of its forecasts."""
        return self._layout

    @property
    def state_size(self) -> int:
        """Floats of state per bearer."""
        return self._manifest.state_size

    @property
    def warm_up_steps(self) -> int:
        """Steps from zero state before its forecasts count."""
        return self._manifest.warm_up_steps

    def step(
        self, features: NDArray[np.float32], state: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """One step; see :class:`~rlc_forecaster.core.step.StepModel`."""
        scaled = self._scaler.transform(features)
        forecast, next_state = self._session.run(
            ["forecast", "next_state"], {"sample": scaled, "state": state}
        )
        values = forecast * self._span
        if self._manifest.target == "residual":
            values += features[:, self._columns][:, :, None, None]
        else:
            values += self._scaler.minimum[self._columns][:, None, None]
        return values, next_state

    def _try(self) -> None:
        low = self._scaler.minimum
        samples = np.stack([low, low + self._scaler.span / 2, low + self._scaler.span])
        state = np.zeros((TRIAL_ROWS, self.state_size), np.float32)
        try:
            for _ in range(2):
                values, state = self.step(samples.astype(np.float32), state)
        except Exception as error:
            raise ContractError(MODEL, f"fails on a trial step: {_first_line(error)}") from error
        expected = (TRIAL_ROWS, *self._shape())
        if values.shape != expected or state.shape != (TRIAL_ROWS, self.state_size):
            raise ContractError(
                MODEL, f"answers a trial step with {values.shape}; expected {expected}"
            )
        if not (np.isfinite(values).all() and np.isfinite(state).all()):
            raise ContractError(MODEL, "answers a trial step with NaN or infinity")

    def _shape(self) -> tuple[int, int, int]:
        layout = self._layout
        return len(layout.quantities), layout.points, len(layout.quantiles)


def _session(graph: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    # One step is microseconds: a second thread costs more than it gives, and the cores belong to
    # other parts of the near-RT RIC.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ContractError(MODEL, f"does not load: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _tensor(argument: onnxruntime.NodeArg) -> Tensor:
    shape = tuple(d if isinstance(d, int) else None for d in argument.shape)
    return Tensor(argument.name, argument.type, shape)
