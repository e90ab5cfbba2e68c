"""Measures the effect of a change: waits until it is visible, then compares after with before.

The RLC is a FIFO: what it held when the pipeline took effect (seconds on a bloated bearer) still
drains at link rate and delays what follows. Until the MAC has drained that many bytes, reports show
the old backlog and are not judged (*settling*). On a node that recalls unsent SDUs from the RLC the
occupancy falls faster. Then the reports of one window are judged (*observing*).
"""

from __future__ import annotations

import enum
from collections import deque
from dataclasses import dataclass

from tc_controller.core.act.decision import Decision
from tc_controller.core.actions import WriteRecord
from tc_controller.core.inputs import FlowId
from tc_controller.core.observe.bearer_view import BearerView, Snapshot, snapshot, standing_us
from tc_controller.core.observe.inventory import FlowView
from tc_controller.core.policy.schema import Guard, Objective, Rule, Verification

#: A greedy flow below this share of its old rate has ended, not been slowed.
_ENDED_SHARE = 0.01
#: Two full packets: an empty pipeline may be caught with these in it.
_EMPTY_BYTES = 3_000


#: An occupancy that falls this much within `_TREND_US` is still on its way down.
_FALLING_SHARE = 0.1
_TREND_US = 100_000


class Verdict(enum.Enum):
    """Outcome of a verification."""

    #: Within the objective, no harm.
    SATISFIED = "satisfied"
    #: No harm, but still above the bound.
    INSUFFICIENT = "insufficient"
    #: Utilisation or sojourn violates the guard.
    WORSE = "worse"
    #: Not enough reports.
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with its measurements and reasons."""

    verdict: Verdict
    before: Snapshot
    after: Snapshot
    reasons: tuple[str, ...]


class Verifier:
    """Follows one change of one bearer from its acknowledgement to the verdict.

    Args:
        rule: whose objective, guard and verification times hold.
        before: the bearer at the decision.
        greedy: flows that were greedy then, with their rates in kbit/s.
        view: the bearer when the change took effect.
        now_us: controller time of that.
    """

    def __init__(
        self, rule: Rule, before: Snapshot, greedy: dict[FlowId, int], view: BearerView, now_us: int
    ) -> None:
        self._objective: Objective = rule.objective
        self._guard: Guard = rule.guard
        self._times: Verification = rule.verify
        self.before = before
        self._greedy = greedy
        self.backlog_bytes = view.occupancy_bytes
        #: Upper bound of what is left of the old backlog, and the drained bytes it was computed at.
        self._old_bytes = view.occupancy_bytes
        self._drained_bytes = view.drained_bytes
        self._accepted_at_us = now_us
        #: Node time when the old backlog had left; ``None`` before.
        self._drained_at_us: int | None = None
        #: Node time when observing began; ``None`` while settling.
        self.observing_since_us: int | None = None
        self._observing_from_us = 0
        #: Recent RLC occupancies, and the bytes in front of ungreedy packets while observing.
        self._trend: deque[tuple[int, int]] = deque()
        self._standing: list[int] = []
        #: How often the RLC had something to send.
        self._supplied = 0

    def expected_settle_us(self) -> int:
        """Time the old backlog needs at the drain rate of before, with the margin."""
        rate = self.before.drain_kbps or 0.0
        needed = self.backlog_bytes * 8_000.0 / rate if rate > 0.0 else 0.0
        longest = self._times.max_settle_ms * 1000
        return min(longest, int(needed) + self._times.margin_ms * 1000)

    def poll(self, view: BearerView, now_us: int) -> Judgement | None:
        """The judgement, once there is one; to be called every few ms."""
        if self.observing_since_us is None:
            self._settle(view, now_us)
            return None
        since_us = self.observing_since_us
        self._standing.append(view.standing_bytes)
        self._supplied += view.occupancy_bytes > 0
        complete = view.at_us - since_us >= self._times.window_ms * 1000
        if complete and self._reports_are_in(view, since_us):
            return self._judge(view, since_us)
        if now_us - self._observing_from_us >= self._times.max_window_ms * 1000:
            if view.sojourn_percentile(since_us, self._objective.percentile) is not None:
                return self._judge(view, since_us)
            after = snapshot(view, since_us, self._objective.percentile)
            reason = "no RLC report since the old backlog drained"
            return Judgement(Verdict.INCONCLUSIVE, self.before, after, (reason,))
        return None

    def _settle(self, view: BearerView, now_us: int) -> None:
        if self._drained_at_us is None:
            drained = view.drained_bytes - self._drained_bytes
            self._drained_bytes = view.drained_bytes
            self._old_bytes = min(self._old_bytes - drained, view.occupancy_bytes)
            if self._old_bytes <= 0:
                self._drained_at_us = view.at_us
        still_falling = self._falling(view)
        over = now_us - self._accepted_at_us >= self._times.max_settle_ms * 1000
        if over or (
            self._drained_at_us is not None
            and not still_falling
            and view.at_us - self._drained_at_us >= self._times.margin_ms * 1000
        ):
            self.observing_since_us = view.at_us
            self._observing_from_us = now_us

    def _falling(self, view: BearerView) -> bool:
        """Whether the RLC still drains a backlog, old or forwarded when the pipeline took over."""
        self._trend.append((view.at_us, view.occupancy_bytes))
        while view.at_us - self._trend[0][0] > _TREND_US:
            self._trend.popleft()
        earlier = self._trend[0][1]
        paced = standing_us(earlier, view.serving_kbps) <= self._objective.bound_ms * 1000.0
        return not paced and view.occupancy_bytes < (1.0 - _FALLING_SHARE) * earlier

    def _reports_are_in(self, view: BearerView, since_us: int) -> bool:
        if view.pipeline is None or view.pipeline.collected_at_us <= since_us:
            return False
        return self.before.prb is None or view.prb(since_us) is not None

    def _judge(self, view: BearerView, since_us: int) -> Judgement:
        after = snapshot(view, since_us, self._objective.percentile)
        harm = self._utilisation_harm(view, after) + self._sojourn_harm(after)
        if harm:
            return Judgement(Verdict.WORSE, self.before, after, tuple(harm))
        sojourn_us = after.sojourn_us
        if sojourn_us is None:
            return Judgement(Verdict.INCONCLUSIVE, self.before, after, ("no RLC report",))
        bound_us = self._objective.bound_ms * 1000.0
        figure = f"p{self._objective.percentile:g} sojourn {sojourn_us / 1000:.1f} ms"
        if sojourn_us <= bound_us:
            reason = f"{figure}, within {self._objective.bound_ms:g} ms"
            return Judgement(Verdict.SATISFIED, self.before, after, (reason,))
        standing = sum(self._standing) // max(1, len(self._standing))
        if standing_us(standing, view.serving_kbps) <= bound_us:
            reason = (
                f"{figure}, above {self._objective.bound_ms:g} ms, but only {standing} bytes are "
                "queued in front: the radio pauses, which no pipeline can change"
            )
            return Judgement(Verdict.SATISFIED, self.before, after, (reason,))
        reason = f"{figure}, still above {self._objective.bound_ms:g} ms"
        return Judgement(Verdict.INSUFFICIENT, self.before, after, (reason,))

    def _utilisation_harm(self, view: BearerView, after: Snapshot) -> list[str]:
        ratios = self._utilisation_ratios(after)
        least = self._guard.min_utilisation_ratio
        if not ratios or any(ratio >= least for ratio in ratios.values()):
            return []
        if demand_ended(self._greedy, view):
            return []
        fell = ", ".join(f"{name} fell to {ratio:.0%}" for name, ratio in ratios.items())
        return [f"{fell} of before; the guard requires {least:.0%}"]

    def _utilisation_ratios(self, after: Snapshot) -> dict[str, float]:
        """Use of the radio after over before, by each measure there is.

        Each alone gives false alarms. A worse channel drains less with as many PRBs, so the drain
        rate is compared with its recent minimum under backlog, not with the mean. A UE gets fewer
        PRBs when others use them (the cell is as full as before) or when the radio pauses. And
        while the RLC has data to send, the pipeline does not keep the radio idle.
        """
        before = self.before
        ratios = {}
        if before.prb is not None and after.prb is not None and before.prb.ue > 0.0:
            ue = after.prb.ue / before.prb.ue
            cell = after.prb.cell / before.prb.cell if before.prb.cell > 0.0 else ue
            ratios["PRB use"] = max(ue, cell)
        reference = before.lowest_kbps or before.drain_kbps
        if reference and after.drain_kbps is not None:
            ratios["the drain rate"] = after.drain_kbps / reference
        if ratios and self._standing:
            ratios["the time with data in the RLC"] = self._supplied / len(self._standing)
        return ratios

    def _sojourn_harm(self, after: Snapshot) -> list[str]:
        if after.sojourn_us is None or self.before.sojourn_us is None:
            return []
        # A violation detected early has a small sojourn before it; without the change the queue
        # would have grown on.
        elapsed_us = max(0, after.at_us - self.before.at_us)
        uncontrolled_us = self.before.sojourn_us + self.before.growth * elapsed_us
        limit_us = max(
            self._guard.sojourn_floor_ms * 1000.0,
            uncontrolled_us * self._guard.max_sojourn_ratio,
        )
        if after.sojourn_us <= limit_us:
            return []
        return [
            f"sojourn rose from {self.before.sojourn_us / 1000:.1f} to "
            f"{after.sojourn_us / 1000:.1f} ms; the guard allows {limit_us / 1000:.1f} ms"
        ]


def demand_ended(greedy: dict[FlowId, int], view: BearerView) -> bool:
    """Whether utilisation fell because the greedy flows ended: none of them arrives any more and
    the pipeline is empty."""
    flows: FlowView | None = view.flows
    if not greedy or flows is None or view.pipeline is None:
        return False
    if view.pipeline.backlog_bytes > _EMPTY_BYTES:
        return False
    rates = {flow.five_tuple: flow.rate_kbps for flow in flows.flows}
    return all(rates.get(flow, 0) <= _ENDED_SHARE * rate for flow, rate in greedy.items())


def verified(
    decision: Decision, now_us: int, judgement: Judgement, settled_us: int, expected_us: int
) -> WriteRecord:
    """The record of a verdict."""
    return WriteRecord(
        {
            "event": "verified",
            "id": decision.id,
            "at_us": now_us,
            "verdict": judgement.verdict.value,
            "settled_after_us": settled_us,
            "expected_settle_us": expected_us,
            "before": judgement.before.as_dict(),
            "after": judgement.after.as_dict(),
            "reasons": list(judgement.reasons),
        }
    )
