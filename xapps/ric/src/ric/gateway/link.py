"""What lies between the client and a gateway: one attempt at each procedure, typed errors."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

from ric.e2 import ControlAnswer, Indication, Node, NodeEvent, SubscriptionRequest


class GatewayLink(Protocol):
    """One gateway, without any patience: a failure is raised, never retried.

    Every procedure may raise `GatewayUnavailable` or `GatewayProtocolError`.
    """

    @property
    def address(self) -> str:
        """Where the gateway is, for messages."""
        ...

    async def list_nodes(self) -> tuple[Node, ...]:
        """The nodes connected now."""
        ...

    def watch_nodes(self) -> AsyncGenerator[NodeEvent]:
        """The nodes connected now as `CONNECTED` events, then each change; ends with the link."""
        ...

    def indications(self, request: SubscriptionRequest) -> AsyncGenerator[Indication]:
        """One RIC subscription; closing the generator ends it.

        Raises `NodeGone`, `RanFunctionUnknown`, `SubscriptionRefused`.
        """
        ...

    async def control(
        self, node_id: str, oid: str, header: bytes, message: bytes, timeout_s: float
    ) -> ControlAnswer:
        """One RIC control. Raises `NodeGone`, `RanFunctionUnknown`, `ControlTimeout`."""
        ...

    async def close(self) -> None:
        """Drop the connection; procedures under way end with `GatewayUnavailable`."""
        ...
