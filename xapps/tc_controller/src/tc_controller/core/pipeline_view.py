"""The status report of a bearer's pipeline, reduced to what decisions need."""

from __future__ import annotations

from dataclasses import dataclass

from tc_controller.core.inputs import Ie
from tc_controller.core.inventory import FlowView


@dataclass(frozen=True, slots=True)
class PipelineView:
    """One ``PipelineStatus``, reduced."""

    collected_at_us: int
    revision: int
    name: str
    safe: bool
    lease_left_ms: int | None
    backlog_bytes: int
    head_of_line_us: int
    #: Sojourn of ungreedy flows in the pipeline, µs.
    ungreedy_sojourn_us: float
    #: Backlog of the queues that ungreedy flows use.
    ungreedy_backlog_bytes: int
    dropped_packets: int
    marked_packets: int


def read_status(collected_at_us: int, status: Ie, flows: FlowView | None) -> PipelineView:
    """The view of one E2SM-TC ``PipelineStatus``; ``flows`` maps flows to queues."""
    queues = status["queues"]
    ungreedy = _ungreedy_queues(status, flows)
    return PipelineView(
        collected_at_us=collected_at_us,
        revision=int(status["revision"]),
        name=str(status["name"]),
        safe=bool(status["safe"]),
        lease_left_ms=status.get("lease_left_ms"),
        backlog_bytes=sum(int(queue["backlog_bytes"]) for queue in queues),
        head_of_line_us=int(status["head_of_line_age_us"]),
        ungreedy_sojourn_us=max((_sojourn_us(queue) for queue in ungreedy), default=0.0),
        ungreedy_backlog_bytes=sum(int(queue["backlog_bytes"]) for queue in ungreedy),
        dropped_packets=int(status["dropped_packets"]),
        marked_packets=sum(int(queue["marked_packets"]) for queue in queues),
    )


def _ungreedy_queues(status: Ie, flows: FlowView | None) -> list[Ie]:
    """The queues that ungreedy flows use; the largest sojourn among them counts.

    The delay of a greedy flow in a queue of its own harms no other flow: its own congestion control
    built that queue. Without an inventory flows cannot be assigned to queues: one queue is shared
    by all; of several, the one that forwarded most is taken as the greedy flow's.
    """
    queues: list[Ie] = list(status["queues"])
    if flows is not None and flows.flows:
        used = flows.queues_of_ungreedy()
        return [queue for queue in queues if queue["id"] in used]
    if len(queues) <= 1:
        return queues
    busiest = max(queues, key=lambda queue: int(queue["forwarded_bytes"]))
    return [queue for queue in queues if queue is not busiest]


def _sojourn_us(queue: Ie) -> float:
    """Mean over 100 ms; a queue that forwards nothing has none, so its last sojourn counts."""
    mean = float(queue["mean_sojourn_us"])
    if mean == 0.0 and queue["backlog_bytes"] > 0:
        return float(queue["last_sojourn_us"])
    return mean
