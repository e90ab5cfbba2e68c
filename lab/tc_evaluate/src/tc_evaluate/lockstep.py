"""The controller's core and the emulated gNB on one virtual clock."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ric.e2 import Node, RanFunction
from ric.sm import KPM_OID, RLC_OID, TC_V1_OID, tc
from tc_controller.core.actions import Action, SendControl, WriteRecord
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import Indication as Report
from tc_controller.core.inputs import KpmReport, NodeUp, RlcReport, parse_outcome
from tc_controller.core.observe.prb_window import KPM_PRB
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
        until_us, world, report_of = round(until_s * 1e6), self.world, self._report
        step_until, on_indication = world.step_until, self.controller.on_indication
        now_us = world.now_us
        while now_us < until_us:
            end_us = now_us + STEP_US
            for indication in step_until(end_us if end_us < until_us else until_us):
                now_us = world.now_us
                if actions := on_indication(now_us, report_of(indication)):
                    self._do(actions)
            now_us = world.now_us

    def _report(self, indication: Indication) -> Report:
        oid, at_us = indication.ran_function_oid, indication.collected_at_us
        if oid == RLC_OID:
            # By far the most; the windows check its length.
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
