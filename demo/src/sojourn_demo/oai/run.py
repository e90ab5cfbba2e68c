"""`sojourn-demo --through oai`, in the network namespace of the gNB.

The cell runs twice with the same load, from a start of gNB and UE each: without a controller, and
with one that observes first. All else runs both times: near-RT RIC, bridge and the recording of E2
reports.
"""

from __future__ import annotations

import asyncio
import logging
from argparse import Namespace
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import structlog
import yaml
from rich.console import Console

from sojourn_demo import DemoError
from sojourn_demo.conclusion import TITLE, conclude
from sojourn_demo.gateways import ANY_PORT
from sojourn_demo.live import View
from sojourn_demo.oai.loop import Loop
from sojourn_demo.oai.recorder import Recorder
from sojourn_demo.oai.traffic import Bulk, Traffic
from sojourn_demo.programs import Programs
from sojourn_demo.recording import Recording, read_recording
from sojourn_demo.report import Footnote

SETTLE_S: Final = 6.0
"""Time that the load runs before the phases: the MCS starts at 0 and climbs for seconds."""
RLC_PERIOD_MS: Final = 10
DEFAULT_POLICY: Final = Path("xapps/tc_controller/policies/default.yaml")
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
    speeds: dict[str, float] = {}
    for controlled in (False, True):
        name = "with_control" if controlled else "without_control"
        (out / name).mkdir(exist_ok=True)
        console.print(f"[bold]{name.replace('_', ' ')}[/bold]")
        speeds[name] = await _one(arguments, console, out / name, controlled)
        recorded[controlled] = read_recording(out / name)
    for name, speed in speeds.items():
        if speed < REAL_TIME:
            console.print(
                f"This machine is too slow for the radio: {name.replace('_', ' ')} it ran at"
                f" {speed:.2f} of real time. Delays and rates are in the radio's time, latencies"
                " of the control loop in that of the wall."
            )
    footnote = Footnote(
        twin="another run of the same gNB, UE and load, without a controller",
        drained="those of the transport blocks, without retransmissions",
        clock="Times are of the radio, latencies of the loop of the wall clock",
    )
    runs = (recorded[True], recorded[False])
    conclude(
        *(out, console, f"{TITLE}, in an OpenAirInterface gNB", runs, footnote),
        control_from_s=arguments.before,
        own_revisions=True,
        extra={"through": "oai", "radio_speed": speeds},
    )


async def _one(arguments: Namespace, console: Console, folder: Path, controlled: bool) -> float:
    """One run, recorded to `folder`; returns the speed of the radio, 1 for real time."""
    log = arguments.out / "decisions.jsonl"
    with TemporaryDirectory(prefix="sojourn-") as scratch:
        async with Programs(folder) as programs:
            loop = await Loop.start(programs, Path(scratch), folder, max_mcs=arguments.mcs)
            cell, gateway = loop.cell, loop.gateway
            traffic = Traffic(cell, folder, Bulk(arguments.udp))
            recorder = Recorder(gateway, traffic, cell)
            async with _task(recorder.run()) as recording:
                await traffic.start()
                await _while(recording, asyncio.sleep(SETTLE_S))
                recorder.begin()
                if controlled:
                    await _start_xapps(arguments, programs, gateway)
                view = View(console, recorder.values, log, arguments.before)
                await _while(recording, view.run(programs, arguments.before + arguments.after))
                recorder.end()
            recorder.write(folder)
            # The controller first, which returns what it has leased.
            for program in list(reversed(programs.started)):
                if program.name in {"tc-controller", "rlc-forecaster"}:
                    await programs.stop(program)
    return recorder.speed()


def write_policy(base: Path, to: Path, rlc_period_ms: int) -> None:
    """Writes the policy `base` to `to`, with RLC reports at this period.

    Raises:
        DemoError: `base` cannot be read or is no policy.
    """
    try:
        policy: Any = yaml.safe_load(base.read_text())
    except OSError as error:
        raise DemoError(f"{base}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise DemoError(f"{base}: {error}") from error
    if not isinstance(policy, dict) or not isinstance(policy.setdefault("reports", {}), dict):
        raise DemoError(f"{base}: expected a policy of tc-controller")
    policy["reports"]["rlc_period_ms"] = rlc_period_ms
    to.write_text(yaml.safe_dump(policy, sort_keys=False))


async def _start_xapps(arguments: Namespace, programs: Programs, gateway: str) -> None:
    out: Path = arguments.out
    period_ms: int = arguments.rlc_period_ms or RLC_PERIOD_MS
    policy = out / "policy.yaml"
    write_policy(arguments.policy or DEFAULT_POLICY, policy, period_ms)
    await programs.start(
        *("rlc-forecaster", "--gateway", gateway, "--period-ms", str(period_ms)),
        *("--metrics-listen", ANY_PORT, "--listen", ANY_PORT),
    )
    await programs.start(
        *("tc-controller", "--gateway", gateway, "--metrics-listen", ANY_PORT),
        *("--decision-log", str(out / "decisions.jsonl"), "--stats", str(out / "stats.json")),
        *("--observe-for-s", str(arguments.before)),
        *("--policy", str(policy)),
    )


async def _while(watched: asyncio.Task[None], work: Coroutine[Any, Any, None]) -> None:
    """Awaits `work`; raises the error of `watched` if it fails meanwhile."""
    async with _task(work) as task:
        done, _ = await asyncio.wait({watched, task}, return_when=asyncio.FIRST_COMPLETED)
        if watched in done:
            watched.result()
        await task


@asynccontextmanager
async def _task(work: Coroutine[Any, Any, None]) -> AsyncIterator[asyncio.Task[None]]:
    """Runs `work` beside the block and ends it with the block."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
