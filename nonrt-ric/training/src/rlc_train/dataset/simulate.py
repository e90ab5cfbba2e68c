"""Simulates one run and returns it as a table."""

from __future__ import annotations

import importlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pyarrow as pa
from ric.errors import ServiceModelUnavailable
from ric.sm import MAC_OID, RLC_OID, TC_V1_OID, tc
from rlc_dataset.provenance import text_sha256

from rlc_train.collect.recorder import Recorder
from rlc_train.dataset.plan import RunPlan
from rlc_train.errors import TrainError

STEP_US: Final = 1_000_000
"""Virtual time between two reads of indications, which bounds their number."""
PERIOD_MS: Final = 1


def lab() -> Any:
    """The simulator's module.

    Raises:
        TrainError: It is not installed.
    """
    try:
        return importlib.import_module("gnb_lab")
    except ImportError as error:
        raise TrainError("module gnb_lab is not installed; run: make setup") from error


def producer() -> str:
    """Name and version of the simulator, for provenance."""
    return f"gnb-lab {lab().__version__}"


def simulate(plan: RunPlan) -> pa.Table:
    """Runs a plan's scenario and records its E2 reports of every millisecond.

    Raises:
        TrainError: The scenario is invalid or has no bearer, or a module is not installed.
    """
    gnb_lab = lab()
    recorder = Recorder()
    try:
        world = _world(gnb_lab, plan)
        for oid in (RLC_OID, MAC_OID):
            world.subscribe(oid, PERIOD_MS)
        world.subscribe(
            TC_V1_OID, event_trigger=status_trigger(PERIOD_MS), action_definition=status_action()
        )
    except (gnb_lab.ScenarioError, gnb_lab.E2Error) as error:
        raise TrainError(f"{plan.name}: {error}") from error
    except ServiceModelUnavailable as error:
        raise TrainError("module e2sm_tc is not installed; run: make setup") from error
    for until_us in [*range(STEP_US, plan.duration_us, STEP_US), plan.duration_us]:
        for indication in world.step_until(until_us):
            recorder.on_indication(
                indication.ran_function_oid, indication.message, indication.collected_at_us
            )
    table = recorder.take()
    if table is None:
        raise TrainError(f"{plan.name}: no bearer within {plan.duration_us} µs")
    return table


def _world(gnb_lab: Any, plan: RunPlan) -> Any:
    """The plan's world; its files are there only while the scenario is read."""
    if not plan.files:
        return gnb_lab.World(plan.scenario)
    try:
        with TemporaryDirectory(prefix="rlc-train-") as folder:
            for name, text in (("scenario.yaml", plan.scenario), *plan.files):
                (Path(folder) / name).write_text(text)
            return gnb_lab.World(Path(folder) / "scenario.yaml")
    except OSError as error:
        raise TrainError(f"{plan.name}: {error.strerror or error}") from error


def status_trigger(period_ms: int) -> bytes:
    """Event trigger of periodic TC reports."""
    return tc.encode("event-trigger", {"periodic": {"period_ms": period_ms}})


def status_action() -> bytes:
    """Action definition of the pipeline status of all bearers."""
    action = {"style": "pipeline_status", "bearers": [], "top_flows": 1}
    return tc.encode("action-definition", action)


def provenance(plan: RunPlan) -> dict[str, object]:
    """Provenance of a simulated run, for :func:`rlc_dataset.write_run`."""
    return {
        "cell": plan.cell,
        "mobility": plan.mobility,
        "run": plan.run,
        "source": "gnb-lab",
        "scenario": plan.scenario,
        "scenario_sha256": text_sha256(plan.scenario),
        "seed": plan.seed,
        "series": plan.series,
        "traces": plan.traces,
        "producer": producer(),
    }
