"""Whether reports are of now: their ages by the clocks of node and gateway."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from ric_doctor.facts import Age, Stream
from ric_doctor.finding import Check, Finding, Level
from ric_doctor.text import duration

_CHECK = "fresh"

AHEAD_US: Final = 5_000
"""Accuracy of NTP in one network."""
AHEAD_FAIL_US: Final = 1_000_000
OLD_US: Final = 20_000
OLD_FAIL_US: Final = 500_000
"""The controller confirms a violation within a few reports; after half a second the queue has long
grown."""
CORE_WAIT_US: Final = 2_000
"""Reports that come each millisecond come in twos and threes."""


def judge(streams: Sequence[Stream], core_wait_us: float | None = None) -> list[Finding]:
    """One finding for the gateway, one for each node; one for this host if it is too busy."""
    gateway: list[Age] = []
    nodes: defaultdict[str, list[Age]] = defaultdict(list)
    for stream in streams:
        if stream.gateway_age is not None and stream.node_age is not None:
            gateway.append(stream.gateway_age)
            nodes[stream.node_id].append(stream.node_age)
    if not gateway:
        return []
    by_gateway = _youngest(gateway)
    busy = core_wait_us is not None and core_wait_us > CORE_WAIT_US
    return [
        *([_host(core_wait_us)] if core_wait_us is not None and busy else []),
        _gateway(by_gateway, busy=busy),
        *(_node(node_id, _youngest(ages), by_gateway) for node_id, ages in nodes.items()),
    ]


def _youngest(ages: Sequence[Age]) -> Age:
    return Age(min(age.least_us for age in ages), min(age.median_us for age in ages))


def _host(core_wait_us: float) -> Finding:
    return Check(_CHECK, "this host").found(
        _level(core_wait_us, OLD_FAIL_US),
        f"is too busy: reports wait {duration(core_wait_us)} for a core",
        "Reports and controls of xApps here wait as long.",
        "Take load off, or give the programs own cores or a higher priority.",
    )


def _gateway(age: Age, *, busy: bool) -> Finding:
    check = Check(_CHECK, "gateway")
    if age.least_us < -AHEAD_US:
        return check.found(
            _level(-age.least_us, AHEAD_FAIL_US),
            f"its clock is ahead of ours by at least {duration(-age.least_us)}",
            "The latencies that xApps export include this offset; alerts on them are wrong.",
            "Run NTP or PTP on both machines and compare them (`chronyc tracking`).",
        )
    if age.median_us > OLD_US:
        return check.found(
            _level(age.median_us, OLD_FAIL_US),
            f"forwards reports {duration(age.median_us)} after it has them, by its clock",
            "The controller acts on old state; the queue has grown since.",
            _OF_HOST
            if busy
            else "Compare the clocks first (`chronyc tracking`); if they agree, look for a queue: a"
            " busy gateway, a slow network.",
        )
    return check.ok(f"reports are here after {duration(age.median_us)}, by its clock")


def _node(node_id: str, age: Age, gateway: Age) -> Finding:
    check = Check(_CHECK, node_id)
    if age.least_us < -AHEAD_US:
        return check.found(
            _level(-age.least_us, AHEAD_FAIL_US),
            f"its clock is ahead of ours by at least {duration(-age.least_us)}",
            "Forecasts and latencies use the node's clock: a forecast appears newer than it is and"
            " a pacer that uses it falls back.",
            _CLOCKS if gateway.least_us >= -AHEAD_US else _OURS,
        )
    if age.median_us > OLD_US:
        return check.found(
            _level(age.median_us, OLD_FAIL_US),
            f"its reports are {duration(age.median_us)} old, by its clock",
            "The controller acts on old state, and forecasts are about the past.",
            f"{_CLOCKS} If they agree, either a queue between node and gateway holds reports, or"
            " the node's E2 agent sends a copy that is not updated: check the RLC or MAC task that"
            " fills it."
            if gateway.median_us <= OLD_US
            else _OURS,
        )
    return check.ok(f"its reports are {duration(age.median_us)} old, by its clock")


_CLOCKS: Final = "Run NTP or PTP on the node and here (`chronyc tracking`)."
_OF_HOST: Final = "Correct what is found of this host first."
_OURS: Final = "Correct what is found of the gateway first: it may explain this."


def _level(us: float, fail_us: int) -> Level:
    return Level.FAIL if us >= fail_us else Level.WARN
