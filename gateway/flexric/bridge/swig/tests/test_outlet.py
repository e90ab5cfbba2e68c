"""Reports leave in blocks, whole and in order, however slowly they are read."""

from __future__ import annotations

import ctypes
import itertools
import socket
import threading
from collections.abc import Iterator

import pytest
from flexric_bridge.sdk import BLOCK_HEAD, NO_MORE
from hypothesis import given
from hypothesis import strategies as st
from test_ring import Record, Ring, records_of

OUTLET_BYTES = 64  # more than sizeof(fx_outlet_t)
RING_BYTES = 8 << 20


class Outlet:
    """`fx_outlet_t` and what is at both its ends."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self.ring = Ring(library, RING_BYTES)
        self.reader, self._writer = socket.socketpair()
        self._outlet = ctypes.create_string_buffer(OUTLET_BYTES)
        assert library.fx_outlet_open(self._outlet, self._writer.fileno(), self.ring.at)

    def hand_over(self) -> None:
        self._library.fx_outlet_hand_over(self._outlet)

    def finish(self) -> None:
        self._library.fx_outlet_finish(self._outlet)

    @property
    def waits(self) -> bool:
        return bool(self._library.fx_outlet_waits(self._outlet))

    def close(self) -> None:
        self.reader.close()
        self._writer.close()
        self._library.fx_outlet_free(self._outlet)
        self.ring.free()


@pytest.fixture
def outlet(library: ctypes.CDLL) -> Iterator[Outlet]:
    made = Outlet(library)
    yield made
    made.close()


def exactly(source: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        more = source.recv(length - len(data))
        assert more, "ended too early"
        data += more
    return data


def next_block(source: socket.socket) -> list[Record] | None:
    """`None` when there are no more."""
    (length,) = BLOCK_HEAD.unpack(exactly(source, BLOCK_HEAD.size))
    return None if length == NO_MORE else records_of(exactly(source, length))


def test_queued_reports_leave_as_one_block(outlet: Outlet) -> None:
    assert not outlet.waits
    outlet.ring.push(1, b"first")
    outlet.ring.push(2, b"second")
    assert outlet.waits
    outlet.hand_over()
    assert not outlet.waits
    assert next_block(outlet.reader) == [Record(1, 0, b"first"), Record(2, 0, b"second")]
    outlet.hand_over()
    outlet.reader.setblocking(False)
    with pytest.raises(BlockingIOError):
        outlet.reader.recv(1)


def test_a_reader_that_does_not_read_blocks_nobody(outlet: Outlet) -> None:
    count, size = 3_000, 2_000  # 6 MB: more than a socket takes and than a block has
    for number in range(count):
        outlet.ring.push(number, bytes(size))
    outlet.hand_over()
    outlet.hand_over()
    assert outlet.waits
    numbers: list[int] = []

    def read() -> None:
        while (block := next_block(outlet.reader)) is not None:
            assert sum(28 + len(record.message) for record in block) <= 1 << 20
            numbers.extend(record.handle for record in block)

    reading = threading.Thread(target=read)
    reading.start()
    while outlet.waits:
        outlet.hand_over()
    outlet.finish()
    reading.join(30)
    assert numbers == list(range(count))


def test_the_end_follows_all_queued_reports(outlet: Outlet) -> None:
    outlet.ring.push(1, b"last")
    outlet.finish()
    assert next_block(outlet.reader) == [Record(1, 0, b"last")]
    assert next_block(outlet.reader) is None


def test_without_a_reader_reports_stay_queued(outlet: Outlet) -> None:
    outlet.reader.close()
    outlet.ring.push(1, b"x")
    outlet.hand_over()
    assert outlet.waits
    outlet.finish()
    assert outlet.waits


# -------------------------------------------------------------------------- rate of blocks


AT_ONCE = 4
SECOND_NS = 1_000_000_000


class Spacing(ctypes.Structure):
    """`fx_spacing_t`."""

    _fields_ = (("between_ns", ctypes.c_int64), ("next_ns", ctypes.c_int64))


class Taken:
    """Takes a hand-over whenever one is due."""

    def __init__(self, library: ctypes.CDLL, per_s: float) -> None:
        self._library = library
        self._spacing = Spacing()
        library.fx_spacing_open(ctypes.byref(self._spacing), ctypes.c_double(per_s))

    def at(self, now_ns: int) -> bool:
        """Whether one was due."""
        due = now_ns >= self._spacing.next_ns
        if due:
            self._library.fx_spacing_take(ctypes.byref(self._spacing), ctypes.c_int64(now_ns))
        return due

    @property
    def next_ns(self) -> int:
        return int(self._spacing.next_ns)


def test_bursts_are_limited(library: ctypes.CDLL) -> None:
    taken, now_ns = Taken(library, 1_000), 50 * SECOND_NS
    assert [taken.at(now_ns) for _ in range(AT_ONCE + 1)] == [True] * AT_ONCE + [False]
    assert taken.next_ns == now_ns + SECOND_NS // 1_000
    now_ns += 3_600 * SECOND_NS
    assert [taken.at(now_ns) for _ in range(AT_ONCE + 1)] == [True] * AT_ONCE + [False]


def test_the_long_run_rate_is_reached(library: ctypes.CDLL) -> None:
    taken = Taken(library, 1_500)
    begun = sum(taken.at(50 * SECOND_NS + us * 1_000) for us in range(0, 1_000_000, 20))
    assert begun == pytest.approx(1_500, abs=AT_ONCE)


@given(
    per_s=st.floats(100, 100_000),
    waits_us=st.lists(st.integers(0, 30_000), min_size=1, max_size=200),
)
def test_never_more_than_the_rate_allows(
    library: ctypes.CDLL, per_s: float, waits_us: list[int]
) -> None:
    taken, between_ns = Taken(library, per_s), int(1e9 / per_s)
    times = [SECOND_NS + us * 1_000 for us in itertools.accumulate(waits_us)]
    passed = [now_ns for now_ns in times if taken.at(now_ns)]
    for first, begun_ns in enumerate(passed):
        for count, now_ns in enumerate(passed[first:], 1):
            assert count <= AT_ONCE + (now_ns - begun_ns) / between_ns
