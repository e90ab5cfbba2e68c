"""What iperf3 says, server or client: the bytes that its receiver got."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

INTERVAL_S: Final = 0.1
REPORTS: Final = ("-i", str(INTERVAL_S), "--forceflush")
"""Options of the receiver whose output `Goodput` reads."""
ENDLESS_S: Final = 86_400
UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
INTERVAL: Final = re.compile(r"\s(\d+\.\d+)-(\d+\.\d+)\s+sec\s+(\d+(?:\.\d+)?) ([KMG]?)Bytes\s")
LISTENING: Final = b"Server listening"


@dataclass(slots=True)
class Goodput:
    """What the receiver has reported: Unix time in µs and bytes since the start."""

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
