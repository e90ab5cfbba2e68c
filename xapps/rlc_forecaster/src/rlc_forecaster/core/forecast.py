"""What a forecast is: points in time, quantiles, quantities, and where it came from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray
from rlc_model import Quantity


class Source(IntEnum):
    """Who made a bearer's forecast; the numbers of the door's ``Forecast.Source``."""

    MODEL = 1
    PERSISTENCE = 2


class Fallback(IntEnum):
    """Why persistence is served; the numbers of the door's ``Forecast.Fallback``."""

    NONE = 0
    """It is not: the model is."""
    NO_MODEL = 1
    """There is none."""
    WARMING_UP = 2
    """The bearer is new, or was silent too long for its carried state."""
    WORSE_THAN_PERSISTENCE = 3
    """The model lately cost more than persistence on this bearer."""
    NOT_FINITE = 4
    """The model answered with NaN or infinity and has to start from zero."""
    MODEL_STALE = 5
    """The model is older than the operator lets it be."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The axes of a forecast.

    Attributes:
        quantities: What is forecast.
        start_us: From the newest sample to the first point.
        step_us: Between points; a multiple of the report period.
        points: Number of points M.
        quantiles: The Q levels, growing, within (0, 1).
    """

    quantities: tuple[Quantity, ...] = (Quantity.OCCUPANCY, Quantity.DRAIN)
    start_us: int = 11_000
    step_us: int = 1_000
    points: int = 20
    quantiles: tuple[float, ...] = (0.1, 0.5, 0.9)

    def horizon_us(self, point: int) -> int:
        """From the newest sample to a point."""
        return self.start_us + point * self.step_us


@dataclass(frozen=True, slots=True)
class Batch:
    """Forecasts of all bearers of one report. Arrays are shared: nobody writes to them.

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
        limited: ``(B,)`` whether the bearer's queue limit is known; its forecast means nothing
            where it is not.
        model: ``name:version``; empty without a model.
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
    model: str

    def __len__(self) -> int:
        return len(self.rnti)
