"""What an OAI gNB in SA is loaded with: a UDP download, a VoIP-like flow and a ping, to one UE."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from sojourn_demo.load import ping
from sojourn_demo.load.commands import BY_LINES, ENDS_WITH_PARENT
from sojourn_demo.programs import Program

TESTS: Final = Path(__file__).resolve().parents[1] / "ran-function/oai/tests"
sys.path.insert(0, str(TESTS))

from standalone import Standalone, StandaloneUe  # noqa: E402 - of the tests
from test_sa import PACKET_BYTES, Load  # noqa: E402

VOIP_BYTES, VOIP_PERIOD_US = 172, 20_000.0


@dataclass(slots=True)
class Flows:
    """Flows that run, and where their records stood at the last mark."""

    pings: Program
    voip: Load
    bulk: Load
    marked_us: int = 0
    sizes: tuple[int, int] = (0, 0)

    @classmethod
    async def start(cls, sa: Standalone, ue: StandaloneUe, mbps: float) -> Flows:
        """Starts them; the download offers `mbps`."""
        pings = sa.programs.spawn(
            (*ENDS_WITH_PARENT, *BY_LINES, *ping.command(ue.addresses[0])),
            name="ping",
            has_ready_line=False,
        )
        voip = await Load.start(
            sa, ue, 8 * VOIP_BYTES / VOIP_PERIOD_US, packet_bytes=VOIP_BYTES, port=5500
        )
        return cls(pings, voip, await Load.start(sa, ue, mbps))

    def mark(self) -> None:
        """Figures are of what comes from here on."""
        self.marked_us = time.time_ns() // 1000
        self.sizes = (self.bulk.out.stat().st_size, self.voip.out.stat().st_size)

    def figures(self) -> dict[str, Any]:
        """Goodput, one-way delays and round trips since the mark."""
        seconds = (time.time_ns() // 1000 - self.marked_us) / 1e6
        bulk, voip = map(_since, (self.bulk.out, self.voip.out), self.sizes)
        rtts = [rtt for at_us, rtt in ping.replies(self.pings.log) if at_us > self.marked_us]
        return {
            "goodput_mbps": round(len(bulk) * 8e-6 * PACKET_BYTES / seconds, 2),
            "voip_ms": percentiles((voip[:, 2] - voip[:, 1]) / 1000),
            "voip_packets": len(voip),
            "ping_ms": percentiles(np.array(rtts) / 1000),
            "pings": len(rtts),
        }


def percentiles(values: Any) -> dict[str, float | None]:
    """p50, p95 and p99; None without values."""
    if len(values) == 0:
        return dict.fromkeys(("p50", "p95", "p99"))
    return {f"p{at}": round(float(np.percentile(values, at)), 1) for at in (50, 95, 99)}


def radio_us(sa: Standalone) -> int:
    """Time of the radio; 0 before its first slot."""
    return max((int(cell["radio_us"]) for cell in sa.status().get("cells", [])), default=0)


def _since(records: Path, size: int) -> Any:
    """Number, time sent and time received of the packets behind the first `size` bytes. The first
    and the last of these lines may be parts of one."""
    lines = records.read_bytes()[size:].split(b"\n")
    rows = [tuple(map(int, line.split(b","))) for line in lines if line.count(b",") == 2]
    return np.array(rows[1:-1], dtype=np.int64).reshape(-1, 3)
