"""The RIC subscriptions the controller has with one node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

import structlog
from ric.e2 import E2Gateway, Indication, Node, Reading, SNssai
from ric.errors import RanFunctionUnknown, ServiceModelError, SubscriptionRefused
from ric.sm import KPM_OID, MAC_OID, RLC_OID, TC_V1_OID, kpm, mac, rlc, tc

from tc_controller.core.inputs import Ie
from tc_controller.core.observe.prb_window import KPM_PRB
from tc_controller.core.policy.schema import Reports

_log = structlog.get_logger()

#: KPM measurements of radio utilisation.
_MEASUREMENTS: Final = (KPM_PRB,)


@dataclass(frozen=True, slots=True)
class Wanted:
    """One subscription to make."""

    name: str
    oid: str
    trigger: bytes
    actions: tuple[bytes, ...] = ()
    measurements: tuple[str, ...] = ()
    kpm_slice: SNssai | None = None
    #: The state counts, not its history. Each event counts, and KPM counts in periods.
    reading: Reading = Reading.NEWEST


def wanted(node: Node, reports: Reports) -> list[Wanted]:
    """What to subscribe to on a node, of what it offers."""
    every = [Wanted("rlc", RLC_OID, rlc.event_trigger(reports.rlc_period_ms))]
    if reports.mac_period_ms is not None:
        every.append(Wanted("mac", MAC_OID, mac.event_trigger(reports.mac_period_ms)))
    if reports.kpm_period_ms is not None:
        trigger = kpm.event_trigger(reports.kpm_period_ms)
        chosen = reports.kpm_slice
        kpm_slice = None if chosen is None else SNssai(chosen.sst, chosen.sd)
        every.append(
            Wanted(
                *("kpm", KPM_OID, trigger),
                measurements=_MEASUREMENTS,
                kpm_slice=kpm_slice,
                reading=Reading.HISTORY,
            )
        )
    if node.ran_function(TC_V1_OID) is not None:
        every += [
            _tc("pipeline_status", _periodic(reports.pipeline_period_ms), reports),
            _tc("flow_inventory", _periodic(reports.flow_period_ms), reports),
            _tc("events", "on_change", reports),
        ]
    return [item for item in every if node.ran_function(item.oid) is not None]


def capabilities(node: Node) -> Ie | None:
    """E2SM-TC capabilities of a node; ``None`` without TC RAN function, empty (all are assumed)
    when its definition cannot be decoded."""
    function = node.ran_function(TC_V1_OID)
    if function is None:
        return None
    if not function.definition:
        return {}
    try:
        definition = tc.decode("ran-function-definition", function.definition)
    except ServiceModelError as error:
        _log.warning("TC RAN function definition unreadable", node=node.id, error=str(error))
        return {}
    declared: Ie = definition.get("capabilities", {})
    return declared


async def subscribe_all(
    gateway: E2Gateway, node: Node, reports: Reports, handle: Callable[[Indication], None]
) -> None:
    """Call ``handle`` with every indication of the node, until cancelled.

    A refused subscription is logged, and the rest continues: without MAC reports utilisation is
    measured in bytes, without TC reports nothing is controlled. ``handle`` must not block.
    """

    async def one(item: Wanted) -> None:
        try:
            stream = gateway.subscribe(
                node.id,
                item.oid,
                item.trigger,
                item.actions,
                item.measurements,
                kpm_slice=item.kpm_slice,
                reading=item.reading,
            )
            async with aclosing(stream) as indications:
                async for indication in indications:
                    handle(indication)
        except (SubscriptionRefused, RanFunctionUnknown) as error:
            _log.warning("subscription refused", node=node.id, report=item.name, error=str(error))

    async with asyncio.TaskGroup() as tasks:
        for item in wanted(node, reports):
            tasks.create_task(one(item), name=f"{node.id} {item.name}")


def _periodic(period_ms: int) -> dict[str, Any]:
    return {"periodic": {"period_ms": period_ms}}


def _tc(style: str, trigger: dict[str, Any] | str, reports: Reports) -> Wanted:
    action = {"style": style, "bearers": [], "top_flows": reports.top_flows}
    return Wanted(
        style,
        TC_V1_OID,
        tc.encode("event-trigger", trigger),
        (tc.encode("action-definition", action),),
        reading=Reading.HISTORY if trigger == "on_change" else Reading.NEWEST,
    )
