"""What must outlive the sidecar: the RIC's request budget and the pipelines on v0 nodes."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any, Final

VERSION: Final = 1


class StateError(ValueError):
    """A state file that cannot be used; the message names the file and the place."""


def read_state(path: Path) -> dict[str, Any] | None:
    """The document in `path`; `None` when there is no file yet.

    Raises `StateError` when it is there and cannot be used.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateError(f"{path}: {error.strerror}; expected a readable file") from None
    try:
        document = json.loads(raw)
    except ValueError as error:
        raise StateError(f"{path}: {error}; expected JSON") from None
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise StateError(f"{path}: expected an object with version {VERSION}")
    return document


def write_state(path: Path, document: dict[str, Any]) -> None:
    """Replace the file as a whole; raises `OSError`."""
    beside = path.with_name(f".{path.name}.new")
    try:
        with beside.open("w", encoding="utf-8") as file:
            json.dump({"version": VERSION, **document}, file, separators=(",", ":"))
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def set_aside(path: Path) -> Path:
    """Rename a file that cannot be used, so that it can be looked at; its new name."""
    aside = path.with_name(f"{path.name}.unusable")
    path.replace(aside)
    return aside
