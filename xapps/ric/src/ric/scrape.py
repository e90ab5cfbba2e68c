"""`/metrics`: scrapes that come at once share one encoding."""

from __future__ import annotations

import asyncio
from typing import Final

from aiohttp import hdrs, web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

SHARED_S: Final = 0.05
"""Age up to which an encoding serves another scrape: it is made 20 times a second at most."""
_MOST_FORMATS: Final = 8


class Scrape:
    """Answers scrapes of a registry, in the format that the scraper accepts.

    Not compressed: a scrape must not hold up the reports on this loop.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._encoded: dict[str, tuple[float, bytes]] = {}
        self.made = 0
        """Encodings made."""

    async def answer(self, request: web.Request) -> web.Response:
        """The metrics of now, or of at most `SHARED_S` ago."""
        encode, kind = choose_encoder(",".join(request.headers.getall(hdrs.ACCEPT, ())))
        now_s = asyncio.get_running_loop().time()
        made_s, body = self._encoded.get(kind, (0.0, b""))
        if not body or now_s - made_s > SHARED_S:
            body = encode(self._registry)
            self.made += 1
            if len(self._encoded) >= _MOST_FORMATS:
                self._encoded.clear()
            self._encoded[kind] = now_s, body
        return web.Response(body=body, headers={hdrs.CONTENT_TYPE: kind})
