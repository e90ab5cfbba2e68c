"""What a user had of a video and of pages: figures of a phase, from what the browser measured."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from sojourn_demo.measure import percentiles

EMPTY_S: Final = 0.5
"""A player that waits with more than this is not short of data: it takes over a segment."""
Log = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Stall:
    """Time that the player waited for data after it had begun, Unix time in ms."""

    from_ms: float
    to_ms: float


@dataclass(frozen=True, slots=True)
class Shown:
    """What the player showed for a while, Unix time in ms: segments of a rate, by its place in the
    ladder, or none."""

    from_ms: float
    to_ms: float
    rate: int | None


@dataclass(frozen=True, slots=True)
class Session:
    """One play of the video: `started_us` and `ended_us` in Unix time, and the player's log."""

    started_us: int
    ended_us: int
    log: Log

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Session:
        """The session that `video.watch` returned."""
        return cls(int(found["started_us"]), int(found["ended_us"]), found["log"])

    def began_ms(self) -> float | None:
        """When the first picture moved; None if none did."""
        return next((e["at_ms"] for e in self.log if e["event"] == "playing"), None)

    def stalls(self) -> list[Stall]:
        """All stalls, the last one until the end if it lasts."""
        found: list[Stall] = []
        began_ms = self.began_ms()
        since_ms: float | None = None
        for event in self.log:
            if began_ms is None or event["at_ms"] < began_ms:
                continue
            if event["event"] == "waiting" and event["buffer_s"] <= EMPTY_S:
                since_ms = event["at_ms"] if since_ms is None else since_ms
            elif event["event"] == "playing" and since_ms is not None:
                found.append(Stall(since_ms, event["at_ms"]))
                since_ms = None
        if since_ms is not None:
            found.append(Stall(since_ms, max(since_ms, self.ended_us / 1e3)))
        return found

    def played_s(self) -> float:
        """The position in the video at the last sample, s."""
        return max((e["position_s"] for e in self.log if "position_s" in e), default=0.0)

    def segments(self) -> list[Mapping[str, Any]]:
        """Those that were shown, the last one perhaps in part."""
        played_s = self.played_s()
        return [e for e in self.log if e["event"] == "segment" and e["from_s"] < played_s]

    def mean_mbps(self) -> float | None:
        """Bits of the segments shown over the time that they were shown, Mbit/s."""
        played_s, megabits = self.played_s(), 0.0
        for segment in self.segments():
            length_s = segment["to_s"] - segment["from_s"]
            share = (min(segment["to_s"], played_s) - segment["from_s"]) / length_s
            megabits += 8e-6 * segment["bytes"] * share
        return megabits / played_s if played_s > 0 else None

    def switches(self) -> int:
        """Changes of the rate between segments shown."""
        rates = [segment["rate"] for segment in self.segments()]
        return sum(one != other for one, other in itertools.pairwise(rates))

    def shown(self) -> Iterator[Shown]:
        """What the screen had from the click to the end, in order; no rate: before the first
        picture, or a stall."""
        began_ms = self.began_ms()
        end_ms = self.ended_us / 1e3
        if began_ms is None:
            yield Shown(self.started_us / 1e3, end_ms, None)
            return
        yield Shown(self.started_us / 1e3, began_ms, None)
        stalls = self.stalls()
        segments = self.segments()
        edges = [began_ms, *(e["at_ms"] for e in self._samples() if e["at_ms"] > began_ms), end_ms]
        positions = self._positions(edges)
        for from_ms, to_ms, at_s in zip(edges, edges[1:], positions, strict=False):
            middle_ms = (from_ms + to_ms) / 2
            waits = any(stall.from_ms <= middle_ms < stall.to_ms for stall in stalls)
            rate = next((s["rate"] for s in segments if s["from_s"] <= at_s < s["to_s"]), None)
            if to_ms > from_ms:
                yield Shown(from_ms, to_ms, None if waits else rate)

    def buffer(self) -> tuple[list[float], list[float]]:
        """Unix times in ms, and what the player had ahead then, s."""
        samples = self._samples()
        return [e["at_ms"] for e in samples], [e["buffer_s"] for e in samples]

    def figures(self) -> dict[str, Any]:
        """Figures for the summary; times until the first picture in ms, else in s."""
        began_ms, stalls, mean_mbps = self.began_ms(), self.stalls(), self.mean_mbps()
        begun = began_ms is not None
        return {
            "startup_ms": None if began_ms is None else round(began_ms - self.started_us / 1e3),
            "stalls": len(stalls) if begun else None,
            "stalled_s": _s(sum(s.to_ms - s.from_ms for s in stalls)) if begun else None,
            "played_s": round(self.played_s(), 3),
            "watched_s": round((self.ended_us - self.started_us) / 1e6, 3),
            "mean_mbps": None if mean_mbps is None else round(mean_mbps, 3),
            "switches": self.switches() if begun else None,
        }

    def _samples(self) -> list[Mapping[str, Any]]:
        return [e for e in self.log if e["event"] != "segment"]

    def _positions(self, edges: Sequence[float]) -> list[float]:
        samples = self._samples()
        at_ms = [e["at_ms"] for e in samples]
        at_s = [e["position_s"] for e in samples]
        positions: list[float] = np.interp(edges, at_ms, at_s).tolist()
        return positions


def page_figures(loads: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Figures of page loads for the summary."""
    done = [load for load in loads if "load_ms" in load]
    return {
        "page_load_ms": percentiles(np.array([float(load["load_ms"]) for load in done])),
        "page_first_byte_ms": percentiles(
            np.array([float(load["first_byte_ms"]) for load in done])
        ),
        "pages_begun": len(loads),
        "pages_loaded": len(done),
    }


def _s(ms: float) -> float:
    return round(ms / 1e3, 3)
