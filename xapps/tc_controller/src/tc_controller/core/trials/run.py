"""One trial on one node: which bearer has which pipeline now, what was measured, when it ends.

A trial decides nothing about a bearer that violates its objective under the base, that has a rung
of the ladder or that is being verified: such a bearer keeps what it has and is not measured.
"""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any, Final

from tc_controller.core.act.base import unsupported
from tc_controller.core.actions import Action, SaveDesired, WriteRecord
from tc_controller.core.bearer.bearer import Bearer, Shared
from tc_controller.core.bearer.states import State
from tc_controller.core.inputs import BearerKey
from tc_controller.core.node.node import Node
from tc_controller.core.policy.schema import Rule
from tc_controller.core.policy.slot import OfTrial
from tc_controller.core.policy.trial import Trial
from tc_controller.core.trials.meter import Measured, TrialMeter
from tc_controller.core.trials.results import NO_EFFECTS, Effects, Results, restored
from tc_controller.core.trials.schedule import Arm, Blocks, Period, Schedule, arm_of_bearer
from tc_controller.core.trials.stop import at_end, decided
from tc_controller.core.trials.text import summary
from tc_controller.core.verify.compliance import Compliance

#: Time without a tick in which the controller did not act: a restart, or another owner.
_GAP_US: Final = 1_000_000
#: A period whose begin was missed by more is not measured.
_LATE_US: Final = 100_000
#: Period of the hard bounds, and of looking for bearers while the trial waits.
_GUARD_US: Final = 1_000_000


class Phase(enum.Enum):
    """State of a trial."""

    #: No bearer has its base in force yet.
    WAITING = "waiting"
    RUNNING = "running"
    ENDED = "ended"


class TrialRun:
    """The trial of a rule on a node.

    Args:
        rule: with a trial.
        document: of an earlier run of the same trial; another one's is not used.
    """

    def __init__(
        self, node_id: str, rule: Rule, trial: Trial, shared: Shared, document: Any
    ) -> None:
        self.node_id = node_id
        self.rule = rule
        self.trial = trial
        self._shared = shared
        self.digest = digest(rule)
        self._bases = [rung.pipeline() for rung in rule.compiled_base()]
        self._against = trial.against.pipeline()
        self.phase = Phase.WAITING
        self.id = ""
        self._started_us = 0
        self.results: Results = self._restored([])
        self.effects: Effects = NO_EFFECTS
        #: Number and sum of the mean sojourns of periods under the base, µs.
        self._base_sojourns = (0, 0.0)
        self.winner = Arm.BASE
        self.ended: dict[str, str] | None = None
        self._period: Period | None = None
        self._meter: TrialMeter | None = None
        #: Bearers of the present pair, and those measured with their revisions.
        self._members: set[BearerKey] = set()
        self._watched: dict[BearerKey, tuple[Bearer, int | None]] = {}
        self._measured: dict[Arm, Mapping[BearerKey, Measured]] = {}
        #: Why the present block gives no result.
        self._void: str | None = None
        self._ticked_us: int | None = None
        self._guarded_us = 0
        if document is not None:
            self._restore(document)

    # ----------------------------------------------------------------------------- events

    def tick(self, now_us: int, node: Node) -> list[Action]:
        """Time passed; to be called at each tick while the controller acts on the node."""
        if self._ticked_us is not None and now_us - self._ticked_us > _GAP_US:
            self._interrupt(now_us, node)
        self._ticked_us = now_us
        if self._ended():
            return []
        look = now_us - self._guarded_us >= _GUARD_US
        if look:
            self._guarded_us = now_us
        if self.phase is Phase.WAITING:
            return self._begin(now_us, node) if look else []
        actions: list[Action] = []
        if now_us - self._started_us >= self.trial.max_duration_s * 1e6:
            if self._period is not None and now_us >= self._period.ends_us:
                actions += self._close(self._period, now_us, node)
            if not self._ended():
                actions += self._end("max_duration", "its longest duration is over", now_us, node)
            return actions
        period = self._schedule().at(now_us)
        if period != self._period:
            actions += self._turn(period, now_us, node)
        if not self._ended():
            self._measure(now_us, node)
            if look:
                self._reassert(node)
                actions += self._check_bounds(now_us, node)
        return actions

    @property
    def keeps_tried(self) -> bool:
        """Whether it has ended and the pipeline that was tried stays."""
        return self.phase is Phase.ENDED and self.winner is Arm.AGAINST

    def joined(self, bearer: Bearer, now_us: int) -> None:
        """The bearer is new, or the rule of this trial matches it now."""
        against = self.keeps_tried
        if self.phase is Phase.RUNNING and self.trial.share_of_bearers is not None:
            against = self._arm_of(bearer.key, None) is Arm.AGAINST
            self._members.add(bearer.key)
        elif self.phase is Phase.RUNNING and bearer.desired is not None:
            # After a restart the arm goes on; its period is not counted.
            period = self._schedule().at(now_us)
            against = (
                period is not None
                and period.arm is Arm.AGAINST
                and bearer.desired.pipeline == self._against
            )
            if against:
                self._members.add(bearer.key)
        bearer.assign(self.trial.against if against else None)

    def document(self) -> dict[str, Any]:
        """The trial as the state file keeps it."""
        return {
            "node": self.node_id,
            "rule": self.rule.name,
            "digest": self.digest,
            "id": self.id,
            "started_us": self._started_us,
            "results": self.results.document(),
            "base_sojourns": list(self._base_sojourns),
            "ended": self.ended,
            "winner": self.winner.value,
        }

    def _restore(self, document: Any) -> None:
        if document.get("digest") != self.digest:
            return
        try:
            results = self._restored(document["results"])
            count, total = document["base_sojourns"]
            ended = document["ended"]
            winner = Arm(document["winner"])
            self.id, self._started_us = str(document["id"]), int(document["started_us"])
        except (KeyError, TypeError, ValueError, AttributeError):
            # It begins anew.
            return
        self.results, self.winner, self.ended = results, winner, ended
        self._base_sojourns = int(count), float(total)
        look = results.effects if ended is None else results.last
        self.effects = look(self.trial.stop.confidence) or NO_EFFECTS
        self.phase = Phase.RUNNING if ended is None else Phase.ENDED

    def _restored(self, document: Any) -> Results:
        of_bearers = self.trial.share_of_bearers is not None
        return restored(document, of_bearers=of_bearers, seed=self._seed())

    # -------------------------------------------------------------------------- beginning

    def _begin(self, now_us: int, node: Node) -> list[Action]:
        if not any(self._has(bearer, Arm.BASE) for bearer in self._bearers(node)):
            return []
        self.id, self._started_us = self._shared.next_decision_id(), now_us
        missing = unsupported(self._against, node.capabilities)
        if missing is not None:
            return self._end("unsupported", missing, now_us, node)
        self.phase = Phase.RUNNING
        trial = self.trial
        record = self._record(
            "trial_started",
            now_us,
            base=self.rule.base[0].template,
            against=trial.against.template,
            share_of_time=trial.share_of_time,
            share_of_bearers=trial.share_of_bearers,
            period_s=trial.period_s,
            wash_out_ms=trial.wash_out_ms,
            seed=trial.seed,
            confidence=trial.stop.confidence,
            least_gain_ms=trial.stop.least_gain_ms,
            rate_loss_ratio=trial.stop.rate_loss_ratio,
        )
        for bearer in self._bearers(node):
            self.joined(bearer, now_us)
        return [record, self._save()]

    def _turn(self, period: Period | None, now_us: int, node: Node) -> list[Action]:
        """Another period begins."""
        former = self._period
        actions = [] if former is None else self._close(former, now_us, node)
        if self._ended():
            return actions
        self._period = period
        missed = period is not None and now_us - period.begins_us > _LATE_US
        if period is not None and period.second and self.trial.share_of_time is not None:
            missed = missed or former is None or former.pair != period.pair
        else:
            self._void, self._measured = None, {}
            self._members = {
                bearer.key for bearer in self._bearers(node) if self._may_take_part(bearer, node)
            }
        if missed:
            self._void = self._void or "the controller was not there at its begin"
        for bearer in self._bearers(node):
            self._assign(bearer, now_us)
        return actions

    def _may_take_part(self, bearer: Bearer, node: Node) -> bool:
        desired, view = bearer.desired, node.view(bearer.key)
        if bearer.state is not State.HOLDING or desired is None or bearer.on_ladder:
            return False
        if desired.pipeline == self._against or bearer.judged.compliance is not Compliance.VIOLATED:
            return True
        if view is None:
            return False
        # The last assessment may have seen what the other pipeline left.
        span_us = min(_GUARD_US, self.trial.period_us - self.trial.wash_out_ms * 1000)
        objective = self.rule.objective
        sojourn_us = view.sojourn_percentile(view.at_us - span_us, objective.percentile)
        return sojourn_us is not None and sojourn_us <= objective.bound_ms * 1000.0

    def _assign(self, bearer: Bearer, now_us: int) -> None:
        wanted = self._arm_of(bearer.key, self._period) is Arm.AGAINST
        rung = self.trial.against if wanted else None
        if bearer.assigned is not rung:
            bearer.assign(rung)
            # What the other pipeline left is no reason to climb the ladder.
            bearer.pause.extend(now_us + self.trial.wash_out_ms * 1000)

    def _arm_of(self, key: BearerKey, period: Period | None) -> Arm:
        if self.phase is Phase.ENDED:
            return self.winner
        share = self.trial.share_of_bearers
        if share is not None:
            return arm_of_bearer(self._seed(), key, share)
        return period.arm if period is not None and key in self._members else Arm.BASE

    def _reassert(self, node: Node) -> None:
        """Have bearers that a refused or lost control left on the other pipeline look again."""
        for bearer in self._bearers(node):
            desired = bearer.desired
            if desired is None:
                continue
            if (bearer.assigned is None) is isinstance(desired.slot, OfTrial):
                bearer.assign(bearer.assigned)

    # -------------------------------------------------------------------------- measuring

    def _measure(self, now_us: int, node: Node) -> None:
        period = self._period
        if self._meter is not None:
            self._meter.sample()
        elif (
            period is not None
            and self._void is None
            and now_us >= period.begins_us + self.trial.wash_out_ms * 1000
        ):
            self._watched = {
                bearer.key: (bearer, bearer.seen.revision)
                for bearer in self._bearers(node)
                if bearer.key in self._members and self._has_its_own(bearer)
            }
            self._meter = TrialMeter(node.windows, node.view, self._watched)

    def _close(self, period: Period, now_us: int, node: Node) -> list[Action]:
        """The period is over: what was measured counts."""
        meter, self._meter = self._meter, None
        if meter is None:
            self._void = self._void or "no bearer was measured"
        else:
            lasting: dict[Arm, list[BearerKey]] = {Arm.BASE: [], Arm.AGAINST: []}
            for key, (bearer, revision) in self._watched.items():
                kept = node.bearers.get(key) is bearer and bearer.seen.revision == revision
                if kept and self._has_its_own(bearer):
                    lasting[self._arm_of(key, period)].append(key)
            percentile = self.rule.objective.percentile
            for arm, keys in lasting.items():
                if keys or arm not in self._measured:
                    self._measured[arm] = meter.finish(node.windows, keys, percentile)
        self._watched = {}
        return self._add_block(period, now_us, node) if period.second else []

    def _add_block(self, period: Period, now_us: int, node: Node) -> list[Action]:
        measured, self._measured = self._measured, {}
        void, self._void = self._void, None
        if void is None:
            void = self.results.add(measured)
        if void is not None:
            return [self._record("trial_block", now_us, block=period.pair, void=void)]
        of_base = [each.sojourn_us for each in measured[Arm.BASE].values()]
        if of_base:
            count, total = self._base_sojourns
            self._base_sojourns = count + 1, total + fmean(of_base)
        self.effects = self.results.effects(self.trial.stop.confidence) or self.effects
        record = self._record(
            "trial_block",
            now_us,
            block=period.pair,
            **{arm.value: _mean(bearers) for arm, bearers in measured.items()},
            effect=self.effects.as_dict(),
            summary=self.summary(),
        )
        known = decided(self.trial, self.effects)
        if known is None:
            return [record, self._save()]
        return [record, *self._end("decided", known.why, now_us, node, winner=known.kept)]

    def _interrupt(self, now_us: int, node: Node) -> None:
        self._void = "the controller did not act for more than 1 s"
        self._meter = None
        self._members.clear()
        for bearer in self._bearers(node):
            self._assign(bearer, now_us)

    # ----------------------------------------------------------------------------- ending

    def _check_bounds(self, now_us: int, node: Node) -> list[Action]:
        """End at once when a bearer suffers under the pipeline that is tried."""
        stop = self.trial.stop
        limit_us = stop.max_sojourn_ms * 1000.0
        count, total = self._base_sojourns
        if stop.max_sojourn_ratio is not None and count:
            least_us = max(total / count, self.rule.guard.sojourn_floor_ms * 1000.0)
            limit_us = min(limit_us, stop.max_sojourn_ratio * least_us)
        for key in self._members:
            bearer, view = node.bearers.get(key), node.view(key)
            if bearer is None or view is None or bearer.assigned is None:
                continue
            if bearer.judged.compliance is not Compliance.VIOLATED:
                continue
            since_us = view.at_us - _GUARD_US
            sojourn_us = view.sojourn_percentile(since_us, self.rule.objective.percentile)
            if sojourn_us is not None and sojourn_us > limit_us:
                text = (
                    f"sojourn {sojourn_us / 1000:.0f} ms under {self.trial.against.template} on "
                    f"{key}, above the hard bound of {limit_us / 1000:.0f} ms"
                )
                return self._end("harm", text, now_us, node)
        return []

    def _end(
        self,
        reason: str,
        text: str,
        now_us: int,
        node: Node,
        *,
        winner: Arm = Arm.BASE,
    ) -> list[Action]:
        self.effects = self.results.last(self.trial.stop.confidence) or NO_EFFECTS
        if reason == "max_duration":
            verdict = at_end(self.trial, self.effects)
            winner, text = verdict.kept, f"{text}: {verdict.why}"
        self.winner = winner
        self.phase, self.ended = Phase.ENDED, {"reason": reason, "text": text}
        self._meter, self._period = None, None
        for bearer in self._bearers(node):
            self._assign(bearer, now_us)
        kept = self.rule.base[0] if self.winner is Arm.BASE else self.trial.against
        record = self._record(
            "trial_result",
            now_us,
            reason=reason,
            detail=text,
            blocks=self.results.blocks,
            effect=self.effects.as_dict(),
            kept=kept.template,
            summary=self.summary(),
        )
        return [record, self._save()]

    def summary(self) -> str:
        """The effect in one sentence."""
        return summary(self.node_id, self.rule, self.trial, self.results.blocks, self.effects)

    # ------------------------------------------------------------------------------ inner

    def _ended(self) -> bool:
        return self.phase is Phase.ENDED

    def _schedule(self) -> Schedule | Blocks:
        trial = self.trial
        if trial.share_of_time is None:
            return Blocks(self._started_us, trial.period_us)
        return Schedule(self._seed(), self._started_us, trial.period_us, trial.share_of_time)

    def _seed(self) -> str:
        return f"{self.trial.seed}/{self.rule.name}/{self.node_id}"

    def _bearers(self, node: Node) -> Iterable[Bearer]:
        name = self.rule.name
        return [
            bearer
            for bearer in node.bearers.values()
            if bearer.rule is not None and bearer.rule.name == name
        ]

    def _has_its_own(self, bearer: Bearer) -> bool:
        return self._has(bearer, self._arm_of(bearer.key, self._period))

    def _has(self, bearer: Bearer, arm: Arm) -> bool:
        """Whether the pipeline of this arm is in force and nothing is under way."""
        desired = bearer.desired
        if bearer.state is not State.HOLDING or desired is None or bearer.on_ladder:
            return False
        wanted = self._bases if arm is Arm.BASE else [self._against]
        return desired.pipeline in wanted

    def _save(self) -> Action:
        desired = self._shared.desired
        desired.trials[self.node_id, self.rule.name] = self.document()
        return SaveDesired(desired.document)

    def _record(self, event: str, now_us: int, **details: Any) -> Action:
        named = {"event": event, "id": self.id, "at_us": now_us}
        return WriteRecord({**named, "node": self.node_id, "rule": self.rule.name, **details})


def _mean(bearers: Mapping[BearerKey, Measured]) -> dict[str, Any]:
    """What the bearers of one arm got in a block, for the decision log."""
    if not bearers:
        return {"bearers": 0}
    return {
        "bearers": len(bearers),
        "sojourn_ms": round(fmean(each.sojourn_us for each in bearers.values()) / 1000, 3),
        "rate_mbps": round(sum(each.rate_kbps for each in bearers.values()) / 1000, 3),
    }


def digest(rule: Rule) -> str:
    """Digest of all that must not change during a trial."""
    parts = rule.model_dump(mode="json", include={"base", "classes", "objective", "trial"})
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
