"""Keeps the desired pipelines over restarts of the controller."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tc_controller.core.reconcile import StateError

#: 1000 bearers with a few hundred filters each are far below.
_MAX_BYTES: Final = 256 << 20


def read_state(path: Path) -> object | None:
    """The document of the last run, ``None`` when there is none.

    Raises:
        StateError: the file cannot be read or is not JSON.
    """
    try:
        size = path.stat().st_size
        if size > _MAX_BYTES:
            raise StateError(f"{path.name}: {size} bytes; expected at most {_MAX_BYTES}")
        document: object = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateError(f"{path.name}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise StateError(f"{path.name}: not JSON: {error}") from error
    return document


def write_json(path: Path, document: Mapping[str, Any], *, durable: bool = True) -> None:
    """Replace the file at once: a reader sees the old document or the new one.

    ``durable`` waits until it would survive the death of the machine. Raises `OSError`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.tmp")
    with fresh.open("w", encoding="utf-8") as file:
        json.dump(document, file, separators=(",", ":"))
        file.flush()
        if durable:
            os.fsync(file.fileno())
    fresh.replace(path)


def set_aside(path: Path) -> Path:
    """Move an unusable file out of the way, for people to look at; raises `OSError`."""
    aside = path.with_name(f"{path.name}.unusable")
    path.replace(aside)
    return aside
