"""Pace of refusals to clients that have reached a limit: one that a flood cannot set."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Final

REFUSALS_PER_S: Final = 4.0
"""Refusals of one client a second; a flood waits in its own connection meanwhile. gRPC for Python
accepts one call after the other, each in two turns of the event loop: other calls wait for those
before them."""


class PacedRefusals:
    """The pauses before refusals."""

    def __init__(self) -> None:
        self._waiting: Counter[str] = Counter()

    async def pause(self, client: str) -> None:
        """Wait before a client is refused; the more of its calls wait, the longer does each."""
        self._waiting[client] += 1
        try:
            mean_s = self._waiting[client] / REFUSALS_PER_S
            # Calls that were refused together must not come again together.
            await asyncio.sleep(random.uniform(0.5, 1.5) * mean_s)
        finally:
            self._waiting[client] -= 1
            if not self._waiting[client]:
                del self._waiting[client]
