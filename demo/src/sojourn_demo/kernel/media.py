"""A video at several rates, recorded by the browser that plays it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from sojourn_demo.kernel.browser import launched

LADDER_KBPS: Final = (300, 750, 1200, 1850, 2850, 4300)
"""Rates of abbasloo2019 §VI-B, which the lab's flows of kind `video` have as well."""
WIDTH, HEIGHT = 640, 360
FPS: Final = 30
"""What Chromium's recorder takes for granted where it keeps a rate."""
SEGMENT_S: Final = 2
MANIFEST: Final[dict[str, Any]] = {
    "ladder_kbps": LADDER_KBPS,
    "segment_s": SEGMENT_S,
    # Parameters of BBA-0, those of the lab's flows of kind `video` (docs/applications.md).
    "reservoir_s": 5.0,
    "cushion_s": 10.0,
    "max_buffer_s": 20.0,
    "type": 'video/webm; codecs="vp8"',
}
"""What a player reads first."""
RECORDER: Final = Path(__file__).with_name("recorder.js").read_text()


async def record(chromium: Path, folder: Path) -> None:
    """Writes ``manifest.json`` and a segment ``RATE.webm`` for each rate, named by its place in the
    ladder; a player repeats it.

    Raises:
        DemoError: The browser does not start, or cannot record VP8.
    """
    (folder / "manifest.json").write_text(json.dumps(MANIFEST))
    async with launched(chromium) as browser, await browser.new_page() as page:
        for rate, kbps in enumerate(LADDER_KBPS):
            settings = {
                **{"kbps": kbps, "width": WIDTH, "height": HEIGHT, "fps": FPS},
                **{"pictures": FPS * SEGMENT_S, "type": MANIFEST["type"]},
            }
            data = await page.evaluate(RECORDER, settings)
            (folder / f"{rate}.webm").write_bytes(bytes(data))
