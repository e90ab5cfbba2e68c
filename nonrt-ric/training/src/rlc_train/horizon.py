"""Axes of forecasts: quantities, points in time, quantiles.

Points are dense where forecasts are good and a packet sent at once arrives, and sparse further out.
Occupancy and queue limit at a point are of that instant. The drain at a point is the mean rate over
its span, the time since the point before: values of single milliseconds, some apart, would say
nothing of those between, and would alias with a TDD pattern.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rlc_model import FEATURES, Manifest, Quantity, spans_us

from rlc_train.errors import TrainError

DEFAULT_QUANTILES: Final = (0.1, 0.5, 0.9)
MIDDLE_US: Final = 30_000
"""Between the ends, a horizon that tables show if it is a point."""
LEAST_REACH_US: Final = 100_000
"""Points reach this far at least."""
_STEPS_MS: Final = ((0, 1), (5, 2), (10, 5), (35, 10), (100, 20), (200, 50))
"""Steps of points, by their distance from the first: up to five points 1 ms apart, then about a
third of the distance."""


def first_point_us(t_rd_us: float, t_m_us: float, t_rc_us: float, period_us: int) -> int:
    """Offset of the first label, ``T_RD + T_m + T_RC`` (stolidis2024 §IV-C), on the sample grid.

    Rounded up: a forecast must arrive before its first point.

    Args:
        t_rd_us: DU to Near-RT RIC, µs.
        t_m_us: Measured inference, µs.
        t_rc_us: Near-RT RIC to CU, µs.
        period_us: Sample period, µs.

    Raises:
        TrainError: A delay is negative or not finite, or the period is not positive.
    """
    for name, value in (("t_rd_us", t_rd_us), ("t_m_us", t_m_us), ("t_rc_us", t_rc_us)):
        if not (np.isfinite(value) and value >= 0):
            raise TrainError(f"horizon.{name}", f"is {value}; expected a time of 0 µs or more")
    if period_us < 1:
        raise TrainError("horizon.period_us", f"is {period_us}; expected 1 µs or more")
    total = t_rd_us + t_m_us + t_rc_us
    return int(np.ceil(round(total / period_us, 9))) * period_us


def graded_points(first_us: int, reach_us: float) -> tuple[int, ...]:
    """Points from `first_us` to `reach_us`, dense at first; steps of some milliseconds end at their
    multiples.

    From 11 ms to 100 ms: 11, 12, 13, 14, 15, 16, 18, 20, 22, 25, 30, 35, …, 50, 60, …, 100.

    Args:
        first_us: The first point, in whole milliseconds.
        reach_us: The last point is this or later.
    """
    points = [first_us]
    while points[-1] < reach_us:
        passed_ms = (points[-1] - first_us) / 1_000
        step_us = 1_000 * max(step for least, step in _STEPS_MS if passed_ms >= least)
        points.append((points[-1] // step_us + 1) * step_us)
    return tuple(points)


DEFAULT_POINTS_US: Final = graded_points(11_000, LEAST_REACH_US)


@dataclass(frozen=True, slots=True)
class Layout:
    """The axes of forecasts.

    Attributes:
        quantities: Forecast quantities; each is also a feature.
        points_us: From the newest sample to each point, increasing, µs.
        quantiles: Increasing, within (0, 1).
        period_us: Sample period (T_r), µs.
    """

    quantities: tuple[Quantity, ...] = field(default_factory=lambda: tuple(Quantity))
    points_us: tuple[int, ...] = DEFAULT_POINTS_US
    quantiles: tuple[float, ...] = DEFAULT_QUANTILES
    period_us: int = 1_000

    def __post_init__(self) -> None:
        if not self.quantities or len(set(self.quantities)) != len(self.quantities):
            raise TrainError("layout.quantities", "expected one or more, each once")
        if not self.points_us or self.points_us[0] < 0:
            raise TrainError("layout.points_us", f"{self.points_us}; expected times from 0 on")
        for before, point in pairwise(self.points_us):
            if point <= before:
                raise TrainError(
                    "layout.points_us", f"{point} after {before}; expected a later one"
                )
        for point in self.points_us:
            if point % self.period_us:
                raise TrainError(
                    "layout.points_us",
                    f"{point} µs; expected a multiple of the sample period {self.period_us} µs",
                )
        levels = self.quantiles
        if not levels or list(levels) != sorted(set(levels)) or not 0 < levels[0] <= levels[-1] < 1:
            raise TrainError("layout.quantiles", f"{levels} must increase strictly within (0, 1)")

    @classmethod
    def of(cls, manifest: Manifest) -> Layout:
        """The axes of an exported model, on the default sample period."""
        points = manifest.horizon.points_us
        return cls(tuple(manifest.quantities), tuple(points), tuple(manifest.quantiles))

    @property
    def columns(self) -> list[int]:
        """Feature column of each quantity."""
        return [FEATURES.index(q.value) for q in self.quantities]

    @property
    def points(self) -> int:
        """Number of points M."""
        return len(self.points_us)

    @property
    def ahead(self) -> NDArray[np.int64]:
        """``(M,)`` distance of each point from the newest sample, in samples."""
        return np.array(self.points_us, np.int64) // self.period_us

    @property
    def spans(self) -> tuple[int, ...]:
        """Span of each point in samples."""
        return tuple(us // self.period_us for us in spans_us(self.points_us, self.period_us))

    @property
    def outcome_kinds(self) -> tuple[tuple[Quantity, int], ...]:
        """Quantity and span, in samples, of each distinct outcome: a drain for each of the spans,
        each other quantity of an instant, whose span is 1."""
        return tuple(dict.fromkeys(kind for row in self._kinds() for kind in row))

    @property
    def outcome_columns(self) -> NDArray[np.intp]:
        """``(Q, M)`` index into :attr:`outcome_kinds`."""
        kinds = self.outcome_kinds
        return np.array([[kinds.index(kind) for kind in row] for row in self._kinds()], np.intp)

    def _kinds(self) -> list[list[tuple[Quantity, int]]]:
        return [
            [(q, span if q is Quantity.DRAIN else 1) for span in self.spans]
            for q in self.quantities
        ]

    @property
    def judged_us(self) -> tuple[int, ...]:
        """The first point, 30 ms if it is one, and the last, for tables."""
        middle = (point for point in self.points_us if point == MIDDLE_US)
        return tuple(dict.fromkeys((self.points_us[0], *middle, self.points_us[-1])))

    @property
    def ends_ms(self) -> str:
        """The points as text: number, first and last."""
        first, last = self.points_us[0] / 1_000, self.points_us[-1] / 1_000
        return f"{self.points} points from {first:g} to {last:g} ms"

    @property
    def levels(self) -> NDArray[np.float32]:
        """``(K,)`` quantiles."""
        return np.array(self.quantiles, np.float32)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Quantities, points, quantiles."""
        return len(self.quantities), self.points, len(self.quantiles)

    def check_reach(self, t_c_us: float) -> None:
        """Checks that points reach the arrival of what a CU sends when it gets the forecast.

        It gets it at the first point, and a packet takes `t_c_us` to the DU (stolidis2024 §III-B).

        Raises:
            TrainError: The last point is earlier.
        """
        arrival_us = self.points_us[0] + t_c_us
        if self.points_us[-1] < arrival_us:
            raise TrainError(
                "horizon.points_us",
                f"ends {self.points_us[-1]} µs after a sample; what a CU sends by a forecast"
                f" arrives {arrival_us:g} µs after it; expected a point there or later",
            )

    def point_at(self, horizon_us: int) -> int:
        """The point at a horizon.

        Raises:
            TrainError: There is no such point.
        """
        try:
            return self.points_us.index(horizon_us)
        except ValueError:
            points = ", ".join(str(point) for point in self.points_us)
            raise TrainError(
                "horizon", f"{horizon_us} µs is not a point; expected of {points}"
            ) from None
