"""Refusals of gRPC calls at a pace that a flood cannot set."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Final

import grpc

from ric.access.grpc import Context
from ric.limits import Exceeded

_PUSHBACK: Final = "grpc-retry-pushback-ms"
"""When a client may retry (gRPC proposal A6, "Pushback")."""
REFUSALS_PER_S: Final = 4.0
"""Of one client; a flood waits in its own connection meanwhile. gRPC for Python accepts one call
after the other, each in two turns of the event loop: other calls wait for those before them."""


class PacedRefusals:
    """Ends calls of clients that have reached a limit, after a pause."""

    def __init__(self) -> None:
        self._waiting: Counter[str] = Counter()

    async def refuse(self, context: Context, client: str, exceeded: Exceeded) -> None:
        """End a call; the more of them wait, the longer does each."""
        self._waiting[client] += 1
        try:
            mean_s = self._waiting[client] / REFUSALS_PER_S
            # Calls that were refused together must not come again together.
            await asyncio.sleep(random.uniform(0.5, 1.5) * mean_s)
        finally:
            self._waiting[client] -= 1
            if not self._waiting[client]:
                del self._waiting[client]
        pushback = ((_PUSHBACK, str(round(exceeded.retry_s * 1000))),)
        await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, exceeded.detail, pushback)
