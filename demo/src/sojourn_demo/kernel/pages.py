"""A page that the browser loads again and again, each time as if for the first."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

from playwright.async_api import Browser
from playwright.async_api import TimeoutError as LateError

PAUSE_S: Final = 1.5
"""Between the end of a load and the start of the next."""
TIMING: Final = """() => {
  const [page] = performance.getEntriesByType("navigation");
  return {
    load_ms: page.loadEventEnd,
    first_byte_ms: page.responseStart,
    objects: performance.getEntriesByType("resource").length,
  };
}"""
"""Navigation Timing Level 2 (W3C): times since the navigation began."""


async def load_pages(browser: Browser, url: str, until_us: int) -> list[dict[str, Any]]:
    """Loads `url` until `until_us`, Unix time in µs.

    Each load has `started_us`; `load_ms`, `first_byte_ms` and `objects` if it ended by then, else
    `waited_ms`.

    Raises:
        Error: The browser ends or refuses the page.
    """
    loads: list[dict[str, Any]] = []
    while (left_s := until_us / 1e6 - time.time()) > 0:
        # A context of its own: no cache, cookie or connection of another is used.
        async with await browser.new_page() as page:
            started_us = time.time_ns() // 1000
            load: dict[str, Any] = {"started_us": started_us}
            try:
                await page.goto(url, timeout=1e3 * left_s)
                load |= await page.evaluate(TIMING)
            except LateError:
                load["waited_ms"] = (time.time_ns() // 1000 - started_us) / 1e3
            loads.append(load)
        await asyncio.sleep(min(PAUSE_S, max(0.0, until_us / 1e6 - time.time())))
    return loads
