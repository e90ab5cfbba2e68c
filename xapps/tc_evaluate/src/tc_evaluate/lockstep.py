"""The controller's core and the emulated gNB on one virtual clock."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ric.e2 import Node, RanFunction
from ric.sm import TC_V1_OID, tc
from tc_controller.core.actions import Action, SendControl, WriteRecord
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import NodeUp, parse_outcome
from tc_controller.reports import report_of
from tc_controller.subscriptions import capabilities, wanted

if TYPE_CHECKING:
    from gnb_lab import World

#: Longest time for which the core is given no report and no tick.
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
        until_us = round(until_s * 1e6)
        while self.world.now_us < until_us:
            before_us = self.world.now_us
            for indication in self.world.step_until(min(until_us, before_us + STEP_US)):
                report = report_of(
                    SimpleNamespace(  # type: ignore[arg-type]
                        node_id=self._node_id,
                        oid=indication.ran_function_oid,
                        message=indication.message,
                        kpm=indication.kpm,
                        collected_at_us=indication.collected_at_us,
                    )
                )
                self._do(self.controller.on_indication(self.world.now_us, report))

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
