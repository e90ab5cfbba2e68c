"""The audit log: who did what to which node, and with which outcome; JSON lines."""

from __future__ import annotations

import errno
import json
import os
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import structlog
from sojourn_interfaces import MAX_IDENTIFIER_BYTES

from ric.clock import Clock
from ric.errors import SettingsError

_REFUSAL_PERIOD_US: Final = 1_000_000
_MAX_LIMITED: Final = 256
_log = structlog.get_logger("audit")


@dataclass(slots=True)
class _Limited:
    """Refusals of one client since its last line."""

    written_at_us: int
    left_out: int = 0


class AuditLog:
    """Appends to a file, or to the program's log without one.

    With neither a file nor an access file only refusals are logged. Refusals and attempts that
    reached no node are limited to one line a second and client; the next line counts those left
    out.
    """

    def __init__(self, path: Path | None, clock: Clock, *, access_file: bool = False) -> None:
        """`access_file`: whether there is one.

        Raises `SettingsError` for a file that cannot be appended to.
        """
        self._path = path
        self.enabled = path is not None or access_file
        """Whether more than refusals is logged."""
        self._clock = clock
        self._limited: OrderedDict[str, _Limited] = OrderedDict()
        self.failures = 0
        """Lines that went to the program's log because the file could not be written."""
        self._failed = False
        self._unfinished = False
        self._file = -1
        if path is not None:
            try:
                self._file = self._open(path)
            except OSError as error:
                raise SettingsError(
                    [f"access.audit_file: {path}: {error.strerror}; expected a writable file"]
                ) from None

    def write(
        self,
        *,
        who: str,
        action: str,
        outcome: str,
        peer: str = "",
        node: str = "",
        ran_function: str = "",
        what: str = "",
        left_out: int = 0,
    ) -> None:
        """Append a line without its empty fields, long ones cut.

        A failure to write is logged, and the line goes to the log.
        """
        if not self.enabled and action != "refused":
            return
        given: dict[str, str | int] = {
            "who": who, "peer": peer, "action": action, "node": node,
            "ran_function": ran_function, "what": what, "outcome": outcome, "left_out": left_out,
        }  # fmt: skip
        fields = {
            name: _field(value) if isinstance(value, str) else value
            for name, value in given.items()
            if value
        }
        if self._path is None:
            _log.info("audit", **fields)
            return
        at = datetime.fromtimestamp(self._clock.now_us() / 1e6, UTC)
        line = json.dumps({"at": at.isoformat(timespec="microseconds")[:-6] + "Z", **fields})
        try:
            self._reopen_if_moved(self._path)
            # One write with O_APPEND: lines of several processes do not mix.
            self._append(line.encode("utf-8", "backslashreplace") + b"\n")
            self._failed = False
        except OSError as error:
            self.failures += 1
            if not self._failed:
                _log.error("audit log not written", file=str(self._path), error=error.strerror)
            self._failed = True
            _log.info("audit", **fields)

    def refused(self, *, who: str, reason: str, peer: str, node: str = "", what: str = "") -> None:
        """A refusal of a client."""
        self.attempted(
            who=who, action="refused", outcome=f"refused: {reason}", peer=peer, node=node, what=what
        )

    def attempted(
        self,
        *,
        who: str,
        action: str,
        outcome: str,
        peer: str = "",
        node: str = "",
        ran_function: str = "",
        what: str = "",
    ) -> None:
        """What a client tried in vain, within the limit."""
        now_us = self._clock.now_us()
        limited = self._limited.get(who)
        if limited is not None and 0 <= now_us - limited.written_at_us < _REFUSAL_PERIOD_US:
            limited.left_out += 1
            return
        left_out = limited.left_out if limited is not None else 0
        self._limited[who] = _Limited(now_us)
        self._limited.move_to_end(who)
        if len(self._limited) > _MAX_LIMITED:
            self._limited.popitem(last=False)
        self.write(
            who=who, peer=peer, action=action, node=node, ran_function=ran_function, what=what,
            outcome=outcome, left_out=left_out,
        )  # fmt: skip

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _append(self, line: bytes) -> None:
        data = b"\n" + line if self._unfinished else line
        written = os.write(self._file, data)
        if written < len(data):
            # A full disk. The line's beginning stays: others may append to the file.
            self._unfinished = True
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._unfinished = False

    def _reopen_if_moved(self, path: Path) -> None:
        """Rotation by renaming: further lines go to a new file of that name."""
        try:
            there = path.stat()
            here = os.fstat(self._file)
            if (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino):
                return
        except FileNotFoundError:
            pass
        file = self._open(path)
        self.close()
        self._file = file

    @staticmethod
    def _open(path: Path) -> int:
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)


def _field(text: str) -> str:
    """`text` within the bound; the last character of a longer one is an ellipsis."""
    cut = MAX_IDENTIFIER_BYTES
    return text if len(text) <= cut else f"{text[: cut - 1]}…"
