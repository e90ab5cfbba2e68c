"""JSON of strangers (RFC 8259)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

_SHOWN_CHARACTERS: Final = 60


class JsonError(ValueError):
    """Text that is no JSON, or JSON that is not accepted: `problem; expected …`."""

    def __init__(self, problem: str, expected: str = "JSON") -> None:
        super().__init__(f"{problem}; expected {expected}")
        self.problem = problem
        self.expected = expected


def parse_json(text: str | bytes, parse_constant: Callable[[str], Any] | None = None) -> Any:
    """The value of a JSON text.

    Raises `JsonError` for what is no JSON or nested too deep, and for a key that an object has
    twice: readers differ in which of its values they take (RFC 8259 clause 4). ``parse_constant``
    gets NaN and Infinity, which Python takes by itself.
    """
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=parse_constant)
    except JsonError:
        raise
    except (ValueError, RecursionError) as error:
        raise JsonError(str(error)) from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                shown = key if len(key) <= _SHOWN_CHARACTERS else f"{key[: _SHOWN_CHARACTERS - 1]}…"
                raise JsonError(f"key {shown!r} given twice", "it once")
            seen.add(key)
    return found
