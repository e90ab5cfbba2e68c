"""Whether a bearer and its classes have the rates, losses and delays that they are promised: from
the counters of their queues."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from tc_controller.core.inputs import Pipeline, QueueStatus
from tc_controller.core.policy.classes import TrafficClass
from tc_controller.core.policy.compile import CLASSES
from tc_controller.core.policy.schema import Objective, Rule
from tc_controller.core.verify.compliance import Assessment, Compliance
from tc_controller.core.verify.service import PacketMeter
from tc_controller.core.verify.unresponsive import Loss

#: A class has demand if it had packets queued in this part of the reports.
_BACKLOGGED: Final = 0.9
#: Part of a promised rate that meets it: turns and buckets make it deviate by a few percent.
_RATE_RATIO: Final = 0.95
_SHARE_RATIO: Final = 0.9
#: Part of the cell from which on the radio, and not the MAC's division, limits a UE.
_WHOLE_CELL: Final = 0.9
#: Part of the reports in which a queue that drops is empty, from which on it lacks packets to send.
_EMPTY: Final = 0.25


@dataclass(slots=True)
class _Sum:
    """One class over the period."""

    forwarded_bytes: int = 0
    forwarded_packets: int = 0
    dropped_packets: int = 0
    #: Reports with a backlog.
    backlogged: int = 0
    backlog_bytes: int = 0
    #: Largest mean over its queues, for each report that has them, µs.
    sojourns_us: list[int] = field(default_factory=list)


class ClassMeter:
    """Sums the queues of each class, and of the rest, over a period.

    Args:
        pipeline: one made of the template `classes`; ``None``: all queues are the rest.
    """

    def __init__(self, pipeline: Pipeline | None) -> None:
        self.pipeline = pipeline
        #: Queues of a class; classes follow each other in the order of their ids, the rest first.
        self._run, self._count = 1 << 16, 1
        if pipeline is not None:
            (parameters,) = pipeline["scheduler"].values()
            shares = parameters.get("shares") or parameters["weights"]
            self._run, self._count = shares[0]["target"]["count"], len(shares)
        #: Newest counters of each queue: bytes and packets forwarded, packets dropped. The first
        #: report of a queue is where counting begins.
        self._last: dict[int, tuple[int, int, int]] = {}
        self._since_us: int | None = None
        self._at_us = 0
        #: Whether the bearer had packets to send all the time, by the last `assess`.
        self.asked = False
        self._restart()

    def _restart(self) -> None:
        self._reports = 0
        self._sums = [_Sum() for _ in range(self._count)]

    def add(self, at_us: int, queues: Sequence[QueueStatus]) -> None:
        """A status report."""
        if self._since_us is None:
            self._since_us = at_us
        self._at_us = at_us
        self._reports += 1
        backlogs = [0] * self._count
        sojourns: dict[int, int] = {}
        for queue in queues:
            index = queue.id // self._run
            if index >= self._count:
                continue
            each = self._sums[index]
            now = queue.forwarded_bytes, queue.forwarded_packets, queue.dropped_packets
            before = self._last.get(queue.id, now)
            self._last[queue.id] = now
            if now[0] >= before[0]:
                each.forwarded_bytes += now[0] - before[0]
                each.forwarded_packets += now[1] - before[1]
                each.dropped_packets += now[2] - before[2]
            backlogs[index] += queue.backlog_bytes
            sojourn_us = queue.mean_sojourn_us
            if sojourn_us == 0 and queue.backlog_bytes > 0:
                sojourn_us = queue.last_sojourn_us
            sojourns[index] = max(sojourns.get(index, 0), sojourn_us)
        for each, backlog_bytes in zip(self._sums, backlogs, strict=True):
            each.backlogged += backlog_bytes > 0
            each.backlog_bytes = backlog_bytes
        for index, sojourn_us in sojourns.items():
            self._sums[index].sojourns_us.append(sojourn_us)

    def assess(
        self, rule: Rule, packets: PacketMeter, share_of_cell: Callable[[], float | None]
    ) -> tuple[Assessment | None, dict[str, Assessment]]:
        """The state over the period since the last call: of the bearer against its guaranteed rate,
        if it has one and asked for it, and of each class by name.

        Args:
            rule: the rule of the bearer.
            packets: of the bearer, over about the same period.
            share_of_cell: what the MAC gave the UE, asked for only where a rate is missing.
        """
        span_us = 0 if self._since_us is None else self._at_us - self._since_us
        period = _Period(self._sums, self._reports, span_us, rule, packets, self, share_of_cell)
        self._since_us = self._at_us if self._reports else None
        self._restart()
        self.asked = span_us > 0 and period.asked()
        classes = rule.classes if self.pipeline is not None else ()
        states = {each.name: period.assess(index, each) for index, each in enumerate(classes, 1)}
        return period.assess_bearer(), states

    def class_of(self, queue: int) -> int:
        """Number of the class of a queue, from 1; 0 for the rest."""
        return queue // self._run


@dataclass(frozen=True, slots=True)
class _Period:
    sums: Sequence[_Sum]
    reports: int
    span_us: int
    rule: Rule
    packets: PacketMeter
    meter: ClassMeter
    share_of_cell: Callable[[], float | None]

    def mbps(self, index: int) -> float:
        return self.sums[index].forwarded_bytes * 8 / self.span_us

    def demands(self, index: int) -> bool:
        """Whether a class had packets to send all the time."""
        return self.sums[index].backlogged >= _BACKLOGGED * self.reports

    def assess_bearer(self) -> Assessment | None:
        """The guaranteed rate of the bearer; ``None`` where it asked for less. Which bearer is
        sent is the MAC's choice, so a lack of rate is the radio's."""
        guaranteed_mbps = self.rule.objective.guaranteed_mbps
        if guaranteed_mbps is None or self.span_us <= 0 or not self.asked():
            return None
        rate_mbps = self.radio_mbps()
        if rate_mbps >= _RATE_RATIO * guaranteed_mbps:
            return None
        return Assessment(Compliance.INFEASIBLE, self._infeasible(guaranteed_mbps, rate_mbps))

    def asked(self) -> bool:
        """Whether the bearer had packets to send all the time."""
        return any(self.demands(index) for index in range(len(self.sums)))

    def radio_mbps(self) -> float:
        """What the radio took from the pipeline."""
        return sum(self.mbps(index) for index in range(len(self.sums)))

    def assess(self, index: int, each: TrafficClass) -> Assessment:
        if self.span_us <= 0:
            return Assessment(Compliance.NO_DATA, "fewer than two status reports")
        own = self.sums[index]
        if own.forwarded_bytes == 0 and own.backlog_bytes == 0:
            return Assessment(Compliance.IDLE, "nothing sent and nothing queued")
        if sum(other.forwarded_bytes for other in self.sums) == 0:
            return Assessment(
                Compliance.RADIO_STALLED, f"nothing sent of {own.backlog_bytes} queued bytes"
            )
        found = [
            assessment
            for assessment in (
                self._guarantee(index, each),
                self._share(index, each),
                self._loss(own, each),
                self._bound(own, each),
                self._unresponsive(index, each),
            )
            if assessment is not None
        ]
        if not found:
            reason = f"{self.mbps(index):.1f} Mbit/s; no objective of its own to compare with"
            return Assessment(Compliance.MET, reason)
        return worst(found)

    def _guarantee(self, index: int, each: TrafficClass) -> Assessment | None:
        guaranteed_mbps = each.objective.guaranteed_mbps
        if guaranteed_mbps is None:
            return None
        rate_mbps = self.mbps(index)
        figure = f"{rate_mbps:.1f} of {guaranteed_mbps:g} Mbit/s guaranteed"
        if rate_mbps >= _RATE_RATIO * guaranteed_mbps:
            return Assessment(Compliance.MET, figure)
        if not self.demands(index):
            return Assessment(Compliance.MET, f"{figure}; it asked for no more")
        needed_mbps = sum(
            other.objective.guaranteed_mbps or 0.0
            for number, other in enumerate(self.rule.classes, 1)
            if self.demands(number)
        )
        radio_mbps = self.radio_mbps()
        if radio_mbps < needed_mbps:
            reason = f"{figure}, {self._infeasible(needed_mbps, radio_mbps)}"
            return Assessment(Compliance.INFEASIBLE, reason)
        return Assessment(Compliance.VIOLATED, figure)

    def _share(self, index: int, each: TrafficClass) -> Assessment | None:
        if each.share is None or not self.demands(index):
            return None
        if any(other.objective.guaranteed_mbps is not None for other in self.rule.classes):
            # Guarantees go first; what they leave of a share depends on them.
            return None
        got = self.mbps(index) / self.radio_mbps()
        maximum_mbps = each.objective.maximum_mbps
        if maximum_mbps is not None and self.mbps(index) >= _RATE_RATIO * maximum_mbps:
            return None
        figure = f"{got:.0%} of the bearer, share {each.share:.0%}"
        state = Compliance.MET if got >= _SHARE_RATIO * each.share else Compliance.VIOLATED
        return Assessment(state, figure)

    def _loss(self, own: _Sum, each: TrafficClass) -> Assessment | None:
        limit = each.objective.loss_ratio
        arrived = own.forwarded_packets + own.dropped_packets
        if limit is None or arrived == 0:
            return None
        ratio = own.dropped_packets / arrived
        state = Compliance.MET if ratio <= limit else Compliance.VIOLATED
        return Assessment(state, f"{ratio:.2%} of the packets dropped, at most {limit:.2%}")

    def _bound(self, own: _Sum, each: TrafficClass) -> Assessment | None:
        bound_ms, objective = each.objective.bound_ms, self.rule.objective
        if bound_ms is None or not own.sojourns_us:
            return None
        sojourn_ms = float(np.percentile(own.sojourns_us, objective.percentile)) / 1000
        figure = (
            f"p{objective.percentile:g} sojourn in the pipeline {sojourn_ms:.1f} ms, bound "
            f"{bound_ms:g} ms"
        )
        state = _delay_state(sojourn_ms, bound_ms, objective)
        lost = own.dropped_packets / max(1, own.dropped_packets + own.forwarded_packets)
        if own.dropped_packets and not self._capped(each):
            # A packet that was dropped for its delay was not within the bound.
            figure += f", {lost:.1%} dropped"
            empty = 1.0 - own.backlogged / self.reports
            if lost > allowed_loss(objective):
                state = Compliance.VIOLATED
                figure += f", p{objective.percentile:g} allows {allowed_loss(objective):.1%}"
            elif empty >= _EMPTY:
                figure += f" and nothing queued in {empty:.0%} of the reports: the bound costs rate"
        return Assessment(state, figure)

    def _capped(self, each: TrafficClass) -> bool:
        """Whether the policy itself keeps the rate down."""
        return each.objective.maximum_mbps is not None or (
            self.rule.objective.maximum_mbps is not None
        )

    def _unresponsive(self, index: int, each: TrafficClass) -> Assessment | None:
        if each.objective.loss_ratio is not None or self._capped(each):
            return None
        loss = self.packets.unresponsive_loss(lambda queue: self.meter.class_of(queue) == index)
        return assess_loss(loss, self.rule.objective, self.radio_mbps())

    def _infeasible(self, needed_mbps: float, radio_mbps: float) -> str:
        share = self.share_of_cell()
        if share is None or share >= _WHOLE_CELL or needed_mbps * share > radio_mbps:
            return f"needs {needed_mbps:.1f} Mbit/s, radio gives {radio_mbps:.1f}"
        return (
            f"needs {needed_mbps:.1f} Mbit/s; the MAC gives this UE {share:.0%} of the cell, "
            f"{radio_mbps:.1f} of about {radio_mbps / share:.1f} Mbit/s"
        )


def _delay_state(sojourn_ms: float, bound_ms: float, objective: Objective) -> Compliance:
    if sojourn_ms <= bound_ms * objective.clear_ratio:
        return Compliance.MET
    return Compliance.AT_RISK if sojourn_ms <= bound_ms else Compliance.VIOLATED


def allowed_loss(objective: Objective) -> float:
    """Part of the packets that need not be within the bound."""
    return 1.0 - objective.percentile / 100.0


def assess_loss(loss: Loss | None, objective: Objective, radio_mbps: float) -> Assessment | None:
    """The state of flows that do not back off: a packet that is lost has not come in time.

    ``None`` if as many come as the objective's percentile wants. Where such flows bring more than
    the radio carries no pipeline helps.
    """
    if loss is None or loss.ratio <= allowed_loss(objective):
        return None
    flows = "flows that do not back off"
    if loss.arrived_mbps > radio_mbps:
        reason = f"{flows} bring {loss.arrived_mbps:.1f} Mbit/s, radio gives {radio_mbps:.1f}"
        return Assessment(Compliance.INFEASIBLE, reason)
    allowed = f"p{objective.percentile:g} allows {allowed_loss(objective):.1%}"
    reason = f"{loss.ratio:.1%} of the packets of {flows} dropped, {allowed}"
    return Assessment(Compliance.VIOLATED, reason)


#: The more serious the later; what is not listed says nothing about an objective.
_GRAVITY: Final = (
    Compliance.MET,
    Compliance.AT_RISK,
    Compliance.VIOLATED,
    Compliance.INFEASIBLE,
)


def worst(found: Sequence[Assessment]) -> Assessment:
    """The most serious of several; the first of equals."""
    return max(found, key=lambda each: _GRAVITY.index(each.state) if each.state in _GRAVITY else -1)


def with_rates(
    delay: Assessment, others: Sequence[Assessment], classes: Mapping[str, Assessment]
) -> Assessment:
    """The state of the bearer: the most serious of its own and those of its classes. A bearer
    that is idle, stalled or silent is that. The sojourn is the bearer's own."""
    if delay.state not in _GRAVITY:
        return delay
    named = (
        Assessment(each.state, f"class {name}: {each.reason}") for name, each in classes.items()
    )
    found = worst([delay, *others, *named])
    return replace(found, sojourn_us=delay.sojourn_us)


def meter_for(
    former: ClassMeter | None, pipeline: Pipeline | None, rule: Rule, *, rate: bool
) -> ClassMeter | None:
    """What has to be metered for a rule while a pipeline is in force; ``former`` if the same.

    ``rate``: what the bearer is served with is judged by its rate.
    """
    if pipeline is None or pipeline["name"] != CLASSES or not rule.classes:
        pipeline = None
    if pipeline is None and rule.objective.guaranteed_mbps is None and not rate:
        return None
    return former if former is not None and former.pipeline == pipeline else ClassMeter(pipeline)
