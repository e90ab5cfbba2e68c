"""A web page of some dozens of objects, the same in each run."""

from __future__ import annotations

import random
import struct
import zlib
from typing import Final

from sojourn_demo.kernel.site import Content

PATH: Final = "/page.html"
SEED: Final = 1
STYLES, SCRIPTS, IMAGES = 3, 5, 40
OBJECTS: Final = STYLES + SCRIPTS + IMAGES
STYLE_BYTES, SCRIPT_BYTES = 20_000, 50_000
IMAGE_MEDIAN_BYTES: Final = 18_000
IMAGE_SIGMA: Final = 1.0
"""Standard deviation of the logarithm of image sizes, which are log-normal (3GPP2 C.R1002
§4.1.3.2 has such sizes for embedded objects)."""
IMAGE_BYTES: Final = (1_000, 200_000)
"""Least and largest."""
TEXT_BYTES: Final = 30_000


def contents() -> dict[str, Content]:
    """The page and its objects by path, 1.4 MB in all. The browser must have styles and scripts
    before it shows anything."""
    draw = random.Random(SEED)
    found: dict[str, Content] = {}
    links = []
    for number in range(STYLES):
        path = f"/page/{number}.css"
        found[path] = ("text/css", _filled("/*", STYLE_BYTES, "*/"))
        links.append(f'<link rel="stylesheet" href="{path}">')
    for number in range(SCRIPTS):
        path = f"/page/{number}.js"
        found[path] = ("text/javascript", _filled("/*", SCRIPT_BYTES, "*/"))
        links.append(f'<script src="{path}"></script>')
    images = []
    for number in range(IMAGES):
        path = f"/page/{number}.png"
        least, largest = IMAGE_BYTES
        size = IMAGE_MEDIAN_BYTES * draw.lognormvariate(0, IMAGE_SIGMA)
        found[path] = ("image/png", _png(round(min(max(size, least), largest)), draw))
        images.append(f'<img alt="" width="90" height="90" src="{path}">')
    text = "<p>" + "A packet waits in the queue of the slowest link. " * (TEXT_BYTES // 50)
    page = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>A page</title>'
        f"{''.join(links)}{''.join(images)}{text}</html>"
    )
    found[PATH] = ("text/html", page.encode())
    return found


def _filled(begin: str, size: int, end: str) -> bytes:
    return (begin + "." * (size - len(begin) - len(end)) + end).encode()


def _png(size: int, draw: random.Random) -> bytes:
    """A grey image of noise, stored without compression, of about `size` bytes (ISO/IEC 15948)."""
    side = max(1, int(size**0.5))
    lines = b"".join(b"\0" + draw.randbytes(side) for _ in range(side))
    head = struct.pack("!IIBBBBB", side, side, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(lines, 0)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack("!I", len(body)) + name + body + struct.pack("!I", zlib.crc32(name + body))
        for name, body in parts
    )
