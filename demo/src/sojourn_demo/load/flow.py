"""Numbered UDP packets: a VoIP-like flow, or any constant rate, with the fate of each packet.

    python -m sojourn_demo.load.flow receive --port 5010 --out received.csv
    python -m sojourn_demo.load.flow send 10.0.1.2:5010 --bytes 172 --period-us 20000

Sender and receiver read one clock, as they are on one machine. Both run until SIGTERM, or `--count`
packets.
"""

from __future__ import annotations

import argparse
import signal
import socket
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

HEADER: Final = struct.Struct("!QQ")
"""Number of the packet, from 0, and when it was sent, µs of the Unix epoch."""
RECEIVE_BUFFER_BYTES: Final = 4 << 20


class StopRequested(Exception):  # noqa: N818 - it is no error
    """SIGTERM."""


def send(to: tuple[str, int], packet_bytes: int, period_us: float, count: int | None) -> int:
    """Sends a packet each `period_us`, as many as that at once where it is late; returns their
    number."""
    padding = bytes(packet_bytes - HEADER.size)
    sent = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        start_us = time.monotonic_ns() / 1000
        try:
            while count is None or sent < count:
                wait_us = start_us + sent * period_us - time.monotonic_ns() / 1000
                if wait_us > 0:
                    time.sleep(wait_us / 1e6)
                out.sendto(HEADER.pack(sent, time.time_ns() // 1000) + padding, to)
                sent += 1
        except StopRequested:
            pass
    return sent


def receive(port: int, out: Path, ready: Path | None) -> None:
    """Writes number, time sent and time received of each packet to `out`, in their order."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as incoming, out.open("w") as written:
        incoming.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        incoming.bind(("", port))
        if ready is not None:
            ready.touch()
        try:
            while True:
                packet = incoming.recv(2048)
                number, sent_us = HEADER.unpack_from(packet)
                written.write(f"{number},{sent_us},{time.time_ns() // 1000}\n")
        except StopRequested:
            pass


@dataclass(frozen=True, slots=True)
class Received:
    """What a receiver wrote, in the order of arrival."""

    number: NDArray[np.int64]
    sent_us: NDArray[np.int64]
    received_us: NDArray[np.int64]

    @property
    def reordered(self) -> int:
        """Packets that arrived behind one with a higher number."""
        return int(np.count_nonzero(np.diff(self.number) < 0))

    @property
    def duplicates(self) -> int:
        """Packets that arrived again."""
        return len(self.number) - len(np.unique(self.number))

    def lost(self, sent: int) -> int:
        """Packets of the `sent` that did not arrive."""
        return sent - len(np.unique(self.number))


def read_received(path: Path) -> Received:
    """Reads what a receiver wrote; an incomplete last line is left out."""
    rows = list(_rows(path.read_text()))
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return Received(table[:, 0], table[:, 1], table[:, 2])


def _rows(text: str) -> Iterator[tuple[int, ...]]:
    for line in text.splitlines(keepends=True):
        if line.endswith("\n"):
            yield tuple(map(int, line.split(",")))


def _stop(_number: int, _frame: object) -> None:
    raise StopRequested


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program; the sender prints how many packets it sent."""
    parser = argparse.ArgumentParser(prog="python -m sojourn_demo.load.flow", allow_abbrev=False)
    acts = parser.add_subparsers(dest="act", required=True)
    sender = acts.add_parser("send")
    sender.add_argument("to", help="ADDRESS:PORT")
    sender.add_argument("--bytes", type=int, default=172)
    sender.add_argument("--period-us", type=float, default=20_000.0)
    sender.add_argument("--count", type=int)
    receiver = acts.add_parser("receive")
    receiver.add_argument("--port", type=int, required=True)
    receiver.add_argument("--out", type=Path, required=True)
    receiver.add_argument("--ready", type=Path, help="file that is made when packets may come")
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _stop)
    if given.act == "receive":
        receive(given.port, given.out, given.ready)
        return 0
    if given.bytes < HEADER.size or given.period_us <= 0:
        parser.error(f"--bytes at least {HEADER.size} and --period-us above 0")
    address, _, port = given.to.rpartition(":")
    sys.stdout.write(f"{send((address, int(port)), given.bytes, given.period_us, given.count)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
