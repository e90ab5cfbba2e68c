"""`sojourn-demo --through oai`, in the network namespace of the gNB.

The cell runs twice with the same load, from a start of gNB and UE each: without a controller, and
with one that observes first. All else runs both times: near-RT RIC, bridge and the recording of E2
reports.
"""

from __future__ import annotations

import asyncio
import logging
from argparse import Namespace
from collections.abc import Coroutine
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import structlog
from rich.console import Console

from sojourn_demo.conclusion import TITLE, conclude
from sojourn_demo.gateways import ANY_PORT
from sojourn_demo.live import View
from sojourn_demo.oai.loop import Loop
from sojourn_demo.oai.recorder import Recorder
from sojourn_demo.oai.traffic import Bulk, Traffic
from sojourn_demo.programs import Programs
from sojourn_demo.recording import Recording, read_recording

SETTLE_S: Final = 6.0
"""From the start of the load to the time of the run: the MCS starts at 0 and climbs for seconds."""
REAL_TIME: Final = 0.97
"""A radio that is slower than this share of the wall clock is said to be."""


async def run(arguments: Namespace, console: Console) -> None:
    """Both runs, summary and report.

    Raises:
        DemoError: Something is missing or does not start.
    """
    # OAI's programs run in folders of their own.
    out = arguments.out = arguments.out.resolve()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    for name in ("decisions.jsonl", "stats.json"):
        (out / name).unlink(missing_ok=True)
    recorded: dict[bool, Recording] = {}
    speeds: dict[str, float | None] = {}
    for controlled in (False, True):
        name = "with_control" if controlled else "without_control"
        (out / name).mkdir(exist_ok=True)
        console.print(f"[bold]{name.replace('_', ' ')}[/bold]")
        speeds[name] = await _one(arguments, console, out / name, controlled)
        recorded[controlled] = read_recording(out / name)
    for name, speed in speeds.items():
        if speed is not None and speed < REAL_TIME:
            console.print(
                f"This machine is too slow for the radio: {name.replace('_', ' ')} it ran at"
                f" {speed:.2f} of real time. All times are of the wall clock."
            )
    conclude(
        *(out, console, f"{TITLE}, in an OpenAirInterface gNB", recorded[True], recorded[False]),
        twin="another run of the same gNB, UE and load, without a controller",
        control_from_s=arguments.before,
        own_revisions=True,
        extra={"through": "oai", "radio_speed": speeds},
    )


async def _one(
    arguments: Namespace, console: Console, folder: Path, controlled: bool
) -> float | None:
    """One run, recorded to `folder`; returns the speed of the radio, 1 for real time."""
    log = arguments.out / "decisions.jsonl"
    with TemporaryDirectory(prefix="sojourn-") as scratch:
        async with Programs(folder) as programs:
            loop = await Loop.start(programs, Path(scratch), folder)
            cell, gateway = loop.cell, loop.gateway
            traffic = Traffic(cell, folder, Bulk(arguments.udp))
            recorder = Recorder(gateway, traffic, cell.oai.downlink_prb_per_frame())
            recording = asyncio.create_task(recorder.run())
            await traffic.start()
            await _while(recording, asyncio.sleep(SETTLE_S))
            recorder.begin()
            if controlled:
                await _start_xapps(arguments, programs, gateway)
            view = View(console, recorder.values, log, arguments.before)
            await _while(recording, view.run(programs, arguments.before + arguments.after))
            recorder.end()
            recording.cancel()
            recorder.write(folder)
            # The controller first, which returns what it has leased.
            for program in list(reversed(programs.started)):
                if program.name in {"tc-controller", "rlc-forecaster"}:
                    await programs.stop(program)
    return recorder.speed()


async def _start_xapps(arguments: Namespace, programs: Programs, gateway: str) -> None:
    out: Path = arguments.out
    await programs.start(
        *("rlc-forecaster", "--gateway", gateway),
        *("--metrics-listen", ANY_PORT, "--listen", ANY_PORT),
    )
    await programs.start(
        *("tc-controller", "--gateway", gateway, "--metrics-listen", ANY_PORT),
        *("--decision-log", str(out / "decisions.jsonl"), "--stats", str(out / "stats.json")),
        *("--observe-for-s", str(arguments.before)),
        *(("--policy", str(arguments.policy)) if arguments.policy else ()),
    )


async def _while(watched: asyncio.Task[None], work: Coroutine[Any, Any, None]) -> None:
    """Awaits `work`; raises the error of `watched` if it fails meanwhile."""
    task = asyncio.create_task(work)
    done, _ = await asyncio.wait({watched, task}, return_when=asyncio.FIRST_COMPLETED)
    if watched in done:
        task.cancel()
        watched.result()
    await task
