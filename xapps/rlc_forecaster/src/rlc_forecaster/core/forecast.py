"""The shape of forecasts: quantities, horizon points, quantiles, and their source."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray
from rlc_model import Quantity, spans_us
from rlc_model.horizon import DEFAULT_POINTS_US


class Source(IntEnum):
    """Source of a bearer's forecast; numbers as in ``Forecast.Source`` of forecast.proto."""

    MODEL = 1
    PERSISTENCE = 2


class Fallback(IntEnum):
    """Why naive forecasts are served; numbers as in ``Forecast.Fallback`` of forecast.proto."""

    NONE = 0
    """The model is served."""
    NO_MODEL = 1
    """No model is loaded."""
    WARMING_UP = 2
    """The bearer is new, or was silent for so long that its carried state is outdated."""
    WORSE_THAN_PERSISTENCE = 3
    """The recent loss of the model for this bearer exceeds that of persistence."""
    NOT_FINITE = 4
    """The model's output was NaN or infinite; its state starts from zero."""
    MODEL_STALE = 5
    """The model is older than the configured maximum age."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The axes of a forecast.

    Attributes:
        quantities: The forecast quantities.
        points_us: From the newest sample to each of the M points; multiples of the report period.
        quantiles: The Q levels, increasing, within (0, 1).
        period_us: The report period.
    """

    quantities: tuple[Quantity, ...] = (Quantity.OCCUPANCY, Quantity.DRAIN)
    points_us: tuple[int, ...] = DEFAULT_POINTS_US
    quantiles: tuple[float, ...] = (0.1, 0.5, 0.9)
    period_us: int = 1_000

    @property
    def points(self) -> int:
        """M."""
        return len(self.points_us)

    @property
    def spans_us(self) -> tuple[int, ...]:
        """``(M,)`` the time whose drain a point tells, see :func:`rlc_model.spans_us`."""
        return spans_us(self.points_us, self.period_us)


@dataclass(frozen=True, slots=True)
class Batch:
    """Forecasts of all bearers of one report. The arrays are shared and read-only.

    Attributes:
        node_id: The E2 node.
        origin_us: Time of the report, the node's clock, µs since the Unix epoch.
        rnti: ``(B,)``.
        drb: ``(B,)``.
        layout: The axes of ``values``.
        values: ``(B, quantity, M, Q)`` float32 in the quantity's unit, never negative, not
            decreasing along the quantiles.
        source: ``(B,)`` of :class:`Source`.
        fallback: ``(B,)`` of :class:`Fallback`.
        limited: ``(B,)`` whether the bearer's queue limit is known; else its forecast is void.
        held_bytes: ``(B,)`` what the RLC held at the origin, of the report.
        model: ``name:version``; empty without a model.
        cumulated: ``(B, M, levels)`` bytes drained until each point, see
            :mod:`rlc_model.cumulated`; None unless the forecaster is asked for them.
    """

    node_id: str
    origin_us: int
    rnti: NDArray[np.uint32]
    drb: NDArray[np.uint8]
    layout: Layout
    values: NDArray[np.float32]
    source: NDArray[np.uint8]
    fallback: NDArray[np.uint8]
    limited: NDArray[np.bool_]
    held_bytes: NDArray[np.float32]
    model: str
    cumulated: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.rnti)
