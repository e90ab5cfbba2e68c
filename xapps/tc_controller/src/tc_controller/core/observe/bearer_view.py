"""The present state of one bearer, read from the windows of its node."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tc_controller.core.observe.inventory import FlowView
from tc_controller.core.observe.pipeline_view import PipelineView
from tc_controller.core.observe.prb_window import PrbRate, PrbWindow
from tc_controller.core.observe.rlc_windows import RlcWindows

#: Span over which the growth of the sojourn is measured: longer than a TDD period, shorter than a
#: queue takes to fill.
_GROWTH_SPAN_US = 20_000


@dataclass(frozen=True, slots=True)
class BearerView:
    """Reads the windows of one bearer; valid until its slot is freed."""

    windows: RlcWindows
    prbs: PrbWindow
    slot: int
    rnti: int
    pipeline: PipelineView | None
    flows: FlowView | None

    @property
    def at_us(self) -> int:
        """Node time of the newest RLC report."""
        return self.windows.newest_us()

    @property
    def hol_us(self) -> float:
        """Age of the RLC's head of line."""
        return self.windows.hol_us(self.slot)

    @property
    def mean_us(self) -> float:
        """Mean RLC sojourn over 100 ms."""
        return self.windows.mean_us(self.slot)

    @property
    def sojourn_us(self) -> float:
        """Age of the RLC head of line plus the sojourn of ungreedy flows in the pipeline."""
        return self.windows.sojourn_us(self.slot)

    @property
    def occupancy_bytes(self) -> int:
        """RLC transmission buffer."""
        return self.windows.occupancy_bytes(self.slot)

    @property
    def drained_bytes(self) -> int:
        """Bytes the MAC has taken since the bearer was first seen."""
        return self.windows.drained_bytes(self.slot)

    def sojourn_percentile(self, since_us: int, percentile: float) -> float | None:
        """Percentile of the sojourn after ``since_us``, µs."""
        return self.windows.sojourn_percentile(self.slot, since_us, percentile)

    def always_queued(self, since_us: int) -> bool:
        """Whether packets waited in all reports after ``since_us``."""
        return self.windows.always_queued(self.slot, since_us)

    def drain_kbps(self, since_us: int) -> float | None:
        """Drain rate after ``since_us``."""
        return self.windows.drain_kbps(self.slot, since_us)

    @property
    def serving_kbps(self) -> float | None:
        """Drain rate over the last seconds, without pauses of the radio."""
        return self.windows.serving_kbps(self.slot)

    def lowest_kbps(self, span_us: int) -> float | None:
        """Lowest drain rate under backlog over any such span of the last seconds."""
        return self.windows.lowest_kbps(self.slot, span_us)

    @property
    def standing_bytes(self) -> int:
        """Bytes in front of an ungreedy packet: in the RLC and in its queue of the pipeline."""
        waiting = 0 if self.pipeline is None else self.pipeline.ungreedy_backlog_bytes
        return self.occupancy_bytes + waiting

    def prb(self, since_us: int) -> PrbRate | None:
        """PRB rates after ``since_us``."""
        return self.prbs.rate(self.rnti, since_us)

    def share_of_cell(self, since_us: int) -> float | None:
        """The UE's part of the PRBs in use after ``since_us``; where they are not reported, the
        bearer's part of what all bearers of the node drained. ``None``: nothing was sent."""
        prb = self.prb(since_us)
        if prb is not None and prb.cell > 0.0:
            return prb.ue / prb.cell
        return self.windows.share_of_drain(self.slot, since_us)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """State of a bearer over a span, for the log and for comparing before with after."""

    #: Node time of the newest report in it.
    at_us: int
    span_ms: int
    hol_us: float
    mean_us: float
    #: Sojourn at the objective's percentile over the span.
    sojourn_us: float | None
    #: The pipeline's part of it, newest.
    pipeline_us: float
    #: How fast the sojourn grew at the end of the span, µs per µs; 0 if it did not.
    growth: float
    occupancy_bytes: int
    drain_kbps: float | None
    #: Lowest drain rate under backlog over as long a span of the last seconds.
    lowest_kbps: float | None
    prb: PrbRate | None
    backlog_bytes: int | None
    dropped_packets: int | None
    marked_packets: int | None

    def as_dict(self) -> dict[str, Any]:
        """The view as the decision log has it, times in µs."""
        return {
            "at_us": self.at_us,
            "span_ms": self.span_ms,
            "hol_us": round(self.hol_us),
            "mean_sojourn_us": round(self.mean_us),
            "sojourn_us": None if self.sojourn_us is None else round(self.sojourn_us),
            "pipeline_sojourn_us": round(self.pipeline_us),
            "sojourn_growth": round(self.growth, 3),
            "occupancy_bytes": self.occupancy_bytes,
            "drain_kbps": None if self.drain_kbps is None else round(self.drain_kbps),
            "lowest_drain_kbps": None if self.lowest_kbps is None else round(self.lowest_kbps),
            "ue_prb_per_s": None if self.prb is None else round(self.prb.ue),
            "cell_prb_per_s": None if self.prb is None else round(self.prb.cell),
            "pipeline_backlog_bytes": self.backlog_bytes,
            "dropped_packets": self.dropped_packets,
            "marked_packets": self.marked_packets,
        }


def snapshot(view: BearerView, since_us: int, percentile: float) -> Snapshot:
    """State of the bearer after ``since_us`` of node time."""
    pipeline = view.pipeline
    return Snapshot(
        at_us=view.at_us,
        span_ms=(view.at_us - since_us) // 1000,
        hol_us=view.hol_us,
        mean_us=view.mean_us,
        sojourn_us=view.sojourn_percentile(since_us, percentile),
        pipeline_us=view.sojourn_us - view.hol_us,
        growth=view.windows.sojourn_growth(view.slot, view.at_us - _GROWTH_SPAN_US),
        occupancy_bytes=view.occupancy_bytes,
        drain_kbps=view.drain_kbps(since_us),
        lowest_kbps=view.lowest_kbps(view.at_us - since_us),
        prb=view.prb(since_us),
        backlog_bytes=None if pipeline is None else pipeline.backlog_bytes,
        dropped_packets=None if pipeline is None else pipeline.dropped_packets,
        marked_packets=None if pipeline is None else pipeline.marked_packets,
    )


def standing_us(standing_bytes: int, serving_kbps: float | None) -> float:
    """Wait behind so many bytes at this drain rate, µs; infinite without a rate."""
    if standing_bytes == 0:
        return 0.0
    return standing_bytes * 8_000.0 / serving_kbps if serving_kbps else math.inf
