"""Pipelines that E2SM-TC v0 supports: generated and fixed ones."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

FIFO: dict[str, Any] = {"fifo": {"drop": "tail"}}


def codel(target_ms: int = 5, interval_ms: int = 100, *, ecn: bool = True) -> dict[str, Any]:
    return {
        "codel": {
            "target_us": target_ms * 1000,
            "interval_us": interval_ms * 1000,
            "ecn": ecn,
            "ce_threshold_us": None,
            "l4s": False,
        }
    }


def queues(first: int, count: int, discipline: Any = FIFO, **more: Any) -> dict[str, Any]:
    entry = {
        "first": first,
        "count": count,
        "discipline": discipline,
        "limit_packets": None,
        "limit_bytes": None,
        "policer": None,
        "shaper": None,
    }
    return {**entry, **more}


def target(first: int, count: int = 1) -> dict[str, int]:
    return {"first": first, "count": count}


def match(**given: Any) -> dict[str, Any]:
    names = ("source", "destination", "source_port", "destination_port", "protocol")
    return {**dict.fromkeys((*names, "dscp", "qfi", "ecn")), **given}


def osi(rules: list[tuple[dict[str, Any], int]], default: int) -> dict[str, Any]:
    filters = [
        {"id": number, "match": rule, "target": target(queue)}
        for number, (rule, queue) in enumerate(rules)
    ]
    return {"osi": {"filters": filters, "default": target(default)}}


def pipeline(**given: Any) -> dict[str, Any]:
    """One FIFO; `given` replaces parts."""
    plain = {
        "name": "plain",
        "classifier": {"round_robin": target(0)},
        "queues": [queues(0, 1)],
        "scheduler": "round_robin",
        "pacer": "none",
        "buffer": {"packets": 10_000, "bytes": 32_000_000, "overflow": "tail"},
    }
    return {**plain, **given}


def hashed(count: int) -> dict[str, Any]:
    """Flows in queues by hash, CoDel in each queue, 5G-BDP."""
    spread = {"stochastic_hash": {"target": target(0, count), "perturbation": None, "ways": 1}}
    return pipeline(
        name="hashed", classifier=spread, queues=[queues(0, count, codel())], pacer="bdp5g"
    )


def segregated(port: int = 5001) -> dict[str, Any]:
    """One flow in a queue of its own, served after the other."""
    rule = match(destination_port={"low": port, "high": port}, protocol=6)
    return pipeline(
        name="segregated",
        classifier=osi([(rule, 1)], default=0),
        queues=[queues(0, 2, codel())],
        scheduler={"strict_priority": {"order": [target(0), target(1)]}},
        pacer="bdp5g",
    )


@st.composite
def matches(draw: st.DrawFn) -> dict[str, Any]:
    def host() -> Any:
        octets = draw(st.tuples(*(st.integers(0, 255),) * 4))
        return {"v4": {"address": ".".join(map(str, octets)), "length": 32}}

    def port() -> Any:
        number = draw(st.integers(0, 65_535))
        return {"low": number, "high": number}

    return match(
        source=host() if draw(st.booleans()) else None,
        destination=host() if draw(st.booleans()) else None,
        source_port=port() if draw(st.booleans()) else None,
        destination_port=port() if draw(st.booleans()) else None,
        protocol=draw(st.none() | st.integers(0, 255)),
    )


@st.composite
def disciplines(draw: st.DrawFn) -> dict[str, Any]:
    if draw(st.booleans()):
        return FIFO
    target_ms = draw(st.integers(1, 50))
    return codel(target_ms, target_ms + draw(st.integers(0, 200)), ecn=draw(st.booleans()))


@st.composite
def supported_in_v0(draw: st.DrawFn) -> dict[str, Any]:
    """A valid v1 pipeline that v0 supports."""
    kind = draw(st.sampled_from(("round_robin", "stochastic_hash", "osi")))
    count = draw(st.integers(1, 5))
    ids: list[int]
    if kind == "osi":
        ids = draw(st.lists(st.integers(0, 30), min_size=count, max_size=count, unique=True))
    else:
        first = draw(st.integers(0, 20))
        ids = list(range(first, first + count))
    some: st.SearchStrategy[int] = st.sampled_from(ids)
    entries: list[dict[str, Any]] = []
    for number in ids:
        others = [other for other in ids if other != number]
        policer = shaper = None
        if draw(st.integers(0, 3)) == 0:
            rate = draw(st.integers(1, 100_000))
            exceed: Any = "drop"
            deviates = draw(st.booleans())
            if others and deviates:
                exceed = {"deviate": {"queue": draw(st.sampled_from(others))}}
            burst = max(3000, rate * 10 // 8)
            policer = {"rate_kbps": rate, "burst_bytes": burst, "exceed": exceed}
        if draw(st.integers(0, 3)) == 0:
            rate, window_ms = draw(st.integers(1, 100_000)), draw(st.integers(1, 200))
            burst = max(3000, rate * window_ms // 8)
            shaper = {"rate_kbps": rate, "burst_bytes": burst, "group": None}
        entries.append(queues(number, 1, draw(disciplines()), policer=policer, shaper=shaper))
    classifier: Any
    if kind == "osi":
        rules = draw(st.lists(st.tuples(matches(), some), max_size=4))
        classifier = osi(rules, default=draw(some))
    elif kind == "round_robin":
        classifier = {"round_robin": target(ids[0], count)}
    else:
        spread = {"target": target(ids[0], count), "perturbation": None, "ways": 1}
        classifier = {"stochastic_hash": spread}
    scheduler: Any = "round_robin"
    if draw(st.booleans()):
        order = draw(st.lists(some, unique=True))
        scheduler = {"strict_priority": {"order": [target(number) for number in order]}}
    return pipeline(
        name=draw(st.sampled_from(("a", "b", "c"))),
        classifier=classifier,
        queues=entries,
        scheduler=scheduler,
        pacer=draw(st.sampled_from(("none", "bdp5g"))),
    )
