"""v1 messages of the TC RAN function: its definition, controls, outcomes and events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import e2sm_tc
from e2sm_tc import v0

_STYLES: Final = {1: "transaction", 2: "lease_renewal", 3: "forecast_feed", 4: "node_lease"}
BUFFER_NOTE: Final = "the node's own buffer limit applies: E2SM-TC v0 has no control for it"
FEED_NOTE: Final = (
    "each message of a forecast feed costs one of the RIC's requests; the CU takes forecasts from"
    " the forecaster's stream instead"
)


class Refused(Exception):  # noqa: N818 - an answer, not a fault
    """A control that is refused: the content of a v1 `ControlOutcome`, but for the revision."""

    def __init__(
        self, cause: str, element: str, detail: str, holder: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(f"{element}: {detail}" if element else detail)
        self.cause = cause
        self.element = element
        self.detail = detail
        self.holder = holder


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a v1 control."""

    accepted: bool
    outcome: bytes
    detail: str = ""


def definition(max_queues: int, max_filters: int) -> bytes:
    """The RAN function definition: the OID of v1 and the capabilities that v0 has."""
    return e2sm_tc.encode(
        "ran-function-definition",
        {
            "short_name": "ORAN-E2SM-TC",
            "oid": e2sm_tc.OID_V1,
            "description": "E2SM-TC v1 in front of a node that has v0",
            "capabilities": v0.capabilities(max_queues, max_filters),
        },
    )


def decode_control(header: bytes, message: bytes) -> tuple[str, Mapping[str, Any]]:
    """Kind and content of a transaction, lease renewal or node lease; raises `Refused` for anything
    else."""
    try:
        style = e2sm_tc.decode("control-header", header)["style"]
    except e2sm_tc.CodecError as error:
        raise _undecoded("header", error) from None
    try:
        ((kind, content),) = e2sm_tc.decode("control", message).items()
    except e2sm_tc.CodecError as error:
        raise _undecoded("message", error) from None
    if style not in _STYLES:
        raise Refused("unsupported", "header.style", f"{style}; expected 1 to 4")
    if _STYLES[style] != kind:
        raise Refused("inconsistent", "header.style", f"{style}, with a {kind}")
    if kind == "forecast_feed":
        raise Refused("unsupported", "", FEED_NOTE)
    return kind, content


def _undecoded(part: str, error: e2sm_tc.CodecError) -> Refused:
    element = f"{part}.{error.element}" if error.element else part
    return Refused(error.cause, element, str(error))


def accepted(revision: int, lease_ms: int | None) -> Answer:
    """The answer to a control that was carried out; `lease_ms` is what is left of the lease."""
    lease = None if lease_ms is None else max(1, lease_ms)
    outcome = {"accepted": {"revision": revision, "lease_ms": lease}}
    return Answer(True, e2sm_tc.encode("control-outcome", outcome), BUFFER_NOTE)


def refused(refusal: Refused, revision: int | None) -> Answer:
    """The answer to a control that is refused with `revision` in force."""
    cause, element, detail = refusal.cause, refusal.element, refusal.detail
    outcome = {
        "refused": {
            "cause": cause,
            "element": element[:255],
            "detail": detail[:1023],
            "revision": None if cause == "unknown_bearer" else revision,
            "holder": refusal.holder,
        }
    }
    return Answer(False, e2sm_tc.encode("control-outcome", outcome), f"{cause}: {refusal}")


def answer_of(outcome: bytes) -> Answer:
    """The answer with this `ControlOutcome`; raises `e2sm_tc.CodecError`."""
    decoded = e2sm_tc.decode("control-outcome", outcome)
    if "accepted" in decoded:
        return Answer(True, outcome)
    why = decoded["refused"]
    place = f"{why['element']}: " if why["element"] else ""
    return Answer(False, outcome, f"{why['cause']}: {place}{why['detail']}")


def bearer_id(rnti: int, drb: int) -> dict[str, Any]:
    """A v1 `BearerId`."""
    return {"ue": {"rnti": rnti}, "drb": drb}


def event(bearer: Mapping[str, Any], at_us: int, kind: Any) -> dict[str, Any]:
    """A v1 `Event`."""
    return {"bearer": bearer, "at_us": at_us, "kind": kind}
