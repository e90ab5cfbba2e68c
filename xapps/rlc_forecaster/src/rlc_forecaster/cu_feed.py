"""Forecasts of an O-DU's RLC for the pacers of the CU of the same gNB, as E2SM-TC forecast feeds.

The RLC of a split gNB is in its O-DU, the TC function in its CU. The CU's bearers are those of the
O-DU where both name UEs by C-RNTI and the gNB has one O-DU: a C-RNTI is unique in a cell. A bearer
that the CU does not have is passed over by it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
import structlog
from ric import Node, NodeType
from ric.e2 import E2Gateway
from ric.errors import GatewayError, ServiceModelError
from ric.sm import TC_V1_OID, tc
from rlc_model import Quantity

from rlc_forecaster.core import Batch

_log = structlog.get_logger()

_CUS: Final = (NodeType.GNB_CU, NodeType.GNB_CU_UP)
_FEED_STYLE: Final = 3
_MAX_BEARERS: Final = 32
"""Bearers of one control: some 20 KiB where each has 64 points of three quantities."""
_US_PER_MS: Final = 1_000


def du_of(cu: Node, nodes: Iterable[Node]) -> Node | None:
    """The O-DU whose bearers a CU has: the only one of its gNB; None with none or several."""
    if cu.type not in _CUS or not cu.base_station_id:
        return None
    parts = (node for node in nodes if node.base_station_id == cu.base_station_id)
    dus = [node for node in parts if node.type is NodeType.GNB_DU]
    return dus[0] if len(dus) == 1 else None


def messages(batch: Batch) -> list[bytes]:
    """Control messages with the forecasts of all bearers; none without the occupancy.

    Raises:
        ServiceModelError: The forecasts cannot be a feed; says what was expected.
    """
    layout = batch.layout
    if Quantity.OCCUPANCY not in layout.quantities:
        return []
    points_us = (0, *layout.points_us)
    # A point at the origin says what the RLC held then, which for the pacer of a CU is its status.
    series = {
        quantity: np.concatenate([batch.values[:, at, :1], batch.values[:, at]], axis=1)
        for at, quantity in enumerate(layout.quantities)
    }
    series[Quantity.OCCUPANCY][:, 0] = batch.held_bytes[:, None]
    if Quantity.DRAIN in series:
        # The model contract has bytes per millisecond, a feed bytes since the point before.
        since_us = np.diff(np.array(points_us, np.float32), prepend=np.float32(0))
        series[Quantity.DRAIN] *= since_us[:, None] / np.float32(_US_PER_MS)

    def of(quantity: Quantity, row: int) -> list[float] | None:
        return series[quantity][row].ravel().tolist() if quantity in series else None

    rows: list[tc.FeedRow] = [
        (
            *(int(batch.rnti[row]), int(batch.drb[row])),
            series[Quantity.OCCUPANCY][row].ravel().tolist(),
            of(Quantity.QUEUE_LIMIT, row) if batch.limited[row] else None,
            of(Quantity.DRAIN, row),
        )
        for row in range(len(batch))
    ]
    return [
        tc.forecast_feed(
            batch.origin_us,
            points_us,
            layout.period_us,
            layout.quantiles,
            rows[at : at + _MAX_BEARERS],
        )
        for at in range(0, len(rows), _MAX_BEARERS)
    ]


class CuFeed:
    """Sends each CU the newest forecasts of its O-DU, each `period_ms`."""

    def __init__(self, gateway: E2Gateway, latest: Mapping[str, Batch], period_ms: int) -> None:
        """`latest` has the newest forecasts of each node."""
        self._gateway = gateway
        self._latest = latest
        self._period_s = period_ms / 1_000
        self._header = tc.encode("control-header", {"style": _FEED_STYLE, "correlation_id": 0})

    async def follow(self, cu: Node) -> None:
        """Feeds a node while it is connected; returns at once if it is no part of a split gNB."""
        if cu.type not in _CUS:
            return
        loop = asyncio.get_running_loop()
        due_s, sent_us, problem = loop.time(), 0, ""
        while True:
            due_s = max(due_s + self._period_s, loop.time())
            await asyncio.sleep(due_s - loop.time())
            du = du_of(cu, self._gateway.nodes)
            batch = None if du is None else self._latest.get(du.id)
            if batch is None or batch.origin_us == sent_us:
                continue
            sent_us = batch.origin_us
            found = await self._send(cu.id, batch)
            if found != problem:
                event = "forecasts reach the CU" if not found else "forecasts do not reach the CU"
                _log.info(event, cu=cu.id, du=batch.node_id, why=found or None)
            problem = found

    async def _send(self, cu_id: str, batch: Batch) -> str:
        """Why the forecasts do not reach it; "" if they do."""
        try:
            for message in messages(batch):
                answer = await self._gateway.control(cu_id, TC_V1_OID, self._header, message)
                if not answer.outcome:
                    return answer.detail
                outcome = tc.decode("control-outcome", answer.outcome)
                if "refused" in outcome:
                    refused = outcome["refused"]
                    return f"{refused['cause']}: {refused['detail']}"
        except (GatewayError, ServiceModelError) as error:
            return str(error)
        return ""
