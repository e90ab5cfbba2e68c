"""UDP both ways between CU and DU, each datagram later by a one-way delay.

    python f1u_relay.py --delay-ms 10 127.0.0.5:2163=127.0.0.5:2153 127.0.0.4:2163=127.0.0.4:2153

Each argument is where datagrams come and where they go. Runs until SIGTERM, and then prints how
much later than that the latest datagram was.
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

Address = tuple[str, int]
RECEIVE_BUFFER_BYTES = 4 << 20
LATEST_MS = "latest_ms"
"""Key of the last line."""


@dataclass
class Way:
    """One direction."""

    incoming: socket.socket
    to: Address
    waiting: deque[tuple[float, bytes]] = field(default_factory=deque)
    latest_s: float = 0.0

    def take(self, due_s: float) -> None:
        """Takes in what has come."""
        try:
            while True:
                self.waiting.append((due_s, self.incoming.recv(65_536)))
        except BlockingIOError:
            pass

    def pass_on(self, now_s: float) -> float:
        """Sends what is due; when the next is, or infinity."""
        if self.waiting:
            self.latest_s = max(self.latest_s, now_s - self.waiting[0][0])
        while self.waiting and self.waiting[0][0] <= now_s:
            self.incoming.sendto(self.waiting.popleft()[1], self.to)
        return self.waiting[0][0] if self.waiting else float("inf")


class StopRequested(Exception):  # noqa: N818 - it is no error
    """SIGTERM."""


def relay(ways: Sequence[Way], delay_s: float) -> None:
    """Passes datagrams on until SIGTERM."""
    sockets = [way.incoming for way in ways]
    while True:
        due_s = min(way.pass_on(time.monotonic()) for way in ways)
        wait_s = None if due_s == float("inf") else max(0.0, due_s - time.monotonic())
        select.select(sockets, [], [], wait_s)
        for way in ways:
            way.take(time.monotonic() + delay_s)


def _stop(_number: int, _frame: object) -> None:
    raise StopRequested


def _address(text: str) -> Address:
    host, _, port = text.rpartition(":")
    return host, int(port)


def _way(text: str) -> Way:
    at, _, to = text.partition("=")
    incoming = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    incoming.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
    incoming.setblocking(False)
    incoming.bind(_address(at))
    return Way(incoming, _address(to))


def main(arguments: Sequence[str]) -> None:
    """Runs the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--delay-ms", type=float, required=True)
    parser.add_argument("--real-time", action="store_true", help="with SCHED_FIFO, as a network is")
    parser.add_argument("ways", nargs="+", type=_way, help="ADDRESS:PORT=ADDRESS:PORT")
    given = parser.parse_args(arguments)
    if given.real_time:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    signal.signal(signal.SIGTERM, _stop)
    print("ready", flush=True)
    try:
        relay(given.ways, given.delay_ms / 1000)
    except StopRequested:
        print(f"{LATEST_MS} {1000 * max(way.latest_s for way in given.ways):.1f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
