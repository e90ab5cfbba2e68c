"""The E2SM-TC v1 RAN function in front of a node that has v0.

It reads the node's v0 and RLC reports, carries out v1 controls by v0 controls, and stores what v0
lacks: bearer, revision, lease, name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final

import e2sm_tc
from e2sm_tc import v0
from ric.errors import ServiceModelError

from flexric_bridge.budget import BudgetSpent
from flexric_bridge.controls import RateExceeded
from flexric_bridge.settings import TcSettings
from flexric_bridge.tc import in_force
from flexric_bridge.tc.bearer import NodeBearer
from flexric_bridge.tc.in_force import InForce
from flexric_bridge.tc.messages import Answer, Refused, accepted, decode_control, event, refused
from flexric_bridge.tc.node_lease import NodeLease
from flexric_bridge.tc.report_age import ReportAge
from flexric_bridge.tc.stub import StubWatch
from flexric_bridge.tc.transition import Port, carry_out

_MISMATCHES: Final = 3
"""Consecutive reports of another pipeline that are evidence: one or two may have been in flight."""
_OVERTAKEN_US: Final = 1_000_000
"""Largest age of an overtaken report relative to the newest; beyond it the node's clock was set."""
_MAX_QUEUES_REPORTED: Final = 256
"""Most entries of `PipelineStatus.queues`."""

_TO_SAFE: Final = ("safe", "initial")
"""Changes to the safe pipeline, which is the initial one: v0 sets no other."""

QueueActivity = dict[int, tuple[int, int]]
"""Packets forwarded and dropped of each queue, as of the last report to a reader."""


@dataclass(frozen=True, slots=True)
class _Change:
    """What a valid transaction changes in the pipeline in force."""

    current: InForce
    state: v0.State
    pipeline: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pending:
    """A transaction for the node: `transact` carries it out."""

    content: Mapping[str, Any]
    change: _Change | None
    """`None` where another transaction was under way, so that it has to be determined."""

    @property
    def element(self) -> str | None:
        """Transactions with the same element may replace one another while they wait; `None`:
        never."""
        return None if "delta" in self.content["change"] else repr(self.content["bearer"])


class RanFunction:
    """One node's v1 RAN function."""

    def __init__(self, node_id: str, settings: TcSettings, port: Port) -> None:
        self.node_id = node_id
        self._limits = (settings.max_queues, settings.max_filters)
        self._port = port
        self.bearer = NodeBearer(node_id, settings.bearers)
        self.node_lease = NodeLease()
        self.in_force: InForce | None = None
        self._remembered: InForce | None = None
        self._reports = v0.Reports()
        self._newest_us: int | None = None
        self._age = ReportAge()
        self._mismatches = 0
        self._changing = False
        self._state_uncertain = False
        self.watch = StubWatch()
        self._acknowledged_unseen = False
        self.undone = 0
        """Transactions that the node refused in part and that were undone."""

    # ------------------------------------------------------------------------ reports

    def on_rlc(self, message: bytes) -> None:
        """An RLC report; raises `ServiceModelError`."""
        if events := self.bearer.on_rlc(message, self._port.now_us()):
            self._port.publish(events)

    def on_indication(self, message: bytes) -> None:
        """A v0 report; raises `ServiceModelError` for other bytes."""
        try:
            indication = e2sm_tc.decode("indication", message, "v0")
            seen = v0.State.observed(message)
        except e2sm_tc.CodecError as error:
            raise ServiceModelError("tc", "indication", str(error), "E2SM-TC v0") from None
        if self._overtaken(indication["tstamp"]):
            return
        made_us, now_us = indication["tstamp"], self._port.now_us()
        self._newest_us = made_us
        self._age.take(made_us, now_us)
        self._reports.take(message)
        if self._changing or self._age.is_of_before(made_us, now_us):
            self.watch.controlled()
            return
        self.watch.take(indication)
        if self.in_force is None:
            self._first_seen(seen)
        elif self.in_force.state.agrees_with(seen):
            self._mismatches, self._state_uncertain = 0, False
            self._reported(as_requested=True)
        else:
            self._mismatches += 1
            if self._state_uncertain or self._mismatches >= _MISMATCHES:
                self._reported(as_requested=False)
                self._replaced_by(seen)

    def _overtaken(self, at_us: int) -> bool:
        """A newer report came first, as FlexRIC's threads allow: counters of this one would seem to
        restart."""
        return self._newest_us is not None and 0 < self._newest_us - at_us < _OVERTAKEN_US

    def _reported(self, *, as_requested: bool) -> None:
        if self._acknowledged_unseen:
            self._acknowledged_unseen = False
            self.watch.reported(as_requested=as_requested)

    def _first_seen(self, seen: v0.State) -> None:
        """The first report since this process started or the node connected."""
        remembered, self._remembered = self._remembered, None
        if remembered is None:
            self.in_force = in_force.found(seen, 1)
            return
        self.in_force = remembered
        if not remembered.state.agrees_with(seen):
            self._replaced_by(seen)

    def _replaced_by(self, seen: v0.State) -> None:
        """The node has another pipeline than the one in force: it restarted, or another client
        controls it. The lease continues, so that the pipeline ends unless renewed."""
        before = self.in_force
        current = in_force.found(seen, 1 if before is None else before.next_revision())
        if before is not None and not seen.is_safe:
            current = replace(current, lease_ends_at_us=before.lease_ends_at_us)
        self._mismatches, self._state_uncertain = 0, False
        self._enter(current, "pipeline_changed")

    def node_gone(self) -> None:
        """The node disconnected; its pipeline is determined anew when it reconnects."""
        if self.in_force is not None:
            self._remembered, self.in_force = self.in_force, None
        self._newest_us = None
        self._age = ReportAge()
        self._mismatches = 0
        self._acknowledged_unseen = False
        self.watch = StubWatch()

    def status(self, activity: QueueActivity) -> dict[str, Any] | None:
        """`PipelineStatus` by the newest report; `None` while bearer or pipeline are unknown.

        `activity` is of the last report to this reader and is updated: queues without packets or
        traffic since are left out.
        """
        bearer, current = self.bearer.id, self.in_force
        if bearer is None or current is None:
            return None
        context = {
            "bearer": bearer,
            "revision": current.revision,
            "lease_left_ms": current.lease_left_ms(self._port.now_us()),
            "owner": current.owner,
            "rlc_occupancy_bytes": self.bearer.rlc_occupancy_bytes,
        }
        status = v0.lift(self._reports, current.state, context)
        if status is not None:
            active = [queue for queue in status["queues"] if _is_active(queue, activity)]
            status["queues"] = active[:_MAX_QUEUES_REPORTED]
        return status

    # ----------------------------------------------------------------------- controls

    def receive(self, header: bytes, message: bytes) -> Answer | Pending:
        """The answer to a control that needs nothing of the node; otherwise the transaction."""
        try:
            kind, content = decode_control(header, message)
            if kind == "node_lease":
                term, lease_ms = self.node_lease.apply(content, self._port.now_us())
                self._port.changed()
                return accepted(term, lease_ms)
            if kind == "lease_renewal":
                self._check(content)
                return self._renewed(self._current(), content)
            if self._changing and not content["dry_run"]:
                self._check(content)
                return Pending(content, None)
            change = self._checked(content)
            return change if isinstance(change, Answer) else Pending(content, change)
        except Refused as refusal:
            return self._refused(refusal)

    def _check(self, content: Mapping[str, Any]) -> None:
        self.bearer.check(content["bearer"])
        self.node_lease.admit(content["owner"], self._port.now_us())

    def _checked(self, content: Mapping[str, Any]) -> Answer | _Change:
        self._check(content)
        if content["as_safe"]:
            detail = "an E2SM-TC v0 node returns to one FIFO; expected false"
            raise Refused("unsupported", "as_safe", detail)
        current = self._current()
        _check_revision("expected_revision", content["expected_revision"], current)
        change = self._target(current, content["change"])
        unchanged = change.state == current.state and change.pipeline == current.pipeline
        return self._accept(change, content) if content["dry_run"] or unchanged else change

    async def transact(self, pending: Pending) -> Answer:
        """Carry out a transaction; raises `SdkError` and `SessionDown` where the node cannot be
        asked: what is on it then follows from its reports."""
        content, change = pending.content, pending.change
        try:
            self._check(content)
            # While it waited, another transaction may have changed the pipeline.
            if change is None or change.current is not self.in_force:
                checked = self._checked(content)
                if isinstance(checked, Answer):
                    return checked
                change = checked
            to_safe = content["change"] in _TO_SAFE
            await self._execute(change.current, change.state, content["lease_ms"], safe=to_safe)
        except Refused as refusal:
            return self._refused(refusal)
        self._acknowledged_unseen = True
        return self._accept(change, content)

    async def end_lease(self) -> None:
        """Return to the safe pipeline when the lease is over. Raises as `transact`."""
        current = self.in_force
        if current is None or not self.lease_over():
            return
        safe = v0.State.safe(current.state.base)
        try:
            await self._execute(current, safe, None, safe=True)
        except Refused:
            # Limits the attempts.
            self.in_force = current.leased(1_000, self._port.now_us())
            return
        self._enter(in_force.found(safe, current.next_revision()), "lease_expired")

    def lease_over(self) -> bool:
        """Whether the pipeline in force has outlived its lease."""
        current = self.in_force
        return (
            current is not None
            and not self._changing
            and current.lease_ends_at_us is not None
            and self._port.now_us() >= current.lease_ends_at_us
        )

    async def _execute(
        self, current: InForce, target: v0.State, lease_ms: int | None, *, safe: bool
    ) -> None:
        """Send the controls to reach `target`; raises `Refused` when the node refuses one."""
        try:
            groups = current.state.controls_to(target)
            await self._port.admit(len(list(chain.from_iterable(groups))), safe=safe)
        except v0.ControlError as error:
            raise Refused("inconsistent", "", str(error)) from None
        except (BudgetSpent, RateExceeded) as error:
            raise Refused("capacity", "", str(error)) from None
        self._changing = True
        try:
            failure = await carry_out(self._port, current.state, groups, safe=safe)
        except BudgetSpent as error:  # before the first was sent
            raise Refused("capacity", "", str(error)) from None
        except BaseException:
            # Whether the last control took effect is unknown, and nobody holds the lease.
            self._state_uncertain = True
            if self.in_force is not None and self.in_force.lease_ends_at_us is None and lease_ms:
                self.in_force = self.in_force.leased(lease_ms, self._port.now_us())
            raise
        finally:
            self._changing = False
            self._age.changed(self._port.now_us())
            self.watch.controlled()
        if failure is not None:
            self.undone += 1
            self._state_uncertain |= not failure.undone
            raise Refused("inconsistent", "", failure.detail)

    def _current(self) -> InForce:
        if self.in_force is None:
            detail = "the node has not reported its pipeline yet; try again"
            raise Refused("inconsistent", "", detail)
        return self.in_force

    def _target(self, current: InForce, change: Any) -> _Change:
        base = current.state.base
        safe = v0.State.safe(base)
        if change in _TO_SAFE:
            return _Change(current, safe, v0.pipeline(safe))
        if "delta" in change and current.pipeline is None:
            raise Refused(
                "inconsistent",
                "delta",
                "the pipeline in force was found on the node and v0 does not report all of it;"
                " expected replace or safe",
            )
        before = current.pipeline or v0.pipeline(safe)
        try:
            pipeline = e2sm_tc.candidate(
                before, v0.pipeline(safe), change, v0.capabilities(*self._limits)
            )
            state = v0.lower(pipeline, base, *self._limits)
        except e2sm_tc.PipelineError as error:
            raise Refused(error.cause, error.element, error.detail) from None
        except e2sm_tc.CodecError as error:
            raise Refused("malformed", error.element, str(error)) from None
        return _Change(current, state, pipeline)

    def _renewed(self, current: InForce, content: Mapping[str, Any]) -> Answer:
        _check_revision("revision", content["revision"], current)
        if current.lease_ends_at_us is None:
            raise Refused("inconsistent", "", "the pipeline in force has no lease to renew")
        self.in_force = current.leased(content["lease_ms"], self._port.now_us())
        self._port.changed()
        return self._accepted(self.in_force)

    def _accept(self, change: _Change, content: Mapping[str, Any]) -> Answer:
        if content["dry_run"]:
            return self._accepted(change.current)
        after = InForce(change.current.next_revision(), change.pipeline, change.state)
        if content["change"] not in _TO_SAFE:
            after = replace(after, owner=content["owner"])
            after = after.leased(content["lease_ms"], self._port.now_us())
        self._enter(after, "pipeline_changed")
        return self._accepted(after)

    def _enter(self, current: InForce, kind: str) -> None:
        self.in_force = current
        self._port.changed()
        bearer = self.bearer.id
        if bearer is not None:
            content: dict[str, Any] = {"revision": current.revision}
            if kind == "pipeline_changed":
                content["name"] = current.state.name
            self._port.publish([event(bearer, self._port.now_us(), {kind: content})])

    def _accepted(self, current: InForce) -> Answer:
        return accepted(current.revision, current.lease_left_ms(self._port.now_us()))

    def _refused(self, refusal: Refused) -> Answer:
        return refused(refusal, None if self.in_force is None else self.in_force.revision)

    def superseded(self) -> Answer:
        """Answer to a control that a later one replaced before it was sent."""
        detail = "superseded: a later control of the same bearer came before this one was sent"
        return self._refused(Refused("stale_revision", "", detail))

    # --------------------------------------------------------------------- state file

    def to_json(self) -> dict[str, Any] | None:
        """State of the node for a restart; `None` if there is none."""
        current = self.in_force or self._remembered
        if current is None:
            return None
        return {**current.to_json(), "node_lease": self.node_lease.to_json()}

    def load(self, value: Any) -> None:
        """Restore the result of `to_json`; raises `ValueError` for anything else."""
        try:
            self._remembered = in_force.from_json(value, *self._limits)
            self.node_lease = NodeLease.from_json(value["node_lease"])
        except ValueError as error:
            raise ValueError(f"pipeline of {self.node_id}: {error}") from None


def _check_revision(element: str, expected: int | None, current: InForce) -> None:
    if expected is not None and expected != current.revision:
        detail = f"{expected}; {current.revision} is in force"
        raise Refused("stale_revision", element, detail)


def _is_active(queue: Mapping[str, Any], activity: QueueActivity) -> bool:
    number, now = queue["id"], (queue["forwarded_packets"], queue["dropped_packets"])
    before, activity[number] = activity.get(number), now
    return queue["backlog_packets"] > 0 or before != now
