"""Several controllers on one emulated gNB and one virtual clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from e2sm_tc import Owners
from ric.e2 import Node, RanFunction
from ric.sm import TC_V1_OID, tc
from tc_controller.core.act.ownership import Role
from tc_controller.core.act.sharing import ALONE, Replica
from tc_controller.core.actions import Action, SaveDesired, SendControl, WriteRecord
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import Accepted, NodeUp, PipelineStatus, parse_outcome
from tc_controller.core.policy.schema import Policy
from tc_controller.reports import read_report
from tc_controller.subscriptions import capabilities, wanted

gnb_lab = pytest.importorskip("gnb_lab", reason="the lab's Python module is not built")

SCENARIO = Path(__file__).parents[3] / "lab" / "scenarios" / "default.yaml"
STEP_US = 5_000
LEASE_S = 6.0
CELL: dict[str, Any] = {
    "ues": [
        {"rnti": rnti, "channel": {"fixed_mcs": 10}, "drbs": [{"id": 1, "rlc": {"mode": "um"}}]}
        for rnti in (0x4601, 0x4602)
    ],
    "flows": [{"name": "ping", "kind": "ping", "rnti": "each", "interval_ms": 20}],
}
"""Two UEs that send pings."""


class Replicas:
    """Controllers, each of which may be killed and started.

    Args:
        policy: of all of them.
        overrides: what the gNB differs in from the default scenario.
    """

    def __init__(self, policy: Policy, overrides: dict[str, Any] = CELL) -> None:
        self.policy = policy
        self.world = world = gnb_lab.World(SCENARIO, overrides=overrides)
        self.node = Node(
            world.node_id,
            ran_functions=tuple(
                RanFunction(number, oid, definition=definition)
                for number, (oid, definition) in enumerate(world.ran_functions.items())
            ),
        )
        for item in wanted(self.node, policy.reports):
            world.subscribe(
                item.oid,
                event_trigger=item.trigger,
                action_definitions=item.actions,
                kpm_measurements=item.measurements,
            )
        self.alive: dict[str, Controller] = {}
        self.cut_off: set[str] = set()
        self.records: list[tuple[str, dict[str, Any]]] = []
        #: Accepted bearer controls and node leases: (s, owner).
        self.controls: list[tuple[float, str]] = []
        self.terms: list[tuple[float, str]] = []
        #: Transactions among the bearer controls.
        self.applied: list[tuple[float, str]] = []
        #: Longest time in a row, s, for which a bearer had the initial pipeline.
        self.longest_bare_s = 0.0
        self._bare_since: dict[int, int] = {}
        #: Names of pipelines that followed each other on a bearer.
        self.names: dict[int, list[str]] = {}
        self._owners = Owners()
        #: What each controller wrote to its state file last.
        self.states: dict[str, object] = {}
        self.statuses: dict[int, PipelineStatus] = {}

    @property
    def now_s(self) -> float:
        return float(self.world.now_us) / 1e6

    def start(self, name: str, replica: Replica = ALONE, owner: str | None = None) -> Controller:
        controller = self.alive[name] = Controller(
            self.policy,
            owner=owner or name,
            replica=replica,
            id_prefix=name,
            state=self.states.get(name),
        )
        event = NodeUp(self.node.id, capabilities(self.node))
        self._do(name, controller.on_node_event(self.world.now_us, event))
        return controller

    def kill(self, name: str) -> None:
        """End a controller like ``kill -9``."""
        del self.alive[name]

    def owners(self) -> list[str]:
        return [n for n, c in self.alive.items() if self._role(c) is Role.OWNER]

    def run(self, seconds: float) -> None:
        until_us = self.world.now_us + round(seconds * 1e6)
        while self.world.now_us < until_us:
            indications = self.world.step_until(min(until_us, self.world.now_us + STEP_US))
            for indication in indications:
                report = read_report(
                    self.node.id,
                    indication.ran_function_oid,
                    indication.collected_at_us,
                    indication.message,
                )
                for status in getattr(report, "statuses", ()):
                    self._seen(status)
                for name, controller in list(self.alive.items()):
                    if name not in self.cut_off:
                        self._do(name, controller.on_indication(self.world.now_us, report))
            for name, controller in list(self.alive.items()):
                self._do(name, controller.on_tick(self.world.now_us))
            assert len(self.owners()) <= 1, self.owners()

    def _seen(self, status: PipelineStatus) -> None:
        rnti = status.rnti
        assert rnti is not None
        self.statuses[rnti] = status
        names = self.names.setdefault(rnti, [])
        if names[-1:] != [status.name]:
            names.append(status.name)
        if status.name == "transparent":
            since_us = self._bare_since.setdefault(rnti, self.world.now_us)
            self.longest_bare_s = max(self.longest_bare_s, (self.world.now_us - since_us) / 1e6)
        else:
            self._bare_since.pop(rnti, None)

    @staticmethod
    def _role(controller: Controller) -> Role:
        (node,) = controller.nodes.values()
        return node.ownership.role

    def _do(self, name: str, actions: list[Action]) -> None:
        for action in actions:
            if isinstance(action, WriteRecord):
                self.records.append((name, dict(action.record)))
            elif isinstance(action, SaveDesired):
                self.states[name] = action.document()
            elif name not in self.cut_off:
                answer = self._answer(name, action)
                outcome = parse_outcome(tc.decode("control-outcome", answer))
                if isinstance(outcome, Accepted):
                    kept = self.terms if "node_lease" in action.message else self.controls
                    kept.append((self.now_s, name))
                    if "transaction" in action.message:
                        self.applied.append((self.now_s, name))
                now_us = self.world.now_us
                self._do(
                    name, self.alive[name].on_control_answer(now_us, action.control_id, outcome)
                )

    def _answer(self, name: str, action: SendControl) -> bytes:
        """The outcome of a control, which the gateway refuses in the name of another."""
        message = tc.encode("control", action.message)
        client = (name, "", b"started once")
        refusal, asked = self._owners.admit(self.node.id, message, client, self.world.now_us)
        if refusal is not None:
            return refusal
        header = tc.encode("control-header", action.header)
        answer: bytes = self.world.control(TC_V1_OID, header, message)
        if asked is not None:
            self._owners.answered(asked, answer, self.world.now_us)
        return answer

    def transactions(self, since_s: float = 0.0) -> int:
        """Accepted transactions; renewals are none."""
        return sum(at >= since_s for at, _ in self.applied)

    def ping_p95_ms(self, from_s: float, to_s: float) -> float:
        """95th percentile over the replies to pings of this time."""
        samples = self.world.rtt_samples_us("ping")
        chosen = [rtt for at_us, rtt in samples if from_s * 1e6 <= at_us < to_s * 1e6]
        return float(np.percentile(chosen, 95)) / 1000
