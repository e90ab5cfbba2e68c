"""Objects that a user names by import path: ``module:attribute``, as ``json:loads``."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any, Final

from rlc_train.errors import TrainError

PATTERN: Final = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$"
"""An import path as a regular expression."""


def is_path(name: str) -> bool:
    """Whether a name is an import path."""
    return re.match(PATTERN, name) is not None


def load(path: str, place: str) -> Any:
    """The object at an import path.

    Modules are found in the current directory as well, as by ``python -m``. Importing runs the
    code of the module.

    Args:
        path: ``module:attribute``.
        place: Where the path was given, for errors.

    Raises:
        TrainError: The path has another form, the module is not found or fails, or has no such
            attribute.
    """
    if not is_path(path):
        raise TrainError(place, f"{path!r}; expected MODULE:ATTRIBUTE")
    module, _, attribute = path.partition(":")
    with _current_directory():
        try:
            return reduce(getattr, attribute.split("."), importlib.import_module(module))
        except AttributeError as error:
            raise TrainError(place, f"{path}: {error}") from error
        except Exception as error:
            raise TrainError(
                place, f"{path} cannot be imported: {type(error).__name__}: {error}"
            ) from error


def source_sha256(path: str) -> str:
    """SHA-256 of the file of the module of an import path; empty if it has none."""
    with _current_directory():
        spec = importlib.util.find_spec(path.partition(":")[0])
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        return ""
    return hashlib.sha256(Path(spec.origin).read_bytes()).hexdigest()


@contextmanager
def _current_directory() -> Iterator[None]:
    """Has the current directory on Python's path, where a program in ``bin`` does not."""
    here = str(Path.cwd())
    if here in sys.path:
        yield
        return
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)
