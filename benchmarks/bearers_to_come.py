"""Short-lived bearers while E2 is slow or loses what the controller is to hear.

UEs attach one after the other, each for some seconds with a download and a ping. Compared are the
gNB without traffic control, the controller's loop alone, the loop with a node default, and the
pipeline always on, as it would be configured in the gNB. The power of a bearer is the goodput of
its download over the 99th percentile of its pings; figures are geometric means over the bearers,
relative to always on.

    .venv/bin/python benchmarks/bearers_to_come.py
"""

from __future__ import annotations

import argparse
import heapq
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import gnb_lab
import numpy as np
from measuring import show
from ric.e2 import Node, RanFunction
from ric.sm import TC_V1_OID, tc
from tc_controller.core.actions import Action, SendControl
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import Indication, NodeUp, parse_outcome
from tc_controller.policy_file import load_policy
from tc_controller.reports import read_report
from tc_controller.subscriptions import capabilities, wanted

ROOT: Final = Path(__file__).parents[1]
SCENARIO: Final = ROOT / "lab" / "scenarios" / "default.yaml"
POLICY: Final = ROOT / "xapps" / "tc_controller" / "policies" / "default.yaml"
STEP_US: Final = 1_000
FIRST_RNTI: Final = 100


@dataclass(frozen=True)
class Case:
    """How one run is controlled."""

    name: str
    controlled: bool = False
    #: The node declares a node default.
    default: bool = False
    always_on: bool = False


CASES: Final = (
    Case("no traffic control"),
    Case("loop", controlled=True),
    Case("loop and node default", controlled=True, default=True),
    Case("always on", always_on=True),
)


def cell(bearers: int, life_s: float, seed: int, case: Case) -> dict[str, Any]:
    """One UE after the other, each with a download and a ping."""
    drb: dict[str, Any] = {"id": 1, "rlc": {"mode": "um", "limit_bytes": 10_000_000}}
    if case.always_on:
        drb["pipeline"] = "low_latency"
    ues: list[dict[str, Any]] = []
    flows: list[dict[str, Any]] = []
    for number in range(bearers):
        rnti, begin_s = FIRST_RNTI + number, number * life_s
        span = {"rnti": rnti, "start_s": begin_s + 0.01, "stop_s": begin_s + life_s}
        times = {"join_at_s": begin_s, "leave_at_s": begin_s + life_s}
        ues.append({"rnti": rnti, "channel": {"fixed_mcs": 10}, "drbs": [drb], **times})
        flows.append({"name": f"bulk{number}", "kind": "tcp", "hystart": False, **span})
        flows.append({"name": f"ping{number}", "kind": "ping", "interval_ms": 20, **span})
    return {"seed": seed, "ues": ues, "flows": flows, "duration_s": bearers * life_s}


class Slow:
    """A world and a controller with a delay each way between them, and lost indications."""

    def __init__(self, world: gnb_lab.World, case: Case, delay_us: int, lost: float) -> None:
        self.world = world
        self.delay_us = delay_us
        self.lost = lost
        self.random = random.Random(1)
        self.transactions = 0
        self.order = 0
        self.waiting: list[tuple[int, int, Callable[[], list[Action]]]] = []
        self.controller = (
            Controller(load_policy(POLICY), owner="bench") if case.controlled else None
        )
        if self.controller is None:
            return
        self.node = Node(
            world.node_id,
            ran_functions=tuple(
                RanFunction(number, oid, definition=definition)
                for number, (oid, definition) in enumerate(world.ran_functions.items())
            ),
        )
        declared = {**(capabilities(self.node) or {})}
        if not case.default:
            declared.pop("node_default", None)
        for item in wanted(self.node, self.controller.policy.reports):
            world.subscribe(
                item.oid,
                event_trigger=item.trigger,
                action_definitions=item.actions,
                kpm_measurements=item.measurements,
            )
        self.do(self.controller.on_node_event(0, NodeUp(self.node.id, declared)))

    def later(self, work: Callable[[], list[Action]]) -> None:
        """Do this after the delay of one way."""
        at_us = self.world.now_us + self.delay_us
        self.order += 1
        heapq.heappush(self.waiting, (at_us, self.order, work))

    def do(self, actions: list[Action]) -> None:
        """Send the controls."""
        for action in actions:
            if isinstance(action, SendControl):
                self.later(partial(self.arrive, action))

    def arrive(self, action: SendControl) -> list[Action]:
        """A control has reached the node."""
        self.transactions += "transaction" in action.message
        header = tc.encode("control-header", action.header)
        answer = self.world.control(TC_V1_OID, header, tc.encode("control", action.message))
        outcome = parse_outcome(tc.decode("control-outcome", answer))
        self.later(lambda: self.core.on_control_answer(self.now_us, action.control_id, outcome))
        return []

    def heard(self, report: Indication) -> list[Action]:
        """A report has reached the controller."""
        return self.core.on_indication(self.now_us, report)

    @property
    def core(self) -> Controller:
        """The controller of a controlled run."""
        assert self.controller is not None
        return self.controller

    @property
    def now_us(self) -> int:
        """Virtual time."""
        return int(self.world.now_us)

    def run(self, until_us: int) -> None:
        """Virtual time passes."""
        if self.controller is None:
            self.world.step_until(until_us)
            return
        while self.now_us < until_us:
            for each in self.world.step_until(min(until_us, self.now_us + STEP_US)):
                if self.random.random() >= self.lost:
                    report = read_report(
                        self.node.id, each.ran_function_oid, each.collected_at_us, each.message
                    )
                    self.later(partial(self.heard, report))
            while self.waiting and self.waiting[0][0] <= self.now_us:
                self.do(heapq.heappop(self.waiting)[2]())
            self.do(self.core.on_tick(self.now_us))


def powers(world: gnb_lab.World, bearers: int, life_s: float) -> Iterator[tuple[float, float]]:
    """Goodput, Mbit/s, and 99th percentile of the pings, ms, of each bearer but the first: with
    that one the controller connects."""
    flows = {flow["name"]: flow for flow in world.flows()}
    for number in range(1, bearers):
        goodput = flows[f"bulk{number}"]["goodput_bytes"] * 8 / 1e6 / life_s
        rtts = [rtt for _, rtt in world.rtt_samples_us(f"ping{number}")]
        yield goodput, float(np.percentile(rtts, 99)) / 1e3


@dataclass(frozen=True)
class Measured:
    """One case over all seeds: mean per bearer, transactions per run."""

    power: float
    goodput_mbps: float
    p99_ms: float
    transactions: float


def measure(case: Case, lost: float, given: argparse.Namespace) -> Measured:
    """Runs a case with a share of the indications lost."""
    found: list[tuple[float, float]] = []
    transactions = 0
    for seed in range(1, given.seeds + 1):
        overrides = cell(given.bearers, given.life_s, seed, case)
        world = gnb_lab.World(SCENARIO, overrides=overrides)
        slow = Slow(world, case, round(given.delay_ms * 1e3), lost)
        slow.run(round(given.bearers * given.life_s * 1e6))
        found += powers(world, given.bearers, given.life_s)
        transactions += slow.transactions
    goodput, p99 = np.array(found).T
    power = float(np.exp(np.mean(np.log(goodput / p99))))
    return Measured(power, float(goodput.mean()), float(p99.mean()), transactions / given.seeds)


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--bearers", type=int, default=9, help="bearers, one after the other")
    parser.add_argument("--life-s", type=float, default=7.0, help="life of each, s")
    parser.add_argument("--delay-ms", type=float, default=150.0, help="E2, each way, ms")
    parser.add_argument(
        "--lost", type=float, nargs="+", default=[0.0, 0.9, 1.0], help="shares of indications lost"
    )
    parser.add_argument("--seeds", type=int, default=2, help="runs of each")
    given = parser.parse_args()
    rows: list[dict[str, object]] = []
    for lost in given.lost:
        measured = {case.name: measure(case, lost, given) for case in CASES}
        best = measured["always on"].power
        rows += [
            {
                "indications lost": f"{lost:.0%}",
                "case": name,
                "power": f"{each.power / best:.2f}",
                "goodput, Mbit/s": each.goodput_mbps,
                "p99 of pings, ms": each.p99_ms,
                "transactions": each.transactions,
            }
            for name, each in measured.items()
        ]
    show(rows)


if __name__ == "__main__":
    main()
