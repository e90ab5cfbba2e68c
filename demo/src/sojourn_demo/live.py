"""The live view of metrics and decision log."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.request
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from sojourn_demo.colours import GOODPUT, PING, RADIO, RLC, TC
from sojourn_demo.programs import Programs

PERIOD_S = 0.25
BARS = " ▁▂▃▄▅▆▇█"
HISTORY = 30
PATIENCE = 3.0
"""The run takes at most this many seconds per second of the gNB."""
SHOWN_DECISIONS = 6
NODE_TIME = "sojourn_node_time_seconds_total"
"""The gNB's clock: it may be late, or skip ahead, on a busy machine."""
GOODPUT_RATE = "goodput"
"""Computed from a counter, bytes/s."""
TRENDS = (
    ("ping round trip", "ms", PING, "sojourn_flow_rtt_seconds", 1e3),
    ("RLC head of line", "ms", RLC, "sojourn_rlc_hol_seconds", 1e3),
    ("RLC buffer", "kB", RLC, "sojourn_rlc_occupancy_bytes", 1e-3),
    ("TC pipeline", "kB", TC, "sojourn_tc_backlog_bytes", 1e-3),
    ("bulk goodput", "Mbit/s", GOODPUT, GOODPUT_RATE, 8e-6),
    ("used RBs", "%", RADIO, "sojourn_prb_used_ratio", 1e2),
)
"""Name, unit, colour, metric, factor."""


@dataclass(slots=True)
class Trend:
    """The last values of one quantity, as bars from 0 to the largest of them."""

    name: str
    unit: str
    colour: str
    values: deque[float] = field(default_factory=lambda: deque(maxlen=HISTORY))

    def row(self) -> tuple[str, str, Text, str]:
        """Name, value with unit, bars, scale of the bars."""
        if not self.values:
            return self.name, "–", Text(), ""
        top = max(self.values) or 1.0
        last = len(BARS) - 1
        bars = "".join(BARS[round(max(v, 0.0) / top * last)] for v in self.values)
        value = f"{self.values[-1]:,.1f} {self.unit}"
        return self.name, value, Text(bars, self.colour), f"0–{top:,.4g}"


class View:
    """Polls the values and draws."""

    def __init__(
        self,
        console: Console,
        read: Callable[[], Mapping[str, float]],
        log: Path,
        control_from_s: float,
    ) -> None:
        """`read` gives the values by metric, or none while there are none; it may block."""
        self._console = console
        self._read = read
        self._log = log
        self._control_from_s = control_from_s
        self._node_s = 0.0
        self._trends = [Trend(name, unit, colour) for name, unit, colour, *_ in TRENDS]
        self._before: tuple[float, float] | None = None

    async def run(self, programs: Programs, seconds: float, *, least_s: float = 0.0) -> None:
        """Displays `seconds` of the gNB's clock, at least until it has `least_s`; raises
        `DemoError` if a program ends."""
        # Whatever the gNB's clock does, the run ends.
        give_up_s = time.monotonic() + PATIENCE * seconds
        await self._poll()
        end_s = max(self._node_s + seconds, least_s)
        terminal = self._console.is_terminal
        with Live(console=self._console, auto_refresh=False, transient=True) as live:
            next_line_s = 0.0
            while self._node_s < end_s and time.monotonic() < give_up_s:
                programs.check()
                if terminal:
                    live.update(self._draw(end_s), refresh=True)
                elif self._node_s >= next_line_s:
                    self._console.print(self._line())
                    next_line_s = self._node_s + 5.0
                await asyncio.sleep(PERIOD_S)
                await self._poll()

    async def _poll(self) -> None:
        values = dict(await asyncio.to_thread(self._read))
        if not values:
            return
        self._node_s = values.get(NODE_TIME, self._node_s)
        now = (self._node_s, values.get("sojourn_flow_goodput_bytes_total", 0.0))
        if self._before is not None and now[0] > self._before[0]:
            values[GOODPUT_RATE] = (now[1] - self._before[1]) / (now[0] - self._before[0])
        self._before = now
        for trend, (_, _, _, metric, factor) in zip(self._trends, TRENDS, strict=True):
            if metric in values:
                trend.values.append(factor * values[metric])

    def _draw(self, end_s: float) -> Panel:
        grid = Table.grid(padding=(0, 2))
        grid.add_column()
        grid.add_column(justify="right", min_width=14)
        grid.add_column(no_wrap=True)
        grid.add_column(style="dim", no_wrap=True)
        for trend in self._trends:
            grid.add_row(*trend.row())
        decisions = [Text(line) for line in self._decisions()]
        return Panel(
            Group(grid, Text(), *(decisions or [Text("no decision yet", style="dim")])),
            title=f"{self._node_s:4.1f} of {end_s:.0f} s · {self._phase()}",
            title_align="left",
        )

    def _line(self) -> str:
        shown = "  ".join(f"{name} {value}" for name, value, *_ in map(Trend.row, self._trends))
        return f"{self._node_s:5.1f} s  {shown}"

    def _phase(self) -> str:
        if any("accepted" in record.get("outcome", ()) for record in read_decisions(self._log)):
            return "controlled"
        return f"uncontrolled; the controller observes for {self._control_from_s:g} s"

    def _decisions(self) -> list[str]:
        lines = []
        for record in read_decisions(self._log)[-SHOWN_DECISIONS:]:
            if record["event"] == "decided":
                lines.append(f"{record['id']}  decided   {record['rung']['template']}")
            elif record["event"] == "answered":
                took_ms = record["detect_to_ack_us"] / 1e3
                outcome = ", ".join(record["outcome"])
                lines.append(f"{record['id']}  {outcome}  {took_ms:.2f} ms after detection")
            elif record["event"] == "verified":
                lines.append(f"{record['id']}  verified  {record['verdict']}")
            elif record["event"] == "rolled_back":
                lines.append(f"{record['id']}  rolled back to {record['to']}")
        return lines


def read_decisions(log: Path) -> list[dict[str, Any]]:
    """The records of a decision log that have a decision's id; incomplete lines are ignored."""
    records = []
    try:
        lines = log.read_text().splitlines()
    except OSError:
        return []
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and record.get("id") and "event" in record:
            records.append(record)
    return records


def scrape(metrics: str) -> dict[str, float]:
    """The values at the metrics address of the lab; none if it does not answer."""
    try:
        with urllib.request.urlopen(f"http://{metrics}/metrics", timeout=1.0) as answer:
            body: bytes = answer.read()
    except OSError:
        return {}
    return _sums(body.decode())


def _sums(text: str) -> dict[str, float]:
    """Sum of each metric over its labels; for delays the maximum."""
    values: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name.endswith("_seconds"):
                values[sample.name] = max(values.get(sample.name, 0.0), sample.value)
            else:
                values[sample.name] = values.get(sample.name, 0.0) + sample.value
    return values
