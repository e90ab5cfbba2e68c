"""The decision log: one JSON object a line, bounded by rotation."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
from collections.abc import Iterator, Mapping
from functools import partial
from logging import Handler, LogRecord, makeLogRecord
from logging.handlers import QueueListener
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Final, Self

import structlog
from ric.errors import SettingsError

_NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
MAX_LINE: Final = 1 << 20
"""Length of a line."""
_log = structlog.get_logger()
_MAX_QUEUED: Final = 10_000
"""Records waiting for a disk that hangs; some 10 MB."""


class DecisionLog:
    """Appends records, written by a thread; a context manager.

    When the file would exceed `max_bytes` it becomes `NAME.1` and older ones move up, up to `keep`
    of them. If it cannot be rotated, the present file grows until that works again. A record that
    cannot be written is counted in `lost`, never raised: control continues with a full disk, and
    records are written again once there is room.
    """

    def __init__(self, path: Path, *, max_bytes: int = 16 << 20, keep: int = 3) -> None:
        self.path = path
        self._queue: SimpleQueue[LogRecord] = SimpleQueue()
        self._not_queued = 0
        self._file = _RotatingFile(path, max_bytes, keep)
        self._writer: QueueListener | None = None

    def __enter__(self) -> Self:
        """Open for appending; raises `SettingsError` unless it is for want of space."""
        try:
            self._file.open()
        except OSError as error:
            if error.errno not in _NO_SPACE:
                expected = "expected a file that can be written"
                raise SettingsError(
                    [f"decision_log.path: {self.path}: {error.strerror}; {expected}"]
                ) from error
        self._writer = QueueListener(self._queue, self._file)
        self._writer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write what is queued and close."""
        if self._writer is not None:
            self._writer.stop()
        self._file.close()

    @property
    def lost(self) -> int:
        """Records that were not written."""
        return self._not_queued + self._file.failed

    @property
    def problem(self) -> str:
        """Why the newest record was not written; "" if it was."""
        return self._file.problem

    def write(self, record: Mapping[str, Any]) -> None:
        """Append a record; does not wait for the disk."""
        if self._queue.qsize() >= _MAX_QUEUED:
            self._not_queued += 1
            return
        line = json.dumps(record, separators=(",", ":"), default=str)
        self._queue.put(makeLogRecord({"msg": line}))


class _RotatingFile(Handler):
    """Appends whole lines; each one tries anew what failed before.

    A buffered file, such as that of `RotatingFileHandler`, keeps what it could not write, and
    cannot even be closed on a full disk.
    """

    def __init__(self, path: Path, max_bytes: int, keep: int) -> None:
        super().__init__()
        self._path = path
        self._max_bytes = max_bytes
        self._keep = keep
        self._number: int | None = None
        self._size = 0
        self._rotates = True
        self.failed = 0
        self.problem = ""

    def open(self) -> int:
        """Open the file if it is not, or was moved away; returns its descriptor.

        Raises `OSError`.
        """
        if self._number is not None and not self._is_in_place(self._number):
            self._close_file()
        if self._number is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
            number = os.open(self._path, flags, 0o644)
            try:
                # What is no regular file, such as /dev/stdout, is written to and never renamed.
                self._rotates = stat.S_ISREG(os.fstat(number).st_mode)
                self._size = _end_last_line(number)
            except OSError:
                os.close(number)
                raise
            self._number = number
        return self._number

    def close(self) -> None:
        """Close the file."""
        super().close()
        self._close_file()

    def _close_file(self) -> None:
        number, self._number = self._number, None
        if number is not None:
            os.close(number)

    def emit(self, record: LogRecord) -> None:
        """Append a line, rotating before; a failure is counted."""
        try:
            self._append(f"{record.msg}\n".encode("utf-8", "backslashreplace"))
        except OSError as error:
            self.failed += 1
            if error.strerror != self.problem:
                _log.error("decision log not written", file=str(self._path), error=error.strerror)
            self.problem = error.strerror or repr(error)
            return
        if self.problem:
            _log.info("decision log written again", file=str(self._path), lost=self.failed)
            self.problem = ""

    def _append(self, line: bytes) -> None:
        number = self.open()
        if self._rotates and self._size and self._size + len(line) > self._max_bytes:
            # On failure the present file grows.
            with contextlib.suppress(OSError):
                self._rotate()
            number = self.open()
        written = os.write(number, line)
        if written < len(line):
            os.ftruncate(number, self._size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._size += written

    def _is_in_place(self, number: int) -> bool:
        try:
            return os.path.samestat(self._path.stat(), os.fstat(number))
        except OSError:
            return False

    def _rotate(self) -> None:
        # Up to the first gap only: repeated attempts must not move old files off the end.
        free = next(
            (n for n in range(1, self._keep) if not rotated(self._path, n).exists()), self._keep
        )
        for index in range(free, 0, -1):
            rotated(self._path, index - 1).replace(rotated(self._path, index))
        self._close_file()


def rotated(path: Path, number: int) -> Path:
    """The `number`-th older file; 0 is the present one."""
    return path if number == 0 else path.with_name(f"{path.name}.{number}")


def read_log(path: Path) -> Iterator[dict[str, Any]]:
    """All records of all files, oldest first. Other lines are skipped: a process killed while it
    wrote leaves half a line."""
    for file in files_of(path):
        with file.open(encoding="utf-8", errors="replace") as lines:
            # A longer line, of another file, is read in pieces that are no records.
            for line in iter(partial(lines.readline, MAX_LINE), ""):
                record = record_of(line)
                if record is not None:
                    yield record


def files_of(path: Path) -> list[Path]:
    """The files of a log that there are, oldest first."""
    number = 0
    while rotated(path, number + 1).exists():
        number += 1
    files = [rotated(path, index) for index in range(number, 0, -1)]
    return [*files, path] if path.exists() else files


def record_of(line: str) -> dict[str, Any] | None:
    """The record of a line; ``None``: it is none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and "event" in record else None


def _end_last_line(number: int) -> int:
    """End a line that a killed writer left unfinished; the next record must not continue it.

    Returns the size of the file.
    """
    size = os.fstat(number).st_size
    if size and os.pread(number, 1, size - 1) != b"\n":
        size += os.write(number, b"\n")
    return size
