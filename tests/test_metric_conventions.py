"""Metrics of the Python programs: Prometheus's conventions, the documented names, few series."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import flexric_bridge.metrics
import gnb_lab
import numpy as np
import pytest
import ric.metrics
import ric.security
import rlc_forecaster.metrics
import tc_controller.metrics
import tc_controller.service_metrics
import tc_controller.worst_bearers
from doubles import FIELDS, SHORT
from flexric_bridge.app import Bridge
from flexric_bridge.sdk import E2Node
from flexric_bridge.settings import BridgeSettings
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from ric.clock import SystemClock
from ric.lifecycle import XApp
from ric.metrics import GatewayCollector, GatewayMetrics, register_program
from ric.settings import XAppSettings
from ric.sm import MAC_OID, RLC_OID, TC_V1_OID
from rlc_forecaster.core import Forecaster
from rlc_forecaster.encodings import Encodings
from rlc_forecaster.hub import Hub
from rlc_forecaster.metrics import ForecasterCollector, ModelStatus, Timings
from rlc_forecaster.onnx_step import OnnxStep
from rlc_forecaster.settings import DEFAULT_MODEL
from rlc_model import Quantity
from tc_controller.core.controller import Controller
from tc_controller.latency import LoopLatencies
from tc_controller.metrics import ControllerCollector
from tc_controller.policy_file import load_policy
from tc_controller.policy_source import PolicySource, default_policy
from tc_controller.settings import ControllerSettings
from tc_controller.worst_bearers import WorstBearers
from tc_evaluate.lockstep import Lockstep

SCENARIO = Path(__file__).parent.parent / "lab" / "scenarios" / "many_bearers.yaml"
OF_A_FORECAST, SCRAPED = 60, 100
"""Series of the forecaster's own with one bearer, and all that a scrape of it then has."""
PER_NODE, PER_BEARER = 48, 7
"""Series that a further node and bearer may add in controller and forecaster together. The
gateway may add 13 and 1."""
DOCUMENTED = (
    ric.security,
    ric.metrics,
    tc_controller.metrics,
    tc_controller.service_metrics,
    tc_controller.worst_bearers,
    rlc_forecaster.metrics,
    flexric_bridge.metrics,
)
NOT_A_BASE_UNIT = re.compile(r"_(us|ms|milliseconds|minutes|kb|kilobytes|mbps|kbps|percent)(_|$)")
OTHERS = {
    "process_",
    "sojourn_access_",
    "sojourn_audit_",
    "sojourn_state_file_",
    "sojourn_task_",
    "sojourn_tls_",
}
"""Metrics that other pages describe."""


class Renamed:
    """A world under another name."""

    def __init__(self, world: gnb_lab.World, name: str) -> None:
        self._world = world
        self.node_id = name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)


def gateway(registry: CollectorRegistry, nodes: int, *, sends_controls: bool = True) -> None:
    """A gateway client that has had everything of every node."""
    metrics = GatewayMetrics()
    GatewayCollector(metrics, registry)
    for number in range(nodes):
        node = f"gnb-{number}"
        metrics.nodes.add(node)
        for oid in (RLC_OID, MAC_OID, TC_V1_OID):
            stats = metrics.indication_stats(node, oid)
            stats.received = stats.last_handled_at_us = 1
            metrics.subscriptions[node, oid, "started"] += 1
            if sends_controls:
                metrics.count_control(node, oid, "acknowledged", 1)


def controller(nodes: int, bearers: int, seconds: float = 2.0) -> CollectorRegistry:
    """A controller after some seconds with emulated gNBs under the default policy."""
    core = Controller(load_policy(default_policy()))
    loops = []
    for number in range(nodes):
        world = gnb_lab.World(SCENARIO, overrides={"ues[0].count": bearers})
        named: Any = Renamed(world, f"gnb-{number}")
        loops.append(Lockstep(named, core))
    for step in range(1, round(seconds * 1000)):
        for loop in loops:
            loop.run(step / 1000)
    registry, settings = CollectorRegistry(), ControllerSettings()
    register_program(registry, "tc-controller")
    gateway(registry, nodes)
    policy = PolicySource(settings, SystemClock())
    policy.load()
    worst = WorstBearers(settings.metrics.top_bearers)
    collector = ControllerCollector(
        core, policy, LoopLatencies(), lambda: 0, lambda: round(seconds * 1e6), worst
    )
    registry.register(collector)
    return registry


def forecaster(nodes: int, bearers: int, milliseconds: int = 100) -> CollectorRegistry:
    """A forecaster with the shipped model after some reports."""
    registry = CollectorRegistry()
    register_program(registry, "rlc-forecaster")
    gateway(registry, nodes, sends_controls=False)
    model = OnnxStep.load(DEFAULT_MODEL)
    engines = {f"gnb-{number}": Forecaster(f"gnb-{number}", model) for number in range(nodes)}
    rnti, drb = np.arange(1, bearers + 1), np.ones(bearers, np.uint8)
    for engine in engines.values():
        for at_ms in range(milliseconds):
            rows = np.zeros(bearers, FIELDS)
            rows["rnti"], rows["rbid"] = rnti, drb
            rows["txbuf_occ_bytes"], rows["txpdu_bytes"] = at_ms * 100, at_ms * at_ms
            engine.on_report(rows, at_ms * 1_000)
            engine.learn()
            limit_bytes = np.full(bearers, 5_000 + at_ms)
            engine.update_limits(rnti, drb, limit_bytes, at_ms * 1_000)
    status = ModelStatus(written_at_s=1.0)
    hub = Hub(SHORT, SystemClock())
    encodings = Encodings(SystemClock().now_us)
    ForecasterCollector(engines, hub, Timings(), status, encodings).register(registry)
    return registry


def bridge() -> CollectorRegistry:
    """A bridge with reports of a node."""
    made = Bridge(BridgeSettings())
    made.nodes.connected(E2Node("gnb-0", "gnb", 1, 1, 2, 0, None, ()))
    flow = made.metrics.flow("gnb-0", RLC_OID)
    flow.last_ns = 1
    made.metrics.count_control("acknowledged", 1.0)
    return made.registry


def xapp() -> CollectorRegistry:
    """A program with nothing of its own."""
    return XApp("any-xapp", XAppSettings()).registry


PROGRAMS: dict[str, Callable[[], CollectorRegistry]] = {
    "tc-controller": lambda: controller(1, 2),
    "rlc-forecaster": lambda: forecaster(1, 2),
    "flexric-bridge": bridge,
    "xapp": xapp,
}


def families(registry: CollectorRegistry) -> Iterator[tuple[str, Metric]]:
    """Families with their names in the text format."""
    for family in registry.collect():
        yield family.name + ("_total" if family.type == "counter" else ""), family


def series(*registries: CollectorRegistry) -> int:
    """Series of all registries together."""
    return sum(len(family.samples) for each in registries for family in each.collect())


@pytest.mark.parametrize("program", PROGRAMS)
def test_metrics_follow_the_conventions_of_prometheus(program: str) -> None:
    registry = PROGRAMS[program]()
    wrong = []
    for name, family in families(registry):
        if name.startswith("process_"):
            continue
        if not family.documentation.endswith("."):
            wrong.append(f"{name}: HELP {family.documentation!r} is no sentence")
        if NOT_A_BASE_UNIT.search(name):
            wrong.append(f"{name}: not a base unit")
        if family.type == "gauge" and name.endswith(("_total", "_count", "_sum", "_bucket")):
            wrong.append(f"{name}: a gauge by the name of another type")
        is_time = "Unix time" in family.documentation and "_not_after_" not in name
        if is_time and not name.endswith("_timestamp_seconds"):
            wrong.append(f"{name}: a time is a _timestamp_seconds")
        if not name.startswith("sojourn_"):
            wrong.append(f"{name}: without the prefix")
    assert not wrong


@pytest.mark.parametrize("program", PROGRAMS)
def test_promtool_finds_nothing(program: str) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not on PATH")
    text = generate_latest(PROGRAMS[program]())
    done = subprocess.run(
        [promtool, "check", "metrics"], input=text, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr.decode(), done.stdout.decode()) == (0, "", "")


@pytest.mark.parametrize("program", PROGRAMS)
def test_metrics_are_valid_openmetrics(program: str) -> None:
    text = openmetrics(PROGRAMS[program]()).decode()  # type: ignore[no-untyped-call]
    assert list(text_string_to_metric_families(text))  # type: ignore[no-untyped-call]


def documented() -> set[str]:
    """The names in the tables, `…_x` with all prefixes of the name before it."""
    names: set[str] = set()
    for module in DOCUMENTED:
        for line in str(module.__doc__).splitlines():
            full = re.findall(r"`(sojourn_[a-z0-9_]+)`", line)
            names.update(full)
            for suffix in re.findall(r"`…(_[a-z0-9_]+)`", line):
                parts = full[0].split("_")
                names.update("_".join(parts[:end]) + suffix for end in range(1, len(parts) + 1))
    return names


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_metric_is_in_the_reference(program: str) -> None:
    exported = {name for name, _ in families(PROGRAMS[program]())}
    missing = {each for each in exported - documented() if not each.startswith(tuple(OTHERS))}
    assert not missing


def test_a_further_node_and_a_further_bearer_add_few_series() -> None:
    one = series(controller(1, 2), forecaster(1, 2))
    node = series(controller(2, 2), forecaster(2, 2)) - one
    bearer = series(controller(1, 3), forecaster(1, 3)) - one
    of_bearers = 2 * bearer
    print(f"\nfixed {one - node}, per node {node - of_bearers}, per bearer {bearer}")
    assert bearer <= PER_BEARER
    assert node - of_bearers <= PER_NODE


def test_the_forecaster_of_one_bearer_has_few_series() -> None:
    registry = forecaster(1, 1, milliseconds=600)
    own = [family for name, family in families(registry) if name.startswith("sojourn_forecaster_")]
    skill = next(each for each in own if each.name.endswith("skill_by_horizon_ratio"))
    print(f"\nof its own {sum(len(each.samples) for each in own)}, all {series(registry)}")
    assert {each.labels["quantity"] for each in skill.samples} == set(Quantity)
    assert sum(len(each.samples) for each in own) <= OF_A_FORECAST
    assert series(registry) <= SCRAPED


def test_bearers_beyond_the_worst_add_none() -> None:
    most = ControllerSettings().metrics.top_bearers
    assert series(controller(1, most + 5)) == series(controller(1, most))
