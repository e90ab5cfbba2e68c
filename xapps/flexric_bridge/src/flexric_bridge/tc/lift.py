"""A v0 indication as v1 pipeline status, as far as v0 tells.

v0 has no head-of-line age: the longest last sojourn among the queues that hold packets stands for
it. It has no ingress counters: what was forwarded, dropped and is queued adds up to them. Its
counters are 32 bits; they are carried on here. Sojourn times are taken for µs, and the pacer's
bandwidth for kbit/s: v0 does not say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from flexric_bridge.tc import v0
from flexric_bridge.tc.ledger import Entry

_U32: Final = 1 << 32
_RESTART: Final = 1 << 31
"""A counter that seems to have grown by more than this began anew."""


@dataclass(slots=True)
class Totals:
    """Counters of one queue, carried on beyond 32 bits."""

    forwarded_packets: int = 0
    forwarded_bytes: int = 0
    dropped_packets: int = 0
    marked_packets: int = 0
    policed_packets: int = 0

    def activity(self) -> tuple[int, int]:
        """Differs when anything was forwarded or dropped in between."""
        return (self.forwarded_packets, self.dropped_packets)


class Counters:
    """The counters of a node's queues since it was first seen."""

    def __init__(self) -> None:
        self.queues: dict[int, Totals] = {}
        self._raw: dict[int, Totals] = {}
        self._retired = Totals()

    def take(self, entries: Mapping[int, Mapping[str, Any]]) -> None:
        """The queues of one indication, by v0 id."""
        for number in self.queues.keys() - entries.keys():
            _add(self._retired, self.queues.pop(number))
            del self._raw[number]
        for number, entry in entries.items():
            raw = _raw(entry)
            before = self._raw.get(number, Totals())
            total = self.queues.setdefault(number, Totals())
            for name in Totals.__slots__:
                grown = (getattr(raw, name) - getattr(before, name)) % _U32
                if grown >= _RESTART:
                    grown = getattr(raw, name)
                setattr(total, name, getattr(total, name) + grown)
            self._raw[number] = raw

    def of_bearer(self) -> Totals:
        """All queues there are and were."""
        total = Totals()
        for part in (self._retired, *self.queues.values()):
            _add(total, part)
        return total


def _raw(entry: Mapping[str, Any]) -> Totals:
    queue = entry["queue"]
    return Totals(
        forwarded_packets=queue["pkts_fwd"],
        forwarded_bytes=queue["bytes_fwd"],
        dropped_packets=queue.get("dropped_pkts", 0),
        marked_packets=queue.get("marked_pkts", 0),
        policed_packets=entry["plc"]["dropped_pkts"],
    )


def _add(total: Totals, part: Totals) -> None:
    for name in Totals.__slots__:
        setattr(total, name, getattr(total, name) + getattr(part, name))


def status(
    bearer: Mapping[str, Any],
    entry: Entry,
    indication: Mapping[str, Any],
    counters: Counters,
    told: dict[int, tuple[int, int]],
    *,
    rlc_occupancy_bytes: int,
    now_us: int,
) -> dict[str, Any]:
    """The v1 `PipelineStatus` of one bearer.

    `counters` has taken the indication. `told` is what this reader was last told of each queue; it
    is brought up to date, and queues without packets or traffic since are left out.
    """
    queues, longest_us, backlog_bytes, backlog_packets = [], 0, 0, 0
    for number, item in v0.queues_of(indication).items():
        queue, total = item["queue"], counters.queues[number]
        backlog_bytes += queue["bytes"]
        backlog_packets += queue["pkts"]
        last_us = _u32(queue["last_sojourn_time"])
        if queue["pkts"]:
            longest_us = max(longest_us, last_us)
        if queue["pkts"] == 0 and told.get(number) == total.activity():
            continue
        told[number] = total.activity()
        queues.append(
            {
                "id": entry.v1_queue(number),
                "backlog_bytes": queue["bytes"],
                "backlog_packets": queue["pkts"],
                "forwarded_packets": total.forwarded_packets,
                "forwarded_bytes": total.forwarded_bytes,
                "dropped_packets": total.dropped_packets,
                "marked_packets": total.marked_packets,
                "policed_packets": total.policed_packets,
                "mean_sojourn_us": _u32(queue["avg_sojourn_time"]),
                "last_sojourn_us": last_us,
                "shaped": False,
            }
        )
    all_of_it = counters.of_bearer()
    return {
        "bearer": bearer,
        "revision": entry.revision,
        "name": entry.name,
        "safe": entry.safe,
        "lease_left_ms": entry.lease_left_ms(now_us),
        "head_of_line_age_us": longest_us,
        "queues": queues[:256],
        "pacer": {
            "drain_kbps": _u32(indication["pcr"]["mtr"]["bnd_flt"]),
            "rlc_occupancy_bytes": rlc_occupancy_bytes,
            "forwarded_bytes": all_of_it.forwarded_bytes,
            "limit_bytes": None,
            "by_forecast": None,
        },
        "ingress_packets": all_of_it.forwarded_packets
        + all_of_it.dropped_packets
        + backlog_packets,
        "ingress_bytes": all_of_it.forwarded_bytes + backlog_bytes,
        "dropped_packets": all_of_it.dropped_packets + all_of_it.policed_packets,
    }


def _u32(value: Any) -> int:
    """A number as v1 can say it; floats of v0 may be anything, also by name."""
    if not isinstance(value, (int, float)) or value != value:  # noqa: PLR0124 - NaN
        return 0
    return int(min(max(value, 0), _U32 - 1))
