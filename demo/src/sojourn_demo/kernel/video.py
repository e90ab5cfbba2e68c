"""A video that the browser plays, from the click on its page to the end of the phase."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Any, Final

from playwright.async_api import Browser
from playwright.async_api import TimeoutError as LateError

from sojourn_demo import DemoError

SESSION: Final = 'typeof session === "undefined" ? null : session'
"""`session` of ``player.js``, which is missing until the script has come."""


async def watch(browser: Browser, url: str, until_us: int) -> dict[str, Any]:
    """Plays the page `url` until `until_us`, Unix time in µs.

    Returns:
        `started_us`, `ended_us`, and the `log` of ``player.js``, empty if not even the page came.

    Raises:
        DemoError: The player failed.
        Error: The browser ends or refuses the page.
    """
    started_us = time.time_ns() // 1000
    async with await browser.new_page() as page:
        with suppress(LateError):
            left_ms = (until_us - started_us) / 1e3
            await page.goto(url, timeout=left_ms, wait_until="commit")
        await asyncio.sleep(max(0.0, until_us / 1e6 - time.time()))
        ended_us = time.time_ns() // 1000
        session = await page.evaluate(SESSION) or {"log": [], "failed": None}
    if session["failed"]:
        raise DemoError(f"{url}: {session['failed']}")
    return {"started_us": started_us, "ended_us": ended_us, "log": session["log"]}
