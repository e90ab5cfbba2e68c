"""When the effects of a trial are enough to end it, and which pipeline then stays."""

from __future__ import annotations

import math

from tc_controller.core.trial import Arm
from tc_controller.core.trial_policy import Trial, TrialStop
from tc_controller.core.trial_results import Effects


def decided(trial: Trial, effects: Effects) -> str | None:
    """Why the effect is known well enough that one pipeline must not go on."""
    stop, sojourn, rate = trial.stop, effects.sojourn_us, effects.log_rate
    harm_us, loss = stop.harm_ms * 1000.0, _log_loss(stop)
    base, against = "the base", trial.against.template
    if sojourn is not None and (sojourn.low > harm_us or sojourn.high < -harm_us):
        worse = base if sojourn.low > harm_us else against
        return f"the sojourn under {worse} is longer by more than {stop.harm_ms:g} ms"
    if rate is not None and (rate.low > loss or rate.high < -loss):
        worse = against if rate.low > loss else base
        return f"{worse} loses more than {stop.rate_loss_ratio:.1%} of the rate"
    return None


def better(trial: Trial, effects: Effects) -> Arm:
    """The pipeline to keep: the base, unless the other is shown to be better."""
    sojourn, rate = effects.sojourn_us, effects.log_rate
    if sojourn is None or rate is None:
        return Arm.BASE
    loss = _log_loss(trial.stop)
    shorter = sojourn.low > 0.0 and rate.low <= loss
    faster = rate.high < -loss and sojourn.high >= 0.0
    return Arm.AGAINST if shorter or faster else Arm.BASE


def _log_loss(stop: TrialStop) -> float:
    """Logarithm of the ratio of rates at which the slower one loses `rate_loss_ratio`."""
    return -math.log1p(-stop.rate_loss_ratio)
