"""CPU time of the controller's core: for many bearers, and in lockstep with the emulated gNB.

load      decoding, windows, detection, leases. The reports and control outcomes of one emulated gNB
          under the default policy are recorded, then given to one controller as those of several
          nodes, as fast as it takes them. CPU seconds per second of reports, by kind of report, and
          as turns of a fixed loop of a million additions in Python, measured in the same run. The
          transport (gRPC) is not included: `latency.py gnb`
lockstep  simulated seconds per CPU second, the best of the runs: the default scenario alone, with
          the reports that the controller subscribes to, and with the controller; relative to the
          first, and as simulated seconds per fixed loop
"""

from __future__ import annotations

import argparse
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gnb_lab
from measuring import fixed_loop_s, show, write
from ric.sm import RLC_OID, tc
from tc_controller.core.actions import Action, SendControl
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import NodeUp, Outcome
from tc_controller.core.policy.schema import Policy
from tc_controller.policy_file import load_policy
from tc_controller.policy_source import default_policy
from tc_controller.reports import read_report
from tc_evaluate.lockstep import Lockstep

SCENARIOS = Path(__file__).parent.parent / "lab" / "scenarios"


class Recorder(Controller):
    """A controller that keeps what it was given."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self.outcomes: list[Outcome] = []
        self.capabilities: Any = None

    def on_node_event(self, now_us: int, event: Any) -> list[Action]:
        """See `Controller`."""
        self.capabilities = event.capabilities
        return super().on_node_event(now_us, event)

    def on_control_answer(self, now_us: int, control_id: int, outcome: Outcome) -> list[Action]:
        """See `Controller`."""
        self.outcomes.append(outcome)
        return super().on_control_answer(now_us, control_id, outcome)


class RecordingWorld:
    """A world that keeps the reports it gives."""

    def __init__(self, world: gnb_lab.World) -> None:
        self._world = world
        self.reports: list[tuple[int, Any]] = []
        """Time of arrival, µs, and indication."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)

    def step_until(self, t_us: int) -> list[Any]:
        """See `gnb_lab.World`."""
        arrived = self._world.step_until(t_us)
        self.reports += [(t_us, indication) for indication in arrived]
        return arrived


def load_row(policy: Policy, nodes: int, ues: int, seconds: float) -> dict[str, object]:
    """Records one node, then gives its reports to a controller as those of all nodes."""
    overrides = {"ues[0].count": ues}
    world = RecordingWorld(gnb_lab.World(SCENARIOS / "many_bearers.yaml", overrides=overrides))
    recorder = Recorder(policy)
    Lockstep(world, recorder).run(seconds)  # type: ignore[arg-type]
    controller = Controller(policy)
    names = [f"gnb-{number}" for number in range(nodes)]
    answers = {name: deque(recorder.outcomes) for name in names}
    spent_s = {True: 0.0, False: 0.0}
    decisions = 0

    def perform(pending: list[Action], now_us: int) -> None:
        nonlocal decisions
        for action in pending:
            if isinstance(action, SendControl):
                decisions += "transaction" in action.message
                tc.encode("control", action.message)
                outcome = answers[action.node_id].popleft()
                perform(controller.on_control_answer(now_us, action.control_id, outcome), now_us)

    for name in names:
        perform(controller.on_node_event(0, NodeUp(name, recorder.capabilities)), 0)
    for now_us, indication in world.reports:
        oid = indication.ran_function_oid
        for name in names:
            began = time.process_time()
            report = read_report(name, oid, indication.collected_at_us, indication.message)
            pending = controller.on_indication(now_us, report)
            spent_s[oid == RLC_OID] += time.process_time() - began
            perform(pending, now_us)
    return {
        "nodes": nodes,
        "bearers": nodes * ues,
        "rlc_period_ms": policy.reports.rlc_period_ms,
        "cpu_s_per_s": round(sum(spent_s.values()) / seconds, 3),
        "fixed_loops_per_s": round(sum(spent_s.values()) / seconds / fixed_loop_s(), 1),
        "rlc_s_per_s": round(spent_s[True] / seconds, 3),
        "rest_s_per_s": round(spent_s[False] / seconds, 3),
        "decisions": decisions,
    }


def load(nodes: int, ues: int, seconds: float) -> list[dict[str, object]]:
    """A row for each period of the RLC reports."""
    policy = load_policy(default_policy())
    rows = []
    for period_ms in (10, 1):
        reports = policy.reports.model_copy(update={"rlc_period_ms": period_ms})
        chosen = policy.model_copy(update={"reports": reports})
        rows.append(load_row(chosen, nodes, ues, seconds))
    return rows


def default_world(pipeline: str) -> gnb_lab.World:
    """The default scenario with a pipeline on its bearer."""
    overrides = {"ues[0].drbs[0].pipeline": pipeline}
    return gnb_lab.World(SCENARIOS / "default.yaml", overrides=overrides)


def alone(pipeline: str, seconds: float) -> None:
    """No controller, no reports."""
    default_world(pipeline).step_until(round(seconds * 1e6))


def reporting(seconds: float) -> None:
    """The reports of a controlled run, that nobody reads."""
    lockstep = Lockstep(default_world("transparent"), Controller(load_policy(default_policy())))
    lockstep.run(0.2)
    for end_us in range(200_000, round(seconds * 1e6), 100_000):
        lockstep.world.step_until(end_us)


def controlled(seconds: float) -> None:
    """Run a transparent gNB with a controller under the default policy."""
    Lockstep(default_world("transparent"), Controller(load_policy(default_policy()))).run(seconds)


def lockstep(seconds: float, runs: int) -> list[dict[str, object]]:
    """A row for each case."""
    cases: dict[str, Callable[[], None]] = {
        "transparent, no controller": lambda: alone("transparent", seconds),
        "low_latency, no controller": lambda: alone("low_latency", seconds),
        "low_latency, reports": lambda: reporting(seconds),
        "controller": lambda: controlled(seconds),
    }
    spent_s: dict[str, list[float]] = {what: [] for what in cases}
    # In turn: other load on the machine meets all of them.
    for _ in range(runs):
        for what, run in cases.items():
            began = time.process_time()
            run()
            spent_s[what].append(time.process_time() - began)
    first_s, loop_s = min(spent_s["transparent, no controller"]), fixed_loop_s()
    return [
        {
            "what": what,
            "s_per_s": round(seconds / min(each), 1),
            "relative": round(first_s / min(each), 2),
            "s_per_fixed_loop": round(seconds / min(each) * loop_s, 1),
        }
        for what, each in spent_s.items()
    ]


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("load", "lockstep"))
    parser.add_argument("--nodes", type=int, default=10, help="of the load (default: 10)")
    parser.add_argument("--ues", type=int, default=100, help="UEs of a node (default: 100)")
    parser.add_argument("--runs", type=int, default=3, help="of each case in lockstep")
    parser.add_argument("--seconds", type=float, help="simulated (load: 5, lockstep: 20)")
    parser.add_argument("--out", type=Path, help="folder for controller_load.json and the like")
    given = parser.parse_args()
    if given.what == "load":
        rows = load(given.nodes, given.ues, given.seconds or 5.0)
    else:
        rows = lockstep(given.seconds or 20.0, given.runs)
    show(rows)
    write(given.out, f"controller_{given.what}.json", rows)


if __name__ == "__main__":
    main()
