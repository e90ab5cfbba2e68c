"""``python -m sojourn_demo.kernel.ue FOLDER``: the applications of a run, at the UE."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any, Final

from playwright.async_api import Browser

from sojourn_demo.kernel import quality, site, video
from sojourn_demo.kernel.browser import launched
from sojourn_demo.kernel.pages import load_pages
from sojourn_demo.kernel.program import run_program
from sojourn_demo.kernel.setup import (
    BROWSER,
    DONE,
    HTTP_PORT,
    IPERF_PORT,
    MEASURED,
    QUALITY,
    QUALITY_BEGINS,
    QUALITY_READY,
    SERVER_READY,
    UE_READY,
    VOIP_PORT,
    Schedule,
    Setup,
    appeared,
    write_json,
)
from sojourn_demo.load import iperf, irtt, network_quality, ping
from sojourn_demo.load.commands import BY_LINES, ENDS_WITH_PARENT, python
from sojourn_demo.load.flow import read_received
from sojourn_demo.load.rows import Row, write_rows
from sojourn_demo.programs import Program, Programs

IRTT_JSON: Final = "irtt.json"
VOIP_CSV: Final = "voip.csv"
PING: Final = "ping"
IPERF: Final = "iperf3-"
"""Begins the names of downloads."""
IRTT_LATE_S: Final = 30.0
"""How long irtt may take beyond its time and that of late answers."""


class Ue:
    """The clients of a run, and what they measured."""

    def __init__(self, folder: Path, programs: Programs) -> None:
        self._folder = folder
        self._programs = programs
        self._setup = Setup.read(folder)
        self._server = os.environ["SOJOURN_SERVER"]
        self._downloads: dict[str, iperf.Goodput] = {}

    async def run(self) -> None:
        """Starts the load, then goes through the phases; raises `DemoError`."""
        await appeared(self._folder / SERVER_READY)
        self._start(PING, *ping.command(self._server))
        for port, control in enumerate(self._setup.controls, IPERF_PORT):
            self._download(control, port)
        async with AsyncExitStack() as stack:
            browser = None
            if (chromium := self._setup.chromium) is not None:
                browser = await stack.enter_async_context(launched(Path(chromium)))
            (self._folder / UE_READY).touch()
            schedule = await Schedule.awaited(self._folder)
            voip = self._start_voip((schedule.end_us - schedule.begin_us) / 1e6)
            if browser is not None:
                phases = await self._browse(browser, schedule)
                write_json(self._folder / BROWSER, {"phases": phases})
        await asyncio.sleep(max(0.0, schedule.end_us / 1e6 - time.time()))
        for program in self._programs.started:
            if not program.alive and program is not voip:
                raise program.ended()
        if self._setup.irtt:
            await _ended_well(voip)
        if self._setup.quality is not None:
            await self._test_responsiveness(self._setup.quality)
        (self._folder / DONE).touch()

    def rows(self) -> Iterator[Row]:
        """What was measured, with Unix times."""
        for control, goodput in self._downloads.items():
            for at_us, total in zip(goodput.at_us, goodput.total_bytes, strict=True):
                yield control, "tcp", "goodput_bytes", at_us, total
        for at_us, rtt_us in ping.replies(self._folder / f"{PING}.log"):
            yield "ping", "ping", "rtt", at_us, rtt_us
        for at_us, delay_us in self._voip():
            yield "voip", "voip", "one_way", at_us, delay_us

    def _voip(self) -> Iterator[tuple[int, float]]:
        if self._setup.irtt:
            yield from irtt.downlink(self._folder / IRTT_JSON)
            return
        came = read_received(self._folder / VOIP_CSV)
        delays_us = came.received_us - came.sent_us
        yield from zip(came.received_us.tolist(), delays_us.tolist(), strict=True)

    def _download(self, control: str, port: int) -> None:
        client = self._programs.spawn(
            (
                *(*ENDS_WITH_PARENT, "iperf3", "-c", self._server, "-p", str(port), "-R"),
                *("-C", control, "-t", str(iperf.ENDLESS_S), *iperf.REPORTS),
            ),
            name=f"{IPERF}{control}",
        )
        goodput = self._downloads[control] = iperf.Goodput()
        threading.Thread(target=goodput.read, args=(client.process.stdout,), daemon=True).start()

    def _start_voip(self, seconds: float) -> Program:
        if self._setup.irtt:
            words = irtt.client(self._server, seconds, self._folder / IRTT_JSON)
            return self._start("irtt", *words)
        out = self._folder / VOIP_CSV
        receive = ("receive", "--port", str(VOIP_PORT), "--out", str(out))
        return self._start("voip-receiver", *python("sojourn_demo.load.flow"), *receive)

    async def _browse(self, browser: Browser, schedule: Schedule) -> list[dict[str, Any]]:
        """Video and pages of both phases, each begun anew."""
        url = f"http://{self._server}:{HTTP_PORT}"
        phases: list[dict[str, Any]] = []
        for from_us, to_us in schedule.phases():
            await asyncio.sleep(max(0.0, from_us / 1e6 - time.time()))
            try:
                async with asyncio.TaskGroup() as tasks:
                    player = video.watch(browser, f"{url}/{site.PLAYER}", to_us)
                    watched = tasks.create_task(player)
                    pages = load_pages(browser, f"{url}/{site.PAGE}", to_us)
                    loaded = tasks.create_task(pages)
            except ExceptionGroup as errors:
                raise errors.exceptions[0] from errors
            phases.append({"video": watched.result(), "pages": loaded.result()})
        return phases

    async def _test_responsiveness(self, program: str) -> None:
        """Runs the client in place of the downloads, which it loads the path with itself.

        What it did not measure is missing in its log; the run is good without.
        """
        for client in [p for p in self._programs.started if p.name.startswith(IPERF)]:
            await self._programs.stop(client)
        (self._folder / QUALITY_BEGINS).touch()
        await appeared(self._folder / QUALITY_READY)
        address = f"{self._server}:{quality.PORT}"
        words = network_quality.client(program, address, self._folder / QUALITY)
        client = self._start(network_quality.CLIENTS[0], *words)
        with suppress(subprocess.TimeoutExpired):
            await asyncio.to_thread(client.process.wait, network_quality.PATIENCE_S)
        await self._programs.stop(client)

    def _start(self, name: str, *command: str) -> Program:
        return self._programs.spawn(
            (*ENDS_WITH_PARENT, *BY_LINES, *command), name=name, has_ready_line=False
        )


async def _ended_well(client: Program) -> None:
    """Waits for irtt's client; raises `DemoError` if it failed, or does not end."""
    patience_s = irtt.WAIT_S + IRTT_LATE_S
    try:
        status = await asyncio.to_thread(client.process.wait, patience_s)
    except subprocess.TimeoutExpired as error:
        raise client.late(patience_s) from error
    if status != 0:
        raise client.ended()


async def use(folder: Path) -> None:
    """Runs the applications, keeps the load up until it is cancelled, and writes what they
    measured."""
    async with Programs(folder) as programs:
        ue = Ue(folder, programs)
        await ue.run()
        try:
            await asyncio.Event().wait()
        finally:
            write_rows(folder / MEASURED, ue.rows())


if __name__ == "__main__":
    sys.exit(run_program("applications of the demo", use))
