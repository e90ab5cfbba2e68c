"""Carries out the core's actions: sends controls, writes decision records, saves the state."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Final

import structlog
from ric.backoff import Backoff
from ric.clock import Clock
from ric.e2 import E2Gateway
from ric.errors import AccessDenied, GatewayError, ServiceModelError
from ric.health import Condition
from ric.sm import TC_V1_OID, tc
from ric.state_file import StateFile

from tc_controller.core.act.ownership import Role
from tc_controller.core.actions import Action, SaveDesired, SendControl, WriteRecord
from tc_controller.core.inputs import (
    Accepted,
    BearerKey,
    Denied,
    Ie,
    Outcome,
    PipelineReport,
    Refused,
    Unanswered,
    parse_outcome,
)
from tc_controller.decision_log import DecisionLog
from tc_controller.latency import LoopLatencies
from tc_controller.warm_up import probe

_log = structlog.get_logger()

OffLoop = Callable[[Callable[[], None]], Awaitable[None]]

_RECORD_DELAY_S: Final = 0.05
_SAVE_DELAY_S: Final = 0.05
_RETRY_INITIAL_S: Final = 0.5
_RETRY_MAX_S: Final = 10.0


class ControlSender:
    """Sends E2SM-TC controls and passes their outcomes to ``on_answer``."""

    def __init__(
        self,
        gateway: E2Gateway,
        owner: str,
        now_us: Callable[[], int],
        latencies: LoopLatencies,
        on_answer: Callable[[int, int, Outcome], None],
    ) -> None:
        self._gateway = gateway
        self._owner = owner
        self._now_us = now_us
        self._latencies = latencies
        self._on_answer = on_answer
        self._tasks: set[asyncio.Task[None]] = set()
        self._probed: set[str] = set()

    def send(self, action: SendControl) -> None:
        """Send a control of the core."""
        self._start(self._send(action))

    def probe(self, report: PipelineReport) -> None:
        """Send a node one dry-run control; the log shows whether it answers."""
        if report.node_id in self._probed:
            return
        for status in report.statuses:
            if status.rnti is not None:
                self._probed.add(report.node_id)
                bearer = BearerKey(report.node_id, status.rnti, status.drb)
                self._start(self._probe(report.node_id, bearer.ie()))
                return

    def forget(self, node_id: str) -> None:
        """Probe the node again when it reconnects."""
        self._probed.discard(node_id)

    async def drain(self, timeout_s: float) -> None:
        """Wait for the answers that are due."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=timeout_s)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(self, action: SendControl) -> None:
        sent_us = self._now_us()
        outcome = await self._outcome(action.node_id, action.header, action.message)
        now_us = self._now_us()
        if not isinstance(outcome, Unanswered):
            self._latencies.control.add(now_us - sent_us)
        self._on_answer(now_us, action.control_id, outcome)

    async def _probe(self, node_id: str, bearer: Ie) -> None:
        sent_us = self._now_us()
        outcome = await self._outcome(node_id, *probe(bearer, self._owner))
        held = isinstance(outcome, Refused) and outcome.cause == "not_owner"
        if held or isinstance(outcome, Accepted):
            took_us = self._now_us() - sent_us
            _log.info("node answers controls", node=node_id, round_trip_us=took_us)
        else:
            _log.warning("dry-run control failed", node=node_id, outcome=outcome)

    async def _outcome(self, node_id: str, header_ie: Ie, message_ie: Ie) -> Outcome:
        try:
            header = tc.encode("control-header", header_ie)
            message = tc.encode("control", message_ie)
        except ServiceModelError as error:
            return Refused("malformed", "", str(error), None)
        try:
            answer = await self._gateway.control(node_id, TC_V1_OID, header, message)
            if not answer.outcome:
                return Unanswered(f"answer without outcome: {answer.detail}")
            return parse_outcome(tc.decode("control-outcome", answer.outcome))
        except AccessDenied as error:
            return Denied(str(error))
        except (GatewayError, ServiceModelError) as error:
            return Unanswered(str(error))


class RecordWriter:
    """Writes decision records to the decision log and, in brief, to the program's log."""

    def __init__(
        self,
        log: DecisionLog | None,
        latencies: LoopLatencies,
        on_record: Callable[[Mapping[str, Any]], None],
    ) -> None:
        self._file = log
        self._on_record = on_record
        self._latencies = latencies
        self._waiting: list[WriteRecord] = []

    @property
    def lost(self) -> int:
        """Records that could not be written."""
        return 0 if self._file is None else self._file.lost

    def condition(self) -> Condition:
        """Condition of readiness. Control continues without a log: the program stays ready."""
        if self._file is None:
            return Condition(True, "off")
        problem, lost = self._file.problem, self._file.lost
        state = f"not written: {problem}" if problem else "written"
        return Condition(True, f"{state}; {lost} records lost", degraded=bool(problem or lost))

    def add(self, action: WriteRecord) -> None:
        """Write a record after the controls of the same report are sent: controls are urgent."""
        if not self._waiting:
            asyncio.get_running_loop().call_later(_RECORD_DELAY_S, self.flush)
        self._waiting.append(action)

    def flush(self) -> None:
        """Write the queued records."""
        waiting, self._waiting = self._waiting, []
        for action in waiting:
            record = action.record
            self.write(record)
            self._on_record(record)
            event = record["event"]
            if event == "ownership" and record["role"] == Role.DUPLICATE.label:
                _log.warning("another controller has this one's identity", **_brief(record))
            elif event == "fault" and record["what"] == "began":
                _log.warning(event, **_brief(record))
            elif event != "answered":
                _log.info(event, **_brief(record))
            elif "unanswered" not in record["outcome"]:
                self._latencies.detect_to_ack.add(record["detect_to_ack_us"])

    def write(self, record: Mapping[str, Any]) -> None:
        """Write a record to the decision log."""
        if self._file is not None:
            self._file.write(record)


class StateWriter:
    """Saves the desired pipelines, at most every 50 ms and off the event loop."""

    def __init__(self, file: StateFile, clock: Clock, off_loop: OffLoop) -> None:
        self._file = file
        self._clock = clock
        self._off_loop = off_loop
        self._newest: SaveDesired | None = None
        # Set by the event loop; the thread that writes compares it with what it has written.
        self._document: Mapping[str, Any] | None = None
        self._written: Mapping[str, Any] | None = None
        self._changed = asyncio.Event()
        # The last write, at a stop, may overlap with an earlier one.
        self._writing = threading.Lock()

    def add(self, action: SaveDesired) -> None:
        """Schedule a write."""
        self._newest = action
        self._changed.set()

    async def run(self) -> None:
        """Save changes until cancelled; a failed save is tried again with the newest state."""
        backoff = Backoff(_RETRY_INITIAL_S, _RETRY_MAX_S)
        while True:
            await self._changed.wait()
            # Many bearers may change at once; one write covers them all.
            await self._clock.sleep(_SAVE_DELAY_S)
            self._changed.clear()
            self._compile()
            await self._off_loop(self._save)
            if self._written is self._document:
                backoff.reset()
            else:
                self._changed.set()
                await self._clock.sleep(backoff.next_s())

    def write(self) -> None:
        """Save the newest state now; to be called on the event loop."""
        self._compile()
        self._save()

    def _compile(self) -> None:
        if self._newest is not None:
            self._document = self._newest.document()
            self._newest = None

    def _save(self) -> None:
        with self._writing:
            document = self._document
            if document is not None and document is not self._written and self._file.save(document):
                self._written = document


class Actuator:
    """Dispatches the actions of the core."""

    def __init__(self, controls: ControlSender, records: RecordWriter, state: StateWriter) -> None:
        self.controls = controls
        self.records = records
        self.state = state

    def perform(self, actions: Sequence[Action]) -> None:
        """Carry out the actions."""
        for action in actions:
            if isinstance(action, SendControl):
                self.controls.send(action)
            elif isinstance(action, SaveDesired):
                self.state.add(action)
            else:
                self.records.add(action)


_BRIEF: Final = (
    *("id", "bearer", "verdict", "state", "reason", "reasons", "blocker", "pipeline"),
    *("node", "role", "holder", "rule", "void", "summary", "by_us", "fault", "what"),
)


def _brief(record: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a record that fit a log line."""
    brief = {name: record[name] for name in _BRIEF if record.get(name) is not None}
    if "rung" in record:
        brief["template"] = record["rung"]["template"]
    return brief
