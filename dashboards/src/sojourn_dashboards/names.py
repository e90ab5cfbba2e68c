"""Names that pages use for colours, thresholds, words of values and texts: `names.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import yaml
from pydantic import BeforeValidator

PAGES: Final = Path(__file__).parents[2] / "pages"
SHARED: Final = PAGES / "shared"
NAMES: Final[Mapping[str, Mapping[str, Any]]] = yaml.safe_load(
    (SHARED / "names.yaml").read_text(encoding="utf-8")
)


def _named(kind: str, given: object) -> object:
    """What a name stands for; anything else as it is."""
    if not isinstance(given, str):
        return given
    if given not in NAMES[kind]:
        raise ValueError(f"{given!r}: expected one of {', '.join(NAMES[kind])}")
    return NAMES[kind][given]


SITE: Final[tuple[str, ...]] = tuple(NAMES["texts"]["site"].split(", "))
"""Labels that name a site."""
Number = int | float
Colour = Annotated[str, BeforeValidator(partial(_named, "colours"))]
Steps = Annotated[list[tuple[Number | None, Colour]], BeforeValidator(partial(_named, "steps"))]
"""Thresholds: from this value on, this colour; the first is `None`."""
Words = Annotated[dict[str, tuple[str, Colour]], BeforeValidator(partial(_named, "words"))]
"""Value as text → what to show for it, and its colour."""
