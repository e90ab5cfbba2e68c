"""A v1 pipeline in the words of v0, or the element that v0 has no words for.

v0 has one pipeline, queues without gaps, filters over IPv4 addresses and single ports, FIFO and
CoDel in whole milliseconds, round robin and strict priority, token buckets of a fixed depth, and
5G-BDP. The buffer limit is the node's own: v0 cannot say one, and every v1 pipeline has one.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from flexric_bridge.tc.v0 import (
    EVERYTHING,
    WILDCARD,
    Classifier,
    Filter,
    Osi,
    Policer,
    Queue,
    Shaper,
    Spread,
    State,
)

Ie = Mapping[str, Any]

_MS: Final = 1000
_POLICER_WINDOW_MS: Final = 10
_LEAST_BURST_BYTES: Final = 3_000
_MAX_WINDOW_MS: Final = 0xFFFF_FFFF


class UnsupportedInV0(Exception):  # noqa: N818 - says what it is
    """E2SM-TC v0 has no words for an element; `cause` is one of E2SM-TC v1's."""

    def __init__(self, cause: str, element: str, detail: str) -> None:
        super().__init__(f"{element}: {detail}")
        self.cause = cause
        self.element = element
        self.detail = detail


@dataclass(frozen=True, slots=True)
class V0Translation:
    """A pipeline in v0, and which of its queues is which of v1's."""

    state: State
    v1_of_v0: Mapping[int, int]


def to_v0(pipeline: Ie, base: int, max_queues: int, max_filters: int) -> V0Translation:
    """The v0 pipeline that does what a valid v1 `pipeline` says.

    Its queues are numbered from `base` on, and the one for what no filter matches is the first, as
    v0 has it. Raises `UnsupportedInV0`.
    """
    sets = _queue_sets(pipeline)
    if len(sets) > max_queues:
        raise UnsupportedInV0(
            "capacity", "queues", f"{len(sets)} queues; expected at most {max_queues}"
        )
    numbers = _numbers(pipeline, sorted(sets), base)
    queues = {
        numbers[v1]: _queue(f"queues[{position}]", entry, numbers)
        for v1, (position, entry) in sets.items()
    }
    state = State(
        dict(sorted(queues.items())),
        _classifier(pipeline["classifier"], numbers, base, max_filters),
        _scheduler(pipeline["scheduler"], numbers),
        _pacer(pipeline["pacer"]),
    )
    return V0Translation(state, {number: v1 for v1, number in numbers.items()})


def _queue_sets(pipeline: Ie) -> dict[int, tuple[int, Ie]]:
    """v1 queue id → position and content of its queue set."""
    return {
        number: (position, entry)
        for position, entry in enumerate(pipeline["queues"])
        for number in range(entry["first"], entry["first"] + entry["count"])
    }


def _numbers(pipeline: Ie, ids: list[int], base: int) -> dict[int, int]:
    """v1 queue id → v0 queue id; the default of an OSI classifier is the lowest."""
    kind, content = _choice(pipeline["classifier"])
    if kind == "osi":
        default = _one(content["default"], "classifier.osi.default")
        ids = [default, *(number for number in ids if number != default)]
    return {number: base + position for position, number in enumerate(ids)}


# ---------------------------------------------------------------------------- stages


def _queue(place: str, entry: Ie, numbers: Mapping[int, int]) -> Queue:
    for limit in ("limit_packets", "limit_bytes"):
        if entry[limit] is not None:
            raise _unsupported(f"{place}.{limit}", "v0 has no limit of a queue; expected none")
    kind, content = _choice(entry["discipline"])
    at = f"{place}.discipline"
    policer = None if entry["policer"] is None else _policer(place, entry["policer"], numbers)
    shaper = None if entry["shaper"] is None else _shaper(place, entry["shaper"])
    if kind == "fifo":
        if content["drop"] != "tail":
            raise _unsupported(f"{at}.fifo.drop", f"{content['drop']}; v0 has tail")
        return Queue("FIFO", policer=policer, shaper=shaper)
    if kind != "codel":
        raise _unsupported(at, f"{kind}; v0 has fifo and codel")
    if content["ce_threshold_us"] is not None or content["l4s"]:
        raise _unsupported(f"{at}.codel.ce_threshold_us", "v0 has none; expected none, l4s false")
    return Queue(
        "ECN_CODEL" if content["ecn"] else "CODEL",
        _whole_ms(content["target_us"], f"{at}.codel.target_us"),
        _whole_ms(content["interval_us"], f"{at}.codel.interval_us"),
        policer,
        shaper,
    )


def _whole_ms(us: int, place: str) -> int:
    if us % _MS:
        raise UnsupportedInV0("out_of_range", place, f"{us} µs; v0 says whole milliseconds")
    return us // _MS


def _policer(place: str, content: Ie, numbers: Mapping[int, int]) -> Policer:
    rate_kbps = content["rate_kbps"]
    depth = max(_LEAST_BURST_BYTES, rate_kbps * _POLICER_WINDOW_MS // 8)
    if content["burst_bytes"] != depth:
        raise UnsupportedInV0(
            "out_of_range",
            f"{place}.policer.burst_bytes",
            f"{content['burst_bytes']}; a v0 policer of {rate_kbps} kbit/s has {depth}",
        )
    action, parameters = _choice(content["exceed"])
    if action == "drop":
        return Policer(rate_kbps)
    if action != "deviate":
        raise _unsupported(f"{place}.policer.exceed", f"{action}; v0 has drop and deviate")
    return Policer(rate_kbps, numbers[parameters["queue"]])


def _shaper(place: str, content: Ie) -> Shaper:
    if content["group"] is not None:
        raise _unsupported(f"{place}.shaper.group", "v0 has no groups; expected none")
    rate_kbps, burst = content["rate_kbps"], content["burst_bytes"]
    about_ms = burst * 8 // rate_kbps
    for window_ms in (about_ms, about_ms + 1):
        depth = max(_LEAST_BURST_BYTES, rate_kbps * window_ms // 8)
        if 1 <= window_ms <= _MAX_WINDOW_MS and depth == burst:
            return Shaper(rate_kbps, window_ms)
    low = max(_LEAST_BURST_BYTES, rate_kbps * about_ms // 8)
    raise UnsupportedInV0(
        "out_of_range",
        f"{place}.shaper.burst_bytes",
        f"{burst}; a v0 shaper of {rate_kbps} kbit/s has whole milliseconds at that rate and"
        f" at least {_LEAST_BURST_BYTES}, {low} for one",
    )


def _classifier(
    element: Any, numbers: Mapping[int, int], base: int, max_filters: int
) -> Classifier:
    kind, content = _choice(element)
    at = f"classifier.{kind}"
    everything = frozenset(numbers.values())
    if kind == "round_robin":
        _all(content, numbers, at)
        return Spread("RR", everything)
    if kind == "stochastic_hash":
        _all(content["target"], numbers, f"{at}.target")
        if content["perturbation"] is not None:
            raise _unsupported(f"{at}.perturbation", "v0 has none; expected none")
        if content["ways"] != 1:
            raise _unsupported(f"{at}.ways", f"{content['ways']}; v0 has plain hashes, 1 way")
        return Spread("STO", everything)
    if kind != "osi":
        have = "round_robin, stochastic_hash and osi"
        raise _unsupported("classifier", f"{kind}; v0 has {have}")
    if len(content["filters"]) > max_filters:
        found = f"{len(content['filters'])} filters; expected at most {max_filters}"
        raise UnsupportedInV0("capacity", f"{at}.filters", found)
    rules = [
        _filter(item, f"{at}.filters[{position}]", numbers)
        for position, item in enumerate(content["filters"])
    ]
    # v0 cannot have an OSI classifier without filters; one that matches all does the same.
    rules = rules or [Filter(*EVERYTHING, base)]
    return Osi(tuple(enumerate(rules)))


def _filter(item: Ie, at: str, numbers: Mapping[int, int]) -> Filter:
    match = item["match"]
    for name in ("dscp", "qfi", "ecn"):
        if match[name] is not None:
            raise _unsupported(f"{at}.match.{name}", "v0 matches addresses, ports and protocol")
    protocol = match["protocol"]
    return Filter(
        _address(match["source"], f"{at}.match.source"),
        _address(match["destination"], f"{at}.match.destination"),
        _port(match["source_port"], f"{at}.match.source_port"),
        _port(match["destination_port"], f"{at}.match.destination_port"),
        WILDCARD if protocol is None else protocol,
        numbers[_one(item["target"], f"{at}.target")],
    )


def _address(prefix: Ie | None, place: str) -> int:
    if prefix is None:
        return WILDCARD
    version, content = _choice(prefix)
    if version != "v4" or content["length"] != 32:
        shown = f"{content['address']}/{content['length']}"
        raise _unsupported(place, f"{shown}; v0 matches single IPv4 addresses")
    return int(ipaddress.IPv4Address(content["address"]))


def _port(span: Ie | None, place: str) -> int:
    if span is None:
        return WILDCARD
    if span["low"] != span["high"]:
        raise _unsupported(place, f"{span['low']} to {span['high']}; v0 matches single ports")
    port: int = span["low"]
    return port


def _scheduler(element: Any, numbers: Mapping[int, int]) -> tuple[int, ...] | None:
    kind, content = _choice(element)
    if kind == "round_robin":
        return None
    if kind != "strict_priority":
        raise _unsupported("scheduler", f"{kind}; v0 has round_robin and strict_priority")
    at = "scheduler.strict_priority.order"
    listed = [_one(item, f"{at}[{position}]") for position, item in enumerate(content["order"])]
    # Those not listed come after, by id.
    rest = [number for number in sorted(numbers) if number not in listed]
    return tuple(numbers[number] for number in (*listed, *rest))


def _pacer(element: Any) -> bool:
    kind, _ = _choice(element)
    if kind not in ("none", "bdp5g"):
        raise _unsupported("pacer", f"{kind}; v0 has none and bdp5g")
    return kind == "bdp5g"


# --------------------------------------------------------------------------- helpers


def _choice(element: Any) -> tuple[str, Any]:
    """Name and content of an alternative; one without parameters is its bare name."""
    if isinstance(element, str):
        return element, {}
    ((kind, content),) = element.items()
    return kind, content


def _one(target: Ie, place: str) -> int:
    if target["count"] != 1:
        raise _unsupported(place, f"{target['count']} queues; v0 sends to one queue")
    first: int = target["first"]
    return first


def _all(target: Ie, numbers: Mapping[int, int], place: str) -> None:
    if set(range(target["first"], target["first"] + target["count"])) != set(numbers):
        raise _unsupported(place, "some of the queues; v0 spreads over all of them")


def _unsupported(element: str, detail: str) -> UnsupportedInV0:
    return UnsupportedInV0("unsupported", element, detail)
