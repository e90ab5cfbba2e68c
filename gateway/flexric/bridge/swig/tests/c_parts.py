"""Structures of the SWIG module's C, and where it may read."""

from __future__ import annotations

import ctypes
import mmap


class Error(ctypes.Structure):
    """`fx_error_t`."""

    _fields_ = (("kind", ctypes.c_int), ("detail", ctypes.c_char * 256))


class RecordHead(ctypes.Structure):
    """`fx_record_head_t`."""

    _fields_ = (
        ("handle", ctypes.c_uint32),
        ("bytes", ctypes.c_uint32),
        ("collected_at_us", ctypes.c_uint64),
        ("received_at_us", ctypes.c_uint64),
        ("lost", ctypes.c_uint32),
    )


class Fence:
    """Bytes that end where the process may not read on: whoever does is ended on the spot."""

    ROOM = 16 * mmap.PAGESIZE

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, self.ROOM + mmap.PAGESIZE)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        libc = ctypes.CDLL(None, use_errno=True)
        forbidden = ctypes.c_void_p(self._address + self.ROOM)
        assert libc.mprotect(forbidden, mmap.PAGESIZE, 0) == 0

    def place(self, data: bytes) -> ctypes.c_void_p:
        """Address of `data`, whose last byte is the last before the fence."""
        assert len(data) <= self.ROOM
        start = self.ROOM - len(data)
        self._memory[start : self.ROOM] = data
        return ctypes.c_void_p(self._address + start)
