"""A program's state over restarts: one JSON document in a file, with a version.

Writes are atomic, and one process keeps a file. A file that cannot be used is moved aside for
inspection, logged and counted, and the program starts without state.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import structlog
from bounded_input import JsonError, parse_json
from prometheus_client import CollectorRegistry, Counter, Gauge

from ric.claim import AlreadyClaimed, Claim
from ric.errors import RicError
from ric.files import UnreadableFile, read_file, require_regular_or_absent
from ric.health import Condition

T = TypeVar("T")

MAX_BYTES: Final = 256 << 20
"""1000 bearers with a few hundred filters each are far below."""


class StateError(RicError, ValueError):
    """A state file that cannot be used; the message names the file and the place."""


class StateFile:
    """The state file of a running program; all methods may be called from any thread."""

    def __init__(self, path: Path | None, registry: CollectorRegistry) -> None:
        """`path` is `None` to keep no state: `restore` returns `None`, `save` does nothing.

        Raises `StateError` if another process keeps the file, or if `path` is no regular file.
        """
        if path is not None:
            check_state_path(path)
        self.path = path
        self._claim = None if path is None else claim(path)
        self._writing = threading.Lock()
        self._closed = False
        self.problem = ""
        """Why the newest document could not be saved; "" if it was."""
        self._log = structlog.get_logger(state=str(path))
        self._failures = Counter(
            "sojourn_state_file_failures_total",
            "Times the state file could not be read or written.",
            ("operation",),
            registry=registry,
        )
        for operation in ("read", "write"):
            self._failures.labels(operation)
        failing = Gauge(
            "sojourn_state_file_failing",
            "1: the newest state could not be written and is tried again.",
            registry=registry,
        )
        failing.set_function(lambda: float(bool(self.problem)))

    def restore(self, accept: Callable[[dict[str, Any]], T]) -> T | None:
        """What `accept` returns for the document; `None` without a usable one.

        `accept` raises `ValueError` for a document it cannot use.
        """
        if self.path is None:
            return None
        try:
            document = read_document(self.path)
            return None if document is None else accept(document)
        except ValueError as error:
            self._failures.labels("read").inc()
            aside = self.path.with_name(f"{self.path.name}.unusable")
            with contextlib.suppress(OSError):
                self.path.replace(aside)
            self._log.warning(
                "state file unusable, starting without state", error=str(error), moved_to=str(aside)
            )
            return None

    def save(self, document: Mapping[str, Any], *, last: bool = False) -> bool:
        """Replace the file; after the last save none follows, and another process may keep it.

        Returns false for a failure, which is counted, and logged if it differs from the one before.
        """
        with self._writing:
            if self.path is None or self._closed:
                return True
            self._closed = last
            try:
                write_document(self.path, document)
            except OSError as error:
                self._failures.labels("write").inc()
                if str(error) != self.problem:
                    self._log.warning("state not saved", error=str(error))
                self.problem = str(error)
                return False
            finally:
                if last and self._claim is not None:
                    self._claim.release()
            if self.problem:
                self._log.info("state saved again")
                self.problem = ""
            return True

    def condition(self) -> Condition:
        """Condition of readiness. A full disk delays no control: the program stays ready."""
        if self.path is None:
            return Condition(True, "not kept")
        if self.problem:
            return Condition(True, f"not saved, retrying: {self.problem}", degraded=True)
        return Condition(True, "saved")


def check_state_path(path: Path) -> None:
    """Raise `StateError` for a path that state must not be written to, such as a directory.

    For programs, which fail before they start anything.
    """
    try:
        require_regular_or_absent(path)
    except UnreadableFile as error:
        raise StateError(str(error)) from None


def read_document(path: Path) -> dict[str, Any] | None:
    """The document in `path`; `None` if there is no file. Raises `StateError`."""
    try:
        raw = read_file(path, MAX_BYTES)
    except UnreadableFile as error:
        if error.missing:
            return None
        raise StateError(str(error)) from None
    try:
        document = parse_json(raw)
    except JsonError as error:
        raise StateError(f"{path}: {error}") from None
    if not isinstance(document, dict):
        raise StateError(f"{path}: a {type(document).__name__}; expected an object")
    return document


def write_document(path: Path, document: Mapping[str, Any], *, durable: bool = True) -> None:
    """Replace the file atomically: a reader sees the old document or the new one.

    With `durable` the document is on the disk when this returns. Raises `OSError`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Each writer has a name of its own: two would mix their documents in one.
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
    try:
        with beside.open("x", encoding="utf-8") as file:
            json.dump(document, file, separators=(",", ":"))
            file.write("\n")
            file.flush()
            if durable:
                os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
    if durable:
        _sync(path.parent)


def claim(path: Path) -> Claim | None:
    """Claim a file that is written by `write_document`, and remove what killed writers have left.

    Hold the claim as long as the file is written. `None` where no claim can be made, such as in a
    directory that cannot be written; what is written there fails by itself. Raises `StateError` if
    another process has it.
    """
    try:
        made = Claim.of(path)
        left = re.compile(rf"\.{re.escape(path.name)}\.([0-9a-f]{{16}}\.)?new")
        for one in path.parent.iterdir():
            if left.fullmatch(one.name):
                one.unlink(missing_ok=True)
    except AlreadyClaimed as error:
        raise StateError(str(error)) from None
    except OSError:
        return None
    return made


def _sync(directory: Path) -> None:
    number = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def require_version(document: Mapping[str, Any], version: int) -> None:
    """Raise `StateError` for a document of another version."""
    if (found := document.get("version")) != version:
        raise StateError(f"version: {found!r}; expected {version}")
