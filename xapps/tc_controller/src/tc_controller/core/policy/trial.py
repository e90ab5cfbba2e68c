"""A trial as the policy states it: against which pipeline, how much of it, when it ends early."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field, field_validator, model_validator
from ric.explain import PlacedError

from tc_controller.core.policy.rung import CHOSEN, Condition, Rung, Strict

#: The interval is computed anew after each pair, in 20 ms after a thousand.
MAX_PAIRS: Final = 2_000
#: Above it the last look at a trial of bearers knows no bound.
MOST_CONFIDENCE_OF_BEARERS: Final = 0.9995


class TrialStop(Strict):
    """When a trial ends before its time. Each interval holds at all looks at once."""

    confidence: float = Field(
        default=0.95,
        gt=0.5,
        lt=1.0,
        description="Probability that an interval contains the effect, whenever the trial ends.",
    )
    harm_ms: float = Field(
        default=0.0,
        ge=0.0,
        le=60_000.0,
        description="The trial ends when the interval of the sojourn says that one pipeline is "
        "worse by more than this, ms; `least_gain_ms` counts if it is larger. A larger value "
        "gives a narrower interval.",
    )
    least_gain_ms: float = Field(
        default=5.0,
        ge=0.0,
        le=60_000.0,
        description="Least gain that is worth a change, ms: `against` stays for its sojourn only "
        "if that is shown to be shorter by more than this, and for its rate only if its sojourn is "
        "shown to be longer by no more than this. 5 ms is a period of a usual TDD pattern.",
    )
    rate_loss_ratio: float = Field(
        default=0.05,
        ge=0.0,
        lt=1.0,
        description="`against` stays only if the interval of the drained rate shows that it loses "
        "at most this ratio of it, and the trial ends when it shows that it loses more.",
    )
    max_sojourn_ms: float = Field(
        default=2_000.0,
        gt=0.0,
        le=60_000.0,
        description="Hard bound: the trial ends at once when a bearer violates its objective with "
        "a sojourn above this under the pipeline that is tried, ms.",
    )
    max_sojourn_ratio: float | None = Field(
        default=None,
        gt=1.0,
        le=10_000.0,
        description="The same, as a ratio to the mean sojourn under the base so far, which counts "
        "as at least `guard.sojourn_floor_ms`. Disabled if unset.",
    )


class Trial(Strict):
    """Part of the time, or of the bearers, on another pipeline than the base, to measure what the
    base is worth."""

    against: Rung = Field(description="The pipeline that the base is compared with.")
    share_of_time: Annotated[float, Field(gt=0.0, le=0.5)] | None = Field(
        default=None,
        description="Share of the time that all bearers of the rule on a node spend on `against`, "
        "in pairs of periods in random order.",
    )
    share_of_bearers: Annotated[float, Field(gt=0.0, lt=1.0)] | None = Field(
        default=None,
        description="Share of the bearers of the rule that are on `against` during the trial, "
        "chosen by a hash of seed and bearer.",
    )
    period_s: float = Field(
        default=30.0,
        ge=0.1,
        le=86_400.0,
        description="Length of a period under one pipeline, s, the wash-out included.",
    )
    wash_out_ms: int = Field(
        default=5_000,
        ge=0,
        le=600_000,
        description="Begin of each period that is not measured, ms: the backlog that the other "
        "pipeline left drains, and senders adapt.",
    )
    seed: int = Field(default=1, ge=0, description="Decides order of periods or arm of bearers.")
    max_duration_s: float = Field(
        default=86_400.0, gt=0.0, le=31_536_000.0, description="The trial ends after this, s."
    )
    stop: TrialStop = Field(default_factory=TrialStop)

    @field_validator("against", mode="before")
    @classmethod
    def _is_a_template(cls, given: Any) -> Any:
        # Leased like any pipeline, it ends with the controller; the initial pipeline would stay.
        if isinstance(given, str):
            problem = (
                "expected a template; {template: transparent} is a gNB without traffic control"
            )
            raise PlacedError((), problem)
        return given

    @model_validator(mode="after")
    def _is_a_trial(self) -> Trial:
        if (self.share_of_time is None) == (self.share_of_bearers is None):
            raise ValueError("expected exactly one of share_of_time and share_of_bearers")
        if self.against.template in CHOSEN:
            problem = (
                f"{self.against.template} is for flows selected at a violation; expected a "
                "template for any traffic"
            )
            raise PlacedError(("against", "template"), problem)
        if self.against.when != Condition():
            raise PlacedError(("against", "when"), "unknown key; a trial has no condition")
        most = MOST_CONFIDENCE_OF_BEARERS
        if self.share_of_bearers is not None and self.stop.confidence > most:
            problem = f"{self.stop.confidence:g}; expected at most {most:g} with share_of_bearers"
            raise PlacedError(("stop", "confidence"), problem)
        if self.wash_out_ms >= self.period_s * 1000:
            problem = f"{self.wash_out_ms}; expected less than period_s, {self.period_s:g} s"
            raise PlacedError(("wash_out_ms",), problem)
        if self.pairs()[0] > MAX_PAIRS:
            problem = f"{self.max_duration_s:g} s; expected at most {MAX_PAIRS} pairs of periods"
            raise PlacedError(("max_duration_s",), problem)
        return self

    @property
    def period_us(self) -> int:
        """Length of a period."""
        return round(self.period_s * 1e6)

    def extent(self) -> str:
        """Share and longest duration in words."""
        if self.share_of_time is None:
            return f"{self.share_of_bearers:.0%} of the bearers, {self.max_duration_s:g} s"
        return f"{self.share_of_time:.0%} of the time, at most {self.pairs()[0]} pairs of periods"

    def pairs(self) -> tuple[int, int]:
        """Pairs of periods within the longest duration, and the length of a cycle, µs."""
        cycle_us = cycle_of(self.period_us, self.share_of_time or 0.5)
        return int(self.max_duration_s * 1e6) // cycle_us, cycle_us


def cycle_of(period_us: int, share: float) -> int:
    """Time between the begins of two pairs of periods, µs; ``share`` of it is spent under the
    pipeline that is tried."""
    return max(2 * period_us, round(period_us / share))
