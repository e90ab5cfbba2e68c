"""Runs a step graph as the forecaster does: ONNX Runtime, one thread, one sample at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import onnxruntime
import rlc_native
from numpy.typing import NDArray
from rlc_model import FEATURES, MinMaxScaler
from rlc_model.contract import SCALE, Tensor

from rlc_train.errors import TrainError
from rlc_train.horizon import Layout
from rlc_train.online import (
    ForecastRows,
    Lane,
    OnlineForecaster,
    forecasts_at_origins,
    stretches,
    track_all,
)
from rlc_train.splits import Part

CACHED: Final = 100
"""Steps whose outputs, of :data:`~rlc_train.judging.judge.LANES` lanes, stay in a cache until they
are put in units."""


class StepRunner:
    """ONNX Runtime session of a step graph."""

    def __init__(self, graph: bytes, state_size: int) -> None:
        """Builds the session.

        Raises:
            TrainError: The graph does not load.
        """
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        self.state_size = state_size
        try:
            self._session: Any = onnxruntime.InferenceSession(
                graph, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            first = (str(error).splitlines() or [type(error).__name__])[0]
            raise TrainError("model.onnx", f"does not load: {first}") from error
        names = {output.name for output in self._session.get_outputs()}
        self._outputs = ["forecast", "next_state", *({SCALE} & names)]

    def signature(self) -> tuple[list[Tensor], list[Tensor]]:
        """Inputs and outputs of the graph."""
        session = self._session
        return (
            [Tensor.of(each) for each in session.get_inputs()],
            [Tensor.of(each) for each in session.get_outputs()],
        )

    def step(
        self, sample: NDArray[np.float32], state: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """``(B, F)`` scaled samples and ``(B, S)`` to ``(B, Q, M, K)`` scaled forecasts and
        state."""
        forecast, after, scale = self.plain_step(sample, state)
        if scale is not None:
            forecast *= scale[..., None]
        return forecast, after

    def plain_step(
        self, sample: NDArray[np.float32], state: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32] | None]:
        """Steps as :meth:`step`, with forecasts that are yet to be multiplied by their
        ``(B, Q, M)`` scale, if the graph has one."""
        forecast, after, *scale = self._session.run(
            self._outputs, {"sample": sample, "state": state}
        )
        return forecast, after, scale[0] if scale else None


class ServedForecaster(OnlineForecaster):
    """An exported model in a back-test, as served."""

    def __init__(
        self,
        name: str,
        runner: StepRunner,
        scaler: MinMaxScaler,
        layout: Layout,
        *,
        tracked: bool,
        absolute: bool = False,
    ) -> None:
        """`tracked` adds the forecaster's online calibration.

        The model forecasts the residual to the last value, or with `absolute` the value itself.
        """
        self.name = name
        self._runner = runner
        self._scaler = scaler
        self.layout = layout
        self._tracked = tracked
        self._absolute = absolute

    def fit(self, parts: Sequence[Part], layout: Layout, seed: int) -> None:
        """Does nothing: the model is trained."""

    def run(self, lanes: Sequence[Lane]) -> list[NDArray[np.float32]]:
        """The forecasts of lanes, longest first."""
        if self._tracked:
            return track_all(lanes, self.axes, self.steps(lanes))
        return forecasts_at_origins(lanes, self.axes, self.steps(lanes))

    def plain(self, lanes: Sequence[Lane]) -> list[NDArray[np.float32]]:
        """``(T, Q, M, K)`` forecasts of lanes from all rows, without calibration; longest first."""
        found = [np.empty((lane.stop, *self.axes.shape), np.float32) for lane in lanes]
        write = self._writer(lanes)
        for first, stop, count in stretches(lanes, CACHED):
            write(first, stop, [rows[first:stop] for rows in found[:count]])
        return found

    def steps(self, lanes: Sequence[Lane]) -> ForecastRows:
        """Forecasts of lanes, longest first, step by step, without calibration."""
        write = self._writer(lanes)

        def forecast_rows(first: int, stop: int, count: int) -> NDArray[np.float32]:
            found = np.empty((count, stop - first, *self.axes.shape), np.float32)
            write(first, stop, list(found))
            return found

        return forecast_rows

    def _writer(
        self, lanes: Sequence[Lane]
    ) -> Callable[[int, int, Sequence[NDArray[np.float32]]], None]:
        """Writes the forecasts of the rows from a first one up to another, in order of the rows, to
        ``(rows, Q, M, K)`` arrays of the first lanes."""
        layout = self.axes
        features = np.zeros((lanes[0].stop, len(lanes), len(FEATURES)), np.float32)
        for index, lane in enumerate(lanes):
            features[: lane.stop, index] = lane.series.features[: lane.stop]
        scaled = self._scaler.transform(features)
        span = self._scaler.span[layout.columns]
        minimum = self._scaler.minimum[layout.columns]
        state = np.zeros((len(lanes), self._runner.state_size), np.float32)
        # Of the last stretch: room that is used again.
        values = np.empty((0, len(lanes), *layout.shape), np.float32)
        scales = np.empty((0, len(lanes), *layout.shape[:2]), np.float32)

        def write(first: int, stop: int, outs: Sequence[NDArray[np.float32]]) -> None:
            nonlocal state, values, scales
            rows, count = stop - first, len(outs)
            if values.shape[:2] != (rows, count):
                values = np.empty((rows, count, *layout.shape), np.float32)
                scales = np.empty((rows, count, *layout.shape[:2]), np.float32)
            has_scale = False
            for row in range(rows):
                sample = scaled[first + row, :count]
                values[row], state, scale = self._runner.plain_step(sample, state[:count])
                if scale is not None:
                    scales[row], has_scale = scale, True
            for index, out in enumerate(outs):
                last = features[first:stop, index, layout.columns]
                base = np.broadcast_to(minimum, last.shape) if self._absolute else last
                rlc_native.in_units(
                    values, scales if has_scale else None, span, base, out, bearer=index
                )
                if self._tracked:
                    # As the forecaster does: see rlc_model.mix.
                    rlc_native.sort_last(out)

        return write


LEAST_STEPS: Final = 20
"""Steps before a measurement, and of it at the least."""
LONGEST_MEASURE_S: Final = 2.0
"""Time of a measurement with steps beyond those."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Time of one step by batch size, µs: T_m without the service."""

    batch: int
    median_us: float
    p99_us: float


def measure(
    runner: StepRunner, batches: Sequence[int] = (1, 32, 256, 1000), steps: int = 500
) -> list[Timing]:
    """Measures T_m. stolidis2024 §IV-C has the mean; the median is robust against pauses.

    A slow graph, as one with many trees, gets fewer steps: those of :data:`LONGEST_MEASURE_S`, and
    :data:`LEAST_STEPS`.
    """
    rng = np.random.default_rng(0)
    timings = []
    for batch in batches:
        sample = rng.random((batch, len(FEATURES)), np.float32)
        state = np.zeros((batch, runner.state_size), np.float32)
        for _ in range(LEAST_STEPS):
            _, state = runner.step(sample, state)
        took: list[float] = []
        until_ns = time.perf_counter_ns() + round(LONGEST_MEASURE_S * 1e9)
        while len(took) < steps and (len(took) < LEAST_STEPS or time.perf_counter_ns() < until_ns):
            began = time.perf_counter_ns()
            _, state = runner.step(sample, state)
            took.append((time.perf_counter_ns() - began) / 1000)
        timings.append(Timing(batch, float(np.median(took)), float(np.quantile(took, 0.99))))
    return timings
