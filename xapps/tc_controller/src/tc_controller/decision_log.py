"""The decision log: one JSON object a line, bounded by rotation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TextIO

#: Records are told by this file name in a directory of their own.
DEFAULT_NAME: Final = "decisions.jsonl"


class DecisionLog:
    """Appends records; a context manager.

    When the file exceeds ``max_bytes`` it becomes ``NAME.1``, the older ones move up, and what
    would be ``NAME.(keep + 1)`` is dropped: at most ``(keep + 1) · max_bytes`` are kept. A record
    that cannot be written is counted in `lost`, never raised: control goes on with a full disk.
    """

    def __init__(self, path: Path, *, max_bytes: int = 16 << 20, keep: int = 3) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._keep = keep
        self._file: TextIO | None = None
        self._size = 0
        self.lost = 0

    def __enter__(self) -> Self:
        """Open for appending; raises `OSError`."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def write(self, record: Mapping[str, Any]) -> None:
        """Append a record and hand it to the system: it survives the death of this process."""
        line = json.dumps(record, separators=(",", ":"), default=str) + "\n"
        try:
            if self._file is None or self._size + len(line) > self._max_bytes:
                self._rotate()
            if self._file is not None:
                self._file.write(line)
                self._file.flush()
                self._size += len(line)
        except OSError:
            self.lost += 1

    def _open(self) -> None:
        self._file = self.path.open("a", encoding="utf-8")
        self._size = self.path.stat().st_size
        if self._size and not _ends_with_newline(self.path):
            # The last writer died within a line; ours must not become its end.
            self._file.write("\n")
            self._size += 1

    def _rotate(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        if self.path.exists():
            for number in range(self._keep, 0, -1):
                older = rotated(self.path, number - 1)
                if older.exists():
                    older.replace(rotated(self.path, number))
            if self._keep == 0:
                self.path.unlink()
        self._open()


def rotated(path: Path, number: int) -> Path:
    """The ``number``-th older file; 0 is the one written now."""
    return path if number == 0 else path.with_name(f"{path.name}.{number}")


def read_log(path: Path) -> Iterator[dict[str, Any]]:
    """All records, oldest first, over the rotated files. Lines that are no record are passed over:
    a process killed while it wrote leaves half a line."""
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


def _ends_with_newline(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read(1) == b"\n"
