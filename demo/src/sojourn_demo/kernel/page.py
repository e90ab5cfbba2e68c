"""A web page of some dozens of objects, the same in each run."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Final

from PIL import Image

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


def write(path: Path) -> None:
    """Writes the page to `path` and its objects to a folder beside it, 1.4 MB in all. The browser
    must have styles and scripts before it shows anything."""
    draw = random.Random(SEED)
    objects = path.with_suffix("")
    objects.mkdir()
    links = []
    for number in range(STYLES):
        (objects / f"{number}.css").write_text(_comment(STYLE_BYTES))
        links.append(f'<link rel="stylesheet" href="{objects.name}/{number}.css">')
    for number in range(SCRIPTS):
        (objects / f"{number}.js").write_text(_comment(SCRIPT_BYTES))
        links.append(f'<script src="{objects.name}/{number}.js"></script>')
    for number in range(IMAGES):
        least, largest = IMAGE_BYTES
        size = IMAGE_MEDIAN_BYTES * draw.lognormvariate(0, IMAGE_SIGMA)
        # Of noise, a byte a pixel, which no compression shortens.
        side = round(min(max(size, least), largest) ** 0.5)
        noise = Image.frombytes("L", (side, side), draw.randbytes(side * side))
        noise.save(objects / f"{number}.png")
        links.append(f'<img alt="" width="90" height="90" src="{objects.name}/{number}.png">')
    text = "<p>" + "A packet waits in the queue of the slowest link. " * (TEXT_BYTES // 50)
    path.write_text(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>A page</title>'
        f"{''.join(links)}{text}</html>"
    )


def _comment(size: int) -> str:
    """A comment of CSS and JavaScript of `size` bytes."""
    return f"/*{'.' * (size - 4)}*/"
