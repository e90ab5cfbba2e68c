"""A model of the model contract, run step by step by ONNX Runtime."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import onnxruntime
import rlc_native
from numpy.typing import NDArray
from rlc_model import (
    FEATURES,
    ContractError,
    Manifest,
    MinMaxScaler,
    ModelContract,
    check_graph,
    read_contract,
)
from rlc_model.contract import MANIFEST, MODEL, SCALE, Tensor

from rlc_forecaster.core.forecast import Layout
from rlc_forecaster.core.model import RawForecast

TRIAL_ROWS = 3
TRIAL_STEPS = 3
MAX_FLOATS_PER_BEARER = 65_536
"""State and past forecasts: 256 MB for 1000 bearers, far more than a step of microseconds needs."""
MAX_STEP_CPU_S = 0.01
"""A slower step of three rows cannot keep up with reports every millisecond."""


class OnnxStep:
    """A :class:`~rlc_forecaster.core.model.StepModel` from a contract."""

    def __init__(self, contract: ModelContract, period_us: int = 1_000) -> None:
        """Builds the session, checks its signature and runs some trial steps.

        Raises:
            ContractError: The model was trained on another report period than `period_us`, needs
                too much memory or time, does not load, has another signature or outputs NaN or
                infinity.
        """
        _check_size(contract.manifest, period_us)
        self._manifest = contract.manifest
        self._scaler = contract.manifest.min_max()
        self._layout = Layout(
            tuple(contract.manifest.quantities),
            contract.manifest.horizon.points_us,
            tuple(contract.manifest.quantiles),
            period_us,
        )
        self._scaling = _Scaling.of(self._scaler, self._layout, contract.manifest.target)
        check_graph(contract.onnx)
        self._session = _session(contract.onnx)
        contract.check_signature(
            [Tensor.of(t) for t in self._session.get_inputs()],
            [Tensor.of(t) for t in self._session.get_outputs()],
        )
        self._try()

    @classmethod
    def load(cls, directory: Path, period_us: int = 1_000) -> OnnxStep:
        """Reads a model directory, for reports each `period_us`.

        Raises:
            ContractError: As :func:`rlc_model.read_contract` and the constructor.
        """
        return cls(read_contract(directory), period_us)

    @property
    def name(self) -> str:
        """``name:version``."""
        return self._manifest.name

    @property
    def layout(self) -> Layout:
        """The axes of its forecasts."""
        return self._layout

    @property
    def context_period_ms(self) -> int:
        """Period of limit, MCS and block size in the training data, ms; 1 to 100."""
        period_us = self._manifest.training_data.context_period_us
        return min(max(1, round(period_us / 1_000)), 100)

    @property
    def state_size(self) -> int:
        """Floats of state per bearer."""
        return self._manifest.state_size

    @property
    def warm_up_steps(self) -> int:
        """Steps from zero state before its forecasts count."""
        return self._manifest.warm_up_steps

    @property
    def feature_range(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Bounds of each feature in the training part."""
        return self._scaler.minimum, self._scaler.minimum + self._scaler.span

    def stepper(self, state: NDArray[np.float32]) -> OnnxStepper:
        """Begins at ``(B, S)`` states; see :class:`~rlc_forecaster.core.model.StepModel`."""
        return OnnxStepper(self._session, self._scaling, self._shape(), state)

    def step_once(self, rows: int) -> None:
        """One step of `rows` bearers.

        Raises:
            ContractError: The step fails, for want of memory for instance.
        """
        try:
            stepper = self.stepper(np.zeros((rows, self.state_size), np.float32))
            stepper.step(np.tile(self._scaler.minimum, (rows, 1)).astype(np.float32))
        except Exception as error:
            problem = f"fails on a step of {rows} bearers: {_first_line(error)}"
            raise ContractError(MODEL, problem) from error

    def _try(self) -> None:
        low = self._scaler.minimum
        samples = np.stack([low, low + self._scaler.span / 2, low + self._scaler.span])
        fastest_s = np.inf
        try:
            # ONNX Runtime refuses an output that does not fit the bound buffers.
            stepper = self.stepper(np.zeros((TRIAL_ROWS, self.state_size), np.float32))
            for _ in range(TRIAL_STEPS):
                # Not wall-clock time, of which a busy machine needs more for the same model.
                began_s = time.thread_time()
                answer = stepper.step(samples.astype(np.float32))
                fastest_s = min(fastest_s, time.thread_time() - began_s)
        except Exception as error:
            raise ContractError(MODEL, f"fails on a trial step: {_first_line(error)}") from error
        if not all(np.isfinite(values).all() for values in (*answer, stepper.state)):
            raise ContractError(MODEL, "outputs NaN or infinity in a trial step")
        if fastest_s > MAX_STEP_CPU_S:
            raise ContractError(
                MODEL,
                f"needs {fastest_s * 1e3:.1f} ms for a step of {TRIAL_ROWS} bearers; expected at"
                f" most {MAX_STEP_CPU_S * 1e3:g} ms",
            )

    def _shape(self) -> tuple[int, int, int]:
        layout = self._layout
        return len(layout.quantities), layout.points, len(layout.quantiles)


@dataclass(frozen=True, slots=True)
class _Scaling:
    """Between the features' units and the model's scale.

    Attributes:
        scaler: Of the features.
        columns: The quantities among the features.
        span: ``(quantity,)``.
        minimum: ``(quantity,)`` base of the output; None if the base is the last value.
    """

    scaler: MinMaxScaler
    columns: NDArray[np.intp]
    span: NDArray[np.float32]
    minimum: NDArray[np.float32] | None

    @classmethod
    def of(cls, scaler: MinMaxScaler, layout: Layout, target: str) -> Self:
        columns = np.array([FEATURES.index(q.value) for q in layout.quantities], np.intp)
        minimum = None if target == "residual" else scaler.minimum[columns]
        return cls(scaler, columns, scaler.span[columns], minimum)


class OnnxStepper:
    """A :class:`~rlc_forecaster.core.model.Stepper` over buffers that the session is bound to.

    Binding once saves checking and wrapping the arrays at each step, which for one bearer takes as
    long as a third of the model's nodes. Two state buffers alternate.
    """

    def __init__(
        self,
        session: onnxruntime.InferenceSession,
        scaling: _Scaling,
        shape: tuple[int, int, int],
        state: NDArray[np.float32],
    ) -> None:
        rows = len(state)
        self._session, self._scaling = session, scaling
        self._sample = np.empty((rows, len(FEATURES)), np.float32)
        self._answer = np.empty((rows, *shape), np.float32)
        # Stays 1 if the graph has no scale output.
        self._scale = np.ones((rows, *shape[:2]), np.float32)
        self._now, self._next = state.astype(np.float32, order="C"), np.empty_like(state, order="C")
        self._binding = self._bound(self._now, self._next)
        self._binding_next = self._bound(self._next, self._now)
        self._minimum = None if scaling.minimum is None else np.tile(scaling.minimum, (rows, 1))

    @property
    def state(self) -> NDArray[np.float32]:
        """The states after the last step."""
        return self._now

    def step(self, features: NDArray[np.float32]) -> RawForecast:
        """One step."""
        scaling = self._scaling
        scaler = scaling.scaler
        rlc_native.scale(features, scaler.minimum, scaler.span, self._sample)
        self._session.run_with_iobinding(self._binding)
        self._now, self._next = self._next, self._now
        self._binding, self._binding_next = self._binding_next, self._binding
        base = self._minimum
        if base is None:
            base = features.take(scaling.columns, axis=1)
        return RawForecast(self._answer, self._scale, scaling.span, base)

    def _bound(
        self, before: NDArray[np.float32], after: NDArray[np.float32]
    ) -> onnxruntime.IOBinding:
        binding = self._session.io_binding()
        for name, array in (("sample", self._sample), ("state", before)):
            binding.bind_input(name, "cpu", 0, np.float32, array.shape, array.ctypes.data)
        buffers = {"forecast": self._answer, SCALE: self._scale, "next_state": after}
        for output in self._session.get_outputs():
            array = buffers[output.name]
            binding.bind_output(output.name, "cpu", 0, np.float32, array.shape, array.ctypes.data)
        return binding


def _check_size(manifest: Manifest, period_us: int) -> None:
    points_us, trained_us = manifest.horizon.points_us, manifest.training_data.sample_period_us
    if trained_us != period_us:
        raise ContractError(
            f"{MANIFEST}: trainingData.samplePeriodUs",
            f"is {trained_us}; reports come every {period_us} µs",
        )
    for number, value in enumerate(points_us):
        if value % period_us:
            raise ContractError(
                f"{MANIFEST}: horizon.pointsUs[{number}]",
                f"{value} is not a multiple of the report period, {period_us} µs",
            )
    depth = points_us[-1] // period_us + 2
    answer = len(manifest.quantities) * len(points_us) * len(manifest.quantiles)
    floats = depth * answer + manifest.state_size
    if floats > MAX_FLOATS_PER_BEARER:
        raise ContractError(
            MANIFEST,
            f"needs {floats} numbers per bearer: a state of {manifest.state_size}, and"
            f" {answer} forecasts for {depth} reports; expected at most {MAX_FLOATS_PER_BEARER}",
        )


def _session(graph: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    # A step takes microseconds: a second thread costs more than it saves.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ContractError(MODEL, f"does not load: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
