"""The decision log: one JSON object a line, bounded by rotation."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from logging import LogRecord, makeLogRecord
from logging.handlers import QueueListener, RotatingFileHandler
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Final, Self

DEFAULT_NAME: Final = "decisions.jsonl"
_MAX_QUEUED: Final = 10_000
"""Records waiting for a disk that hangs; some 10 MB."""


class DecisionLog:
    """Appends records, written by a thread; a context manager.

    When the file would exceed `max_bytes` it becomes `NAME.1` and older ones move up, up to `keep`
    of them. If it cannot be rotated, the present file grows until that works again. A record that
    cannot be written is counted in `lost`, never raised: control continues with a full disk.
    """

    def __init__(self, path: Path, *, max_bytes: int = 16 << 20, keep: int = 3) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._keep = keep
        self._queue: SimpleQueue[LogRecord] = SimpleQueue()
        self._not_queued = 0
        self._file: _RotatingFile | None = None
        self._writer: QueueListener | None = None

    def __enter__(self) -> Self:
        """Open for appending; raises `OSError`."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        _end_last_line(self.path)
        self._file = _RotatingFile(
            self.path, maxBytes=self._max_bytes, backupCount=self._keep, encoding="utf-8"
        )
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
        if self._writer is not None and self._file is not None:
            self._writer.stop()
            # A full disk: what could not be written is counted already.
            with contextlib.suppress(OSError):
                self._file.close()

    @property
    def lost(self) -> int:
        """Records that were not written."""
        return self._not_queued + (0 if self._file is None else self._file.failed)

    def write(self, record: Mapping[str, Any]) -> None:
        """Append a record; does not wait for the disk."""
        if self._queue.qsize() >= _MAX_QUEUED:
            self._not_queued += 1
            return
        line = json.dumps(record, separators=(",", ":"), default=str)
        self._queue.put(makeLogRecord({"msg": line}))


class _RotatingFile(RotatingFileHandler):
    """Continues with the present file when a rotation fails; counts records not written."""

    failed = 0

    def doRollover(self) -> None:  # noqa: N802 - of the base class
        try:
            super().doRollover()
        except OSError:
            if self.stream is None:
                self.stream = self._open()

    def handleError(self, record: LogRecord) -> None:  # noqa: N802 - of the base class
        self.failed += 1


def rotated(path: Path, number: int) -> Path:
    """The `number`-th older file; 0 is the present one."""
    return path if number == 0 else path.with_name(f"{path.name}.{number}")


def read_log(path: Path) -> Iterator[dict[str, Any]]:
    """All records of all files, oldest first. Other lines are skipped: a process killed while it
    wrote leaves half a line."""
    number = 0
    while rotated(path, number + 1).exists():
        number += 1
    for index in range(number, -1, -1):
        file = rotated(path, index)
        if index == 0 and not file.exists():
            return
        with file.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                try:
                    record = json.loads(line)
                except ValueError:
                    continue
                if isinstance(record, dict) and "event" in record:
                    yield record


def _end_last_line(path: Path) -> None:
    """End a line that a killed writer left unfinished; the next record must not continue it."""
    with path.open("a+b") as file:
        if file.tell() and (file.seek(-1, 2), file.read(1))[1] != b"\n":
            file.write(b"\n")
