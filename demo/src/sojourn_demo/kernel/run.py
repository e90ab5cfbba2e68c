"""Both runs of `make demo-live`, and their report.

The bearer is loaded twice by the same programs for the same seconds of the same radio: under a
controller that observes throughout, and under one that observes first and then acts.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from sojourn_demo import responsiveness
from sojourn_demo.conclusion import TITLE, Applications, conclude
from sojourn_demo.kernel import setup, site
from sojourn_demo.kernel.applications import Measured, plots
from sojourn_demo.kernel.lateness import Lateness
from sojourn_demo.kernel.loaded import Loaded
from sojourn_demo.kernel.setup import Schedule
from sojourn_demo.kernel.tools import Tools, check_namespaces
from sojourn_demo.load import network_quality
from sojourn_demo.load.radio_clock import RadioClock
from sojourn_demo.recording import Recording, read_recording, write_scenario
from sojourn_demo.report import Footnote
from sojourn_demo.responsiveness import Score

SETTLE_S: Final = 8.0
"""Time between the starts of gNB and controller, in which load, browser and forecaster start. Where
a machine needs longer, the second run takes as long as the first, so that their phases are of the
same seconds."""
EXTRA_S: Final = 300.0
"""The scenario lasts this much longer than all phases together."""


TEST: Final = (
    "After the phases, in place of the downloads: networkQuality (goresponsiveness) over HTTP/2,"
    " TLS and this kernel's TCP to nginx; trimmed means of all its probes."
)


async def run(arguments: Namespace, console: Console) -> None:
    """Both runs, summary and report.

    Raises:
        DemoError: Something is missing or does not start.
    """
    out = arguments.out = arguments.out.resolve()
    tools = Tools.found()
    scenario = write_scenario(
        arguments.scenario,
        out,
        duration_s=arguments.before + arguments.after + EXTRA_S,
        trace=arguments.trace,
        seed=arguments.seed,
    )
    check_namespaces(scenario)
    for sentence in tools.skipped:
        console.print(sentence)
    for name in ("decisions.jsonl", "stats.json"):
        (out / name).unlink(missing_ok=True)
    if tools.chromium is not None:
        console.print("encoding the video with Chromium")
        await site.make(out / setup.SITE, Path(tools.chromium))
    runs: dict[bool, Run] = {}
    launch_s = SETTLE_S
    for controlled in (False, True):
        name = "with_control" if controlled else "without_control"
        console.print(f"[bold]{name.replace('_', ' ')}[/bold]")
        loaded = Loaded(arguments, console, scenario, out / name, controlled)
        launch_s, schedule, clock = await loaded.run(tools, launch_s)
        runs[controlled] = Run.read(out / name, schedule, clock)
    conclude_runs(arguments, console, tools, runs[True], runs[False])


@dataclass(frozen=True, slots=True)
class Run:
    """What was recorded: times in s of the run."""

    recording: Recording
    measured: Measured
    lateness: Lateness
    score: Score | None
    begin_s: float
    switch_s: float

    @classmethod
    def read(cls, folder: Path, schedule: Schedule, clock: RadioClock) -> Run:
        """Reads the folder of a run; raises `DemoError` if it is incomplete."""
        measured = Measured.read(folder, clock)
        times = (schedule.begin_us, schedule.switch_us, schedule.end_us)
        begin_s, switch_s, end_s = (clock.at(times) / 1e6).tolist()
        # The test of responsiveness comes after the phases and is scored separately; what programs
        # did while they were stopped is no part of the run.
        recording = read_recording(folder).until(end_s)
        score = network_quality.score(folder / setup.QUALITY)
        return cls(recording, measured, Lateness.read(folder), score, begin_s, switch_s)

    def beginning(self, begin_s: float) -> Run:
        """The same run, moved so that its first phase begins at `begin_s`."""
        by_s = begin_s - self.begin_s
        return replace(
            self,
            recording=self.recording.later(by_s),
            measured=self.measured.later(by_s),
            begin_s=begin_s,
            switch_s=self.switch_s + by_s,
        )


def conclude_runs(
    arguments: Namespace, console: Console, tools: Tools, controlled: Run, alone: Run
) -> None:
    """Writes summary and report, and prints the tables; `alone` had no control. Its first phase is
    laid over that of `controlled`, from which it differs by how long programs took to start."""
    title = f"{TITLE}, by real network stacks"
    if arguments.trace:
        title += f" ({arguments.trace.name})"

    named = {"with control": controlled, "without control": alone}
    moved = alone.beginning(controlled.begin_s)

    def figures(phase: Mapping[str, Any], with_control: bool) -> Mapping[str, Any]:
        run = controlled if with_control else moved
        return run.measured.figures(phase, 0 if phase["name"] == "uncontrolled" else 1)

    conclude(
        *(arguments.out, console, title, (controlled.recording, moved.recording)),
        Footnote(
            twin="another run of the same scenario, seed and programs, its controller observing",
            drained="those that the MAC took from the RLC",
            clock="Times are of the gNB's clock in the run with control; the other run is moved by"
            f" {controlled.begin_s - alone.begin_s:+.1f} s, so that its phases begin at the same"
            " time. The clock is that of the wall but for time that it skipped where a machine was"
            " too slow; delays are of the wall",
            notes=[*tools.skipped, *(run.lateness.sentence(name) for name, run in named.items())],
        ),
        control_from_s=controlled.switch_s,
        own_revisions=True,
        measured_from_s=controlled.begin_s,
        extra={
            "through": "live",
            "runs": {
                name.replace(" ", "_"): {
                    "begin_s": round(run.begin_s, 3),
                    **run.lateness.figures(),
                }
                for name, run in named.items()
            },
            "skipped": list(tools.skipped),
            **responsiveness.figures(controlled.score, alone.score, test=TEST),
        },
        applications=Applications(
            figures, lambda summary: plots(controlled.measured, moved.measured, summary)
        ),
    )
