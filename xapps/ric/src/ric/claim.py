"""The exclusive use of a file or folder by one process, which others are refused by its name."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import sys
import threading
import time
import weakref
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from ric.errors import RicError

_POLL_S: Final = 0.1
_MAX_HOLDER_BYTES: Final = 500
_HELD: Final = (errno.EACCES, errno.EAGAIN)
"""Errors of a lock that another process has (fcntl(2))."""


class AlreadyClaimed(RicError, ValueError):  # noqa: N818 - says what happened
    """Another process uses it: `path: is in use by program, process, machine, since when`."""


class Claim:
    """A lock on `.NAME.lock` beside a file or folder, with a line that names its holder.

    It ends with `release`, with the last reference to it, or with the process. A process has one
    claim of a path and gets the same when it asks again. The lock is one of POSIX, which NFS knows
    as well; where the file system has no locks, nobody is refused.
    """

    _guard: Final = threading.Lock()
    _mine: Final[weakref.WeakValueDictionary[Path, Claim]] = weakref.WeakValueDictionary()

    def __init__(self, path: Path, number: int) -> None:
        """Use `of`. `number` is the descriptor of the locked file."""
        self.path = path
        self.release = weakref.finalize(self, _release, _lock_file(path), number, os.getpid())
        """Ends the claim; may be called again."""

    @classmethod
    def of(cls, path: Path, *, wait_s: float = 0.0) -> Claim:
        """Claim a file or folder, which need not exist; waits `wait_s` for another process.

        Raises `AlreadyClaimed`, or `OSError` if the lock's file cannot be made.
        """
        path = Path(os.path.realpath(path))
        until_s = time.monotonic() + wait_s
        while True:
            with cls._guard:
                mine = cls._mine.get(path)
                if mine is not None and mine.release.alive:
                    return mine
                number, holder = _try_lock(_lock_file(path))
                if number is not None:
                    made = cls(path, number)
                    cls._mine[path] = made
                    return made
            if time.monotonic() >= until_s:
                raise AlreadyClaimed(
                    f"{path}: is in use by {holder}; expected one process at a time"
                )
            time.sleep(_POLL_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def _lock_file(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


def _try_lock(file: Path) -> tuple[int | None, str]:
    """The descriptor of the locked file, or None and its holder."""
    file.parent.mkdir(parents=True, exist_ok=True)
    while True:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        number = os.open(file, flags, 0o666)
        try:
            fcntl.lockf(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _HELD:
                holder = os.pread(number, _MAX_HOLDER_BYTES, 0).decode("utf-8", "replace").strip()
                os.close(number)
                return None, holder or "another process"
        if _is_in_place(file, number):
            break
        # Its holder has just released it, and so removed the file.
        os.close(number)
    since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    program = Path(sys.argv[0]).name or "python"
    line = f"{program}, process {os.getpid()} on {socket.gethostname()}, since {since}\n"
    # On a full disk the lock holds without a name.
    with contextlib.suppress(OSError):
        os.truncate(number, 0)
        os.pwrite(number, line.encode("utf-8", "replace"), 0)
    return number, ""


def _is_in_place(file: Path, number: int) -> bool:
    try:
        return os.path.samestat(file.stat(), os.fstat(number))
    except OSError:
        return False


def _release(file: Path, number: int, process: int) -> None:
    # A child that was forked has the descriptor and not the lock.
    if os.getpid() == process and _is_in_place(file, number):
        with contextlib.suppress(OSError):
            file.unlink()
    with contextlib.suppress(OSError):
        os.close(number)
