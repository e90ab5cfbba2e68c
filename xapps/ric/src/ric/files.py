"""Reading files that a program was given: regular files only, at most a stated number of bytes."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from ric.errors import RicError

_CHUNK_BYTES: Final = 1 << 20
_KINDS: Final = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


class UnreadableFile(RicError, ValueError):  # noqa: N818 - says what happened
    """A file that cannot be read: `path: problem`, with `problem` naming what was expected.

    `missing` is true if there is no such file.
    """

    def __init__(self, path: Path, problem: str, *, missing: bool = False) -> None:
        super().__init__(f"{path}: {problem}")
        self.problem = problem
        self.missing = missing


def require_regular_or_absent(path: Path) -> None:
    """Raise `UnreadableFile` for what a program must not replace by a file: a directory, a device.

    Links are followed. What cannot be examined, as in a directory that may not be searched, passes.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return
    _require_regular(path, mode)


def _require_regular(path: Path, mode: int) -> None:
    kind = stat.S_IFMT(mode)
    if kind != stat.S_IFREG:
        found = _KINDS.get(kind, "no regular file")
        raise UnreadableFile(path, f"{found}; expected a regular file")


def read_file(path: Path, max_bytes: int) -> bytes:
    """The content of a regular file of at most `max_bytes`; raises `UnreadableFile`.

    The bound holds while reading, since a file may grow and those of /proc have the size 0.
    """
    try:
        # Without O_NONBLOCK opening a FIFO waits for a writer.
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError as error:
        problem = f"{error.strerror}; expected a readable file"
        raise UnreadableFile(path, problem, missing=True) from None
    except (OSError, ValueError) as error:
        # ValueError: a null byte in the name.
        detail = error.strerror if isinstance(error, OSError) else error
        raise UnreadableFile(path, f"{detail}; expected a readable file") from None
    content = bytearray()
    try:
        _require_regular(path, os.fstat(number).st_mode)
        while chunk := os.read(number, min(max_bytes + 1 - len(content), _CHUNK_BYTES)):
            content += chunk
    except OSError as error:
        raise UnreadableFile(path, f"{error.strerror}; expected a readable file") from None
    finally:
        os.close(number)
    if len(content) > max_bytes:
        raise UnreadableFile(path, f"larger than {max_bytes} bytes; expected at most that")
    return bytes(content)
