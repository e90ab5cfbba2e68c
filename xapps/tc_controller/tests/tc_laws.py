"""The laws of control for the controller's core: replicas, a gNB and a bad network between them.

Everything runs on one virtual clock and follows from a seed. Two controllers watch one emulated
gNB. Reports, controls and answers are delayed, reordered and lost; controllers are killed with or
without their state file, stopped and continued; the connection of the node breaks; the gNB
restarts; policies change. Quiet times follow in which everything must heal. The laws:

- **Packets**: every packet that entered a bearer is accounted for, whatever is controlled.
- **One owner**: a control is accepted from nobody but the holder of the node's lease, and no two
  controllers that run believe to hold it.
- **No bearer alone**: once a controller runs and the network is quiet, the node has an owner within
  a lease, and every bearer the pipeline that the owner wants.
- **Bearers to come**: then the node has the node default that the owner wants.
- **Revisions**: the revision of a bearer only grows, by one with each accepted change, and the
  owner's belief about it is the truth.
- **State**: what a controller saved can always be loaded.
"""

from __future__ import annotations

import heapq
import json
import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from ric.e2 import Node, RanFunction
from ric.sm import TC_V1_OID, tc
from tc_controller.core.act.ownership import Role
from tc_controller.core.act.sharing import Replica
from tc_controller.core.actions import Action, SaveDesired, SendControl, WriteRecord
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import Accepted, Indication, NodeDown, NodeUp, parse_outcome
from tc_controller.reports import read_report
from tc_controller.subscriptions import capabilities, wanted
from tc_laws_setting import (
    BASES,
    CONTROL_TIMEOUT_US,
    EPOCH_US,
    NAMES,
    POLICIES,
    SCENARIO,
    STEP_US,
    LawBrokenError,
    Process,
    Weather,
    cell,
)

gnb_lab = pytest.importorskip("gnb_lab", reason="the lab's Python module is not built")


class Laws:
    """One run.

    Args:
        seed: of everything.
        spoil: changes the outcome that the node gives to a control, so that a law is broken.
    """

    def __init__(
        self, seed: int, spoil: Callable[[Laws, dict[str, Any], Any], Any] | None = None
    ) -> None:
        self.random = random.Random(seed)
        self.seed = seed
        self.spoil = spoil
        self.now_us = 0
        self.weather = Weather()
        self.tally: Counter[str] = Counter()
        self.replicas = {name: Process(name) for name in NAMES}
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._order = 0
        self._start_node()
        for name in NAMES:
            self.start(name)

    # ----------------------------------------------------------------- the gNB

    def _start_node(self) -> None:
        overrides = cell(self.random.randrange(2**31))
        self.world = gnb_lab.World(SCENARIO, overrides=overrides, epoch_us=EPOCH_US + self.now_us)
        self.began_us = self.now_us
        self.node = Node(
            self.world.node_id,
            ran_functions=tuple(
                RanFunction(number, oid, definition=definition)
                for number, (oid, definition) in enumerate(self.world.ran_functions.items())
            ),
        )
        for item in wanted(self.node, POLICIES[0].reports):
            self.world.subscribe(
                item.oid,
                event_trigger=item.trigger,
                action_definitions=item.actions,
                kpm_measurements=item.measurements,
            )
        self.holder: str | None = None
        self.held_until_us = 0
        self.revisions: dict[tuple[int, int], int] = {}
        self.in_force: dict[tuple[int, int], str] = {}

    def restart_node(self) -> None:
        """The gNB loses everything; the controllers see it go and come."""
        self.tally["gnb restarts"] += 1
        self.count_packets()
        self._start_node()
        for replica in self.replicas.values():
            self.disconnect(replica)
            self._later(replica, partial(self.connect, replica))

    # ------------------------------------------------------------- the replicas

    def start(self, name: str) -> None:
        """Start the process of a controller."""
        replica = self.replicas[name]
        state = None if replica.saved is None else json.loads(replica.saved)
        replica.life += 1
        replica.core = Controller(
            replica.policy,
            owner=f"{name}{replica.life}",
            replica=Replica(NAMES.index(name), len(NAMES)),
            id_prefix=f"{name}{replica.life}",
            state=state,
            control_timeout_us=CONTROL_TIMEOUT_US,
        )
        self.connect(replica)

    def kill(self, name: str, *, lose_state: bool) -> None:
        """End a replica like ``kill -9``, with or without its disk."""
        self.tally["kills"] += 1
        replica = self.replicas[name]
        replica.core, replica.connected, replica.stopped = None, False, False
        replica.waiting.clear()
        if lose_state:
            self.tally["state files lost"] += 1
            replica.saved = None

    def connect(self, replica: Process) -> None:
        """The node appears to a controller."""
        if replica.core is None or replica.connected:
            return
        replica.connected = True
        event = NodeUp(self.node.id, capabilities(self.node))
        self.perform(replica, replica.core.on_node_event(self.now_us, event))

    def disconnect(self, replica: Process) -> None:
        """The node disappears."""
        if replica.core is None or not replica.connected:
            return
        replica.connected = False
        self.perform(replica, replica.core.on_node_event(self.now_us, NodeDown(self.node.id)))

    # -------------------------------------------------------------- the network

    def _later(self, replica: Process, work: Callable[[], None], *, to_node: bool = False) -> None:
        """Do this after a delay, unless it is lost. What is for a controller waits while it is
        stopped, and is lost with its process; what is for the node is lost with the node."""
        if self.random.random() < self.weather.loss:
            self.tally["messages lost"] += 1
            return
        life, node = replica.life, self.began_us

        def arrive() -> None:
            gone = replica.life != life or replica.core is None
            if self.began_us != node or (gone and not to_node):
                self.tally["messages too late"] += 1
            elif replica.stopped and not to_node:
                replica.waiting.append(work)
            else:
                work()

        self._order += 1
        at_us = self.now_us + self.random.randrange(self.weather.delay_us + 1)
        heapq.heappush(self._events, (at_us, self._order, arrive))

    def perform(self, replica: Process, actions: list[Action]) -> None:
        """What the shell does with the actions of a core."""
        for action in actions:
            if isinstance(action, WriteRecord):
                self.tally[f"record {action.record['event']}"] += 1
            elif isinstance(action, SaveDesired):
                replica.saved = json.dumps(action.document())
                self.tally["saves"] += 1
            else:
                self.tally["controls"] += 1
                arrive = partial(self._arrive, replica, action)
                self._later(replica, arrive, to_node=True)

    def _arrive(self, replica: Process, action: SendControl) -> None:
        """A control reaches the node, even if its sender dies meanwhile."""
        answer = self.world.control(
            TC_V1_OID,
            tc.encode("control-header", action.header),
            tc.encode("control", action.message),
        )
        message = dict(action.message)
        outcome = parse_outcome(tc.decode("control-outcome", answer))
        if self.spoil is not None:
            outcome = self.spoil(self, message, outcome)
        self._judge_control(replica, message, outcome)

        def answered() -> None:
            if replica.core is None or not replica.connected:
                return
            self.tally["answers"] += 1
            actions = replica.core.on_control_answer(self.now_us, action.control_id, outcome)
            self.perform(replica, actions)

        self._later(replica, answered)

    # ----------------------------------------------------------------- the laws

    def _judge_control(self, replica: Process, message: dict[str, Any], outcome: Any) -> None:
        if not isinstance(outcome, Accepted):
            self.tally[f"refused {getattr(outcome, 'cause', outcome)}"] += 1
            return
        ((kind, content),) = message.items()
        self.tally[f"accepted {kind}"] += 1
        owner = content["owner"]
        if self.holder not in (None, owner) and self.now_us < self.held_until_us:
            raise self._broken(f"{kind} of {owner} accepted while {self.holder} holds the node")
        if kind == "node_lease":
            lease_ms = content["lease_ms"]
            if self.holder != owner:
                self.tally["owners"] += 1
            self.holder = owner if lease_ms is not None else None
            self.held_until_us = self.now_us + (lease_ms or 0) * 1000
            return
        if kind == "node_default":
            return
        bearer = (content["bearer"]["ue"]["rnti"], content["bearer"]["drb"])
        before = self.revisions.get(bearer)
        if kind == "transaction" and not content["dry_run"]:
            # A lease may have ended since the last look, which counts as well.
            if before is not None and outcome.revision not in (before + 1, before + 2):
                raise self._broken(f"{bearer}: revision {outcome.revision} after {before}")
            self._note(bearer, outcome.revision)

    def _note(self, bearer: tuple[int, int], revision: int) -> None:
        before = self.revisions.get(bearer, 0)
        if revision < before:
            raise self._broken(f"{bearer}: revision {revision} after {before}")
        self.revisions[bearer] = revision

    def _judge_step(self) -> None:
        for ledger in self.world.packet_ledgers():
            entered = ledger["entered"]
            found = sum(v for k, v in ledger.items() if k not in ("rnti", "drb", "entered"))
            if found != entered:
                raise self._broken(f"{found} packets accounted for of {ledger}")
        for row in self.world.bearers():
            self._note((row["rnti"], row["drb"]), row["tc_revision"])
        believing = [
            replica.name
            for replica in self.replicas.values()
            if replica.core is not None and not replica.stopped and self._believes(replica.core)
        ]
        if len(believing) > 1:
            raise self._broken(f"{believing} believe to hold the node")

    def _believes(self, core: Controller) -> bool:
        return any(
            node.ownership.role is Role.OWNER and (node.ownership.lease_left_us(self.now_us) or 0)
            for node in core.nodes.values()
        )

    def judge_rest(self) -> None:
        """After a quiet time with a controller: all is owned and as wanted."""
        # A UE that has just come or gone is not yet seen so.
        while any(at_us <= self.now_us - self.began_us < at_us + 3e6 for at_us in (4e6, 12e6)):
            self.run(0.5)
        self.tally["quiet times"] += 1
        owners = [
            r for r in self.replicas.values() if r.core is not None and self._believes(r.core)
        ]
        if len(owners) != 1:
            raise self._broken(f"{len(owners)} owners after a quiet time")
        (owner,) = owners
        assert owner.core is not None
        if self.holder != owner.core.owner:
            raise self._broken(f"{owner.core.owner} believes to hold what {self.holder} holds")
        (node,) = owner.core.nodes.values()
        truth = {(row["rnti"], row["drb"]): row["tc_revision"] for row in self.world.bearers()}
        known = {(key.rnti, key.drb): bearer for key, bearer in node.bearers.items()}
        if truth.keys() != known.keys():
            raise self._broken(f"{set(known)} are known of the bearers {set(truth)}")
        if node.default.in_force != node.default.wanted:
            raise self._broken(f"bearers to come: {node.default.summary()}")
        has_base = all(rule.base for rule in owner.policy.rules)
        for key, bearer in known.items():
            desired, name = bearer.desired, self.in_force.get(key)
            wants = "transparent" if desired is None else desired.pipeline["name"]
            if has_base and desired is None:
                raise self._broken(f"{key} has no base after a quiet time: {bearer.state}")
            if name != wants and not (desired is None and name in BASES):
                raise self._broken(f"{key} has {name}, wanted {wants} ({bearer.state})")
            if desired is not None and desired.revision != truth[key]:
                raise self._broken(f"{key} is at revision {truth[key]}, not {desired.revision}")

    def _broken(self, what: str) -> LawBrokenError:
        return LawBrokenError(f"seed {self.seed} at {self.now_us / 1e6:.3f} s: {what}")

    # ---------------------------------------------------------------- the clock

    def run(self, seconds: float) -> None:
        """Virtual time passes."""
        until_us = self.now_us + round(seconds * 1e6)
        while self.now_us < until_us:
            self.now_us = min(until_us, self.now_us + STEP_US)
            arrived = self.world.step_until(self.now_us - self.began_us)
            for indication in arrived:
                report = read_report(
                    self.node.id,
                    indication.ran_function_oid,
                    indication.collected_at_us,
                    indication.message,
                )
                for status in getattr(report, "statuses", ()):
                    self.in_force[status.rnti, status.drb] = status.name
                for replica in self.replicas.values():
                    if replica.connected:
                        self._later(replica, partial(self._report, replica, report))
            while self._events and self._events[0][0] <= self.now_us:
                heapq.heappop(self._events)[2]()
            for replica in self.replicas.values():
                if replica.core is not None and not replica.stopped:
                    self.perform(replica, replica.core.on_tick(self.now_us))
            self._judge_step()

    def _report(self, replica: Process, report: Indication) -> None:
        if replica.core is not None and replica.connected:
            self.tally["reports"] += 1
            self.perform(replica, replica.core.on_indication(self.now_us, report))

    def resume(self, name: str) -> None:
        """Continue a replica like SIGCONT: what arrived meanwhile is handled now."""
        replica = self.replicas[name]
        replica.stopped = False
        waiting, replica.waiting = replica.waiting, []
        for work in waiting:
            work()

    def count_packets(self) -> None:
        """Add the packets that entered, once a gNB or the run ends."""
        self.tally["packets"] += sum(each["entered"] for each in self.world.packet_ledgers())
