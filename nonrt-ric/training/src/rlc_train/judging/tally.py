"""Losses of model, simple forecasters and what is served, by recording, radio and bearer kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rlc_dataset import SeriesOrigin

from rlc_train.backtest import Losses
from rlc_train.horizon import Layout

FORECASTERS: Final = ("model", "adaptive", "served", "simple")
"""The model, adaptive persistence, what the forecaster serves, and the best simple forecaster; the
order is that of ``rlc_native.judge``."""
COUNTS: Final = ("strict", "closed", "count")
"""The sums of :class:`Tally` beside losses."""


@dataclass(frozen=True, slots=True)
class WindowLosses:
    """Losses on a window, or on a split.

    Attributes:
        pinball: ``(blocks, Q, M)`` sums, of those of :data:`FORECASTERS` that are known.
        below, up_to: ``(Q, M, K)`` values strictly below each quantile of the model, and at or
            below.
        count: ``(Q, M)`` known values.
    """

    pinball: Mapping[str, NDArray[np.float64]]
    below: NDArray[np.float64]
    up_to: NDArray[np.float64]
    count: NDArray[np.float64]


@dataclass(slots=True)
class Tally:
    """Losses on one recording, radio and bearer kind.

    Attributes:
        recording: Name of the recording.
        radio: Name of the radio.
        bearer_kind: The kind.
        pinball: ``(blocks, Q, M)`` sums of each window, of each of :data:`FORECASTERS`.
        strict, closed: ``(Q, M)`` values strictly within the model's outer quantiles, and within or
            on them.
        count: ``(Q, M)`` known values.
    """

    recording: str
    radio: str
    bearer_kind: str
    pinball: dict[str, list[NDArray[np.float64]]]
    strict: NDArray[np.float64]
    closed: NDArray[np.float64]
    count: NDArray[np.float64]

    @classmethod
    def empty(cls, recording: str, origin: SeriesOrigin, layout: Layout) -> Tally:
        """A tally of no window yet."""
        sums = (np.zeros(layout.shape[:2]) for _ in range(3))
        return cls(
            recording, origin.radio, origin.bearer_kind, {name: [] for name in FORECASTERS}, *sums
        )

    @classmethod
    def of(cls, names: tuple[str, str, str], model: Losses, simple: Losses) -> Tally:
        """Losses of a back-test of model and best simple forecaster, in which the others are
        unknown; `names` are recording, radio and kind."""
        tally = cls._empty(names, model.count.shape[1:])
        pinball = {"model": model.pinball, "simple": simple.pinball}
        counts = (one.sum(0) for one in (model.below, model.up_to, model.count))
        tally.add(WindowLosses(pinball, *counts))
        return tally

    @classmethod
    def pooled(cls, parts: Sequence[Tally]) -> Tally:
        """Several of one kind as one."""
        sums = (np.sum([getattr(one, name) for one in parts], axis=0) for name in COUNTS)
        pinball = {
            name: [block for one in parts for block in one.pinball[name]] for name in FORECASTERS
        }
        return cls("all", "all", parts[0].bearer_kind, pinball, *sums)

    @classmethod
    def _empty(cls, names: tuple[str, str, str], shape: tuple[int, ...]) -> Tally:
        sums = (np.zeros(shape) for _ in range(3))
        return cls(*names, {name: [] for name in FORECASTERS}, *sums)

    def add(self, losses: WindowLosses) -> None:
        """Adds those of a window."""
        for name, pinball in losses.pinball.items():
            self.pinball[name].append(pinball)
        below, up_to = losses.below, losses.up_to
        self.strict += np.maximum(below[..., -1] - up_to[..., 0], 0)
        self.closed += up_to[..., -1] - below[..., 0]
        self.count += losses.count

    def extend(self, other: Tally) -> None:
        """Adds those of another bearer of the same kind."""
        for name, blocks in other.pinball.items():
            self.pinball[name] += blocks
        for name in COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def blocks(self, name: str) -> NDArray[np.float64]:
        """``(blocks, Q, M)`` sums of a forecaster."""
        return np.concatenate(self.pinball[name])
