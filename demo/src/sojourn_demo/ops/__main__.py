"""``python -m sojourn_demo.ops``: a fault, the alerts that it raises, its repair.

The controller stops and releases its pipelines: the bearer bloats, and the alerts of
``dashboards/rules`` fire with their own `for`. The controller starts again: they are resolved.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from ric.flags import folder_to_write
from rich.console import Console

from sojourn_demo import DemoError
from sojourn_demo.cli import INTERRUPTED
from sojourn_demo.gateways import ANY_PORT, start_gateway
from sojourn_demo.ops.report import lead, write_report
from sojourn_demo.ops.stack import (
    Prometheus,
    Tools,
    start_alertmanager,
    start_grafana,
    start_prometheus,
)
from sojourn_demo.ops.timeline import Receiver, Timeline
from sojourn_demo.ops.view import View
from sojourn_demo.programs import Program, Programs
from sojourn_demo.recording import write_scenario

ALERTS: Final = ("SojournControllerDown", "SojournBearerDelayHigh")
"""What the fault must raise."""
POLL_S: Final = 0.5
EXTRA_S: Final = 30.0
"""The scenario lasts this much longer than all phases together."""


class Run:
    """One run: programs, timeline, view."""

    def __init__(self, arguments: argparse.Namespace, console: Console, programs: Programs) -> None:
        self._arguments = arguments
        self._console = console
        self._programs = programs
        self._out: Path = arguments.out.resolve()
        self.timeline = Timeline()
        self._view = View(console, self.timeline, ALERTS)

    async def run(self, tools: Tools) -> None:
        """Starts everything and goes through the phases; raises `DemoError`."""
        gnb, gateway = await self._start_gnb()
        forecaster = await self._programs.start(
            *("rlc-forecaster", "--gateway", gateway),
            *("--metrics-listen", ANY_PORT, "--listen", ANY_PORT),
        )
        controller = await self._start_controller(gateway, ANY_PORT)
        jobs = {"gnb-lab": gnb, "rlc-forecaster": forecaster, "tc-controller": controller}
        targets = {job: program.ready["metrics"] for job, program in jobs.items()}
        with Receiver(self.timeline) as receiver:
            prometheus = await self._start_tools(tools, targets, receiver.url)
            await self._scraped(prometheus, len(targets))
            with self._view.shown():
                await self._phases(prometheus, controller, gateway, targets["tc-controller"])

    async def _start_gnb(self) -> tuple[Program, str]:
        arguments = self._arguments
        seconds = 2 * arguments.healthy + 2 * arguments.patience + EXTRA_S
        scenario = write_scenario(
            arguments.scenario, self._out, duration_s=seconds, trace=None, seed=None
        )
        return await start_gateway(
            "lab", self._programs, scenario, self._out / "recording", self._out
        )

    async def _start_controller(self, gateway: str, metrics: str) -> Program:
        return await self._programs.start(
            *("tc-controller", "--gateway", gateway, "--metrics-listen", metrics),
            *("--decision-log", str(self._out / "decisions.jsonl"), "--on-stop", "release"),
        )

    async def _start_tools(self, tools: Tools, targets: dict[str, str], webhook: str) -> Prometheus:
        programs, out = self._programs, self._out
        shipped = self._arguments.rules.parent / "alertmanager.yaml"
        _, manager = await start_alertmanager(programs, tools.alertmanager, out, webhook, shipped)
        rules = sorted(self._arguments.rules.glob("*.yaml"))
        prometheus = await start_prometheus(
            programs, tools.prometheus, out, targets=targets, rules=rules, alertmanager=manager
        )
        self._console.print(
            f"Prometheus    http://{prometheus.address}/alerts\nAlertmanager  http://{manager}"
        )
        if tools.grafana:
            dashboards = self._arguments.rules.parent / "json"
            grafana = await start_grafana(
                programs, tools.grafana, out, prometheus.address, dashboards
            )
            self._console.print(f"Grafana       http://{grafana}/d/sojourn-fleet")
        else:
            self._console.print("Grafana       not on PATH; skipped")
        return prometheus

    async def _scraped(self, prometheus: Prometheus, targets: int) -> None:
        """Waits for the first scrapes: until then all programs look down."""
        end_s = self.timeline.now_s() + self._arguments.patience
        while len(prometheus.query("up == 1")) < targets:
            self._programs.check()
            if self.timeline.now_s() > end_s:
                raise DemoError(f"Prometheus: not every target is up: http://{prometheus.address}")
            await asyncio.sleep(POLL_S)

    async def _phases(
        self, prometheus: Prometheus, controller: Program, gateway: str, metrics: str
    ) -> None:
        timeline, patience_s = self.timeline, self._arguments.patience
        healthy_s = self._arguments.healthy
        timeline.add("phase", "healthy", "the controller keeps the bearer short")
        await self._watch(prometheus, lambda: False, healthy_s)
        # On a busy machine the bearer may bloat before the controller acts for the first time.
        await self._watch(prometheus, self._quiet, patience_s)
        timeline.add("phase", "fault", "the controller stops and releases its pipelines")
        fault_s = timeline.now_s()
        await self._programs.stop(controller)
        await self._watch(
            prometheus,
            lambda: self._all("firing", fault_s) and self._all("notified", fault_s),
            patience_s,
        )
        await self._watch(prometheus, lambda: False, healthy_s)
        timeline.add("phase", "repair", "the controller starts again")
        repair_s = timeline.now_s()
        await self._start_controller(gateway, metrics)
        await self._watch(
            prometheus,
            lambda: self._all("inactive", repair_s) and self._all("resolved", repair_s),
            patience_s,
        )
        timeline.add("phase", "end", "end of the run")

    def _quiet(self) -> bool:
        return all(self.timeline.states.get(name, "inactive") == "inactive" for name in ALERTS)

    def _all(self, kind: Any, since_s: float) -> bool:
        return all(self.timeline.last(kind, name, since_s) is not None for name in ALERTS)

    async def _watch(
        self, prometheus: Prometheus, done: Callable[[], bool], seconds: float
    ) -> None:
        end_s = self.timeline.now_s() + seconds
        while self.timeline.now_s() < end_s and not done():
            self._programs.check()
            await asyncio.to_thread(self.timeline.poll, prometheus)
            self._view.update()
            await asyncio.sleep(POLL_S)
        self._view.update()


def summarise(timeline: Timeline) -> dict[str, Any]:
    """Times from fault and repair to what they caused, and whether all of it happened."""
    fault_s, repair_s = timeline.last("phase", "fault"), timeline.last("phase", "repair")

    def after(kind: Any, name: str, start_s: float | None) -> float | None:
        at_s = None if start_s is None else timeline.last(kind, name, start_s)
        return None if at_s is None or start_s is None else round(at_s - start_s, 2)

    alerts = [
        {
            "alert": name,
            "fired_after_s": after("firing", name, fault_s),
            "notified_after_s": after("notified", name, fault_s),
            "resolved_after_s": after("resolved", name, repair_s),
        }
        for name in ALERTS
    ]
    passed = all(
        each["notified_after_s"] is not None and each["resolved_after_s"] is not None
        for each in alerts
    )
    return {"passed": passed, "alerts": alerts}


async def run(arguments: argparse.Namespace, console: Console) -> bool:
    """Runs the demo; whether every expected alert fired and was resolved.

    Raises:
        DemoError: A tool, file or program is missing or invalid.
    """
    tools = Tools.found()
    async with Programs(arguments.out.resolve()) as programs:
        demo = Run(arguments, console, programs)
        await demo.run(tools)
    summary = summarise(demo.timeline)
    result = summary | demo.timeline.as_json()
    (arguments.out / "ops.json").write_text(json.dumps(result, indent=1) + "\n")
    write_report(arguments.out / "ops.html", demo.timeline, summary)
    console.print(lead(summary))
    console.print(f"report   {arguments.out / 'ops.html'}\nsummary  {arguments.out / 'ops.json'}")
    return bool(summary["passed"])


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m sojourn_demo.ops",
        description="Stop the controller under a real Prometheus and Alertmanager, see the alerts"
        " fire, start it again, see them resolved.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--scenario",
        type=Path,
        default=Path("lab/scenarios/default.yaml"),
        help="scenario of the emulated gNB (default: %(default)s)",
    )
    parser.add_argument(
        "--rules",
        type=Path,
        default=Path("dashboards/rules"),
        help="folder of rule files; json with the dashboards and alertmanager.yaml are beside it"
        " (default: %(default)s)",
    )
    parser.add_argument(
        "--healthy",
        type=float,
        default=15.0,
        help="seconds before the fault, and with its alerts firing (default: %(default)g)",
    )
    parser.add_argument(
        "--patience",
        type=float,
        default=180.0,
        help="longest wait for alerts to fire, and to be resolved, s (default: %(default)g)",
    )
    parser.add_argument(
        "--out",
        type=folder_to_write,
        default=Path("out/demo-ops"),
        help="folder to write (default: %(default)s)",
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program; 0 if all alerts fired and were resolved, 1 if not, 2 on an error, 130 if
    interrupted."""
    given = make_parser().parse_args(arguments)
    try:
        given.out.mkdir(parents=True, exist_ok=True)
        passed = asyncio.run(run(given, Console()))
    except (DemoError, OSError) as error:
        print(f"demo-ops: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("demo-ops: interrupted, all programs stopped", file=sys.stderr)
        return INTERRUPTED
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
