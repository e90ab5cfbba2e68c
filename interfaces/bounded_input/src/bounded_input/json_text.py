"""JSON of strangers (RFC 8259)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

_SHOWN_CHARACTERS: Final = 60


def parse_json(text: str | bytes, parse_constant: Callable[[str], Any] | None = None) -> Any:
    """The value of a JSON text.

    Raises `ValueError` for what is no JSON and for a key that an object has twice: readers differ
    in which of its values they take (RFC 8259 clause 4). Raises `RecursionError` for what is nested
    too deep. ``parse_constant`` gets NaN and Infinity, which Python takes by itself.
    """
    return json.loads(text, object_pairs_hook=_object, parse_constant=parse_constant)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                shown = key if len(key) <= _SHOWN_CHARACTERS else f"{key[: _SHOWN_CHARACTERS - 1]}…"
                raise ValueError(f"key {shown!r} given twice; expected it once")
            seen.add(key)
    return found
