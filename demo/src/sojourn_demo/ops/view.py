"""The operator's run in the terminal: phase, delay, alerts and the last events."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from sojourn_demo.colours import RLC
from sojourn_demo.live import HISTORY, Trend
from sojourn_demo.ops.timeline import Event, Timeline

SHOWN_EVENTS: Final = 8
STYLES: Final = {"firing": "bold red", "pending": "yellow", "inactive": "green"}
WORDS: Final = {
    "phase": "",
    "pending": "pending",
    "firing": "FIRING",
    "inactive": "no longer active",
    "notified": "NOC notified",
    "resolved": "NOC notified: resolved",
}


class View:
    """Draws a timeline; without a terminal, prints each event once."""

    def __init__(self, console: Console, timeline: Timeline, alerts: tuple[str, ...]) -> None:
        self._console = console
        self._timeline = timeline
        self._alerts = alerts
        self._printed = 0
        self._live: Live | None = None

    @contextmanager
    def shown(self) -> Iterator[None]:
        """The block in which the view is on the screen."""
        with Live(console=self._console, auto_refresh=False, transient=True) as live:
            self._live = live
            yield
        self._live = None

    def update(self) -> None:
        """Draws the state of now."""
        events = list(self._timeline.events)
        if self._live is not None and self._console.is_terminal:
            self._live.update(self._draw(events), refresh=True)
        else:
            for event in events[self._printed :]:
                self._console.print(event_line(event), soft_wrap=True)
        self._printed = len(events)

    def _draw(self, events: list[Event]) -> Panel:
        trend = Trend("RLC head of line", "ms", RLC)
        trend.values.extend(value for _, value in self._timeline.delay_ms[-HISTORY:])
        delay = Table.grid(padding=(0, 2))
        delay.add_row(*trend.row())
        alerts = Table.grid(padding=(0, 2))
        for name in self._alerts:
            state = self._timeline.states.get(name, "inactive")
            alerts.add_row(name, Text(state, STYLES[state]))
        phases = [event for event in events if event.kind == "phase"]
        title = f"{self._timeline.now_s():.0f} s · {phases[-1].text if phases else 'starting'}"
        lines = [Text(event_line(event), no_wrap=True) for event in events[-SHOWN_EVENTS:]]
        return Panel(Group(delay, Text(), alerts, Text(), *lines), title=title, title_align="left")


def event_line(event: Event) -> str:
    """One line of the timeline."""
    if event.kind == "phase":
        return f"{event.at_s:6.1f} s  {event.text}"
    text = f": {event.text}" if event.kind in ("pending", "firing") and event.text else ""
    return f"{event.at_s:6.1f} s  {event.name} {WORDS[event.kind]}{text}"
