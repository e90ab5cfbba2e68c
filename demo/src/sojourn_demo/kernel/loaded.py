"""One run: the gNB between the programs of a load, forecaster and controller."""

from __future__ import annotations

import asyncio
import shlex
import time
import urllib.request
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console

from sojourn_demo import DemoError
from sojourn_demo.gateways import ANY_PORT
from sojourn_demo.kernel import setup
from sojourn_demo.kernel.setup import Schedule, Setup
from sojourn_demo.kernel.tools import Tools, gnb_lab
from sojourn_demo.kernel.ue import PING
from sojourn_demo.live import NODE_TIME, PERIOD_S, View, scrape
from sojourn_demo.load import network_quality, ping
from sojourn_demo.load.commands import ENDS_WITH_PARENT, python
from sojourn_demo.load.radio_clock import RadioClock
from sojourn_demo.programs import START_TIMEOUT_S, Programs, free_address

NEVER_S: Final = 86_400.0
BEFORE_THE_END_S: Final = 0.5
"""The view ends this long before the applications do."""


class Gnb:
    """The gNB with servers and applications, recording to `folder`."""

    def __init__(self, programs: Programs, folder: Path, scenario: Path) -> None:
        """Starts it."""
        self.programs = programs
        self.folder = folder
        self.began_s = time.monotonic()
        self.gateway, self._metrics = free_address(), free_address()
        self.clock = RadioClock()
        self._values: dict[str, float] = {}
        server = shlex.join(("exec", *python("sojourn_demo.kernel.server"), str(folder)))
        self.program = programs.spawn(
            (
                *(*ENDS_WITH_PARENT, str(gnb_lab()), "live", str(scenario), "--out", str(folder)),
                *("--listen", self.gateway, "--metrics-listen", self._metrics),
                *("--metrics-detail", "flows", "--server", server),
                *("--summary", str(folder / setup.GNB)),
                *("--", *python("sojourn_demo.kernel.ue"), str(folder)),
            ),
            name="gnb-lab",
            has_ready_line=False,
        )

    async def ready(self) -> None:
        """Waits for its servers and the applications; raises `DemoError` if they do not come."""
        url = f"http://{self._metrics}/healthz"
        await self.programs.wait_until(self.program, lambda: _answers(url))
        await self.appeared(setup.UE_READY)

    async def appeared(self, name: str, timeout_s: float = START_TIMEOUT_S) -> None:
        """Waits for a file of a program at server or UE; raises `DemoError` if one failed."""
        await self.programs.wait_until(
            self.program, lambda: setup.is_there(self.folder / name), timeout_s
        )

    async def follow(self) -> None:
        """Reads clock and metrics until it is cancelled."""
        while True:
            asked_us = time.time_ns() // 1000
            found = await asyncio.to_thread(scrape, self._metrics)
            if NODE_TIME in found:
                between_us = (asked_us + time.time_ns() // 1000) // 2
                self.clock.add(between_us, round(1e6 * found[NODE_TIME]))
                self._values = found
            await asyncio.sleep(PERIOD_S)

    def values(self) -> dict[str, float]:
        """What the live view shows."""
        rtt_s = ping.last_rtt_s(self.folder / f"{PING}.log")
        return self._values | ({} if rtt_s is None else {"sojourn_flow_rtt_seconds": rtt_s})


@dataclass(frozen=True, slots=True)
class Loaded:
    """A run with a controller that acts if `controlled`, else observes; recorded to `folder`."""

    arguments: Namespace
    console: Console
    scenario: Path
    folder: Path
    controlled: bool

    async def run(self, tools: Tools, launch_s: float) -> tuple[float, Schedule, RadioClock]:
        """Runs it.

        Args:
            tools: What the load is made of.
            launch_s: From the start of the gNB to that of the controller, s.

        Returns:
            `launch_s`, or more where the machine was slow; when the applications ran; the clock of
            the gNB.

        Raises:
            DemoError: A program does not start, or fails.
        """
        Setup(tools.controls, tools.irtt, tools.chromium, tools.quality).write(self.folder)
        async with Programs(self.folder) as programs:
            gnb = Gnb(programs, self.folder, self.scenario)
            following = asyncio.create_task(gnb.follow())
            try:
                await gnb.ready()
                launched_s = await self._start_xapps(gnb, launch_s)
                schedule = await self._watch(gnb, tools)
            except DemoError:
                # The gNB ends with a program at server or UE, which knows why.
                setup.check(self.folder)
                raise
            finally:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
            # The controller first, which returns what it has leased; the gNB last, with all at
            # server and UE.
            for program in list(reversed(programs.started)):
                if program is not gnb.program:
                    await programs.stop(program)
        return launched_s, schedule, gnb.clock

    async def _start_xapps(self, gnb: Gnb, launch_s: float) -> float:
        """Starts forecaster and controller, and waits until the controller has reports of the gNB:
        its time of observing begins with the first."""
        await gnb.programs.start(
            *("rlc-forecaster", "--gateway", gnb.gateway),
            *("--metrics-listen", ANY_PORT, "--listen", ANY_PORT),
        )
        await asyncio.sleep(max(0.0, gnb.began_s + launch_s - time.monotonic()))
        launched_s = time.monotonic() - gnb.began_s
        policy, observe_s = self.arguments.policy, self.arguments.before
        controller = await gnb.programs.start(
            *("tc-controller", "--gateway", gnb.gateway, "--metrics-listen", ANY_PORT),
            *("--decision-log", str(self._own("decisions.jsonl"))),
            *("--stats", str(self._own("stats.json"))),
            *("--observe-for-s", str(observe_s if self.controlled else NEVER_S)),
            *(("--policy", str(policy)) if policy else ()),
        )
        site = f"http://{controller.ready['metrics']}"
        self.console.print(f"live page  {site}/live/")
        await gnb.programs.wait_until(controller, lambda: _answers(f"{site}/readyz"))
        return launched_s

    async def _watch(self, gnb: Gnb, tools: Tools) -> Schedule:
        """Goes through the phases; returns when the applications are over."""
        before_s, after_s = self.arguments.before, self.arguments.after
        begin_us = time.time_ns() // 1000
        switch_us = begin_us + round(1e6 * before_s)
        schedule = Schedule(begin_us, switch_us, switch_us + round(1e6 * after_s))
        schedule.write(self.folder)
        view = View(self.console, gnb.values, self._own("decisions.jsonl"), before_s)
        await view.run(gnb.programs, before_s + after_s - BEFORE_THE_END_S)
        if tools.quality is not None:
            self.console.print("test of responsiveness by networkQuality, about a minute")
        await gnb.appeared(setup.DONE, START_TIMEOUT_S + network_quality.PATIENCE_S)
        return schedule

    def _own(self, name: str) -> Path:
        """A file of the controller; the demo's results are made of that which acts."""
        return (Path(self.arguments.out) if self.controlled else self.folder) / name


def _answers(url: str) -> bool:
    """Whether `url` answers with status 200."""
    try:
        with urllib.request.urlopen(url, timeout=1.0) as answer:  # noqa: S310 - http
            return bool(answer.status == 200)
    except OSError:
        return False
