"""Whether reports are periodic, in order and fresh; whether this machine is busy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ric.sm import KPM_OID

from ric_doctor.facts import Spread, Stream
from ric_doctor.finding import Check, Finding, Level
from ric_doctor.judge.uses import check_of, reports_a_second, use_of
from ric_doctor.text import duration

RATE_WARN: Final = 0.9
RATE_FAIL: Final = 0.5
"""Share of the requested rate."""
LOSS_WARN: Final = 0.01
LATE_WARN: Final = 0.05
PACE_OFF: Final = 0.1
"""Share of real time."""
PACE_LEAST_US: Final = 500_000
"""Shorter spans depend too much on the first and the last report."""
OLD_WARN_US: Final = 20_000
OLD_FAIL_US: Final = 500_000
"""Median age. The controller confirms a violation within a few reports; after half a second the
queue has long grown."""
STALL_PERIODS: Final = 20
STALL_LEAST_US: Final = 250_000
LATE_TIMERS_US: Final = 20_000


def of_this_machine(late_us: Spread | None) -> list[Finding]:
    """From the lateness of our own timers: whether this machine can measure at all."""
    if late_us is None or late_us.p99 <= LATE_TIMERS_US:
        return []
    return [
        Check("here", "").note(
            f"this machine is busy: timers are {duration(late_us.p99)} late (p99)",
            "Ages and rates below are worse than those of an xApp on a free core.",
            "Repeat this when the machine is less busy, or give the xApps cores of their own.",
        )
    ]


def judge(stream: Stream, *, skewed: bool) -> list[Finding]:
    """Of one subscription with reports. `skewed`: a clock is off, so ages are not judged."""
    return [
        *_rate(stream),
        *_lost(stream),
        *_disordered(stream),
        *_late(stream),
        *_pace(stream),
        *_stall(stream),
        *([] if skewed else _age(stream)),
    ]


def _rate(stream: Stream) -> Iterator[Finding]:
    made = stream.received + stream.missed
    got = made / _expected(stream)
    if got >= RATE_WARN or made >= _expected(stream) - 2:
        return
    level = use_of(stream).without if got < RATE_FAIL else Level.WARN
    rate = reports_a_second(made, stream)
    what = f"{rate:.0f} a second of {1000 / stream.period_ms:.0f} requested"
    if stream.oid == KPM_OID:
        why = "KPM agents send nothing in a period without a matching UE."
        remedy = "Attach UEs; with UEs attached, check the load of the node."
    else:
        why = "A violation is confirmed by several reports, so it is detected later."
        remedy = (
            "The node or the RIC cannot keep the period: check their load; with several nodes, use"
            " 2 ms or 5 ms."
        )
    yield check_of(stream).found(level, what, why, remedy)


def _expected(stream: Stream) -> float:
    return 1 + stream.listened_us / (1000 * stream.period_ms)


def _lost(stream: Stream) -> Iterator[Finding]:
    lost = max(stream.missed, stream.dropped)
    if not lost:
        return
    made = stream.received + lost
    by = ", dropped by the gateway because the reader was slow" if stream.dropped else ""
    level = Level.WARN if lost / made >= LOSS_WARN else Level.NOTE
    yield check_of(stream).found(
        level,
        f"{lost} of {made} lost on the way{by}",
        "Percentiles over a window are computed from the remaining reports.",
        "Check the load of the gateway and of this machine; with FlexRIC, the lost reports in"
        " the bridge's metrics.",
    )


def _disordered(stream: Stream) -> Iterator[Finding]:
    if not stream.disordered:
        return
    yield check_of(stream).warn(
        f"{stream.disordered} with a sequence number that did not grow",
        "xApps detect losses by the sequence; repeated or reordered reports are read as new.",
        "The gateway violates its interface: use the same version of gateway and xApps.",
    )


def _late(stream: Stream) -> Iterator[Finding]:
    if not stream.late:
        return
    many = stream.late / stream.received > LATE_WARN
    yield check_of(stream).found(
        Level.WARN if many else Level.NOTE,
        f"{stream.late} of {stream.received} came after one that was collected later",
        "xApps ignore late reports." if many else "",
        "Threads of FlexRIC's RIC reorder reports under load; check the load of its machine."
        if many
        else "None: xApps use the time of collection.",
    )


def _pace(stream: Stream) -> Iterator[Finding]:
    if stream.handled_span_us < PACE_LEAST_US or stream.distinct <= stream.received / 2:
        return
    pace = stream.collected_span_us / stream.handled_span_us
    if abs(pace - 1) <= PACE_OFF:
        return
    yield check_of(stream).warn(
        f"the node's time passes at {pace:.2f} of ours",
        "Rates are computed with the node's time; ages grow while it falls behind.",
        "An emulated gNB is slower than real time: give it a faster core or a smaller scenario."
        " Otherwise reports are queued on the way.",
    )


def _stall(stream: Stream) -> Iterator[Finding]:
    allowed_us = max(STALL_LEAST_US, STALL_PERIODS * 1000 * stream.period_ms)
    if stream.longest_gap_us <= allowed_us:
        return
    yield check_of(stream).warn(
        f"silent for {duration(stream.longest_gap_us)} at {stream.period_ms} ms",
        "The queue was not observed for this time.",
        "Find what stops the node or the gateway: garbage collection, swapping, a CPU limit"
        " (throttled periods of the container).",
    )


def _age(stream: Stream) -> Iterator[Finding]:
    ages, offsets = stream.node_to_here_us, stream.offsets
    if ages is None or ages.p50 <= OLD_WARN_US:
        return
    sure_us = ages.p50 - ages.least
    if offsets is not None:
        sure_us = max(sure_us, ages.p50 + offsets.node_here.low)
    yield check_of(stream).found(
        Level.FAIL if min(sure_us, ages.p50) > OLD_FAIL_US else Level.WARN,
        f"old: age p50 {duration(ages.p50)}, p99 {duration(ages.p99)}{_legs(stream)}",
        "The controller acts on old state; the queue has grown since.",
        "Look for a queue on the longer leg (a busy gateway, a slow reader, a RIC under load);"
        " if the clocks differ by this much, correct them first.",
    )


def _legs(stream: Stream) -> str:
    to_gateway, to_here = stream.node_to_gateway_us, stream.gateway_to_here_us
    if to_gateway is None or to_here is None:
        return ""
    return (
        f" (p50 from node to gateway {duration(to_gateway.p50)}, from gateway to here"
        f" {duration(to_here.p50)})"
    )
