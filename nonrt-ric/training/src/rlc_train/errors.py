"""Errors of the commands (one line, exit status 2): of optional libraries and written files."""

from __future__ import annotations

import importlib
import importlib.util
import zlib
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile

from rlc_model.files import replace_file

DAMAGED: Final = (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error)
"""Exceptions of NumPy for a damaged, truncated or foreign archive."""


DISTRIBUTION: Final = "sojourn-training"
"""This distribution, whose extras have the optional libraries."""


class TrainError(Exception):
    """Invalid input or a missing dependency; the message names value and expectation.

    Attributes:
        place: File, field or command that is wrong, or the whole message.
    """

    def __init__(self, place: str, message: str | None = None) -> None:
        self.place = place
        super().__init__(place if message is None else f"{place}: {message}")


def need(module: str, extra: str) -> Any:
    """Imports a module of an optional extra.

    Raises:
        TrainError: It is not installed; the message has the command that installs it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        top = module.partition(".")[0]
        raise TrainError(
            top,
            f"is not installed ({error}); run 'make setup-training' or"
            f' pip install "{DISTRIBUTION}[{extra}]"',
        ) from error


def write_text(path: Path, text: str) -> None:
    """Writes a file; a reader sees the old one or the whole new one.

    Raises:
        TrainError: It cannot be written.
    """
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise TrainError(str(path), error.strerror or "cannot be written") from error


def installed(module: str) -> bool:
    """Whether a top-level module is installed, without importing it."""
    return importlib.util.find_spec(module) is not None
