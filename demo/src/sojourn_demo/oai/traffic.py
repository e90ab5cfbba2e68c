"""The load of a run: an iperf3 download, pings and a VoIP-like flow, from the gNB's side to the UE.

All go through the kernels' own TCP, UDP and IP over the tunnel devices.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sojourn_demo.oai.cell import BY_LINES, Cell
from sojourn_demo.oai.flow import read_received
from sojourn_demo.oai.network import ENDS_WITH_PARENT, UE_ADDRESS, python
from sojourn_demo.programs import Program, Programs

FLOW: Final = "sojourn_demo.oai.flow"
VOIP_PORT: Final = 5010
PING_PERIOD_S: Final = 0.1
INTERVAL_S: Final = 0.1
ENDLESS_S: Final = 86_400
UDP_BYTES: Final = 1300
UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
INTERVAL: Final = re.compile(r"\s(\d+\.\d+)-(\d+\.\d+)\s+sec\s+(\d+(?:\.\d+)?) ([KMG]?)Bytes\s")
REPLY: Final = re.compile(
    r"^\[(\d+\.\d+)\] \d+ bytes from .* icmp_seq=\d+ .* time=(\d+(?:\.\d+)?) ms"
)
LISTENING: Final = b"Server listening"


@dataclass(frozen=True, slots=True)
class Bulk:
    """The download: TCP, or UDP at a rate."""

    udp_mbps: float | None = None

    @property
    def kind(self) -> str:
        """Its kind of flow in a recording."""
        return "tcp" if self.udp_mbps is None else "udp"

    def words(self) -> tuple[str, ...]:
        """Arguments of iperf3's client."""
        if self.udp_mbps is None:
            return ()
        return ("-u", "-b", f"{self.udp_mbps}M", "-l", str(UDP_BYTES))


@dataclass(slots=True)
class Goodput:
    """What iperf3's server has reported: Unix time in µs and bytes since the start."""

    at_us: list[int] = field(default_factory=list)
    total_bytes: list[float] = field(default_factory=list)
    listening: bool = False

    def read(self, lines: Iterable[bytes] | None) -> None:
        """Takes in lines as they come, because iperf3 says times since its own start alone."""
        # The pipe is closed under the reader when the program is stopped.
        with suppress(OSError, ValueError):
            for line in lines or ():
                self._take(line, time.time_ns() // 1000)

    def _take(self, line: bytes, now_us: int) -> None:
        self.listening |= LISTENING in line
        found = INTERVAL.search(line.decode(errors="replace"))
        # The last line repeats the whole as one interval.
        if found and float(found[2]) - float(found[1]) < 2 * INTERVAL_S:
            so_far = self.total_bytes[-1] if self.total_bytes else 0.0
            self.at_us.append(now_us)
            self.total_bytes.append(so_far + float(found[3]) * UNITS[found[4]])


class Traffic:
    """The programs of the load, and what they measured."""

    def __init__(self, cell: Cell, folder: Path, bulk: Bulk) -> None:
        """Files go to `folder`."""
        self.goodput = Goodput()
        self.bulk = bulk
        self._cell = cell
        self._programs: Programs = cell.programs
        self._folder = folder
        self._received = folder / "voip.csv"
        self._ping: Program | None = None

    async def start(self) -> None:
        """Starts all flows."""
        inside = (*self._cell.namespace.prefix, *ENDS_WITH_PARENT)
        server = self._programs.spawn(
            (*inside, "iperf3", "-s", "-i", str(INTERVAL_S), "--forceflush"),
            name="iperf3-server",
        )
        threading.Thread(
            target=self.goodput.read, args=(server.process.stdout,), daemon=True
        ).start()
        ready = self._folder / "voip.ready"
        ready.unlink(missing_ok=True)
        receiver = self._programs.spawn(
            (
                *(*inside, *python(FLOW), "receive", "--port", str(VOIP_PORT)),
                *("--out", str(self._received), "--ready", str(ready)),
            ),
            name="voip-receiver",
            has_ready_line=False,
        )
        await self._programs.wait_until(receiver, ready.exists)
        await self._programs.wait_until(server, lambda: self.goodput.listening)
        self._ping = self._start("ping", "ping", "-D", "-n", "-i", str(PING_PERIOD_S), UE_ADDRESS)
        self._start("voip-sender", *python(FLOW), "send", f"{UE_ADDRESS}:{VOIP_PORT}")
        self._start(
            *("iperf3-client", "iperf3", "-c", UE_ADDRESS, "-t", str(ENDLESS_S)),
            *("-i", "0", *self.bulk.words()),
        )

    def rows(self) -> Iterator[tuple[str, str, str, int, float]]:
        """Rows of flow, kind, quantity, Unix time in µs and value, as recordings have them."""
        for at_us, total in zip(self.goodput.at_us, self.goodput.total_bytes, strict=True):
            yield "bulk", self.bulk.kind, "goodput_bytes", at_us, total
        for at_us, rtt_us in self._replies():
            yield "ping", "ping", "rtt", at_us, rtt_us
        voip = read_received(self._received)
        delays_us = voip.received_us - voip.sent_us
        for at_us, delay_us in zip(voip.received_us.tolist(), delays_us.tolist(), strict=True):
            yield "voip", "voip", "one_way", at_us, delay_us

    def last_rtt_s(self) -> float | None:
        """Round trip of the latest ping that was answered."""
        last = None
        for _, rtt_us in self._replies():
            last = rtt_us / 1e6
        return last

    def _start(self, name: str, *command: str) -> Program:
        return self._programs.spawn(
            (*ENDS_WITH_PARENT, *BY_LINES, *command), name=name, has_ready_line=False
        )

    def _replies(self) -> Iterator[tuple[int, float]]:
        """When each answer came, Unix time in µs, and its round trip in µs."""
        if self._ping is None:
            return
        for line in self._ping.log.read_text(errors="replace").splitlines():
            if found := REPLY.match(line):
                yield round(1e6 * float(found[1])), 1e3 * float(found[2])
