"""Back-tests: all forecasters from the same origins, losses summed by blocks of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import rlc_native
from numpy.typing import NDArray

from rlc_train.baselines.base import BatchForecaster, Forecaster, spread_origins
from rlc_train.errors import TrainError
from rlc_train.horizon import Layout
from rlc_train.metrics import Calibration, Interval, in_order, skill_interval
from rlc_train.series import labels
from rlc_train.splits import Part

BLOCK_US: Final = 1_000_000
"""Blocks of the bootstrap: longer than the correlation due to queues, TCP round trips and TDD."""
SAME_BYTES: Final = 0.5
"""Values are whole bytes; values closer than this are ties."""

SUMS: Final = ("pinball", "absolute", "below", "up_to", "count")
"""The arrays of :class:`Losses`."""
LABELS: Final = ("scenario", "radio", "bearer_kind")
"""What :class:`Losses` says of each block."""

OnProgress = Callable[[str, int, int], None]
"""Called after every part: name of the forecaster, parts done, parts in total."""


@dataclass(slots=True)
class Losses:
    """Losses of one forecaster on one split.

    Axes: block, quantity, point.

    Attributes:
        pinball: ``(blocks, Q, M)`` sums over origins of the mean over quantiles.
        absolute: ``(blocks, Q, M)`` sums of the middle quantile's error.
        below: ``(blocks, Q, M, K)`` values strictly below each quantile.
        up_to: ``(blocks, Q, M, K)`` values at or below each quantile.
        count: ``(blocks, Q, M)`` known values.
        scenario: The scenario of each block.
        radio: The radio of each block.
        bearer_kind: ``paced`` or ``unpaced`` of each block.
    """

    pinball: NDArray[np.float64]
    absolute: NDArray[np.float64]
    below: NDArray[np.float64]
    up_to: NDArray[np.float64]
    count: NDArray[np.float64]
    scenario: list[str] = field(default_factory=list)
    radio: list[str] = field(default_factory=list)
    bearer_kind: list[str] = field(default_factory=list)

    @classmethod
    def joined(cls, parts: Sequence[Losses]) -> Losses:
        """The blocks of several, one after another."""
        found: dict[str, Any] = {
            name: np.concatenate([getattr(one, name) for one in parts]) for name in SUMS
        }
        found |= {name: [each for one in parts for each in getattr(one, name)] for name in LABELS}
        return cls(**found)

    def of(self, **labels: str) -> Losses:
        """Losses of the blocks with these labels, of :data:`LABELS`."""
        rows = np.ones(len(self.count), np.bool_)
        for label, value in labels.items():
            rows &= np.array([each == value for each in getattr(self, label)], np.bool_)
        kept = np.flatnonzero(rows).tolist()
        found: dict[str, Any] = {name: getattr(self, name)[rows] for name in SUMS}
        found |= {name: [getattr(self, name)[at] for at in kept] for name in LABELS}
        return Losses(**found)

    def pooled(self) -> Losses:
        """Sums over the points: M becomes 1."""
        return Losses(*(getattr(self, name).sum(2, keepdims=True) for name in SUMS))

    def mean_pinball(self) -> NDArray[np.float64]:
        """``(Q, M)``; NaN without values."""
        return ratio(self.pinball.sum(0), self.count.sum(0))

    def mean_absolute(self) -> NDArray[np.float64]:
        """``(Q, M)``; NaN without values."""
        return ratio(self.absolute.sum(0), self.count.sum(0))

    def calibration(self, levels: NDArray[np.float32]) -> Calibration:
        """Shares under each quantile, ``(Q, M, K)``."""
        count = self.count.sum(0)[..., None]
        return Calibration(levels, ratio(self.below.sum(0), count), ratio(self.up_to.sum(0), count))


@dataclass(frozen=True, slots=True)
class Versus:
    """Two forecasters on the same origins.

    Attributes:
        model: Losses of the first.
        reference: Losses of the second.
    """

    model: Losses
    reference: Losses

    def skill(self, quantity: int, point: int | None, seed: int) -> Interval:
        """``1 − loss / loss of the reference`` with its 95 % interval; all points for None."""
        points = slice(None) if point is None else slice(point, point + 1)
        return skill_interval(
            self.model.pinball[:, quantity, points].sum(1),
            self.reference.pinball[:, quantity, points].sum(1),
            seed=seed,
        )

    def skill_by_point(self) -> NDArray[np.float64]:
        """``(Q, M)``; NaN if the reference has no loss."""
        return 1 - ratio(self.model.pinball.sum(0), self.reference.pinball.sum(0))


def ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    """``above / below``; NaN where `below` is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result: NDArray[np.float64] = np.where(below > 0, above / below, np.nan)
    return result


def origins_of(
    parts: Sequence[Part], layout: Layout, most: int
) -> list[tuple[Part, NDArray[np.intp]]]:
    """About `most` origins over the parts, in proportion to their lengths; deterministic.

    Raises:
        TrainError: There is no origin.
    """
    total = sum(len(part) for part in parts)
    found = []
    for part in parts:
        share = max(1, round(most * len(part) / max(total, 1)))
        origins = spread_origins(part, layout, share)
        if len(origins):
            found.append((part, origins))
    if not found:
        raise TrainError("backtest", "the split has no sample with a label")
    return found


def run(
    forecaster: Forecaster,
    chosen: Sequence[tuple[Part, NDArray[np.intp]]],
    layout: Layout,
    on_progress: OnProgress | None = None,
) -> Losses:
    """Losses of a forecaster from the origins.

    Raises:
        TrainError: A forecast is not finite.
    """
    parts: list[Losses] = []
    batch = (
        iter(forecaster.predict_all(chosen)) if isinstance(forecaster, BatchForecaster) else None
    )
    for number, (part, origins) in enumerate(chosen):
        forecast = in_order(forecaster.predict(part, origins) if batch is None else next(batch))
        if not np.isfinite(forecast).all():
            raise TrainError(forecaster.name, f"forecasts NaN or infinity on {part.series.name}")
        actual = labels(part.series, layout, origins, part.stop)
        parts.append(losses_of(part, origins, actual, forecast, layout))
        if on_progress is not None:
            on_progress(forecaster.name, number + 1, len(chosen))
    return Losses.joined(parts)


def block_edges(at_us: NDArray[np.int64]) -> NDArray[np.intp]:
    """Where the blocks of samples at increasing times begin, and the end of the last."""
    block = (at_us - at_us[:1]) // BLOCK_US
    changes: NDArray[np.intp] = np.flatnonzero(np.diff(block, prepend=-1, append=-1))
    return changes


def losses_of(
    part: Part,
    origins: NDArray[np.intp],
    actual: NDArray[np.float32],
    forecast: NDArray[np.float32],
    layout: Layout,
) -> Losses:
    """Losses of forecasts on a part.

    Args:
        part: The part.
        origins: ``(N,)`` increasing rows.
        actual: ``(N, quantity, M)`` of :func:`~rlc_train.series.labels`.
        forecast: ``(N, quantity, M, K)``, in order.
        layout: The axes.
    """
    edges = np.diff(block_edges(part.series.at_us[origins]))
    block = np.repeat(np.arange(len(edges)), edges)
    sums = rlc_native.loss_sums(actual, forecast, block, layout.levels, SAME_BYTES)
    labels: dict[str, Any] = {name: [getattr(part.series, name)] * len(sums[0]) for name in LABELS}
    return Losses(*sums, **labels)
