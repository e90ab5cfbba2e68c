"""Packets by kind: those of sparse flows, those of greedy ones, and those that waited when the
pipeline in force took effect.

A mean over all packets, as DRB.PdcpSduDelayDl and DRB.RlcSduDelayDl of TS 28.552 are, is that of
the greedy flows, which have most of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from tc_controller.core.observe.inventory import FlowView


class Kind(StrEnum):
    """Kind of a packet."""

    SPARSE = "sparse"
    BULK = "bulk"
    INHERITED = "inherited"


@dataclass(slots=True)
class Mean:
    """Observations, packets or seconds, and their sum, µs."""

    count: int = 0
    sum_us: float = 0.0

    def observe(self, value_us: float, count: int = 1) -> None:
        """Count ``count`` of this value."""
        self.count += count
        self.sum_us += value_us * count

    @property
    def mean_us(self) -> float:
        """0 without an observation."""
        return self.sum_us / max(1, self.count)


class Passed(NamedTuple):
    """Packets that a queue of the pipeline forwarded."""

    queue: int
    packets: int
    #: How long the newest of them waited in the pipeline.
    wait_us: int


class KindMeter:
    """Divides the packets of one bearer by kind, from samples of its queues."""

    __slots__ = ("_in_force_at_us", "_left")

    def __init__(self) -> None:
        #: Node time at which the pipeline in force was seen to take effect; ``None``: it was there.
        self._in_force_at_us: int | None = None
        #: Queues that had inherited packets at the last sample, and for how long each it forwards
        #: more of them, and their delay, µs.
        self._left: dict[int, tuple[float, float]] = {}

    def took_effect(self, at_us: int) -> None:
        """Another pipeline is in force."""
        self._in_force_at_us = at_us
        self._left = {}

    def add(
        self,
        passed: Iterable[Passed],
        flows: FlowView,
        rlc_us: float,
        at_us: int,
        span_us: int,
    ) -> dict[Kind, Mean]:
        """Delays in front of the radio by kind; a kind without packets is absent.

        Args:
            passed: since the last call, by queue.
            flows: which flows of which queue are sparse.
            rlc_us: mean delay in the RLC, which is the same for all: it is a FIFO.
            at_us: node time.
            span_us: since the last call.
        """
        found = {kind: Mean() for kind in Kind}
        left, self._left = self._left, {}
        since_us = self._in_force_at_us
        for queue, packets, wait_us in passed:
            delay_us = wait_us + rlc_us
            if since_us is not None and delay_us > at_us - since_us:
                # It came before the pipeline; so did what came until then, behind it in its queue.
                self._left[queue] = delay_us - (at_us - since_us), delay_us
                found[Kind.INHERITED].observe(delay_us, packets)
                continue
            left_us, inherited_us = left.get(queue, (0.0, 0.0))
            inherited = round(packets * min(1.0, left_us / max(1, span_us)))
            found[Kind.INHERITED].observe(inherited_us, inherited)
            sparse = round((packets - inherited) * flows.sparse_share(queue))
            found[Kind.SPARSE].observe(delay_us, sparse)
            found[Kind.BULK].observe(delay_us, packets - inherited - sparse)
        return {kind: mean for kind, mean in found.items() if mean.count}
