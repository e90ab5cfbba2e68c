"""The effect of a trial in a sentence."""

from __future__ import annotations

import math

from tc_controller.core.policy.schema import Rule
from tc_controller.core.policy.trial import Trial
from tc_controller.core.trials.effect import Effect
from tc_controller.core.trials.results import Effects


def summary(node_id: str, rule: Rule, trial: Trial, blocks: int, effects: Effects) -> str:
    """What the base is worth against the other pipeline.

    As ``sojourn saved 812 ms at p95 (95 % interval 640 to 990) and cost 0.4 % of the drained
    rate (95 % interval -0.3 to 1.1) against transparent on gnb-1, rule r: 12 pairs of 30 s``.
    """
    base, against = rule.base[0].template, trial.against.template
    kind = "pairs of" if trial.share_of_time is not None else "periods of"
    over = f"on {node_id}, rule {rule.name}: {blocks} {kind} {trial.period_s:g} s"
    sojourn, rate = effects.sojourn_us, effects.log_rate
    if sojourn is None or rate is None:
        return f"no effect of {base} against {against} was measured {over}"
    ratio = rate.relative()
    sure = trial.stop.confidence
    percentile = f"at p{rule.objective.percentile:g}"
    saved = _sentence(sojourn, sure, -1e-3, "ms " + percentile, ("saved", "added"))
    cost = _sentence(ratio, sure, -100.0, "% of the drained rate", ("cost", "gained"))
    return f"{base} {saved} and {cost} against {against} {over}"


def _sentence(
    effect: Effect, confidence: float, scale: float, of: str, verbs: tuple[str, str]
) -> str:
    """The effect times ``scale``, which makes the first verb positive; ``of``: unit and what."""
    low, high = sorted((effect.low * scale, effect.high * scale))
    value = effect.estimate * scale
    first, second = verbs
    if value < 0.0:
        first, value, low, high = second, -value, -high, -low
    interval = f"{confidence * 100:g} % interval "
    if math.isinf(low) or math.isinf(high):
        interval += "not known yet"
    else:
        interval += f"{_figure(low)} to {_figure(high)}"
        interval += ": no difference shown" if low <= 0.0 <= high else ""
    return f"{first} {_figure(value)} {of} ({interval})"


def _figure(value: float) -> str:
    """Three significant digits, at most two after the point."""
    if abs(value) < 0.005:
        return "0"
    return f"{value:.{min(2, max(0, 2 - math.floor(math.log10(abs(value)))))}f}"
