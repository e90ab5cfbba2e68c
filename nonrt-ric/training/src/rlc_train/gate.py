"""The criteria for promoting a model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from rlc_train.backtest import Losses, Versus, ratio
from rlc_train.baselines.mix import FALLBACK, MARGIN, MIX, served_with
from rlc_train.export.check import LIMIT, STEPS, Comparison
from rlc_train.horizon import Layout
from rlc_train.judging.row import Row
from rlc_train.judging.rows import rows_of
from rlc_train.judging.tally import Tally
from rlc_train.metrics import least_excesses, skill_interval, worst_intervals

CALIBRATION_LIMIT: Final = 0.02
"""Largest difference between nominal and observed coverage: two points."""
LEAST_BLOCKS: Final = 20
"""Blocks of one second for a radio to be judged by itself: the percentile bootstrap of fewer is too
narrow."""
EVERY_RADIO: Final = "all"
"""The radio of rows over all radios."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One condition of the gate.

    Attributes:
        what: The condition, with split, quantity and horizon.
        found: The measurement.
        holds: Whether it is met.
    """

    what: str
    found: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """All conditions; a model is promoted if every one is met.

    Attributes:
        findings: The conditions.
        rows: What is served with the model against the best simple forecaster by split
            (`recording`), radio and kind of bearer, at the horizons of the gate.
        worse_radios: Radios on which that is worse, where it does not refuse the model.
    """

    findings: tuple[Finding, ...]
    rows: tuple[Row, ...] = ()
    worse_radios: tuple[Finding, ...] = ()

    @property
    def worst(self) -> Row | None:
        """The row with the largest ratio."""
        known = [row for row in self.rows if row.ratio is not None]
        return max(known, key=lambda row: row.ratio or 0.0, default=None)

    @property
    def promoted(self) -> bool:
        """Whether there are conditions and all are met."""
        return bool(self.findings) and all(finding.holds for finding in self.findings)

    def refusal(self) -> str:
        """One line per unmet condition."""
        return "\n".join(f"{f.what}: {f.found}" for f in self.findings if not f.holds)


def judge(
    splits: Mapping[str, Mapping[str, Losses]],
    model: str,
    layout: Layout,
    comparison: Comparison | None,
    *,
    against: Sequence[str],
    horizons_us: Sequence[int],
    seed: int,
    each_radio: bool = True,
) -> Verdict:
    """Checks all conditions for a model.

    Args:
        splits: Split → forecaster → its losses, from the same origins for `model` and `against`.
        model: Name of the candidate.
        layout: Axes of its forecasts.
        comparison: Export check; None if it was not exported.
        against: Forecasters that it must beat; of :data:`~rlc_train.baselines.mix.FALLBACK` and
            :data:`~rlc_train.baselines.mix.MIX` those that what is served with it must.
        horizons_us: Horizons at which it must beat them.
        seed: Seed of the bootstrap.
        each_radio: Whether forecasts that are worse than the fall-back on one radio refuse the
            model, by intervals that hold for all radios together; on all bearers of a kind they
            always do.
    """
    findings: list[Finding] = []
    radios: list[Tally] = []
    rows: list[Row] = []
    for split in ("test", "unseen"):
        losses = splits.get(split)
        if losses is None or model not in losses:
            findings.append(Finding(f"{split} split", "was not evaluated", holds=False))
            continue
        served = served_with(model)
        for name in against:
            ours = served if name in (FALLBACK, MIX) else model
            if missing := [one for one in (ours, name) if one not in losses]:
                findings += [
                    Finding(f"{split}: {one}", "was not evaluated", holds=False) for one in missing
                ]
            elif name == MIX:
                versus = Versus(losses[served], losses[MIX])
                findings.append(_gains(versus, split, layout, horizons_us, seed))
            elif name == FALLBACK:
                pairs = losses[served], losses[FALLBACK]
                tallies = [*_by_kind(split, *pairs), *_by_radio(split, *pairs)]
                of_split = rows_of(served, layout, tallies, seed)
                kept = [row for row in of_split if row.horizon_us in horizons_us]
                findings += _no_worse(split, [row for row in kept if row.radio == EVERY_RADIO])
                radios += [tally for tally in tallies if tally.radio != EVERY_RADIO]
                rows += kept
            else:
                versus = Versus(losses[model], losses[name])
                for horizon_us in horizons_us:
                    findings += _skill(versus, (split, name), layout, horizon_us, seed)
        findings += _calibrated(losses[model], split, layout, seed)
    by_radio = _no_worse_radio(radios, rows, layout, horizons_us, seed)
    findings.append(_exported(comparison))
    if each_radio:
        return Verdict((*findings, *by_radio), tuple(rows))
    worse = tuple(finding for finding in by_radio if not finding.holds)
    return Verdict(tuple(findings), tuple(rows), worse)


def _gains(
    versus: Versus, split: str, layout: Layout, horizons_us: Sequence[int], seed: int
) -> Finding:
    """Check that what is served is better with the model than without: in the mean over the
    quantities and horizons, each by its own loss without it."""
    what = f"{split}: skill of what is served with the model over what is without"
    points = [layout.point_at(horizon_us) for horizon_us in horizons_us]
    ours, theirs = (one.pinball[:, :, points] for one in (versus.model, versus.reference))
    total = theirs.sum(0)
    if not total.any():
        return Finding(what, "there is no loss without it", holds=False)
    weight = np.divide(1, total, out=np.zeros_like(total), where=total > 0)
    skill = skill_interval((ours * weight).sum((1, 2)), (theirs * weight).sum((1, 2)), seed=seed)
    found = f"{skill.value:+.3f}, 95 % interval {skill.low:+.3f}…{skill.high:+.3f}"
    return Finding(what, f"{found}; expected all above 0", holds=skill.low > 0)


def _by_kind(split: str, model: Losses, fallback: Losses) -> list[Tally]:
    """Losses of each kind of bearer over all radios."""
    return [
        Tally.of(
            (split, EVERY_RADIO, kind), *(one.of(bearer_kind=kind) for one in (model, fallback))
        )
        for kind in sorted(set(model.bearer_kind))
    ]


def _by_radio(split: str, model: Losses, fallback: Losses) -> list[Tally]:
    """Losses of each radio that has enough, by kind of bearer."""
    found = []
    for kind, radio in sorted(set(zip(model.bearer_kind, model.radio, strict=True))):
        ours, theirs = (one.of(bearer_kind=kind, radio=radio) for one in (model, fallback))
        if len(ours.count) >= LEAST_BLOCKS:
            found.append(Tally.of((split, radio, kind), ours, theirs))
    return found


def _no_worse(split: str, rows: Sequence[Row]) -> list[Finding]:
    """Check, by kind of bearer, that forecasts are worse than the fall-back at no horizon."""
    findings = []
    for kind in dict.fromkeys(row.bearer_kind for row in rows):
        mine = [row for row in rows if row.bearer_kind == kind]
        worst = max(mine, key=_least_ratio)
        found = (
            f"ratio {worst.interval()}; expected an interval that is not all above {1 + MARGIN:g}"
        )
        if worst.ratio is None:
            found = f"{FALLBACK} has no loss, what is served {worst.pinball:g}"
        findings.append(
            Finding(
                _not_worse(split, "all radios", kind),
                f"worst: {worst.quantity}, {worst.horizon_us / 1000:g} ms, {found}",
                holds=_least_ratio(worst)[0] <= 1 + MARGIN,
            )
        )
    return findings


def _least_ratio(row: Row) -> tuple[float, float]:
    """What the ratio is at the least, infinite where nothing is known of that; and the ratio."""
    if row.ratio is None:
        # The fall-back makes no error: a model that makes none either is as good.
        return (math.inf if row.pinball > 0 else 0.0), 0.0
    return (math.inf if row.ratio_low is None else row.ratio_low), row.ratio


def _no_worse_radio(
    radios: Sequence[Tally],
    rows: Sequence[Row],
    layout: Layout,
    horizons_us: Sequence[int],
    seed: int,
) -> list[Finding]:
    """Check, by radio and kind, that forecasts are worse than the fall-back at no horizon.

    The intervals hold for all radios, quantities and horizons together: of a hundred intervals by
    themselves two or three are above 1 for a model that is nowhere worse.
    """
    points = [layout.point_at(horizon_us) for horizon_us in horizons_us]
    pairs = []
    for tally in radios:
        ours, theirs = (tally.blocks(name)[:, :, points] for name in ("model", "simple"))
        allowed = (1 + MARGIN) * theirs
        pairs.append((ours.reshape(len(ours), -1), allowed.reshape(len(allowed), -1)))
    findings = []
    for tally, (_, allowed), excess in zip(
        radios, pairs, least_excesses(pairs, seed=seed), strict=True
    ):
        least = (1 + MARGIN) * (1 + ratio(excess, allowed.sum(0)))
        q, at = divmod(int(np.argmax(np.where(np.isfinite(least), least, 0))), len(points))
        quantity, horizon_us = layout.quantities[q].value, horizons_us[at]
        where = (tally.recording, tally.radio, tally.bearer_kind, quantity, horizon_us)
        found = next((row.interval() for row in rows if _place(row) == where), "unknown")
        findings.append(
            Finding(
                _not_worse(tally.recording, f"radio {tally.radio}", tally.bearer_kind),
                f"worst: {quantity}, {horizon_us / 1000:g} ms, ratio {found},"
                f" {np.nanmax(least, initial=0):.3f} or more with the intervals of all radios"
                f" together; expected {1 + MARGIN:g} or less",
                holds=not bool((excess > 0).any()),
            )
        )
    return findings


def _place(row: Row) -> tuple[str, str, str, str, int]:
    return row.recording, row.radio, row.bearer_kind, row.quantity, row.horizon_us


def _not_worse(split: str, where: str, kind: str) -> str:
    return f"{split}: not worse than {FALLBACK}, {where}, {kind} bearers"


def _skill(
    versus: Versus, what: tuple[str, str], layout: Layout, horizon_us: int, seed: int
) -> list[Finding]:
    """Skill over a baseline on a split, per quantity at one horizon."""
    split, name = what
    point = layout.point_at(horizon_us)
    findings = []
    for q, quantity in enumerate(layout.quantities):
        condition = f"{split}: skill over {name}, {quantity.value}, {horizon_us / 1000:g} ms"
        if versus.model.count[:, q, point].sum() == 0:
            findings.append(Finding(condition, "there is no value", holds=False))
            continue
        skill = versus.skill(q, point, seed)
        if np.isnan(skill.value):
            loss = float(versus.model.pinball[:, q, point].sum())
            findings.append(
                Finding(condition, f"{name} has no loss, the model {loss:g}", holds=loss == 0)
            )
            continue
        found = f"{skill.value:+.3f}, 95 % interval {skill.low:+.3f}…{skill.high:+.3f}"
        findings.append(Finding(condition, f"{found}; expected all above 0", holds=skill.low > 0))
    return findings


def _calibrated(losses: Losses, split: str, layout: Layout, seed: int) -> list[Finding]:
    """Calibration of each quantile and the outer interval, over all points of a quantity."""
    pooled = losses.pooled()
    shares = pooled.below[:, :, 0], pooled.up_to[:, :, 0], pooled.count[:, :, 0]
    off, low, high = 100 * worst_intervals(shares, layout.levels, seed=seed)
    found = pooled.calibration(layout.levels)
    findings = []
    for q, quantity in enumerate(layout.quantities):
        strict, closed = (float(share[q, 0]) for share in found.interval())
        quantiles = ", ".join(
            f"{level:g}: {below:.3f}…{up_to:.3f}"
            for level, below, up_to in zip(
                layout.quantiles, found.below[q, 0], found.up_to[q, 0], strict=True
            )
        )
        findings.append(
            Finding(
                f"{split}: calibration, {quantity.value}",
                f"off by {off[q]:.1f} points, 95 % interval {low[q]:.1f}…{high[q]:.1f} (below…up to"
                f" {quantiles}; outer interval has {strict:.3f}…{closed:.3f}); expected at most"
                f" {CALIBRATION_LIMIT * 100:g}",
                holds=bool(off[q] <= CALIBRATION_LIMIT * 100),
            )
        )
    return findings


def _exported(comparison: Comparison | None) -> Finding:
    what = f"export equals the model over {STEPS} steps"
    if comparison is None:
        return Finding(what, "was not compared", holds=False)
    found = (
        f"difference {comparison.forecast:.2e} after {comparison.steps} steps; expected at most"
        f" {LIMIT:g}"
    )
    return Finding(what, found, holds=comparison.holds and comparison.steps >= STEPS)
