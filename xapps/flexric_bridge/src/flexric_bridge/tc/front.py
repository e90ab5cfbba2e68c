"""The E2SM-TC v1 RAN function in front of a node that speaks v0.

It hears the node's v0 and RLC reports, answers v1 controls by v0 controls, and keeps what v0 has no
place for: which bearer, revision, lease, name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import e2sm_tc
from ric.errors import ServiceModelError
from ric.sm import rlc

from flexric_bridge.budget import BudgetSpent
from flexric_bridge.controls import TooFast
from flexric_bridge.sdk import SdkError
from flexric_bridge.settings import Bearer, TcSettings
from flexric_bridge.tc import ledger, lift, v0
from flexric_bridge.tc.definition import capabilities
from flexric_bridge.tc.ledger import Entry
from flexric_bridge.tc.plan import plan
from flexric_bridge.tc.stages import after, stages
from flexric_bridge.tc.stub import StubWatch
from flexric_bridge.tc.to_v0 import UnsupportedInV0, V0Translation, to_v0

_STYLES: Final = {1: "transaction", 2: "lease_renewal", 3: "forecast_feed"}
_MISMATCHES: Final = 3
"""Reports in a row that show another pipeline: one or two may have been under way."""
_OVERTAKEN_US: Final = 1_000_000
"""A report that is older than the newest by more was not overtaken: the node's clock was set."""
_HEADER: Final = e2sm_tc.encode("control-header", {"dummy": 0}, "v0")
BUFFER_NOTE: Final = "the node's own buffer limit holds: E2SM-TC v0 cannot say another"
FEED_NOTE: Final = (
    "a forecast feed would cost one of the RIC's requests each time; the CU takes forecasts from"
    " the forecaster's stream instead"
)


class Port(Protocol):
    """What the front needs of the bridge around it."""

    def now_us(self) -> int:
        """Wall clock, µs since the Unix epoch."""
        ...

    async def admit(self, controls: int, *, safe: bool) -> None:
        """Wait for leave to send so many controls; raises `BudgetSpent` and `TooFast`."""
        ...

    async def controls(
        self, header: bytes, stages: Sequence[Sequence[bytes]], *, safe: bool
    ) -> tuple[list[bool], SdkError | None]:
        """v0 controls in order until one is not acknowledged, those of a stage at once if that can
        be: which of those that were sent were acknowledged, and what became of the first that was
        not. Raises `SdkError`, `SessionDown` and `BudgetSpent` where that is not known, or none was
        sent."""
        ...

    def changed(self) -> None:
        """What is to outlive the process has changed."""
        ...

    def tell(self, events: Sequence[Mapping[str, Any]]) -> None:
        """v1 events happened."""
        ...


@dataclass(frozen=True, slots=True)
class Answer:
    """Of a v1 control."""

    accepted: bool
    outcome: bytes
    detail: str = ""


@dataclass(frozen=True, slots=True)
class _Change:
    """What a transaction that is in order changes in the pipeline in force."""

    entry: Entry
    translation: V0Translation
    pipeline: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """A transaction for the node: `transact` carries it out."""

    content: Mapping[str, Any]
    change: _Change | None
    """`None` where another one was under way, so that it has to be seen."""

    @property
    def element(self) -> str | None:
        """What it could be replaced by a later one for while it waits; `None`: never."""
        return None if "delta" in self.content["change"] else repr(self.content["bearer"])


class _Refused(Exception):  # noqa: N818 - says what happened
    def __init__(self, cause: str, element: str, detail: str) -> None:
        super().__init__(f"{element}: {detail}" if element else detail)
        self.cause = cause
        self.element = element
        self.detail = detail


class Front:
    """One node's v1 RAN function."""

    def __init__(self, node_id: str, settings: TcSettings, port: Port) -> None:
        self.node_id = node_id
        self._settings = settings
        self._port = port
        self._chosen = next((b for b in settings.bearers if _is(b, node_id)), Bearer())
        self.entry: Entry | None = None
        self._remembered: Entry | None = None
        self._counters = lift.Counters()
        self._indication: Mapping[str, Any] | None = None
        self._mismatches = 0
        self._changing = False
        self._state_uncertain = False
        self._bearer: tuple[int, int] | None = None
        self._candidates: list[tuple[int, int]] = []
        self.rlc_occupancy_bytes = 0
        self.watch = StubWatch()
        self._to_be_shown = False
        self.undone = 0
        """Transactions that failed on the way and were taken back."""

    # ------------------------------------------------------------------------ reports

    @property
    def bearer(self) -> dict[str, Any] | None:
        """The bearer the pipeline is of; `None` while that is not known."""
        return None if self._bearer is None else _bearer_ie(*self._bearer)

    def on_rlc(self, message: bytes) -> None:
        """An RLC report; raises `ServiceModelError`."""
        records = rlc.decode(message).records
        found = []
        for rnti, drb, occupancy in zip(
            records["rnti"].tolist(),
            records["rbid"].tolist(),
            records["txbuf_occ_bytes"].tolist(),
            strict=True,
        ):
            wanted = (self._chosen.rnti in (None, rnti)) and (self._chosen.drb in (None, drb))
            if wanted and rnti <= 0xFFFF and 1 <= drb <= 32:
                found.append((rnti, drb))
                if (rnti, drb) == self._bearer:
                    self.rlc_occupancy_bytes = occupancy
        # Told twice, or it is a UE on its way in or out.
        settled, self._candidates = found == self._candidates, found
        bearer = found[0] if len(found) == 1 else None
        if bearer == self._bearer or not settled:
            return
        before, self._bearer = self._bearer, bearer
        at_us = self._port.now_us()
        events = []
        if before is not None:
            events.append(_event(_bearer_ie(*before), at_us, "bearer_removed"))
        if bearer is not None:
            events.append(_event(_bearer_ie(*bearer), at_us, "bearer_added"))
        self._port.tell(events)

    def do_without_rlc(self) -> None:
        """The node has no RLC reports, as a CU may: the bearer is the one of the settings."""
        if self._chosen.rnti is not None and self._chosen.drb is not None:
            self._bearer = (self._chosen.rnti, self._chosen.drb)

    def on_indication(self, message: bytes) -> None:
        """A v0 report; raises `ServiceModelError` for bytes that are none."""
        try:
            indication = e2sm_tc.decode("indication", message, "v0")
        except e2sm_tc.CodecError as error:
            raise ServiceModelError("tc", "indication", str(error), "E2SM-TC v0") from None
        try:
            seen = v0.observed(indication)
        except v0.V0Error as error:
            raise ServiceModelError("tc", "indication", str(error), "E2SM-TC v0") from None
        if self._overtaken(indication):
            return
        self._indication = indication
        self._counters.take(v0.queues_of(indication))
        if self._changing:
            self.watch.controlled()
            return
        self.watch.take(indication)
        if self.entry is None:
            self._meet(seen)
        elif v0.alike(self.entry.state, seen):
            self._mismatches, self._state_uncertain = 0, False
            self._has_shown(as_asked=True)
        else:
            self._mismatches += 1
            if self._state_uncertain or self._mismatches >= _MISMATCHES:
                self._has_shown(as_asked=False)
                self._find(seen)

    def _overtaken(self, indication: Mapping[str, Any]) -> bool:
        """A newer report came first, as FlexRIC's threads may do it: the counters of this one would
        seem to begin anew."""
        newest = self._indication
        return newest is not None and 0 < newest["tstamp"] - indication["tstamp"] < _OVERTAKEN_US

    def _has_shown(self, *, as_asked: bool) -> None:
        if self._to_be_shown:
            self._to_be_shown = False
            self.watch.shown(as_asked=as_asked)

    def _meet(self, seen: v0.State) -> None:
        """The first report since this process began, or since the node came."""
        remembered, self._remembered = self._remembered, None
        if remembered is None:
            self.entry = ledger.found(seen, 1)
        elif v0.alike(remembered.state, seen):
            self.entry = remembered
        else:
            self.entry = remembered
            self._find(seen)

    def _find(self, seen: v0.State) -> None:
        """Another pipeline is on the node than was put there: it restarted, or somebody else was
        at it. A lease goes on: what nobody renews shall not stay."""
        before = self.entry
        revision = 1 if before is None else before.next_revision()
        entry = ledger.found(seen, revision)
        if before is not None and not entry.safe:
            entry = replace(entry, lease_ends_at_us=before.lease_ends_at_us)
        self._mismatches, self._state_uncertain = 0, False
        self._enter(entry, "pipeline_changed")

    def node_gone(self) -> None:
        """The node is away; what is on it when it is back is to be seen again."""
        if self.entry is not None:
            self._remembered, self.entry = self.entry, None
        self._indication = None
        self._mismatches = 0
        self._to_be_shown = False
        self.watch = StubWatch()

    def status(self, told: dict[int, tuple[int, int]]) -> dict[str, Any] | None:
        """`PipelineStatus` by the newest report; `None` while bearer or pipeline are not known."""
        bearer = self.bearer
        if bearer is None or self.entry is None or self._indication is None:
            return None
        return lift.status(
            bearer,
            self.entry,
            self._indication,
            self._counters,
            told,
            rlc_occupancy_bytes=self.rlc_occupancy_bytes,
            now_us=self._port.now_us(),
        )

    # ----------------------------------------------------------------------- controls

    def receive(self, header: bytes, message: bytes) -> Answer | Asked:
        """The answer to a control that sends nothing to the node; of another, what it asks for."""
        try:
            kind, content = _decoded(header, message)
            if kind == "lease_renewal":
                self._check_bearer(content["bearer"])
                return self._renewed(self._in_force(), content)
            if self._changing and not content["dry_run"]:
                self._check_bearer(content["bearer"])
                return Asked(content, None)
            change = self._weighed(content)
            return change if isinstance(change, Answer) else Asked(content, change)
        except (_Refused, UnsupportedInV0) as refused:
            return self._refusal(refused.cause, refused.element, refused.detail)

    def _weighed(self, content: Mapping[str, Any]) -> Answer | _Change:
        self._check_bearer(content["bearer"])
        entry = self._in_force()
        self._check_revision(entry, content["expected_revision"])
        translation, pipeline = self._target(entry, content["change"])
        if content["dry_run"] or (translation.state == entry.state and pipeline == entry.pipeline):
            return self._accept(entry, translation, pipeline, content)
        return _Change(entry, translation, pipeline)

    async def transact(self, asked: Asked) -> Answer:
        """Carry out a transaction; raises `SdkError` and `SessionDown` where the node cannot be
        asked, with what is on it then to be seen from its reports."""
        content, change = asked.content, asked.change
        try:
            self._check_bearer(content["bearer"])
            # While it waited, another may have changed what it is about.
            if change is None or change.entry is not self.entry:
                weighed = self._weighed(content)
                if isinstance(weighed, Answer):
                    return weighed
                change = weighed
        except (_Refused, UnsupportedInV0) as refused:
            return self._refusal(refused.cause, refused.element, refused.detail)
        to_safe = content["change"] == "safe"
        refusal = await self._go(
            change.entry, change.translation.state, content["lease_ms"], safe=to_safe
        )
        if refusal is not None:
            return refusal
        self._to_be_shown = True
        return self._accept(change.entry, change.translation, change.pipeline, content)

    async def end_lease(self) -> None:
        """Return to the safe pipeline, its lease being over. Raises as `transact`."""
        entry = self.entry
        if entry is None or not self.lease_over():
            return
        target = v0.safe(entry.state.base)
        refused = await self._go(entry, target, None, safe=True)
        if refused is not None:
            # Not to be tried each tick.
            self.entry = entry.leased(1_000, self._port.now_us())
            return
        pipeline = ledger.safe_pipeline(entry.state.base)
        self._enter(Entry(entry.next_revision(), pipeline, target), "lease_expired")

    def lease_over(self) -> bool:
        """Whether the pipeline in force has outlived its lease."""
        entry = self.entry
        return (
            entry is not None
            and not self._changing
            and entry.lease_ends_at_us is not None
            and self._port.now_us() >= entry.lease_ends_at_us
        )

    async def _go(
        self, entry: Entry, target: v0.State, lease_ms: int | None, *, safe: bool
    ) -> Answer | None:
        """Send what leads to `target`; the refusal when the node is left as it was."""
        steps = plan(entry.state, target)
        try:
            await self._port.admit(len(steps), safe=safe)
        except (BudgetSpent, TooFast) as error:
            return self._refusal("capacity", "", str(error))
        self._changing = True
        try:
            acknowledged, failure = await self._send(entry.state, steps, safe=safe)
            if failure is None:
                return None
            _raise_if_unknown(failure)
            undone = await self._undo(after(entry.state, steps, acknowledged), entry.state)
            self.undone += 1
            first = acknowledged.index(False)
            where = f"step {first + 1} of {len(steps)}, {_shown(steps[first])}"
            return self._refusal("inconsistent", "", f"{where}: {failure}{undone}")
        except BudgetSpent as error:  # before the first was sent
            return self._refusal("capacity", "", str(error))
        except BaseException:
            # Whether the last step took effect is not known, nor does anybody hold the lease.
            self._state_uncertain = True
            if self.entry is not None and self.entry.lease_ends_at_us is None and lease_ms:
                self.entry = self.entry.leased(lease_ms, self._port.now_us())
            raise
        finally:
            self._changing = False
            self.watch.controlled()

    async def _undo(self, state: v0.State, before: v0.State) -> str:
        failure: Exception | None
        try:
            _, failure = await self._send(state, plan(state, before), safe=True)
        except (SdkError, BudgetSpent) as error:
            failure = error
        if failure is not None:
            self._state_uncertain = True
            return f"; taking it back failed as well: {failure}"
        return "; what was done before it was taken back"

    async def _send(
        self, state: v0.State, steps: Sequence[v0.Message], *, safe: bool
    ) -> tuple[list[bool], SdkError | None]:
        if not steps:  # nothing was done that would have to be taken back
            return [], None
        messages = [
            [e2sm_tc.encode("control", step, "v0") for step in stage]
            for stage in stages(state, steps)
        ]
        return await self._port.controls(_HEADER, messages, safe=safe)

    # ------------------------------------------------------------------------- checks

    def _in_force(self) -> Entry:
        if self.entry is None:
            raise _Refused("inconsistent", "", "the node has not told its pipeline yet; try again")
        return self.entry

    def _check_bearer(self, wanted: Mapping[str, Any]) -> None:
        if self._bearer is None:
            several = ", ".join(f"RNTI {rnti} DRB {drb}" for rnti, drb in self._candidates)
            found = f"{len(self._candidates)} bearers ({several})" if several else "no bearer"
            raise _Refused(
                "unknown_bearer",
                "bearer",
                f"an E2SM-TC v0 node has one pipeline, and its RLC reports {found}; expected one,"
                " or tc.bearers to say which",
            )
        if wanted != self.bearer:
            rnti, drb = self._bearer
            detail = f"the one pipeline here is of RNTI {rnti} DRB {drb}"
            raise _Refused("unknown_bearer", "bearer", detail)

    @staticmethod
    def _check_revision(entry: Entry, expected: int | None) -> None:
        if expected is not None and expected != entry.revision:
            detail = f"{expected}; {entry.revision} is in force"
            raise _Refused("stale_revision", "expected_revision", detail)

    def _target(self, entry: Entry, change: Any) -> tuple[V0Translation, dict[str, Any]]:
        if change == "safe":
            base = entry.state.base
            return V0Translation(v0.safe(base), {}), ledger.safe_pipeline(base)
        if "delta" in change and entry.pipeline is None:
            raise _Refused(
                "inconsistent",
                "delta",
                "the pipeline in force was found on the node and v0 does not tell all of it;"
                " expected replace or safe",
            )
        limits = (self._settings.max_queues, self._settings.max_filters)
        safe = ledger.safe_pipeline(entry.state.base)
        try:
            content = e2sm_tc.candidate(entry.pipeline or safe, safe, change, capabilities(*limits))
        except e2sm_tc.PipelineError as error:
            raise _Refused(error.cause, error.element, error.detail) from None
        except e2sm_tc.CodecError as error:
            raise _Refused("malformed", error.element, str(error)) from None
        return to_v0(content, entry.state.base, *limits), content

    def _renewed(self, entry: Entry, content: Mapping[str, Any]) -> Answer:
        self._check_revision_of_lease(entry, content["revision"])
        if entry.lease_ends_at_us is None:
            raise _Refused("inconsistent", "", "the pipeline in force has no lease to renew")
        self.entry = entry.leased(content["lease_ms"], self._port.now_us())
        self._port.changed()
        return self._accepted(self.entry)

    @staticmethod
    def _check_revision_of_lease(entry: Entry, revision: int) -> None:
        if revision != entry.revision:
            detail = f"{revision}; {entry.revision} is in force"
            raise _Refused("stale_revision", "revision", detail)

    # ------------------------------------------------------------------------ answers

    def _accept(
        self,
        entry: Entry,
        translation: V0Translation,
        pipeline: dict[str, Any],
        content: Mapping[str, Any],
    ) -> Answer:
        if content["dry_run"]:
            return self._accepted(entry)
        after = Entry(entry.next_revision(), pipeline, translation.state, translation.v1_of_v0)
        lease_ms = None if content["change"] == "safe" else content["lease_ms"]
        after = after.leased(lease_ms, self._port.now_us())
        self._enter(after, "pipeline_changed")
        return self._accepted(after)

    def _enter(self, entry: Entry, event: str) -> None:
        self.entry = entry
        self._port.changed()
        bearer = self.bearer
        if bearer is not None:
            content: dict[str, Any] = {"revision": entry.revision}
            if event == "pipeline_changed":
                content["name"] = entry.name
            self._port.tell([_event(bearer, self._port.now_us(), {event: content})])

    def _accepted(self, entry: Entry) -> Answer:
        lease_ms = entry.lease_left_ms(self._port.now_us())
        told = None if lease_ms is None else max(1, lease_ms)
        outcome = {"accepted": {"revision": entry.revision, "lease_ms": told}}
        return Answer(True, e2sm_tc.encode("control-outcome", outcome), BUFFER_NOTE)

    def _refusal(self, cause: str, element: str, detail: str) -> Answer:
        revision = None if self.entry is None else self.entry.revision
        outcome = {
            "refused": {
                "cause": cause,
                "element": element[:255],
                "detail": detail[:1023],
                "revision": None if cause == "unknown_bearer" else revision,
            }
        }
        told = f"{cause}: {element}: {detail}" if element else f"{cause}: {detail}"
        return Answer(False, e2sm_tc.encode("control-outcome", outcome), told)

    def superseded(self) -> Answer:
        """To a control that a later one took the place of before it was sent."""
        return self._refusal(
            "stale_revision",
            "",
            "superseded: a later control of the same bearer came before this one was sent",
        )

    # --------------------------------------------------------------------- state file

    def to_json(self) -> dict[str, Any] | None:
        """What must be known of the node after a restart; `None`: nothing."""
        entry = self.entry or self._remembered
        return None if entry is None else ledger.to_json(entry)

    def load(self, value: Any) -> None:
        """Take over what `to_json` gave; raises `ValueError` for anything else."""
        try:
            revision, base = int(value["revision"]), int(value["base"])
            pipeline, ends_at_us = value["pipeline"], value["lease_ends_at_us"]
            if pipeline is None:
                self._remembered = Entry(revision, None, v0.safe(base), {}, ends_at_us)
                return
            e2sm_tc.validate_pipeline(pipeline)
            translation = to_v0(
                pipeline, base, self._settings.max_queues, self._settings.max_filters
            )
        except (KeyError, TypeError, ValueError, UnsupportedInV0) as error:
            raise ValueError(f"pipeline of {self.node_id}: {error}") from None
        self._remembered = Entry(
            revision, pipeline, translation.state, translation.v1_of_v0, ends_at_us
        )


def _decoded(header: bytes, message: bytes) -> tuple[str, Mapping[str, Any]]:
    try:
        style = e2sm_tc.decode("control-header", header)["style"]
    except e2sm_tc.CodecError as error:
        raise _Refused("malformed", "header", str(error)) from None
    try:
        ((kind, content),) = e2sm_tc.decode("control", message).items()
    except e2sm_tc.CodecError as error:
        raise _Refused("malformed", "message", str(error)) from None
    if style not in _STYLES:
        raise _Refused("unsupported", "header.style", f"{style}; expected 1, 2 or 3")
    if _STYLES[style] != kind:
        raise _Refused("inconsistent", "header.style", f"{style}, with a {kind}")
    if kind == "forecast_feed":
        raise _Refused("unsupported", "", FEED_NOTE)
    return kind, content


def _raise_if_unknown(failure: SdkError) -> None:
    """Whether a control took effect that was not answered, nobody knows."""
    if failure.kind in ("timeout", "closed"):
        raise failure


def _shown(step: v0.Message) -> str:
    return f"{step['type']} {step['act']}"


def _bearer_ie(rnti: int, drb: int) -> dict[str, Any]:
    return {"ue": {"rnti": rnti}, "drb": drb}


def _event(bearer: Mapping[str, Any], at_us: int, kind: Any) -> dict[str, Any]:
    return {"bearer": bearer, "at_us": at_us, "kind": kind}


def _is(bearer: Bearer, node_id: str) -> bool:
    if bearer.node.endswith("*"):
        return node_id.startswith(bearer.node[:-1])
    return bearer.node == node_id
