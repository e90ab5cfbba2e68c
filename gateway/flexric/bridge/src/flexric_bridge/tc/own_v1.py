"""Controls of nodes that announce E2SM-TC v1 themselves: passed on unchanged, one request each.

Pipelines, revisions, leases and owners are the node's; the bridge keeps nothing of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import e2sm_tc
from ric.errors import ServiceModelError
from ric.sm import TC_V1_OID

from flexric_bridge.budget import Budget, BudgetSpent, Use
from flexric_bridge.controls import Rate, RateExceeded
from flexric_bridge.hub import Hub
from flexric_bridge.nodes import KnownNode
from flexric_bridge.readers import Tap
from flexric_bridge.sdk import SdkError
from flexric_bridge.session import Session, SessionDown
from flexric_bridge.subscription import LONGEST_MS
from flexric_bridge.tc.messages import Answer, Refused, answer_of, refused
from flexric_bridge.v1_reports import OUTCOMES

_NO_OUTCOME: Final = (
    "the node acknowledged the control and sent no outcome; whether it was carried out follows from"
    " the next report"
)


def _unread(_message: bytes, _collected_at_us: int, _received_at_us: int) -> None:
    """The SDK matches outcomes to controls."""


@dataclass(eq=False, kw_only=True)
class OwnV1:
    """All nodes with a TC function in E2SM-TC v1."""

    session: Session
    hub: Hub
    budget: Budget
    rate: Rate
    _taps: dict[str, Tap] = field(default_factory=dict)

    async def control(self, known: KnownNode, header: bytes, message: bytes) -> Answer:
        """The node's answer; raises as `Hub.read` and `Session.control`."""
        tap = self._taps.setdefault(known.id, Tap(LONGEST_MS, _unread))
        await self.hub.read(known, TC_V1_OID, LONGEST_MS, (), tap, variant=OUTCOMES)
        try:
            self.budget.refuse(Use.CONTROL)
            await self.rate.take(1)
        except (RateExceeded, BudgetSpent) as error:
            return refused(Refused("capacity", "", str(error)), None)
        if suspect_reason := await self.hub.freshness.await_recent_report(known):
            raise SessionDown(suspect_reason)
        function_id = known.functions[TC_V1_OID].id
        outcome = await self.session.control(known.id, function_id, header, message)
        if not outcome:
            raise SdkError("timeout", _NO_OUTCOME)
        try:
            return answer_of(outcome)
        except e2sm_tc.CodecError as error:
            raise ServiceModelError("tc", "outcome", str(error), "E2SM-TC v1") from None


def element_of(message: bytes) -> tuple[str, str] | None:
    """What a control changes as a whole, so that a later one replaces it while both wait: a
    forecast feed of the same bearers. `None` for all others, which have revisions and leases."""
    try:
        ((kind, content),) = e2sm_tc.decode("control", message).items()
    except e2sm_tc.CodecError:
        return None  # the node refuses it
    if kind != "forecast_feed":
        return None
    return kind, repr([forecast["bearer"] for forecast in content["bearers"]])


def superseded() -> Answer:
    """Answer to a forecast feed that a later one replaced before it was sent."""
    detail = "superseded: a later feed of the same bearers came before this one was sent"
    return refused(Refused("stale_revision", "", detail), None)
