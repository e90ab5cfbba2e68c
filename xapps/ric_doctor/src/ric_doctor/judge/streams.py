"""Whether indications arrive and decode; then `timing` and `content`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ric.sm import RLC_OID, TC_V1_OID

from ric_doctor.facts import INVENTORY, Stream
from ric_doctor.finding import Check, Finding, Level
from ric_doctor.judge import content, timing
from ric_doctor.judge.uses import check_of, reports_a_second, use_of
from ric_doctor.text import duration, share

_ENDINGS: Final[dict[str, tuple[str, str]]] = {
    "refused": (
        "the subscription is refused",
        "The RAN function does not accept this period or action: try a longer period, and compare"
        " the versions of the service model.",
    ),
    "unknown": (
        "the node rejects a RAN function that it lists",
        "Restart the gateway: its node table is out of date.",
    ),
    "gone": (
        "the node left",
        "Check the node's E2 agent and the RIC; behind FlexRIC a silent node counts as"
        " disconnected.",
    ),
    "unavailable": ("the stream ended", "Read the gateway's log: it stopped or lost the RIC."),
    "protocol": (
        "the gateway violates its interface",
        "Use the same version of gateway and xApps.",
    ),
}


def judge(stream: Stream, *, skewed: bool = False, lowered: bool = False) -> list[Finding]:
    """Of one subscription. `skewed`: a clock is off, so ages are not judged. `lowered`: a gateway
    translates the node's TC v1 to v0, which has no flow inventory."""
    if stream.ended:
        return [_ended(stream, lowered=lowered)]
    if not stream.received:
        return [_none(stream)]
    if stream.undecodable == stream.received:
        return [_undecodable(stream)]
    findings = [
        *([_undecodable(stream)] if stream.undecodable else []),
        *timing.judge(stream, skewed=skewed),
        *content.judge(stream),
    ]
    if any(f.level in (Level.WARN, Level.FAIL) for f in findings):
        return findings
    return [check_of(stream).ok(_summary(stream, skewed=skewed)), *findings]


def between(streams: Sequence[Stream]) -> list[Finding]:
    """Findings from two RAN functions of a node together."""
    bearers = {
        (stream.node_id, stream.oid): stream.rows.bearers
        for stream in streams
        if stream.rows is not None and stream.received > stream.undecodable
    }
    return [
        Check("indications", f"{node_id} tc_v1").fail(
            f"RLC reports {count} bearer{'s' if count > 1 else ''}, and TC none",
            "tc-controller controls the bearers that TC reports.",
            "Behind FlexRIC a node has one pipeline: with several bearers, tc.bearers of the bridge"
            " must name the bearer. Otherwise read the log of the TC RAN function.",
        )
        for (node_id, oid), count in bearers.items()
        if oid == RLC_OID and count > 0 and bearers.get((node_id, TC_V1_OID)) == 0
    ]


def _summary(stream: Stream, *, skewed: bool) -> str:
    rate = reports_a_second(stream.received, stream)
    lost = "" if stream.missed or stream.dropped else ", none lost"
    shown = f"{stream.received} at {stream.period_ms} ms, {rate:.0f} a second{lost}"
    ages = stream.node_to_here_us
    if ages is None or skewed:
        return shown
    return f"{shown}; age p50 {duration(ages.p50)}, p99 {duration(ages.p99)}"


def _ended(stream: Stream, *, lowered: bool) -> Finding:
    use = use_of(stream)
    level = use.without
    what, remedy = _ENDINGS[stream.ended]
    if stream.style == INVENTORY and stream.ended == "refused":
        level = Level.NOTE if lowered else level
        remedy = (
            "E2SM-TC v0 has no flow inventory: use a policy whose rungs do not need it, such as"
            " policies/flexric.yaml of tc-controller."
        )
    detail = f" ({stream.detail})" if stream.detail else ""
    return check_of(stream).found(level, f"{what}{detail}", use.why, remedy)


def _none(stream: Stream) -> Finding:
    use = use_of(stream)
    return check_of(stream).found(
        use.without,
        f"none within {duration(stream.window_us)}, though subscribed at {stream.period_ms} ms",
        use.why,
        "The node accepted, but sends nothing: check its E2 agent, then the RIC, then whether the"
        " gateway counts indications.",
    )


def _undecodable(stream: Stream) -> Finding:
    use = use_of(stream)
    return check_of(stream).found(
        use.without,
        f"{share(stream.undecodable, stream.received)} do not decode ({stream.first_error})",
        use.why,
        "Node and gateway have different layouts of the service model: build both with the same"
        " version of it and of E2AP.",
    )
