"""Files and folders that are replaced as a whole: a reader sees the old one or the whole new one.

The new one is made beside the old one under a name of its own, written to the disk and renamed. Its
writer holds a lock on it until then: the next writer sees by it what a killed one has left, and
removes that.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final

_NEW: Final = "new"
_OLD: Final = "old"
"""Ending of a folder between the two renames of :func:`_put_by_two_renames`."""
_LEFT: Final = r"\.{name}\.[0-9a-f]{{16}}\.{ending}"

_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_AT_FDCWD: Final = -100
_RENAME_EXCHANGE: Final = 2
"""Flag ``RENAME_EXCHANGE`` of ``linux/fs.h``; see renameat2(2)."""
_NO_EXCHANGE: Final = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)
"""Errors where the system or the file system, such as NFS, exchanges no folders."""


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which replaces `path` if the block ends without an exception.

    It is on the disk when the block has ended. Raises `OSError`; also for a `path` that is no
    regular file, such as `/dev/stdout`, which would be gone.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "is no regular file; expected one, or none", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_left(path)
    made = _name(path, _NEW)
    while True:
        number = os.open(made, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        if _lock(number):
            break
        os.close(number)
    try:
        with os.fdopen(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(number)
            made.replace(path)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
    _sync(path.parent)


def replace_file(path: Path, data: bytes) -> None:
    """Replaces a file, as :func:`replacing`. Raises `OSError`."""
    with replacing(path) as file:
        file.write(data)


def replace_directory(
    directory: Path, files: Mapping[str, bytes], names: Collection[str] = ()
) -> None:
    """Replaces a folder by one that has these files.

    A kill at any time leaves the old folder or the new one. Where the file system exchanges no
    folders (NFS), it may leave none; the next call, or :func:`restore_directory`, puts the old one
    back. A link to a folder stays a link.

    Args:
        directory: The folder; need not exist.
        files: Name → content.
        names: Names of further files that are removed; those of any other are kept.

    Raises:
        OSError: It cannot be written, is a mount point, or has a folder in it.
    """
    directory = Path(os.path.realpath(directory))
    directory.parent.mkdir(parents=True, exist_ok=True)
    restore_directory(directory)
    _remove_left(directory)
    kept = _others(directory, {*files, *names})
    made = _name(directory, _NEW)
    while True:
        made.mkdir()
        # Until it is locked, another writer may take it for left and remove it.
        with contextlib.suppress(FileNotFoundError):
            number = os.open(made, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            if _lock(number):
                break
            os.close(number)
    try:
        for name, data in files.items():
            _write(made / name, data)
        for path in kept:
            os.link(path, made / path.name, follow_symlinks=False)
        with contextlib.suppress(FileNotFoundError):
            made.chmod(directory.stat().st_mode & 0o7777)
        os.fsync(number)
        _put(made, directory)
        _sync(directory.parent)
    finally:
        os.close(number)
        # Of a failure the new folder, else the old one.
        shutil.rmtree(made, ignore_errors=True)


def remove_directory(directory: Path) -> None:
    """Removes a folder; a kill leaves all of it or nothing under its name. Raises `OSError`."""
    left = _name(directory, _NEW)
    directory.rename(left)
    shutil.rmtree(left)


def restore_directory(directory: Path) -> None:
    """Puts back a folder that a writer killed between two renames has moved aside."""
    directory = Path(os.path.realpath(directory))
    for aside in _left(directory, _OLD):
        if not directory.exists():
            aside.rename(directory)
        else:
            shutil.rmtree(aside, ignore_errors=True)


def _name(path: Path, ending: str) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.{ending}")


def _left(path: Path, ending: str) -> list[Path]:
    pattern = re.compile(_LEFT.format(name=re.escape(path.name), ending=ending))
    with contextlib.suppress(FileNotFoundError):
        return [one for one in path.parent.iterdir() if pattern.fullmatch(one.name)]
    return []


def _lock(number: int) -> bool:
    """Locks what was just made; False if another writer has removed it."""
    # A file system without locks: what a killed writer leaves stays.
    with contextlib.suppress(OSError):
        fcntl.flock(number, fcntl.LOCK_EX)
    return os.fstat(number).st_nlink > 0


def _remove_left(path: Path) -> None:
    """Removes what killed writers of `path` have left: nobody has a lock on it."""
    for left in _left(path, _NEW):
        try:
            number = os.open(left, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)
        except OSError:
            continue
        finally:
            os.close(number)


def _others(directory: Path, names: Collection[str]) -> list[Path]:
    """Files of a folder that stay. Raises `OSError` if there is a folder among them."""
    if not directory.exists():
        return []
    found = [path for path in directory.iterdir() if path.name not in names]
    for path in found:
        if path.is_dir() and not path.is_symlink():
            raise IsADirectoryError(
                errno.EISDIR, f"has the folder {path.name}; expected files alone", str(directory)
            )
    # Parts that killed writers have left within the folder.
    return [path for path in found if not re.fullmatch(r"\..*\.(part|new)", path.name)]


def _write(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(directory: Path) -> None:
    number = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _put(made: Path, directory: Path) -> None:
    while True:
        try:
            if directory.exists():
                _exchange(made, directory)
            else:
                made.rename(directory)
        except OSError as error:
            # Another writer was faster.
            if error.errno in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST) and made.exists():
                continue
            if error.errno in (errno.EBUSY, errno.EXDEV):
                problem = "is a mount point, which nothing can replace; expected a folder within it"
                raise OSError(error.errno, problem, str(directory)) from None
            if error.errno not in _NO_EXCHANGE:
                raise
            _put_by_two_renames(made, directory)
        return


def _exchange(one: Path, other: Path) -> None:
    """Exchanges two folders in one step (renameat2 of Linux). Raises `OSError`."""
    call = getattr(_LIBC, "renameat2", None)
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), str(other))
    if call(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(other))


def _put_by_two_renames(made: Path, directory: Path) -> None:
    aside = _name(directory, _OLD)
    directory.rename(aside)
    made.rename(directory)
    shutil.rmtree(aside, ignore_errors=True)
