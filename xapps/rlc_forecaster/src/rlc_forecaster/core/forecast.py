"""What a forecast is: points in time, quantiles, quantities, and where it came from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray
from rlc_model import Quantity


class Source(IntEnum):
    """Who made a bearer's forecast."""

    MODEL = 1
    PERSISTENCE = 2


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
    """Forecasts of all bearers of one report.

    Attributes:
        node_id: The E2 node.
        origin_us: Time of the report, the node's clock, µs since the Unix epoch.
        rnti: ``(B,)``.
        drb: ``(B,)``.
        layout: The axes of ``values``.
        values: ``(B, quantity, M, Q)`` float32 in the quantity's unit, never negative, not
            decreasing along the quantiles.
        source: ``(B,)`` of :class:`Source`.
        model: ``name:version``; empty without a model.
    """

    node_id: str
    origin_us: int
    rnti: NDArray[np.uint32]
    drb: NDArray[np.uint32]
    layout: Layout
    values: NDArray[np.float32]
    source: NDArray[np.uint8]
    model: str

    def __len__(self) -> int:
        return len(self.rnti)
