"""`/metrics`: scrapes that come at once share one encoding."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from ric.http import Request, Response

SHARED_S: Final = 0.05
"""Age up to which an encoding serves another scrape in any case."""
MOST: Final = 20
WITHIN_S: Final = 5.0
"""Encodings in a time: encoding takes milliseconds of the event loop. Who scrapes now and then has
the metrics of that moment; while many scrape, they share one of at most `WITHIN_S` / `MOST` ago."""
_MOST_FORMATS: Final = 8


class Scrape:
    """Answers scrapes of a registry, in the format that the scraper accepts.

    Not compressed: a scrape must not hold up the reports on this loop.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._encoded: dict[str, tuple[float, bytes]] = {}
        self._times_s: deque[float] = deque(maxlen=MOST)
        self.made = 0
        """Encodings made."""

    async def answer(self, request: Request) -> Response:
        """The metrics of now, or of shortly before."""
        encode, kind = choose_encoder(request.headers.get("accept", ""))
        loop = asyncio.get_running_loop()
        made_s, body = self._encoded.get(kind, (0.0, b""))
        if not body or loop.time() - made_s > SHARED_S:
            while (wait_s := self._wait_s(loop.time())) > 0:
                if body:
                    break
                # In a format that nobody has asked for before.
                await asyncio.sleep(wait_s)
            else:
                body = encode(self._registry)
                self.made += 1
                if len(self._encoded) >= _MOST_FORMATS:
                    self._encoded.clear()
                self._times_s.append(loop.time())
                self._encoded[kind] = loop.time(), body
        return Response(body=body, headers={"Content-Type": kind})

    def _wait_s(self, now_s: float) -> float:
        """Seconds until another encoding may be made."""
        is_full = len(self._times_s) == MOST
        return self._times_s[0] + WITHIN_S - now_s if is_full else 0.0
