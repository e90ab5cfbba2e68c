"""Whether the reports of RAN functions arrive, decode and hold what the xApps need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ric.sm import KPM_OID, MAC_OID, RLC_OID, TC_V0_OID, TC_V1_OID, ran_function_name

from ric_doctor.facts import INVENTORY, Stream
from ric_doctor.finding import Check, Finding, Level
from ric_doctor.text import duration, share

TSTAMP_OFF_US: Final = 1_000
BACKLOG_LEAST: Final = 20

_ENDINGS: Final[dict[str, tuple[str, str]]] = {
    "refused": (
        "the subscription is refused",
        "The RAN function does not accept this period or action: try a longer period, and compare"
        " the versions of the service model.",
    ),
    "denied": (
        "the gateway does not let this client subscribe",
        "Give it the right subscribe, and the node, in the access file of the gateway.",
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


@dataclass(frozen=True, slots=True)
class Use:
    """The effect of missing reports and its level."""

    without: Level
    why: str


_USES: Final[dict[str, Use]] = {
    RLC_OID: Use(
        Level.FAIL, "tc-controller sees no queue and rlc-forecaster forecasts nothing without RLC."
    ),
    MAC_OID: Use(
        Level.WARN, "tc-controller judges utilisation by bytes, forecasts are made without MCS."
    ),
    KPM_OID: Use(
        Level.WARN, "tc-controller judges utilisation by MAC reports, or by bytes without them."
    ),
    TC_V1_OID: Use(Level.FAIL, "tc-controller cannot verify the effect of its controls."),
    INVENTORY: Use(
        Level.WARN,
        "tc-controller has no flows: rungs with a condition on flows, segregate_greedy,"
        " flow_slicing and l4s are never used.",
    ),
    TC_V0_OID: Use(Level.NOTE, "The xApps use v1; some gateways translate it to v0."),
}


def judge(stream: Stream, *, lowered: bool = False) -> list[Finding]:
    """Findings of one subscription. `lowered`: a gateway translates the node's TC v1 to v0, which
    has no flow inventory."""
    if stream.ended:
        return [_ended(stream, lowered=lowered)]
    if not stream.received:
        return [_none(stream)]
    if stream.undecodable:
        return [_undecodable(stream)]
    return [*_content(stream)] or [
        _check(stream).ok(f"{stream.received} in {duration(stream.window_us)}, all decode")
    ]


def between(streams: Sequence[Stream]) -> list[Finding]:
    """Findings from two RAN functions of a node together."""
    bearers = {
        (stream.node_id, stream.oid): stream.bearers
        for stream in streams
        if stream.bearers is not None
    }
    return [
        Check("reports", f"{node_id} tc_v1").fail(
            f"RLC reports {count} bearer{'s' if count > 1 else ''}, and TC none",
            "tc-controller controls the bearers that TC reports.",
            "Behind FlexRIC a node has one pipeline: with several bearers, tc.bearers of the bridge"
            " must name the bearer. Otherwise read the log of the TC RAN function.",
        )
        for (node_id, oid), count in bearers.items()
        if oid == RLC_OID and count > 0 and bearers.get((node_id, TC_V1_OID)) == 0
    ]


def _use(stream: Stream) -> Use:
    return _USES.get(
        INVENTORY if stream.style == INVENTORY else stream.oid,
        Use(Level.NOTE, "No xApp of this suite uses it."),
    )


def _check(stream: Stream) -> Check:
    """The check of a subscription; its subject has the style if it is not the default."""
    style = f" {stream.style}" if stream.style == INVENTORY else ""
    return Check("reports", f"{stream.node_id} {ran_function_name(stream.oid)}{style}")


def _ended(stream: Stream, *, lowered: bool) -> Finding:
    use = _use(stream)
    level = use.without
    what, remedy = _ENDINGS[stream.ended]
    if stream.style == INVENTORY and stream.ended == "refused":
        level = Level.NOTE if lowered else level
        remedy = (
            "E2SM-TC v0 has no flow inventory: use a policy whose rungs do not need it, such as"
            " policies/flexric.yaml of tc-controller."
        )
    detail = f" ({stream.detail})" if stream.detail else ""
    return _check(stream).found(level, f"{what}{detail}", use.why, remedy)


def _none(stream: Stream) -> Finding:
    use = _use(stream)
    return _check(stream).found(
        use.without,
        f"none within {duration(stream.window_us)}, though subscribed at {stream.period_ms} ms",
        use.why,
        "The node accepted, but sends nothing: check its E2 agent, then the RIC, then whether the"
        " gateway counts indications. KPM agents send nothing without a matching UE.",
    )


def _undecodable(stream: Stream) -> Finding:
    use = _use(stream)
    return _check(stream).found(
        use.without,
        f"{share(stream.undecodable, stream.received)} do not decode ({stream.first_error})",
        use.why,
        "Node and gateway have different layouts of the service model: build both with the same"
        " version of it and of E2AP.",
    )


def _content(stream: Stream) -> Iterator[Finding]:
    if abs(stream.tstamp_off_us) > TSTAMP_OFF_US:
        yield _check(stream).warn(
            f"the timestamp in the message is {duration(abs(stream.tstamp_off_us))} off the time of"
            " collection",
            "rlc-forecaster uses the timestamp in the message; its forecasts have a wrong origin.",
            "The node must write µs since the Unix epoch into tstamp.",
        )
    if stream.backlogged >= BACKLOG_LEAST and not stream.delays:
        yield _check(stream).fail(
            "buffers hold bytes, but head-of-line age and sojourn time are always 0",
            "tc-controller detects by txsdu_wt_us and txsdu_avg_time_to_tx; it never acts.",
            "Use a node that fills them: an OAI gNB does, FlexRIC's emulator agents do not.",
        )
