"""The load of a run: an iperf3 download, pings and a VoIP-like flow, from the gNB's side to the UE.

All go through the kernels' own TCP, UDP and IP over the tunnel devices.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sojourn_demo.load import iperf, ping
from sojourn_demo.load.commands import BY_LINES, ENDS_WITH_PARENT, python
from sojourn_demo.load.flow import read_received
from sojourn_demo.load.rows import Row
from sojourn_demo.oai.cell import Cell
from sojourn_demo.oai.network import UE_ADDRESS
from sojourn_demo.programs import Program, Programs

FLOW: Final = "sojourn_demo.load.flow"
VOIP_PORT: Final = 5010
UDP_BYTES: Final = 1300


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


class Traffic:
    """The programs of the load, and what they measured."""

    def __init__(self, cell: Cell, folder: Path, bulk: Bulk) -> None:
        """Files go to `folder`."""
        self.goodput = iperf.Goodput()
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
            (*inside, "iperf3", "-s", *iperf.REPORTS),
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
        self._ping = self._start("ping", *ping.command(UE_ADDRESS))
        self._start("voip-sender", *python(FLOW), "send", f"{UE_ADDRESS}:{VOIP_PORT}")
        self._start(
            *("iperf3-client", "iperf3", "-c", UE_ADDRESS, "-t", str(iperf.ENDLESS_S)),
            *("-i", "0", *self.bulk.words()),
        )

    def rows(self) -> Iterator[Row]:
        """Rows of flow, kind, quantity, Unix time in µs and value, as recordings have them."""
        for at_us, total in zip(self.goodput.at_us, self.goodput.total_bytes, strict=True):
            yield "bulk", self.bulk.kind, "goodput_bytes", at_us, total
        for at_us, rtt_us in ping.replies(self._ping.log) if self._ping else ():
            yield "ping", "ping", "rtt", at_us, rtt_us
        voip = read_received(self._received)
        delays_us = voip.received_us - voip.sent_us
        for at_us, delay_us in zip(voip.received_us.tolist(), delays_us.tolist(), strict=True):
            yield "voip", "voip", "one_way", at_us, delay_us

    def last_rtt_s(self) -> float | None:
        """Round trip of the latest ping that was answered."""
        return ping.last_rtt_s(self._ping.log) if self._ping else None

    def _start(self, name: str, *command: str) -> Program:
        return self._programs.spawn(
            (*ENDS_WITH_PARENT, *BY_LINES, *command), name=name, has_ready_line=False
        )
