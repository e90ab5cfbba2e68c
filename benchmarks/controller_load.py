"""CPU time of the controller's core for many bearers: decoding, windows, detection, leases.

Records the reports and control outcomes of one emulated gNB under the default policy, then gives
them to one controller as those of several nodes, as fast as it takes them. Prints CPU seconds per
second of reports, by kind of report. The transport (gRPC) is not included: `latency.py`.
"""

from __future__ import annotations

import argparse
import time
from collections import deque
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import gnb_lab
from measuring import write
from ric.sm import RLC_OID, tc
from tc_controller.core.actions import Action, SendControl
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import NodeUp, Outcome
from tc_controller.core.policy.schema import Policy
from tc_controller.core.quiet import Quiet
from tc_controller.policy_file import load_policy
from tc_controller.policy_source import default_policy
from tc_controller.reports import read_report
from tc_evaluate.lockstep import Lockstep

SCENARIO = Path(__file__).parent.parent / "gnb" / "scenarios" / "many_bearers.yaml"


@dataclass(frozen=True, slots=True)
class Result:
    """One load."""

    nodes: int
    bearers: int
    rlc_period_ms: int
    cpu_s_per_s: float
    rlc_s_per_s: float
    rest_s_per_s: float
    decisions: int


@dataclass(slots=True)
class Recorded:
    """What one node reported and answered."""

    capabilities: Any
    #: Time of arrival, µs, and indication.
    reports: list[tuple[int, Any]]
    outcomes: list[Outcome]


class Recorder(Controller):
    """A controller that keeps what it was given."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self.outcomes: list[Outcome] = []
        self.capabilities: Any = None

    def quiet(self, node_id: str) -> Quiet:
        """Every report is given alone, and so recorded."""
        return super().quiet(node_id)._replace(stop_above_us=-1)

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

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)

    def step_until(self, t_us: int) -> list[Any]:
        """See `gnb_lab.World`."""
        arrived = self._world.step_until(t_us)
        self.reports += [(t_us, indication) for indication in arrived]
        return arrived


def record(policy: Policy, ues: int, seconds: float) -> Recorded:
    """Runs a gNB of so many UEs under the policy."""
    world = RecordingWorld(gnb_lab.World(SCENARIO, overrides={"ues[0].count": ues}))
    recorder = Recorder(policy)
    Lockstep(world, recorder).run(seconds)  # type: ignore[arg-type]
    return Recorded(recorder.capabilities, world.reports, recorder.outcomes)


def replay(policy: Policy, recorded: Recorded, nodes: int, seconds: float, ues: int) -> Result:
    """Gives the reports to a controller as those of ``nodes`` nodes."""
    controller = Controller(policy)
    names = [f"gnb-{number}" for number in range(nodes)]
    answers = {name: deque(recorded.outcomes) for name in names}
    for name in names:
        controller.on_node_event(0, NodeUp(name, recorded.capabilities))
    spent_s = {True: 0.0, False: 0.0}
    decisions = 0
    for now_us, indication in recorded.reports:
        for name in names:
            began = time.process_time()
            report = read_report(
                name,
                indication.ran_function_oid,
                indication.collected_at_us,
                indication.message,
            )
            pending = controller.on_indication(now_us, report)
            spent_s[indication.ran_function_oid == RLC_OID] += time.process_time() - began
            for action in pending:
                if isinstance(action, SendControl):
                    decisions += "transaction" in action.message
                    tc.encode("control", action.message)
                    outcome = answers[action.node_id].popleft()
                    controller.on_control_answer(now_us, action.control_id, outcome)
    return Result(
        nodes=nodes,
        bearers=nodes * ues,
        rlc_period_ms=policy.reports.rlc_period_ms,
        cpu_s_per_s=round(sum(spent_s.values()) / seconds, 3),
        rlc_s_per_s=round(spent_s[True] / seconds, 3),
        rest_s_per_s=round(spent_s[False] / seconds, 3),
        decisions=decisions,
    )


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=10)
    parser.add_argument("--ues", type=int, default=100, help="UEs of a node (default: 100)")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--out", type=Path, help="folder for controller_load.json")
    given = parser.parse_args()
    policy = load_policy(default_policy())
    results = []
    print(f"{'RLC period':>10} {'bearers':>8} {'CPU s/s':>8} {'RLC':>6} {'rest':>6}")
    for period_ms in (10, 1):
        reports = policy.reports.model_copy(update={"rlc_period_ms": period_ms})
        chosen = policy.model_copy(update={"reports": reports})
        recorded = record(chosen, given.ues, given.seconds)
        result = replay(chosen, recorded, given.nodes, given.seconds, given.ues)
        results.append(asdict(result))
        print(
            f"{period_ms:>7} ms {result.bearers:>8} {result.cpu_s_per_s:>8.2f}"
            f" {result.rlc_s_per_s:>6.2f} {result.rest_s_per_s:>6.2f}"
        )
    write(given.out, "controller_load.json", results)


if __name__ == "__main__":
    main()
