"""Files of sweeps and their error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

MAX_BYTES: Final = 256 << 20
"""Largest JSON file of results."""


class SweepError(Exception):
    """A sweep or a comparison that did not finish: what was wrong, and where.

    Attributes:
        is_input: Whether the arguments are to blame, not a machine.
    """

    def __init__(self, message: str, *, is_input: bool = False) -> None:
        super().__init__(message)
        self.is_input = is_input


def read_json(path: Path, what: str) -> Any:
    """The mapping in a JSON file.

    Raises:
        SweepError: It is missing, larger than `MAX_BYTES`, or no mapping.
    """
    try:
        if (size := path.stat().st_size) > MAX_BYTES:
            raise SweepError(f"{path}: {size} bytes; at most {MAX_BYTES}", is_input=True)
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise SweepError(f"{path}: cannot be read: {error.strerror}", is_input=True) from error
    except (ValueError, RecursionError) as error:
        raise SweepError(f"{path}: not the {what}: {error}", is_input=True) from error
    if not isinstance(found, dict):
        raise SweepError(f"{path}: not the {what}: expected a mapping", is_input=True)
    return found


def write_json(path: Path, content: Any, *, indent: int | None = None) -> None:
    """Writes a JSON file so that an interrupt leaves the old one or the new one.

    Raises:
        OSError: It cannot be written.
    """
    part = path.with_name(f"{path.name}.part")
    text = json.dumps(content, indent=indent, ensure_ascii=False)
    part.write_text(f"{text}\n", encoding="utf-8")
    part.replace(path)
