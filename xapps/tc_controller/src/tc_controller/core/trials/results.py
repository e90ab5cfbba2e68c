"""What the periods of a trial gave so far, and the effects estimated from it.

An effect is the base less the former pipeline. Rates are compared as logarithms: a radio that
doubles doubles both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Protocol

from tc_controller.core.inputs import BearerKey
from tc_controller.core.trials.effect import LAST_LOOK, Effect, look_error, paired, two_sample
from tc_controller.core.trials.meter import Measured
from tc_controller.core.trials.schedule import Arm

#: Bearers with what was measured, under each pipeline.
Measurements = Mapping[Arm, Mapping[BearerKey, Measured]]


@dataclass(frozen=True, slots=True)
class Effects:
    """The base less the former pipeline; ``None``: nothing measured yet."""

    sojourn_us: Effect | None
    #: Effect on the logarithm of the drained rate.
    log_rate: Effect | None
    drops_per_mb: Effect | None

    def as_dict(self) -> dict[str, Any]:
        """The effects as the decision log has them."""
        rate = None if self.log_rate is None else self.log_rate.relative()
        sojourn, drops = self.sojourn_us, self.drops_per_mb
        return {
            "sojourn_ms": None if sojourn is None else sojourn.as_dict(1e-3, 3),
            "rate_ratio": None if rate is None else rate.as_dict(),
            "drops_per_mb": None if drops is None else drops.as_dict(),
        }


NO_EFFECTS = Effects(None, None, None)


class Results(Protocol):
    """Results of a trial."""

    @property
    def blocks(self) -> int:
        """Pairs of periods, or periods of a trial of bearers, that gave a result."""

    def add(self, measured: Measurements) -> str | None:
        """Add a block; returns why it gave no result, if it did not."""

    def effects(self, confidence: float) -> Effects | None:
        """The effects; ``None``: no look is due."""

    def last(self, confidence: float) -> Effects | None:
        """The effects at the end of the trial."""

    def document(self) -> list[Any]:
        """The results as the state file keeps them."""


@dataclass(slots=True)
class PairResults:
    """Differences of pairs, for switch-back trials."""

    #: Differences of each pair: sojourn in µs, logarithm of the rate, drops per MB.
    pairs: list[tuple[float, float, float | None]]

    @property
    def blocks(self) -> int:
        """Pairs."""
        return len(self.pairs)

    def add(self, measured: Measurements) -> str | None:
        """Add a pair: the mean difference of the bearers that both periods have."""
        base, against = measured[Arm.BASE], measured[Arm.AGAINST]
        both = sorted(base.keys() & against.keys())
        if not both:
            return "no bearer had traffic and its pipeline in force in both periods"
        drops = [
            one - other
            for one, other in ((base[k].drops_per_mb, against[k].drops_per_mb) for k in both)
            if one is not None and other is not None
        ]
        self.pairs.append(
            (
                fmean(base[k].sojourn_us - against[k].sojourn_us for k in both),
                math.log(
                    sum(base[k].rate_kbps for k in both) / sum(against[k].rate_kbps for k in both)
                ),
                fmean(drops) if drops else None,
            )
        )
        return None

    def effects(self, confidence: float) -> Effects:
        """The effects; may be looked at after each pair."""
        return Effects(
            paired([pair[0] for pair in self.pairs], confidence),
            paired([pair[1] for pair in self.pairs], confidence),
            paired([pair[2] for pair in self.pairs if pair[2] is not None], confidence),
        )

    def last(self, confidence: float) -> Effects:
        """The effects at the end of the trial."""
        return self.effects(confidence)

    def document(self) -> list[Any]:
        """The results as the state file keeps them."""
        return [list(pair) for pair in self.pairs]


@dataclass(slots=True)
class BearerResults:
    """Means of bearers over their periods, for trials of bearers."""

    blocks: int
    #: Sums of each bearer: on the base, periods, sojourn, logarithm of the rate, drops.
    sums: dict[str, tuple[bool, int, float, float, float]]
    #: Decides the random assignments that the effects are compared with.
    seed: str

    def add(self, measured: Measurements) -> str | None:
        """Add a period."""
        if not any(measured.values()):
            return "no bearer had traffic and its pipeline in force"
        self.blocks += 1
        for arm, bearers in measured.items():
            for key, each in bearers.items():
                name, on_base = str(key), arm is Arm.BASE
                _, count, sojourn, rate, drops = self.sums.get(name, (on_base, 0, 0.0, 0.0, 0.0))
                self.sums[name] = (
                    on_base,
                    count + 1,
                    sojourn + each.sojourn_us,
                    rate + math.log(each.rate_kbps),
                    drops + (each.drops_per_mb or 0.0),
                )
        return None

    def effects(self, confidence: float) -> Effects | None:
        """The effects after 1, 2, 4, 8, … periods: each look spends some of the error."""
        if self.blocks == 0 or self.blocks & (self.blocks - 1):
            return None
        return self._look(look_error(1.0 - confidence, self.blocks.bit_length()))

    def last(self, confidence: float) -> Effects | None:
        """The effects at the end of the trial, for which there is one more look."""
        return None if self.blocks == 0 else self._look(LAST_LOOK * (1.0 - confidence))

    def _look(self, error: float) -> Effects:
        return Effects(*(self._effect(place, 1.0 - error) for place in (2, 3, 4)))

    def _effect(self, place: int, confidence: float) -> Effect | None:
        means: dict[bool, list[float]] = {True: [], False: []}
        for _, sums in sorted(self.sums.items()):
            means[sums[0]].append(float(sums[place]) / sums[1])
        return two_sample(means[True], means[False], confidence, self.seed)

    def document(self) -> list[Any]:
        """The results as the state file keeps them."""
        return [self.blocks, {name: list(sums) for name, sums in self.sums.items()}]


def restored(document: Sequence[Any], *, of_bearers: bool, seed: str) -> Results:
    """The results of a state document; ``seed``: of the trial.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: it has another shape.
    """
    if not of_bearers:
        return PairResults([(float(s), float(r), _number(d)) for s, r, d in document])
    if not document:
        return BearerResults(0, {}, seed)
    blocks, sums = document
    return BearerResults(
        int(blocks),
        {
            str(name): (bool(base), int(n), float(s), float(r), float(d))
            for name, (base, n, s, r, d) in sums.items()
        },
        seed,
    )


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
