"""E2 indications of a node passed to its engine: RLC reports, and the context of MAC and TC."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

import numpy as np
import structlog
from ric import Node
from ric.e2 import E2Gateway, Indication
from ric.errors import RanFunctionUnknown, ServiceModelError, SubscriptionRefused
from ric.metrics import GatewayMetrics
from ric.sm import MAC_OID, TC_V1_OID, mac, rlc, tc
from rlc_model import ContractError
from rlc_model.features import MCS_MAX

from rlc_forecaster.core import Batch, Forecaster

_log = structlog.get_logger()

_U32_MAX: Final = 2**32 - 1
_KEEP_NEWEST: Final = 4
"""Indications queued while the forecaster is busy; the newest supersede older ones."""


def on_rlc_report(engine: Forecaster, message: bytes) -> Batch | None:
    """Forecasts from an RLC report; None if it is late, a duplicate or empty.

    Raises:
        ServiceModelError: The message is not an RLC report.
        ContractError: As :meth:`~rlc_forecaster.core.Forecaster.on_report`.
    """
    table = rlc.decode(message)
    return engine.on_report(table.records, table.tstamp_us)


def on_mac_report(engine: Forecaster, message: bytes) -> None:
    """Notes MCS and transport block sizes of a MAC report.

    Raises:
        ServiceModelError: The message is not a MAC report.
        ContractError: As :meth:`~rlc_forecaster.core.Forecaster.update_mac`.
    """
    table = mac.decode(message)
    records = table.records
    # Values out of range are ignored, as in training data.
    valid = (records["dl_mcs1"] <= MCS_MAX) & (records["dl_curr_tbs"] <= _U32_MAX)
    kept = records[valid]
    engine.update_mac(kept["rnti"], kept["dl_mcs1"], kept["dl_curr_tbs"], table.tstamp_us)


def on_tc_status(engine: Forecaster, message: bytes, collected_at_us: int) -> None:
    """Notes the pacers' queue limits of an E2SM-TC v1 pipeline status.

    Raises:
        ServiceModelError: The message is not an E2SM-TC v1 indication, or the codec is missing.
        ContractError: As :meth:`~rlc_forecaster.core.Forecaster.update_limits`.
    """
    columns = tc.pacer_limits(message)
    rnti, drb, limit = (np.array(column, np.int64) for column in columns)
    engine.update_limits(rnti, drb, limit, collected_at_us)


@dataclass(frozen=True, slots=True)
class ContextFeed:
    """Passes MAC reports and TC pipeline status of a node to its engine."""

    gateway: E2Gateway
    metrics: GatewayMetrics
    node: Node
    engine: Forecaster
    period_ms: int

    async def follow_mac(self) -> None:
        """Follow MAC reports until cancelled."""
        await self._follow(MAC_OID, mac.event_trigger(self.period_ms), (), self._on_mac)

    async def follow_limits(self) -> None:
        """Follow the pacers' queue limits until cancelled."""
        if not tc.available():
            _log.warning("no queue limits", node=self.node.id, error="no E2SM-TC codec")
            return
        action = {"style": "pipeline_status", "bearers": [], "top_flows": 1}
        trigger = {"periodic": {"period_ms": self.period_ms}}
        await self._follow(
            TC_V1_OID,
            tc.encode("event-trigger", trigger),
            (tc.encode("action-definition", action),),
            self._on_tc,
        )

    def _on_mac(self, indication: Indication) -> None:
        on_mac_report(self.engine, indication.message)

    def _on_tc(self, indication: Indication) -> None:
        on_tc_status(self.engine, indication.message, indication.collected_at_us)

    async def _follow(
        self,
        oid: str,
        trigger: bytes,
        actions: tuple[bytes, ...],
        on_indication: Callable[[Indication], None],
    ) -> None:
        node = self.node.id
        if self.node.ran_function(oid) is None:
            return
        try:
            stream = self.gateway.subscribe(node, oid, trigger, actions, keep_newest=_KEEP_NEWEST)
            async with aclosing(stream) as indications:
                async for indication in indications:
                    try:
                        on_indication(indication)
                    except (ServiceModelError, ContractError) as error:
                        self.metrics.count_bad_message(node, oid)
                        _log.warning("report refused", node=node, oid=oid, error=str(error))
        except (SubscriptionRefused, RanFunctionUnknown) as error:
            # Forecasts are possible without, but less accurate.
            _log.warning("no context reports", node=node, oid=oid, error=str(error))
