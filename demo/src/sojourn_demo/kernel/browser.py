"""A headless Chromium, driven by Playwright."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from playwright.async_api import Browser, Error, async_playwright

from sojourn_demo import DemoError

FLAGS: Final = ("--disable-gpu",)
"""Pictures are drawn without OpenGL, which would be computed in software, too."""


@asynccontextmanager
async def launched(chromium: Path) -> AsyncIterator[Browser]:
    """A browser with a fresh profile, for as long as the block.

    Raises:
        DemoError: It does not start, or an operation of Playwright in the block failed.
    """
    # A home of its own, so that the user's is neither read nor written.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    with TemporaryDirectory(prefix="sojourn-demo-", ignore_cleanup_errors=True) as home:
        try:
            async with (
                async_playwright() as playwright,
                await playwright.chromium.launch(
                    executable_path=chromium, args=FLAGS, env={**kept, "HOME": home}
                ) as browser,
            ):
                yield browser
        except Error as error:
            raise DemoError(f"Chromium: {error.message.splitlines()[0]}") from error
