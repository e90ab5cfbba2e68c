"""The clocks of node and gateway against ours, as far as timestamps bound them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from ric_doctor.facts import Interval, Offsets, Stream
from ric_doctor.finding import Check, Finding, Level
from ric_doctor.text import duration

_CHECK = "clocks"

OFF_US: Final = 5_000
"""Accuracy of NTP in one network; beyond it ages of single milliseconds are meaningless."""
FAR_US: Final = 1_000_000
"""Beyond this, comparing times of two machines is meaningless."""


def judge(streams: Sequence[Stream]) -> list[Finding]:
    """One finding for the gateway, one for each node."""
    nodes = _by_node(streams)
    if not nodes:
        return []
    gateway = _all([offsets.gateway_here for offsets in nodes.values()])
    findings = [_gateway(gateway)]
    findings += [_node(node_id, offsets) for node_id, offsets in nodes.items()]
    return findings


def skewed(streams: Sequence[Stream]) -> set[str]:
    """Nodes with a clock that is certainly off, or with old reports: their ages are not judged."""
    return {
        node_id
        for node_id, offsets in _by_node(streams).items()
        if _surely_off_us(offsets.node_here) or _surely_off_us(offsets.gateway_here)
    }


def _by_node(streams: Sequence[Stream]) -> dict[str, Offsets]:
    found: defaultdict[str, list[Offsets]] = defaultdict(list)
    for stream in streams:
        if stream.offsets is not None:
            found[stream.node_id].append(stream.offsets)
    return {
        node_id: Offsets(
            _all([one.node_here for one in offsets]), _all([one.gateway_here for one in offsets])
        )
        for node_id, offsets in found.items()
    }


def _all(intervals: list[Interval]) -> Interval:
    joined = intervals[0]
    for interval in intervals[1:]:
        joined = joined.both(interval)
    if joined.low > joined.high:
        # A clock was set during the measurement: use the union of the intervals.
        low = min(interval.low for interval in intervals)
        return Interval(low, max(interval.high for interval in intervals))
    return joined


def _surely_off_us(offset: Interval) -> int:
    """Smallest possible offset, with its sign, if above the tolerance; otherwise 0."""
    if offset.low > OFF_US:
        return offset.low
    if offset.high < -OFF_US:
        return offset.high
    return 0


def _bounds(offset: Interval) -> str:
    return f"between {duration(offset.low)} and {duration(offset.high)}"


def _agrees(offset: Interval) -> str:
    most_us = max(abs(offset.low), abs(offset.high))
    if most_us > OFF_US:
        return f"may agree with ours (ahead {_bounds(offset)})"
    return f"agrees with ours within {duration(most_us)}"


def _gateway(offset: Interval) -> Finding:
    off_us = _surely_off_us(offset)
    if not off_us:
        return Check(_CHECK, "gateway").ok(_agrees(offset))
    return Check(_CHECK, "gateway").found(
        _level(off_us),
        f"{_direction(off_us)} ours by at least {duration(abs(off_us))} (ahead {_bounds(offset)})",
        "The latencies that xApps export include this offset; alerts on them are wrong.",
        "Run NTP or PTP on both machines and compare them (`chronyc tracking`)."
        + (" If the clocks agree, the gateway forwards reports of this age." if off_us < 0 else ""),
    )


def _node(node_id: str, offsets: Offsets) -> Finding:
    offset = offsets.node_here
    off_us = _surely_off_us(offset)
    against = offsets.node_gateway
    beside = f"; against the gateway's, {_bounds(against)}" if _surely_off_us(against) else ""
    if not off_us:
        return Check(_CHECK, node_id).ok(_agrees(offset))
    both = bool(_surely_off_us(offsets.gateway_here)) and not beside
    return Check(_CHECK, node_id).found(
        _level(off_us),
        f"{_direction(off_us)} ours by at least {duration(abs(off_us))}"
        f" (ahead {_bounds(offset)}{beside})",
        "Forecasts and latencies use the node's clock: a forecast appears older or newer than it is"
        " and a pacer that uses it falls back.",
        (
            "Gateway and node agree with each other, so set this machine's clock first."
            if both
            else "Run NTP or PTP on the node (`chronyc tracking`)."
        )
        + (
            " If its clock is right, its reports have this age when they reach the gateway: find"
            " the queue between them."
            if off_us < 0
            else ""
        ),
    )


def _direction(off_us: int) -> str:
    return "ahead of" if off_us > 0 else "behind"


def _level(off_us: int) -> Level:
    return Level.FAIL if abs(off_us) >= FAR_US else Level.WARN
