"""The criteria for promoting a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from rlc_train.backtest import Losses, Versus
from rlc_train.export.check import LIMIT, STEPS, Comparison
from rlc_train.horizon import Layout

CALIBRATION_LIMIT: Final = 0.02
"""Largest difference between nominal and observed coverage: two points."""


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
    """All conditions; a model is promoted if every one is met."""

    findings: tuple[Finding, ...]

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
) -> Verdict:
    """Checks all conditions for a model.

    Args:
        splits: Split → forecaster → its losses, from the same origins for `model` and `against`.
        model: Name of the candidate.
        layout: Axes of its forecasts.
        comparison: Export check; None if it was not exported.
        against: Forecasters that it must beat.
        horizons_us: Horizons at which it must beat them.
        seed: Seed of the bootstrap.
    """
    findings: list[Finding] = []
    for split in ("test", "unseen"):
        losses = splits.get(split)
        if losses is None or model not in losses:
            findings.append(Finding(f"{split} split", "was not evaluated", holds=False))
            continue
        for name in against:
            if name not in losses:
                findings.append(Finding(f"{split}: {name}", "was not evaluated", holds=False))
                continue
            versus = Versus(losses[model], losses[name])
            for horizon_us in horizons_us:
                findings += _skill(versus, (split, name), layout, horizon_us, seed)
        findings += _calibrated(losses[model], split, layout)
    findings.append(_exported(comparison))
    return Verdict(tuple(findings))


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


def _calibrated(losses: Losses, split: str, layout: Layout) -> list[Finding]:
    """Calibration of each quantile and the outer interval, over all points of a quantity."""
    pooled = losses.pooled().calibration(layout.levels)
    findings = []
    for q, quantity in enumerate(layout.quantities):
        what = f"{split}: calibration, {quantity.value}"
        worst = float(np.max(pooled.deviation()[q, 0]))
        interval = float(pooled.interval_deviation()[q, 0])
        strict, closed = (float(share[q, 0]) for share in pooled.interval())
        shares = ", ".join(
            f"{level:g}: {low:.3f}…{high:.3f}"
            for level, low, high in zip(
                layout.quantiles, pooled.below[q, 0], pooled.up_to[q, 0], strict=True
            )
        )
        found = (
            f"off by {max(worst, interval) * 100:.1f} points (below…up to {shares}; outer interval"
            f" has {strict:.3f}…{closed:.3f}); expected at most {CALIBRATION_LIMIT * 100:g}"
        )
        findings.append(Finding(what, found, holds=max(worst, interval) <= CALIBRATION_LIMIT))
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
