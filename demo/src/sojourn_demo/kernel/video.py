"""A video that the browser plays, from the click on its page to the end of the phase."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any, Final

from sojourn_demo import DemoError
from sojourn_demo.kernel.devtools import Browser

PATH: Final = "/player.html"
SESSION: Final = "JSON.stringify(session)"


async def watch(browser: Browser, url: str, until_us: int) -> dict[str, Any]:
    """Plays the page `url` until `until_us`, Unix time in µs.

    Returns:
        `started_us`, `ended_us`, and the `log` of ``player.js``, empty if not even the page came.

    Raises:
        DemoError: The player failed, or the browser.
    """
    started_us = time.time_ns() // 1000
    left_s = (until_us - started_us) / 1e6
    log: list[dict[str, Any]] = []
    async with browser.page() as page:
        try:
            async with asyncio.timeout(left_s):
                await page.navigate(url)
                await asyncio.sleep(left_s)
        except TimeoutError:
            pass
        ended_us = time.time_ns() // 1000
        # `session` is missing until the script of the page has come.
        found = await page.evaluate(f'typeof session === "undefined" ? null : {SESSION}')
        if found is not None:
            session = json.loads(found)
            if session["failed"]:
                raise DemoError(f"{url}: {session['failed']}")
            log = session["log"]
    return {"started_us": started_us, "ended_us": ended_us, "log": log}
