"""When the effects of a trial are enough to end it, and which pipeline then stays.

The base is what the operator chose, so the burden of proof is the other pipeline's: it stays if its
intervals show a gain that is worth a change *and* that what it costs is within the limits
(superiority in one measure, non-inferiority in the other; ICH E9 §3.3.2, EMA CPMP/EWP/482/99).
That no loss was *shown* is no reason to keep it: a wide interval shows nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tc_controller.core.policy.trial import Trial
from tc_controller.core.trials.effect import Effect
from tc_controller.core.trials.results import Effects
from tc_controller.core.trials.schedule import Arm

_UNKNOWN = Effect(0, 0.0, -math.inf, math.inf)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The pipeline that stays, and why, as a clause."""

    kept: Arm
    why: str


def decided(trial: Trial, effects: Effects) -> Verdict | None:
    """The verdict if the effects suffice for one before the trial's time is over."""
    rejected = _rejected(trial, effects)
    if rejected is not None:
        return Verdict(Arm.BASE, rejected)
    adopted = _adopted(trial, effects, _early_ms(trial))
    return None if adopted is None else Verdict(Arm.AGAINST, adopted)


def at_end(trial: Trial, effects: Effects) -> Verdict:
    """The verdict once the trial is over, whatever its intervals are."""
    adopted = _adopted(trial, effects, trial.stop.least_gain_ms)
    if adopted is not None:
        return Verdict(Arm.AGAINST, adopted)
    return Verdict(Arm.BASE, _rejected(trial, effects) or _not_shown(trial, effects))


def _rejected(trial: Trial, effects: Effects) -> str | None:
    """The harm that `against` is shown to do."""
    sojourn, rate = _known(effects)
    stop, against, harm_ms = trial.stop, trial.against.template, _early_ms(trial)
    if sojourn.high < -harm_ms * 1000.0:
        return f"the sojourn under {against} is longer by more than {harm_ms:g} ms"
    if rate.low > _log_loss(trial):
        return f"{against} loses more than {stop.rate_loss_ratio:.1%} of the rate"
    return None


def _adopted(trial: Trial, effects: Effects, gain_ms: float) -> str | None:
    """The gain that `against` is shown to give within the limits."""
    sojourn, rate = _known(effects)
    stop, loss = trial.stop, _log_loss(trial)
    if sojourn.low > gain_ms * 1000.0 and rate.high <= loss:
        return (
            f"the sojourn under the base is longer by more than {gain_ms:g} ms, and "
            f"{trial.against.template} loses at most {stop.rate_loss_ratio:.1%} of the rate"
        )
    if rate.high < -loss and sojourn.low >= -stop.least_gain_ms * 1000.0:
        return (
            f"the base loses more than {stop.rate_loss_ratio:.1%} of the rate, and the sojourn "
            f"under {trial.against.template} is longer by at most {stop.least_gain_ms:g} ms"
        )
    return None


def _not_shown(trial: Trial, effects: Effects) -> str:
    """What is missing for `against` to stay."""
    sojourn, rate = _known(effects)
    stop, against, loss = trial.stop, trial.against.template, _log_loss(trial)
    if sojourn.low > stop.least_gain_ms * 1000.0:
        return f"{against} may lose more than {stop.rate_loss_ratio:.1%} of the rate"
    if rate.high < -loss:
        return f"the sojourn under {against} may be longer by more than {stop.least_gain_ms:g} ms"
    return f"{against} is not shown to be better"


def _early_ms(trial: Trial) -> float:
    """Difference of sojourns that ends a trial: a larger one is known from a wider interval."""
    return max(trial.stop.harm_ms, trial.stop.least_gain_ms)


def _known(effects: Effects) -> tuple[Effect, Effect]:
    return effects.sojourn_us or _UNKNOWN, effects.log_rate or _UNKNOWN


def _log_loss(trial: Trial) -> float:
    """Logarithm of the ratio of rates at which the slower one loses `rate_loss_ratio`."""
    return -math.log1p(-trial.stop.rate_loss_ratio)
