"""When and where a trial has which pipeline in force: a schedule that a seed reproduces.

Switch-back of a node: time is divided into cycles; a cycle begins with a pair of periods, one under
the base and one under the former pipeline, in an order that a coin decides, and goes on under the
base until the former pipeline has had its share of the time. Both orders make a pair of equal
times of day, and no pattern of traffic can follow the coin.

Of bearers: a hash of the seed and of the bearer decides once, so that each restart decides alike.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from random import Random

from tc_controller.core.inputs import BearerKey
from tc_controller.core.policy.trial import cycle_of


class Arm(enum.Enum):
    """Which of the two pipelines."""

    #: The base of the rule.
    BASE = "base"
    #: What it is tried against.
    AGAINST = "against"


@dataclass(frozen=True, slots=True)
class Period:
    """One half of a pair, or one of `Blocks`. Times are the controller's."""

    pair: int
    #: The last of its pair.
    second: bool
    arm: Arm
    begins_us: int
    ends_us: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """A switch-back schedule.

    Args:
        seed: any text; the same text gives the same order of each pair.
        started_us: controller time of its first period.
        period_us: length of each period of a pair.
        share: share of the time under the former pipeline, above 0 and at most 0.5.
    """

    seed: str
    started_us: int
    period_us: int
    share: float

    @property
    def cycle_us(self) -> int:
        """Time between the begins of two pairs."""
        return cycle_of(self.period_us, self.share)

    def at(self, now_us: int) -> Period | None:
        """The period that this time is in; ``None`` between pairs, under the base."""
        pair, into_us = divmod(max(0, now_us - self.started_us), self.cycle_us)
        half = into_us // self.period_us
        if half > 1:
            return None
        begins_us = self.started_us + pair * self.cycle_us + half * self.period_us
        second = half == 1
        arm = Arm.AGAINST if second is self.base_first(pair) else Arm.BASE
        return Period(pair, second, arm, begins_us, begins_us + self.period_us)

    def base_first(self, pair: int) -> bool:
        """Whether the coin puts the base into the first period of this pair."""
        return Random(f"{self.seed}/{pair}").random() < 0.5


@dataclass(frozen=True, slots=True)
class Blocks:
    """Periods of a trial of bearers: they divide the measurement, not the pipelines."""

    started_us: int
    period_us: int

    def at(self, now_us: int) -> Period:
        """The period that this time is in; each is complete in itself."""
        number = max(0, now_us - self.started_us) // self.period_us
        begins_us = self.started_us + number * self.period_us
        return Period(number, True, Arm.BASE, begins_us, begins_us + self.period_us)


def arm_of_bearer(seed: str, bearer: BearerKey, share: float) -> Arm:
    """The arm of a bearer in a trial of bearers."""
    draw = Random(f"{seed}/{bearer.node_id}/{bearer.rnti}/{bearer.drb}").random()
    return Arm.AGAINST if draw < share else Arm.BASE
