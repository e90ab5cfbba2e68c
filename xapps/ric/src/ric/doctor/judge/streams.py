"""Whether indications come, decode, keep their period and are fresh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ric.doctor.facts import INVENTORY, KPM_MEASUREMENT, Stream
from ric.doctor.finding import Finding, Level, ok
from ric.doctor.judge.units import duration, share
from ric.sm import KPM_OID, MAC_OID, RLC_OID, TC_V0_OID, TC_V1_OID, ran_function_name

_CHECK = "indications"

RATE_WARN: Final = 0.9
RATE_FAIL: Final = 0.5
"""Of the rate asked for."""
LOSS_WARN: Final = 0.01
LATE_WARN: Final = 0.05
PACE_OFF: Final = 0.1
"""Of real time."""
PACE_LEAST_US: Final = 500_000
"""Over less, the first and the last report decide too much."""
OLD_WARN_US: Final = 20_000
OLD_FAIL_US: Final = 500_000
"""Median age. The controller confirms a violation within a few reports; at half a second a bearer
has bloated before anybody knows."""
STALL_PERIODS: Final = 20
STALL_LEAST_US: Final = 250_000
TSTAMP_OFF_US: Final = 1_000
STEPS_BACK: Final = 0.05
BACKLOG_LEAST: Final = 20


@dataclass(frozen=True, slots=True)
class _Use:
    """What the reports are for, and how bad it is to be without."""

    without: Level
    why: str


_USES: Final[dict[str, _Use]] = {
    RLC_OID: _Use(
        Level.FAIL, "tc-controller sees no queue and rlc-forecaster forecasts nothing without RLC."
    ),
    MAC_OID: _Use(
        Level.WARN, "tc-controller judges utilisation by bytes, forecasts are made without MCS."
    ),
    KPM_OID: _Use(
        Level.WARN, "tc-controller judges utilisation by MAC reports, or by bytes without them."
    ),
    TC_V1_OID: _Use(Level.FAIL, "tc-controller cannot verify what it did and holds on to nothing."),
    INVENTORY: _Use(
        Level.WARN,
        "tc-controller does not know flows: rungs with a condition on them, segregate_greedy,"
        " flow_slicing and l4s are never taken.",
    ),
    TC_V0_OID: _Use(Level.NOTE, "The xApps use v1; v0 is what some gateways make it from."),
}

_ENDINGS: Final[dict[str, tuple[str, str]]] = {
    "refused": (
        "the subscription is refused",
        "The RAN function does not take this period or action: try a longer period, and compare"
        " the versions of the service model.",
    ),
    "unknown": (
        "the node says that it has no such RAN function, though it lists it",
        "Restart the gateway: its table of nodes is out of date.",
    ),
    "gone": (
        "the node left",
        "Look at the node's E2 agent and at the RIC; behind FlexRIC a node that sends nothing for a"
        " while counts as gone.",
    ),
    "unavailable": (
        "the stream broke off",
        "Look at the gateway's log: it stopped or lost the RIC.",
    ),
    "protocol": (
        "the gateway answers with something that is not the interface",
        "Use gateway and xApps of one version.",
    ),
}


def judge(stream: Stream, *, skewed: bool = False) -> list[Finding]:
    """Of one subscription. `skewed`: a clock is off, so ages are not judged."""
    if stream.ended:
        return [_ended(stream)]
    if not stream.received:
        return [_none(stream)]
    if stream.undecodable == stream.received:
        return [_undecodable(stream)]
    findings = [
        *([_undecodable(stream)] if stream.undecodable else []),
        *_frozen(stream),
        *_rate(stream),
        *_lost(stream),
        *_disordered(stream),
        *_late(stream),
        *_pace(stream),
        *_stall(stream),
        *([] if skewed else _age(stream)),
        *_tstamp(stream),
        *_rows(stream),
        *_unsupported(stream),
    ]
    if any(f.level in (Level.WARN, Level.FAIL) for f in findings):
        return findings
    return [ok(_CHECK, _subject(stream), _summary(stream, skewed=skewed)), *findings]


def between(streams: Sequence[Stream]) -> list[Finding]:
    """What only two RAN functions of a node together tell."""
    bearers = {
        (stream.node_id, stream.oid): stream.rows.bearers
        for stream in streams
        if stream.rows is not None and stream.received > stream.undecodable
    }
    return [
        Finding(
            Level.FAIL,
            _CHECK,
            f"{node_id} tc_v1",
            f"RLC reports {count} bearer{'s' if count > 1 else ''}, and TC none",
            "tc-controller controls the bearers that TC names.",
            "Behind FlexRIC a node has one pipeline for all it serves: with several bearers"
            " tc.bearers of the bridge must say which it is of. Elsewhere look at the TC RAN"
            " function's log.",
        )
        for (node_id, oid), count in bearers.items()
        if oid == RLC_OID and count > 0 and bearers.get((node_id, TC_V1_OID)) == 0
    ]


def _subject(stream: Stream) -> str:
    style = f" {stream.style}" if stream.style == INVENTORY else ""
    return f"{stream.node_id} {ran_function_name(stream.oid)}{style}"


def _use(stream: Stream) -> _Use:
    return _USES.get(
        INVENTORY if stream.style == INVENTORY else stream.oid,
        _Use(Level.NOTE, "No xApp of this suite uses it."),
    )


def _summary(stream: Stream, *, skewed: bool) -> str:
    rate = _reports_a_second(stream.received, stream)
    told = f"{stream.received} at {stream.period_ms} ms, {rate:.0f} a second, none lost"
    ages = stream.node_to_here_us
    if ages is None or skewed:
        return told
    return f"{told}; age p50 {duration(ages.p50)}, p99 {duration(ages.p99)}"


def _reports_a_second(count: int, stream: Stream) -> float:
    return count * 1e6 / max(stream.listened_us, 1)


def _expected(stream: Stream) -> float:
    return 1 + stream.listened_us / (1000 * stream.period_ms)


def _ended(stream: Stream) -> Finding:
    use = _use(stream)
    what, remedy = _ENDINGS[stream.ended]
    if stream.style == INVENTORY and stream.ended == "refused":
        remedy = (
            "E2SM-TC v0 has no flow inventory: give such nodes a policy whose rungs need none, as"
            " policies/flexric.yaml of tc-controller."
        )
    detail = f" ({stream.detail})" if stream.detail else ""
    return Finding(use.without, _CHECK, _subject(stream), f"{what}{detail}", use.why, remedy)


def _none(stream: Stream) -> Finding:
    use = _use(stream)
    return Finding(
        use.without,
        _CHECK,
        _subject(stream),
        f"none within {duration(stream.window_us)}, though subscribed at {stream.period_ms} ms",
        use.why,
        "The node accepted and sends nothing: look at its E2 agent, then at the RIC, then at"
        " whether the gateway counts indications.",
    )


def _undecodable(stream: Stream) -> Finding:
    use = _use(stream)
    return Finding(
        use.without,
        _CHECK,
        _subject(stream),
        f"{share(stream.undecodable, stream.received)} do not decode ({stream.first_error})",
        use.why,
        "Node and gateway disagree about the service model's layout: build both with one version"
        " of it and of E2AP.",
    )


def _frozen(stream: Stream) -> list[Finding]:
    if stream.received < 3 or stream.distinct > stream.received / 2:
        return []
    return [
        Finding(
            _use(stream).without,
            _CHECK,
            _subject(stream),
            f"stale: {stream.received} indications of {stream.distinct} different times of"
            " collection",
            "The same report comes again and again; decisions rest on a state long gone.",
            "The node's E2 agent sends a copy that nobody renews: look at the RLC or MAC task that"
            " should fill it.",
        )
    ]


def _rate(stream: Stream) -> list[Finding]:
    made = stream.received + stream.missed
    got = made / _expected(stream)
    if got >= RATE_WARN or made >= _expected(stream) - 2:
        return []
    level = _use(stream).without if got < RATE_FAIL else Level.WARN
    rate = _reports_a_second(made, stream)
    what = f"{rate:.0f} a second of {1000 / stream.period_ms:.0f} asked for"
    if stream.oid == KPM_OID:
        why = "KPM agents send nothing for a period in which no UE matches."
        remedy = "Attach UEs; with UEs there, look at the load of the node."
    else:
        why = "A violation is confirmed by a few reports in a row, so it is seen later by as much."
        remedy = (
            "The node or the RIC cannot keep the period: look at their load; with several nodes,"
            " ask for 2 ms or 5 ms."
        )
    return [Finding(level, _CHECK, _subject(stream), what, why, remedy)]


def _lost(stream: Stream) -> list[Finding]:
    lost = max(stream.missed, stream.dropped)
    if not lost:
        return []
    made = stream.received + lost
    by = ", by the gateway for want of a reader" if stream.dropped else ""
    level = Level.WARN if lost / made >= LOSS_WARN else Level.NOTE
    return [
        Finding(
            level,
            _CHECK,
            _subject(stream),
            f"{lost} of {made} lost on the way{by}",
            "Percentiles over a window are taken of what is left.",
            "Look at the load of the gateway and of this machine; on FlexRIC, at lost reports in"
            " the bridge's metrics.",
        )
    ]


def _disordered(stream: Stream) -> list[Finding]:
    if not stream.disordered:
        return []
    return [
        Finding(
            Level.WARN,
            _CHECK,
            _subject(stream),
            f"{stream.disordered} with a sequence number that did not grow",
            "xApps tell losses by the sequence; repeated or reordered reports are read as new.",
            "The gateway breaks its interface: use gateway and xApps of one version.",
        )
    ]


def _late(stream: Stream) -> list[Finding]:
    if not stream.late:
        return []
    many = stream.late / stream.received > LATE_WARN
    return [
        Finding(
            Level.WARN if many else Level.NOTE,
            _CHECK,
            _subject(stream),
            f"{stream.late} of {stream.received} came after one that was collected later",
            "xApps pass over what is late." if many else "",
            "Two threads of FlexRIC's RIC overtake one another under load; look at the load of its"
            " machine."
            if many
            else "Nothing: xApps go by the time of collection.",
        )
    ]


def _pace(stream: Stream) -> list[Finding]:
    if stream.handled_span_us < PACE_LEAST_US or stream.distinct <= stream.received / 2:
        return []
    pace = stream.collected_span_us / stream.handled_span_us
    if abs(pace - 1) <= PACE_OFF:
        return []
    return [
        Finding(
            Level.WARN,
            _CHECK,
            _subject(stream),
            f"the node's time passes at {pace:.2f} of ours",
            "Rates are computed by the node's time; ages grow for as long as it falls behind.",
            "An emulated gNB is slower than real time: give it a faster core or a smaller scenario."
            " Otherwise reports queue up on the way.",
        )
    ]


def _stall(stream: Stream) -> list[Finding]:
    allowed_us = max(STALL_LEAST_US, STALL_PERIODS * 1000 * stream.period_ms)
    if stream.longest_gap_us <= allowed_us:
        return []
    return [
        Finding(
            Level.WARN,
            _CHECK,
            _subject(stream),
            f"silent for {duration(stream.longest_gap_us)} at {stream.period_ms} ms",
            "For so long nobody saw the queue.",
            "Look for what stops the node or the gateway: garbage collection, swapping, a CPU limit"
            " (throttled periods of the container).",
        )
    ]


def _age(stream: Stream) -> list[Finding]:
    ages, offsets = stream.node_to_here_us, stream.offsets
    if ages is None or ages.p50 <= OLD_WARN_US:
        return []
    sure_us = ages.p50 - ages.least
    if offsets is not None:
        sure_us = max(sure_us, ages.p50 + offsets.node_here.low)
    return [
        Finding(
            Level.FAIL if min(sure_us, ages.p50) > OLD_FAIL_US else Level.WARN,
            _CHECK,
            _subject(stream),
            f"old: age p50 {duration(ages.p50)}, p99 {duration(ages.p99)}{_legs(stream)}",
            "The controller acts on what was; the queue has grown on since.",
            "Look for a queue on the longer leg (a busy gateway, a slow reader, a RIC under load);"
            " if the clocks are apart by this much, mend them first.",
        )
    ]


def _legs(stream: Stream) -> str:
    to_gateway, to_here = stream.node_to_gateway_us, stream.gateway_to_here_us
    if to_gateway is None or to_here is None:
        return ""
    return (
        f" (p50 from node to gateway {duration(to_gateway.p50)}, from gateway to here"
        f" {duration(to_here.p50)})"
    )


def _tstamp(stream: Stream) -> list[Finding]:
    if abs(stream.tstamp_off_us) <= TSTAMP_OFF_US:
        return []
    return [
        Finding(
            Level.WARN,
            _CHECK,
            _subject(stream),
            f"the time within the message is {duration(abs(stream.tstamp_off_us))} off the time of"
            " collection",
            "rlc-forecaster goes by the time within; its forecasts carry a wrong origin.",
            "The node must write µs since the Unix epoch into tstamp.",
        )
    ]


def _rows(stream: Stream) -> list[Finding]:
    rows = stream.rows
    if rows is None:
        return []
    findings = []
    if rows.bearers == 0 and stream.oid == RLC_OID:
        findings.append(
            Finding(
                Level.NOTE,
                _CHECK,
                _subject(stream),
                "reports come and are empty: no UE is attached",
                "",
                "Attach a UE to see more.",
            )
        )
    if rows.repeated:
        findings.append(
            Finding(
                Level.WARN,
                _CHECK,
                _subject(stream),
                "a bearer is in one report more than once",
                "Both records are taken for the same queue.",
                "RNTI and DRB identity must be unique within a node's report.",
            )
        )
    if rows.steps and rows.steps_back / rows.steps > STEPS_BACK:
        findings.append(
            Finding(
                Level.FAIL,
                _CHECK,
                _subject(stream),
                f"cumulative counters go backwards in {share(rows.steps_back, rows.steps)} of the"
                " records",
                "These are not counts of anything: FlexRIC's emulator agents send random numbers.",
                "Use a gNB that fills its reports, or the lab as an E2 node of FlexRIC.",
            )
        )
    if stream.oid == RLC_OID and rows.backlogged >= BACKLOG_LEAST and not rows.delays:
        findings.append(
            Finding(
                Level.FAIL,
                _CHECK,
                _subject(stream),
                "buffers hold bytes, and neither age nor sojourn is ever above 0",
                "tc-controller detects by txsdu_wt_us and txsdu_avg_time_to_tx: it will never act.",
                "The node does not fill them: FlexRIC's emulator agents do not, an OAI gNB does.",
            )
        )
    return findings


def _unsupported(stream: Stream) -> list[Finding]:
    if KPM_MEASUREMENT not in stream.unsupported:
        return []
    return [
        Finding(
            Level.NOTE,
            _CHECK,
            _subject(stream),
            f"the node does not measure {KPM_MEASUREMENT}",
            "",
            "Nothing, with MAC reports there: tc-controller takes the use of the radio from them.",
        )
    ]
