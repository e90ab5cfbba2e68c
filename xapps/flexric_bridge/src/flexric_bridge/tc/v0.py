"""The one pipeline of an E2SM-TC v0 node, and what each v0 control does to it.

The rules are those of the service model's document, annex B: a queue added gets the id after the
highest, a filter added the lowest free one, and the classifiers round robin and stochastic hash
spread over the queues there are when they are set.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

QueueKind = Literal["FIFO", "CODEL", "ECN_CODEL"]
Message = dict[str, Any]
"""A v0 control in its JSON shape."""

WILDCARD: Final = -1
SAFE_QUEUE_KIND: Final = "FIFO"


class V0Error(ValueError):
    """A control that a v0 node could not carry out; the message says why."""


@dataclass(frozen=True, slots=True)
class Policer:
    """Stage 2: what is above `rate_kbps` goes to queue `deviate_to`, or is dropped."""

    rate_kbps: int
    deviate_to: int | None = None


@dataclass(frozen=True, slots=True)
class Shaper:
    """Stage 5; `window_ms` is `None` where it was only observed, for reports do not tell it."""

    rate_kbps: int
    window_ms: int | None


@dataclass(frozen=True, slots=True)
class Queue:
    """Stage 3 with its policer and shaper; CoDel's times are `None` where only observed."""

    kind: QueueKind
    target_ms: int | None = None
    interval_ms: int | None = None
    policer: Policer | None = None
    shaper: Shaper | None = None

    @property
    def discipline(self) -> tuple[QueueKind, int | None, int | None]:
        """What QUEUE MOD says."""
        return (self.kind, self.target_ms, self.interval_ms)


@dataclass(frozen=True, slots=True)
class Filter:
    """One rule of the OSI classifier; `WILDCARD` matches everything."""

    source: int
    destination: int
    source_port: int
    destination_port: int
    protocol: int
    queue: int


EVERYTHING: Final = (WILDCARD,) * 5


@dataclass(frozen=True, slots=True)
class Spread:
    """Classifiers RR and STO: over `queues`, `None` where only observed."""

    kind: Literal["RR", "STO"]
    queues: frozenset[int] | None


@dataclass(frozen=True, slots=True)
class Osi:
    """Classifier OSI: filters by id, in order of precedence."""

    filters: tuple[tuple[int, Filter], ...]


Classifier = Spread | Osi


@dataclass(frozen=True, slots=True)
class State:
    """A v0 pipeline. `priority` is the order of a PRIO scheduler, `None` with round robin."""

    queues: Mapping[int, Queue]
    classifier: Classifier
    priority: tuple[int, ...] | None = None
    paced: bool = False

    @property
    def base(self) -> int:
        """The lowest queue: where packets go that no filter matches."""
        return min(self.queues)


def safe(base: int = 0) -> State:
    """The safe pipeline: one FIFO in which packets pass as they would without this function."""
    return State({base: Queue(SAFE_QUEUE_KIND)}, Spread("RR", frozenset((base,))))


# ------------------------------------------------------------------------- controls


def queue_add(queue: Queue) -> Message:
    """QUEUE ADD."""
    return {"type": "QUEUE", "act": "ADD", **_parameters(queue)}


def queue_modify(number: int, queue: Queue) -> Message:
    """QUEUE MOD."""
    return {"type": "QUEUE", "act": "MOD", "id": number, **_parameters(queue)}


def queue_delete(number: int, queue: Queue) -> Message:
    """QUEUE DEL."""
    return {"type": "QUEUE", "act": "DEL", "id": number, "queue_type": queue.kind}


def _parameters(queue: Queue) -> dict[str, Any]:
    if queue.kind == "FIFO":
        return {"queue_type": "FIFO", "dummy": 0}
    return {
        "queue_type": queue.kind,
        # What was only observed is not known; these are the values of RFC 8289.
        "target_ms": 5 if queue.target_ms is None else queue.target_ms,
        "interval_ms": 100 if queue.interval_ms is None else queue.interval_ms,
    }


def policer(number: int, policer: Policer | None) -> Message:
    """PLC MOD, or DEL."""
    if policer is None:
        return {"type": "PLC", "act": "DEL", "id": number}
    deviates = policer.deviate_to is not None
    return {
        "type": "PLC",
        "act": "MOD",
        "id": number,
        "drop_rate_kbps": 0 if deviates else policer.rate_kbps,
        "dev_id": policer.deviate_to if deviates else number,
        "dev_rate_kbps": policer.rate_kbps if deviates else 0,
        "active": 1,
    }


def shaper(number: int, shaper: Shaper | None) -> Message:
    """SHP MOD, or DEL."""
    if shaper is None:
        return {"type": "SHP", "act": "DEL", "id": number}
    return {
        "type": "SHP",
        "act": "MOD",
        "id": number,
        "time_window_ms": 10 if shaper.window_ms is None else shaper.window_ms,
        "max_rate_kbps": shaper.rate_kbps,
        "active": 1,
    }


def scheduler(priority: tuple[int, ...] | None) -> Message:
    """SCH MOD."""
    if priority is None:
        return {"type": "SCH", "act": "MOD", "sch_type": "RR", "dummy": 0}
    return {"type": "SCH", "act": "MOD", "sch_type": "PRIO", "q_prio": list(priority)}


def pacer(paced: bool) -> Message:
    """PCR MOD. `drb_sz` and `tstamp` are the RLC's state, which the node knows better."""
    if not paced:
        return {"type": "PCR", "act": "MOD", "pcr_type": "DUMMY", "dummy": 0}
    return {"type": "PCR", "act": "MOD", "pcr_type": "5G_BDP", "drb_sz": 0, "tstamp": 0}


def spread(kind: Literal["RR", "STO"]) -> Message:
    """CLS MOD with RR or STO."""
    return {"type": "CLS", "act": "MOD", "cls_type": kind, "dummy": 0}


def filter_add(rule: Filter) -> Message:
    """CLS ADD with OSI."""
    return {"type": "CLS", "act": "ADD", "cls_type": "OSI", **_match(rule)}


def filter_modify(number: int, rule: Filter) -> Message:
    """CLS MOD with OSI."""
    changed = {"id": number, **_match(rule), "l7": 0}
    return {"type": "CLS", "act": "MOD", "cls_type": "OSI", "filter": changed}


def filter_delete(number: int) -> Message:
    """CLS DEL with OSI."""
    return {"type": "CLS", "act": "DEL", "cls_type": "OSI", "filter_id": number}


def _match(rule: Filter) -> dict[str, int]:
    return {
        "src_addr": rule.source,
        "dst_addr": rule.destination,
        "src_port": rule.source_port,
        "dst_port": rule.destination_port,
        "protocol": rule.protocol,
        "dst_queue": rule.queue,
    }


def _rule(value: Mapping[str, int]) -> Filter:
    return Filter(
        value["src_addr"],
        value["dst_addr"],
        value["src_port"],
        value["dst_port"],
        value["protocol"],
        value["dst_queue"],
    )


# -------------------------------------------------------------------------- effects


def apply(state: State, message: Mapping[str, Any]) -> State:
    """The pipeline after a control; raises `V0Error` where a node could only refuse."""
    match message["type"]:
        case "QUEUE":
            after = _queue(state, message)
        case "PLC":
            after = _with_queue(state, message["id"], policer=_policer_of(message))
        case "SHP":
            after = _with_queue(state, message["id"], shaper=_shaper_of(message))
        case "SCH":
            order = tuple(message["q_prio"]) if message["sch_type"] == "PRIO" else None
            after = replace(state, priority=order)
        case "PCR":
            after = replace(state, paced=message["pcr_type"] == "5G_BDP")
        case _:
            after = _classifier(state, message)
    if dangling := missing_queues(after):
        raise V0Error(f"queues {sorted(dangling)} are used and not there after {dict(message)}")
    return after


def missing_queues(state: State) -> set[int]:
    """Queues that a stage sends packets to or looks at and that are not there."""
    used: set[int] = set(state.priority or ())
    if isinstance(state.classifier, Osi):
        used.update(rule.queue for _, rule in state.classifier.filters)
    elif state.classifier.queues is not None:
        used.update(state.classifier.queues)
    for queue in state.queues.values():
        if queue.policer is not None and queue.policer.deviate_to is not None:
            used.add(queue.policer.deviate_to)
    return used - state.queues.keys()


def _queue(state: State, message: Mapping[str, Any]) -> State:
    queues = dict(state.queues)
    if message["act"] == "DEL":
        _known(state, message["id"])
        del queues[message["id"]]
        if not queues:
            raise V0Error("the last queue; a pipeline has at least one")
        return replace(state, queues=queues)
    times = (message.get("target_ms"), message.get("interval_ms"))
    if message["act"] == "ADD":
        queues[max(queues) + 1] = Queue(message["queue_type"], *times)
        return replace(state, queues=queues)
    kind, (target_ms, interval_ms) = message["queue_type"], times
    return _with_queue(
        state, message["id"], kind=kind, target_ms=target_ms, interval_ms=interval_ms
    )


def _with_queue(state: State, number: int, **changes: Any) -> State:
    _known(state, number)
    queues = dict(state.queues)
    queues[number] = replace(queues[number], **changes)
    return replace(state, queues=queues)


def _known(state: State, number: int) -> None:
    if number not in state.queues:
        raise V0Error(f"no queue {number}")


def _policer_of(message: Mapping[str, Any]) -> Policer | None:
    if message["act"] == "DEL" or not message["active"]:
        return None
    if message["dev_rate_kbps"] > 0 and message["dev_id"] != message["id"]:
        return Policer(message["dev_rate_kbps"], message["dev_id"])
    return Policer(message["drop_rate_kbps"])


def _shaper_of(message: Mapping[str, Any]) -> Shaper | None:
    if message["act"] == "DEL" or not message["active"]:
        return None
    return Shaper(message["max_rate_kbps"], message["time_window_ms"])


def _classifier(state: State, message: Mapping[str, Any]) -> State:
    if message["cls_type"] != "OSI":
        if message["act"] == "DEL":
            raise V0Error("a pipeline has a classifier; it can only be replaced")
        everywhere = frozenset(state.queues)
        return replace(state, classifier=Spread(message["cls_type"], everywhere))
    filters = list(state.classifier.filters) if isinstance(state.classifier, Osi) else []
    if message["act"] == "ADD":
        taken = {number for number, _ in filters}
        free = next(number for number in range(len(taken) + 1) if number not in taken)
        filters.append((free, _rule(message)))
        return replace(state, classifier=Osi(tuple(filters)))
    number = message["filter_id"] if message["act"] == "DEL" else message["filter"]["id"]
    position = next((i for i, (known, _) in enumerate(filters) if known == number), None)
    if position is None:
        raise V0Error(f"no filter {number}")
    if message["act"] == "DEL":
        del filters[position]
    else:
        filters[position] = (number, _rule(message["filter"]))
    return replace(state, classifier=Osi(tuple(filters)))


# --------------------------------------------------------------------------- reports


def queues_of(indication: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
    """The queues of a v0 indication by number, in its order.

    They are numbered by their shapers, which belong to them one to one; where two claim one number,
    by their order.
    """
    entries = indication["q"]
    numbers = [entry["shp"]["id"] for entry in entries]
    if len(set(numbers)) != len(numbers):
        numbers = list(range(len(numbers)))
    return dict(zip(numbers, entries, strict=True))


def observed(indication: Mapping[str, Any]) -> State:
    """The pipeline that a v0 indication tells of; raises `V0Error` for one without queues."""
    queues = {
        number: _observed_queue(number, entry) for number, entry in queues_of(indication).items()
    }
    if not queues:
        raise V0Error("an indication without queues; expected at least one")
    known = indication["cls"]
    classifier: Classifier
    if known["type"] == "OSI":
        classifier = Osi(tuple((item["id"], _rule(item)) for item in known["flt"]))
    else:
        classifier = Spread(known["type"], None)
    priority = tuple(indication["sch"]["q_prio"]) if indication["sch"]["type"] == "PRIO" else None
    return State(queues, classifier, priority, indication["pcr"]["type"] == "5G_BDP")


def _observed_queue(number: int, entry: Mapping[str, Any]) -> Queue:
    plc, shp = entry["plc"], entry["shp"]
    return Queue(
        entry["queue"]["type"],
        policer=_observed_policer(number, plc) if plc["active"] else None,
        shaper=Shaper(shp["max_rate_kbps"], None) if shp["active"] else None,
    )


def _observed_policer(number: int, plc: Mapping[str, Any]) -> Policer:
    rate = plc["max_rate_kbps"]
    finite = isinstance(rate, (int, float)) and 0 <= rate < 2**32
    deviates = plc["dev_id"] != number
    return Policer(round(rate) if finite else 0, plc["dev_id"] if deviates else None)


def alike(expected: State, seen: State) -> bool:
    """Whether an observed pipeline may be the expected one, as far as reports tell."""
    if expected.queues.keys() != seen.queues.keys():
        return False
    if (expected.priority, expected.paced) != (seen.priority, seen.paced):
        return False
    if isinstance(expected.classifier, Osi) or isinstance(seen.classifier, Osi):
        if expected.classifier != seen.classifier:
            return False
    elif expected.classifier.kind != seen.classifier.kind:
        return False
    return all(_alike(queue, seen.queues[number]) for number, queue in expected.queues.items())


def _alike(expected: Queue, seen: Queue) -> bool:
    rates = [
        (None if queue.shaper is None else queue.shaper.rate_kbps) for queue in (expected, seen)
    ]
    policed = [queue.policer is not None for queue in (expected, seen)]
    return expected.kind == seen.kind and rates[0] == rates[1] and policed[0] == policed[1]
