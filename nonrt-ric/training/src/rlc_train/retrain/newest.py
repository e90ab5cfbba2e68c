"""Judges models on the newest data: has the one that is served drifted, is a new one better?

Both are questions about the forecasts that users get, so both are answered by pinball loss with the
forecaster's online calibration, with a 95 % interval by a bootstrap over blocks of one second.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rlc_model import Manifest, Quantity

from rlc_train import backtest
from rlc_train.baselines.mix import FALLBACK, BestSimple
from rlc_train.errors import TrainError
from rlc_train.horizon import Layout
from rlc_train.judging.model import JudgedModel
from rlc_train.metrics import Interval, skill_interval
from rlc_train.series import Series
from rlc_train.splits import SETTLING_SAMPLES, Part

DRIFT_SAMPLES: Final = 1_200_000
"""Most samples that drift is judged on, however much data is new: twenty minutes of a bearer."""
DRIFT_WINDOW_SAMPLES: Final = 10_000
"""A window costs its own samples and those in which state and calibration settle."""


@dataclass(frozen=True, slots=True)
class Drift:
    """Whether a quantity's forecasts have become worse.

    Attributes:
        quantity: The quantity.
        ratio: Pinball loss over that of the best simple forecaster, over all points, on the newest
            data.
        low, high: Its 95 % interval.
        promoted: The same ratio on held-out data when the model was promoted; None if its manifest
            has none.
    """

    quantity: str
    ratio: float
    low: float
    high: float
    promoted: float | None

    @property
    def drifted(self) -> bool:
        """Whether the interval is above the ratio at promotion, or one of them is not known."""
        return self.promoted is None or not self.low <= self.promoted


def drift_of(
    model: JudgedModel,
    promoted: Mapping[str, float],
    newest: Sequence[Series],
    origins: int,
    seed: int,
) -> list[Drift]:
    """The drift of each quantity that has values in the newest data.

    Of more than :data:`DRIFT_SAMPLES`, windows that are evenly spread are judged. `promoted` is
    that of :func:`promoted_ratios`.

    Raises:
        TrainError: The newest data has no sample with a label.
    """
    parts = [Part(one, min(SETTLING_SAMPLES, len(one) // 3), len(one)) for one in newest]
    parts = spread_windows(parts, DRIFT_SAMPLES)
    layout = model.layout
    chosen = backtest.origins_of(parts, layout, origins)
    simple = BestSimple()
    simple.fit([], layout, seed)
    versus = backtest.Versus(
        backtest.run(model.forecaster, chosen, layout), backtest.run(simple, chosen, layout)
    )
    found = []
    for q, quantity in enumerate(layout.quantities):
        skill = versus.skill(q, None, seed)
        if np.isfinite(skill.value):
            ends = 1 - skill.value, 1 - skill.high, 1 - skill.low
            found.append(Drift(quantity.value, *ends, promoted.get(quantity.value)))
    return found


def spread_windows(parts: Sequence[Part], most: int) -> list[Part]:
    """The parts, or windows of :data:`DRIFT_WINDOW_SAMPLES` evenly spread over them that have about
    `most` samples."""
    total = sum(len(part) for part in parts)
    if total <= most:
        return list(parts)
    windows = [
        Part(part.series, at, min(at + DRIFT_WINDOW_SAMPLES, part.stop))
        for part in parts
        for at in range(part.start, part.stop, DRIFT_WINDOW_SAMPLES)
    ]
    count = max(1, round(len(windows) * most / total))
    # In the middles of as many equal shares.
    return [windows[(2 * k + 1) * len(windows) // (2 * count)] for k in range(count)]


def promoted_ratios(manifest: Manifest) -> dict[str, float]:
    """Pinball loss over that of the best simple forecaster at a promotion, by quantity."""
    return {
        metric.quantity.value: metric.model_value / metric.baseline_value
        for metric in manifest.metrics
        if metric.baseline == FALLBACK and metric.metric == "pinball" and metric.baseline_value > 0
    }


@dataclass(frozen=True, slots=True)
class Compared:
    """A new model against the one that is served, at one horizon.

    Attributes:
        quantity: The quantity.
        horizon_us: From the newest sample.
        ratio: Pinball loss of the new model over that of the served one; infinite if only the
            latter has none.
        low, high: Its 95 % interval.
    """

    quantity: str
    horizon_us: int
    ratio: float
    low: float
    high: float

    @property
    def worse(self) -> bool:
        """Whether the interval is above 1, or not known."""
        return not self.low <= 1


def compare(
    new: JudgedModel,
    served: JudgedModel,
    held: Sequence[Part],
    *,
    horizons_us: Sequence[int],
    origins: int,
    seed: int,
) -> list[Compared]:
    """The new model against the served one on parts of which the new one learned nothing.

    Raises:
        TrainError: There is no such part, or the served model lacks a quantity or a horizon.
    """
    missing = [q.value for q in new.layout.quantities if q not in served.layout.quantities]
    if missing:
        raise TrainError("the served model", f"does not forecast {', '.join(missing)}")
    farthest = max((new, served), key=lambda model: int(model.layout.ahead[-1]))
    chosen = backtest.origins_of(held, farthest.layout, origins)
    losses = [
        _pinball(backtest.run(model.forecaster, chosen, model.layout), model.layout, horizons_us)
        for model in (new, served)
    ]
    found = []
    for quantity in new.layout.quantities:
        ours, theirs = (each[quantity] for each in losses)
        for at, horizon_us in enumerate(horizons_us):
            skill: Interval = skill_interval(ours[:, at], theirs[:, at], seed=seed)
            if np.isfinite(skill.value):
                ends = 1 - skill.value, 1 - skill.high, 1 - skill.low
                found.append(Compared(quantity.value, horizon_us, *ends))
            elif ours[:, at].sum() > 0:
                found.append(Compared(quantity.value, horizon_us, math.inf, math.inf, math.inf))
    return found


def refusals(compared: Sequence[Compared]) -> list[str]:
    """Why a new model must not replace the served one; empty if it may.

    It must not be worse anywhere by more than noise, nor worse on average.
    """
    if not compared:
        return ["no quantity has a value in the newest data that nothing was learned from"]
    found = [
        f"{one.quantity} at {one.horizon_us / 1000:g} ms: {one.ratio:.3f} of the served model's"
        f" loss, 95 % interval {one.low:.3f}…{one.high:.3f}; expected not all above 1"
        for one in compared
        if one.worse
    ]
    mean = float(np.mean([one.ratio for one in compared]))
    if mean > 1:
        found.append(f"mean of all quantities: {mean:.3f} of the served model's loss; expected ≤ 1")
    return found


def _pinball(
    losses: backtest.Losses, layout: Layout, horizons_us: Sequence[int]
) -> Mapping[Quantity, NDArray[np.float64]]:
    """``(blocks, horizons)`` sums of each quantity."""
    points = [layout.point_at(horizon_us) for horizon_us in horizons_us]
    every: NDArray[Any] = losses.pinball[:, :, points]
    return {quantity: every[:, q] for q, quantity in enumerate(layout.quantities)}
