"""Axes of forecasts: quantities, points in time, quantiles."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rlc_model import FEATURES, Manifest, Quantity

from rlc_train.errors import TrainError

DEFAULT_QUANTILES: Final = (0.1, 0.5, 0.9)


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


@dataclass(frozen=True, slots=True)
class Layout:
    """The axes of forecasts.

    Attributes:
        quantities: Forecast quantities; each is also a feature.
        start_us: From the newest sample to the first point, µs.
        step_us: Between points (T_w), µs.
        points: Number of points M.
        quantiles: Increasing, within (0, 1).
        period_us: Sample period (T_r), µs.
    """

    quantities: tuple[Quantity, ...] = field(default_factory=lambda: tuple(Quantity))
    start_us: int = 11_000
    step_us: int = 1_000
    points: int = 20
    quantiles: tuple[float, ...] = DEFAULT_QUANTILES
    period_us: int = 1_000

    def __post_init__(self) -> None:
        if not self.quantities or len(set(self.quantities)) != len(self.quantities):
            raise TrainError("layout.quantities", "expected one or more, each once")
        if self.points < 1 or self.step_us < 1 or self.start_us < 0:
            raise TrainError(
                "layout", f"start {self.start_us} µs, step {self.step_us} µs, {self.points} points"
            )
        if self.start_us % self.period_us or self.step_us % self.period_us:
            raise TrainError(
                "layout",
                f"start {self.start_us} µs and step {self.step_us} µs; expected multiples of the"
                f" sample period {self.period_us} µs",
            )
        levels = self.quantiles
        if not levels or list(levels) != sorted(set(levels)) or not 0 < levels[0] <= levels[-1] < 1:
            raise TrainError("layout.quantiles", f"{levels} must increase strictly within (0, 1)")

    @classmethod
    def of(cls, manifest: Manifest) -> Layout:
        """The axes of an exported model, on the default sample period."""
        horizon = manifest.horizon
        return cls(
            tuple(manifest.quantities),
            horizon.start_us,
            horizon.step_us,
            horizon.points,
            tuple(manifest.quantiles),
        )

    @property
    def columns(self) -> list[int]:
        """Feature column of each quantity."""
        return [FEATURES.index(q.value) for q in self.quantities]

    @property
    def target_columns(self) -> list[int]:
        """Target column of each quantity."""
        return [list(Quantity).index(q) for q in self.quantities]

    @property
    def ahead(self) -> NDArray[np.int64]:
        """``(M,)`` distance of each point from the newest sample, in samples."""
        start, step = self.start_us // self.period_us, self.step_us // self.period_us
        return start + step * np.arange(self.points, dtype=np.int64)

    @property
    def ends_us(self) -> tuple[int, ...]:
        """The first and the last point, for tables."""
        last = self.start_us + (self.points - 1) * self.step_us
        return tuple(dict.fromkeys((self.start_us, last)))

    @property
    def levels(self) -> NDArray[np.float32]:
        """``(K,)`` quantiles."""
        return np.array(self.quantiles, np.float32)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Quantities, points, quantiles."""
        return len(self.quantities), self.points, len(self.quantiles)

    @property
    def last_us(self) -> int:
        """From the newest sample to the last point, µs."""
        return self.start_us + (self.points - 1) * self.step_us

    def check_reach(self, t_c_us: float) -> None:
        """Checks that points reach the arrival of what a CU sends when it gets the forecast.

        It gets it at the first point, and a packet takes `t_c_us` to the DU (stolidis2024 §III-B).

        Raises:
            TrainError: The last point is earlier.
        """
        if self.last_us < self.start_us + t_c_us:
            points = 1 + int(np.ceil(t_c_us / self.step_us))
            raise TrainError(
                "horizon.points",
                f"{self.points} in steps of {self.step_us} µs end {self.last_us} µs after a"
                f" sample; what a CU sends by them arrives {self.start_us + t_c_us:g} µs after it;"
                f" expected {points} points or longer steps",
            )

    def point_at(self, horizon_us: int) -> int:
        """The point at a horizon.

        Raises:
            TrainError: There is no such point.
        """
        point, rest = divmod(horizon_us - self.start_us, self.step_us)
        if rest or not 0 <= point < self.points:
            raise TrainError(
                "horizon",
                f"{horizon_us} µs is not a point; expected {self.start_us}…{self.last_us} µs in"
                f" steps of {self.step_us} µs",
            )
        return int(point)
