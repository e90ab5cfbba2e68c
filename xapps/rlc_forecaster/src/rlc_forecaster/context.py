"""What else than the RLC tells of a bearer: MCS and transport block, and the queue limit."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

import structlog
from ric import Node
from ric.e2 import E2Gateway, Indication
from ric.errors import RanFunctionUnknown, ServiceModelError, SubscriptionRefused
from ric.metrics import GatewayMetrics
from ric.sm import MAC_OID, TC_V1_OID, mac, tc
from rlc_model import ContractError

from rlc_forecaster.core import Forecaster
from rlc_forecaster.indications import take_limits, take_mac

_log = structlog.get_logger()

_KEEP_NEWEST: Final = 4
"""Indications held while the forecaster is busy: older ones tell nothing the newest do not."""


@dataclass(frozen=True, slots=True)
class ContextFeed:
    """Hands an engine what other reports of its node tell."""

    gateway: E2Gateway
    metrics: GatewayMetrics
    node: Node
    engine: Forecaster
    period_ms: int

    async def follow_mac(self) -> None:
        """MCS and transport blocks, until cancelled."""
        await self._follow(MAC_OID, mac.event_trigger(self.period_ms), (), self._take_mac)

    async def follow_limits(self) -> None:
        """The pacers' queue limits, until cancelled."""
        if not tc.available():
            _log.warning("done without queue limits", node=self.node.id, error="no E2SM-TC codec")
            return
        action = {"style": "pipeline_status", "bearers": [], "top_flows": 1}
        trigger = {"periodic": {"period_ms": self.period_ms}}
        await self._follow(
            TC_V1_OID,
            tc.encode("event-trigger", trigger),
            (tc.encode("action-definition", action),),
            self._take_limits,
        )

    def _take_mac(self, indication: Indication) -> None:
        take_mac(self.engine, indication.message)

    def _take_limits(self, indication: Indication) -> None:
        take_limits(self.engine, indication.message, indication.collected_at_us)

    async def _follow(
        self,
        oid: str,
        trigger: bytes,
        actions: tuple[bytes, ...],
        take: Callable[[Indication], None],
    ) -> None:
        node = self.node.id
        if self.node.ran_function(oid) is None:
            return
        try:
            stream = self.gateway.subscribe(node, oid, trigger, actions, keep_newest=_KEEP_NEWEST)
            async with aclosing(stream) as indications:
                async for indication in indications:
                    try:
                        take(indication)
                    except (ServiceModelError, ContractError) as error:
                        self.metrics.count_bad_message(node, oid)
                        _log.warning("report refused", node=node, oid=oid, error=str(error))
        except (SubscriptionRefused, RanFunctionUnknown) as error:
            # Forecasts are worse without, not impossible.
            _log.warning("done without", node=node, oid=oid, error=str(error))
