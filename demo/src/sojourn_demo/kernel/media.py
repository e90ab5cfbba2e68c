"""A video in segments of several rates, encoded by the browser that plays it."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sojourn_demo import DemoError
from sojourn_demo.kernel import webm
from sojourn_demo.kernel.devtools import started
from sojourn_demo.kernel.site import Site, script
from sojourn_demo.programs import Programs

LADDER_KBPS: Final = (300, 750, 1200, 1850, 2850, 4300)
"""Rates of abbasloo2019 §VI-B, which the lab's flows of kind `video` have as well."""
WIDTH, HEIGHT = 640, 360
FPS: Final = 25
SEGMENT_S: Final = 2
SEGMENTS: Final = 2
"""Different ones; a player repeats them."""
RESERVOIR_S, CUSHION_S = 5.0, 10.0
"""Parameters of BBA-0, those of the lab's flows of kind `video` (docs/applications.md)."""
MAX_BUFFER_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class Media:
    """The segments of each rate, in the order of `LADDER_KBPS`: WebM files."""

    segments: tuple[tuple[bytes, ...], ...]

    def manifest(self) -> dict[str, Any]:
        """What a player reads first."""
        return {
            "ladder_kbps": LADDER_KBPS,
            "segment_s": SEGMENT_S,
            "segments": SEGMENTS,
            "reservoir_s": RESERVOIR_S,
            "cushion_s": CUSHION_S,
            "max_buffer_s": MAX_BUFFER_S,
            "type": 'video/webm; codecs="vp8"',
        }

    def write(self, folder: Path) -> None:
        """Writes the manifest and ``RATE-SEGMENT.webm``, the rate as its place in the ladder."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "manifest.json").write_text(json.dumps(self.manifest()))
        for rate, segments in enumerate(self.segments):
            for number, data in enumerate(segments):
                (folder / f"{rate}-{number}.webm").write_bytes(data)


async def encode(programs: Programs, chromium: Path, folder: Path) -> Media:
    """Encodes the video; the browser's profile is in `folder` meanwhile.

    Raises:
        DemoError: The browser does not start, or cannot encode VP8.
    """
    per_segment = FPS * SEGMENT_S
    rates = []
    # From loopback, because WebCodecs is for secure contexts alone.
    with Site({"/encoder.html": ("text/html", b"<!doctype html>")}) as site:
        async with started(programs, chromium, folder) as browser, browser.page() as page:
            await page.navigate(f"http://127.0.0.1:{site.port}/encoder.html")
            await page.evaluate(script("encoder.js").decode())
            for kbps in LADDER_KBPS:
                settings = {
                    **{"kbps": kbps, "width": WIDTH, "height": HEIGHT, "fps": FPS},
                    **{"pictures": per_segment * SEGMENTS, "perSegment": per_segment},
                }
                found = await page.evaluate(f"encode({json.dumps(settings)})")
                rates.append(_segments(found, per_segment))
    return Media(tuple(rates))


def _segments(encoded: list[dict[str, Any]], per_segment: int) -> tuple[bytes, ...]:
    pictures = [webm.Picture(base64.b64decode(each["data"]), bool(each["key"])) for each in encoded]
    groups = [pictures[at : at + per_segment] for at in range(0, len(pictures), per_segment)]
    whole = len(groups) == SEGMENTS and all(len(group) == per_segment for group in groups)
    if not whole or not all(group[0].is_key for group in groups):
        raise DemoError(
            f"Chromium: encoded {len(pictures)} pictures; expected {SEGMENTS} segments of"
            f" {per_segment} that begin with a key picture"
        )
    return tuple(
        webm.file(group, width=WIDTH, height=HEIGHT, picture_ms=1000 // FPS) for group in groups
    )
