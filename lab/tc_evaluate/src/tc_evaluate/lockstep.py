"""The controller's core and the emulated gNB on one virtual clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ric.e2 import Node, RanFunction
from ric.sm import KPM_OID, MAC_OID, RLC_OID, TC_V1_OID, tc
from tc_controller.core.actions import Action, SendControl, WriteRecord
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import Indication as Report
from tc_controller.core.inputs import KpmReport, NodeUp, RlcReport, parse_outcome
from tc_controller.core.observe.prb_window import KPM_PRB
from tc_controller.core.observe.rlc_windows import RlcWindows
from tc_controller.reports import read_report
from tc_controller.subscriptions import capabilities, wanted

if TYPE_CHECKING:
    from gnb_lab import Indication, World

#: Longest time for which reports are gathered before the core is given them.
STEP_US = 1_000


class Lockstep:
    """Steps a world and a controller together.

    Args:
        world: at the time the controller connects to it.
        controller: with the policy whose reports are subscribed to.
    """

    def __init__(self, world: World, controller: Controller) -> None:
        self.world = world
        self.controller = controller
        #: Records of the decision log.
        self.records: list[dict[str, Any]] = []
        #: Transactions sent; lease renewals are none.
        self.transactions = 0
        node = Node(
            world.node_id,
            ran_functions=tuple(
                RanFunction(number, oid, definition=definition)
                for number, (oid, definition) in enumerate(world.ran_functions.items())
            ),
        )
        self._node_id = node.id
        self._others = {oid: self._taking(oid) for oid in (MAC_OID, TC_V1_OID)}
        self._do(controller.on_node_event(world.now_us, NodeUp(node.id, capabilities(node))))
        for item in wanted(node, controller.policy.reports):
            world.subscribe(
                item.oid,
                event_trigger=item.trigger,
                action_definitions=item.actions,
                kpm_measurements=item.measurements,
            )

    def run(self, until_s: float) -> None:
        """Go on until this virtual time."""
        until_us, world, controller = round(until_s * 1e6), self.world, self.controller
        now_us = world.now_us
        while now_us < until_us:
            # Nearly no report calls for an action: the world goes on behind it.
            alone_us = min(controller.turn_from_us() - 1, until_us)
            node = controller.nodes.get(self._node_id)
            if node is not None and now_us + STEP_US <= alone_us:
                left = self._step_quietly(alone_us, node.windows)
            else:
                left = world.step_until(min(now_us + STEP_US, until_us))
            for indication in left:
                actions = controller.on_indication(world.now_us, self._report(indication))
                if actions:
                    self._do(actions)
            now_us = world.now_us

    def _step_quietly(self, until_us: int, windows: RlcWindows) -> list[Indication]:
        """Go on until a report calls for more; returns those that were not handled."""
        world, controller = self.world, self.controller
        times_us, reported_at_us, answer, left = world.step_taking(
            until_us, STEP_US, RLC_OID, windows.take, self._others
        )
        controller.on_quiet(self._node_id, times_us, reported_at_us)
        if answer is None:
            return left
        taken = left.pop(0)
        if isinstance(answer, list):
            self._do(controller.after(world.now_us, answer))
        else:
            # The windows have checked its length.
            report = RlcReport(self._node_id, taken.collected_at_us, taken.message)
            self._do(controller.on_taken(world.now_us, report, answer))
        return left

    def _taking(self, oid: str) -> Callable[[int, int, bytes], list[Action] | None]:
        node_id, quietly = self._node_id, self.controller.quietly

        def take(now_us: int, at_us: int, message: bytes) -> list[Action] | None:
            return quietly(now_us, read_report(node_id, oid, at_us, message))

        return take

    def _report(self, indication: Indication) -> Report:
        oid, at_us = indication.ran_function_oid, indication.collected_at_us
        if oid == RLC_OID:
            # The windows check its length.
            return RlcReport(self._node_id, at_us, indication.message)
        if oid == KPM_OID and (values := indication.kpm) is not None:
            ues = {ue["rnti"]: ue["values"] for ue in values["ues"]}
            return KpmReport(self._node_id, at_us, values["period_ms"], ues, {KPM_PRB: "PRB"})
        return read_report(self._node_id, oid, at_us, indication.message)

    def events(self, name: str) -> list[dict[str, Any]]:
        """The records of the decision log with this event."""
        return [record for record in self.records if record["event"] == name]

    def _do(self, actions: Iterable[Action]) -> None:
        for action in actions:
            if isinstance(action, WriteRecord):
                self.records.append(dict(action.record))
            elif isinstance(action, SendControl):
                self.transactions += "transaction" in action.message
                answer = self.world.control(
                    TC_V1_OID,
                    tc.encode("control-header", action.header),
                    tc.encode("control", action.message),
                )
                outcome = parse_outcome(tc.decode("control-outcome", answer))
                now_us = self.world.now_us
                self._do(self.controller.on_control_answer(now_us, action.control_id, outcome))
