"""Flows that do not back off when they lose packets (RFC 8085 §3.1): what they lose, they lack.

A sender that follows congestion takes a drop as a signal and sends less: what an AQM drops of it is
no harm. A game or a call goes on at its rate. They are recognised by what TCP would do: a flow that
goes on above the rate of a TCP connection with its loss and its round trip does not back off.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

#: Shortest round trip beside the wait in the flow's own queue: a TDD period and a HARQ round trip
#: on each way. With a longer one TCP is slower, and less loss is noticed.
_ROUND_TRIP_S: Final = 0.01
#: A burst of losses, as at the end of slow start, is over after a second or two.
_SECONDS: Final = 3


@dataclass(frozen=True, slots=True)
class QueuePackets:
    """One queue over about a second."""

    forwarded: int
    dropped: int
    forwarded_bytes: int
    mean_sojourn_us: int
    #: Flows that use it, at least 1.
    flows: int = 1

    @property
    def arrived_bytes(self) -> float:
        """Bytes that arrived if dropped packets were as long as the others."""
        if not self.forwarded:
            return 0.0
        return self.forwarded_bytes * (self.forwarded + self.dropped) / self.forwarded


@dataclass(frozen=True, slots=True)
class Loss:
    """Packets of flows that do not back off, and what they bring."""

    dropped: int
    forwarded: int
    arrived_mbps: float

    @property
    def ratio(self) -> float:
        """Dropped part of the packets."""
        return self.dropped / max(1, self.dropped + self.forwarded)


def tcp_packets_per_s(loss_ratio: float, round_trip_s: float) -> float:
    """Packets of a TCP connection (RFC 5348 §3.1, one packet an acknowledgement, t_RTO of four
    round trips); infinite without loss."""
    if loss_ratio <= 0.0:
        return math.inf
    timeouts = 4 * round_trip_s * 3 * math.sqrt(3 * loss_ratio / 8) * loss_ratio
    return 1 / (round_trip_s * math.sqrt(2 * loss_ratio / 3) + timeouts * (1 + 32 * loss_ratio**2))


class Unresponsive:
    """Which queues of a bearer have flows that do not back off."""

    __slots__ = ("_beyond",)

    def __init__(self) -> None:
        #: Seconds in a row for which a queue was beyond TCP.
        self._beyond: dict[int, int] = {}

    def add(self, packets: Mapping[int, QueuePackets], span_s: float) -> frozenset[int]:
        """Add the queues' packets over a span; the ids of those with such flows."""
        self._beyond = {
            number: self._beyond.get(number, 0) + 1
            for number, each in packets.items()
            if each.dropped and _beyond_tcp(each, span_s)
        }
        return frozenset(number for number, count in self._beyond.items() if count >= _SECONDS)


def _beyond_tcp(packets: QueuePackets, span_s: float) -> bool:
    arrived = packets.forwarded + packets.dropped
    round_trip_s = _ROUND_TRIP_S + packets.mean_sojourn_us / 1e6
    most = packets.flows * tcp_packets_per_s(packets.dropped / arrived, round_trip_s)
    return arrived > most * span_s


def loss_of(
    packets: Mapping[int, QueuePackets], among: Collection[int], span_s: float
) -> Loss | None:
    """The loss of these queues together; ``None`` without any."""
    found = [each for number, each in packets.items() if number in among]
    if not found:
        return None
    return Loss(
        sum(each.dropped for each in found),
        sum(each.forwarded for each in found),
        sum(each.arrived_bytes for each in found) * 8e-6 / span_s,
    )
