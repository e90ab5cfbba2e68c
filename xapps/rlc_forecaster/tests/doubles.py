"""RLC reports and a model with simple forecasts, for the tests."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from rlc_forecaster.core import Batch, Forecaster, Layout
from rlc_forecaster.core.model import RawForecast
from rlc_model import FEATURES, Quantity

Reports = Callable[..., NDArray[np.void]]
"""The type of the `report` fixture."""
Floats = NDArray[np.float32]
Change = Callable[[Floats, Floats, Floats], None]

FIELDS = np.dtype(
    [
        ("txpdu_bytes", "<u4"),
        ("txbuf_occ_bytes", "<u4"),
        ("txbuf_occ_pkts", "<u4"),
        ("txsdu_avg_time_to_tx", "<f8"),
        ("txsdu_wt_us", "<u4"),
        ("rnti", "<u4"),
        ("rbid", "u1"),
    ]
)


def rows_of(bearers: list[tuple[int, int, int]]) -> NDArray[np.void]:
    """One row per (RNTI, DRB, value of all counters and gauges)."""
    rows = np.zeros(len(bearers), FIELDS)
    for row, (rnti, drb, number) in zip(rows, bearers, strict=True):
        row["rnti"], row["rbid"] = rnti, drb
        row["txbuf_occ_bytes"] = row["txpdu_bytes"] = row["txsdu_wt_us"] = number
    return rows


def served(forecaster: Forecaster, rows: NDArray[np.void], at_us: int) -> Batch:
    """The forecasts of a report that must have some."""
    batch = forecaster.on_report(rows, at_us)
    assert batch is not None
    return batch


def plain_mixer(output: RawForecast) -> tuple[Floats, Floats, bool]:
    """The model's forecasts in units, and 5 more as the mix."""
    factor = output.scale[..., None] * output.span[:, None, None]
    plain = (output.values * factor + output.base[:, :, None, None]).astype(np.float32)
    return plain, plain + np.float32(5), bool(np.isfinite(plain).all())


SHORT = Layout((Quantity.OCCUPANCY,), (2_000, 3_000, 4_000), (0.1, 0.5, 0.9))


class OracleStepper:
    """The stepper of an `Oracle`."""

    def __init__(self, model: Oracle, state: NDArray[np.float32]) -> None:
        self._model = model
        self.state = state

    def step(self, features: NDArray[np.float32]) -> RawForecast:
        forecasts, self.state = self._model.step(features, self.state)
        scale = np.ones(forecasts.shape[:3], np.float32)
        base = np.zeros(forecasts.shape[:2], np.float32)
        span = np.ones(forecasts.shape[1], np.float32)
        return RawForecast(forecasts, scale, span, base)


class Oracle:
    """A model that adds `slope` per millisecond to the occupancy; its state counts its steps.

    `change(values, state, features)` modifies values and next state of each step in place.
    """

    layout = SHORT
    state_size = 1

    def __init__(
        self,
        slope: float,
        name: str = "oracle:1",
        warm_up_steps: int = 10,
        change: Change | None = None,
    ) -> None:
        self._slope = slope
        self._change = change
        self.name = name
        self.warm_up_steps = warm_up_steps

    @property
    def feature_range(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return np.zeros(len(FEATURES), np.float32), np.full(len(FEATURES), 1e9, np.float32)

    def stepper(self, state: NDArray[np.float32]) -> OracleStepper:
        return OracleStepper(self, state)

    def step(
        self, features: NDArray[np.float32], state: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        layout = self.layout
        ahead = np.array(layout.points_us, np.float32) / np.float32(1000)
        level = features[:, :1] + self._slope * ahead
        shape = (len(features), len(layout.quantities), layout.points, len(layout.quantiles))
        values = np.broadcast_to(level[:, None, :, None], shape)
        values, state = values.astype(np.float32, order="C"), state + 1
        if self._change is not None:
            self._change(values, state, features)
        return values, state
