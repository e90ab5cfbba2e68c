"""Reports wait in order; when there is no room the oldest go and are counted."""

from __future__ import annotations

import ctypes
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from c_parts import RecordHead
from flexric_bridge.sdk import RECORD_HEAD
from hypothesis import given, settings
from hypothesis import strategies as st

RING_BYTES = 1 << 16  # more than sizeof(fx_ring_t)


@dataclass(frozen=True)
class Record:
    handle: int
    lost: int
    message: bytes


def records_of(block: bytes) -> list[Record]:
    found = []
    while block:
        handle, length, _, _, lost = RECORD_HEAD.unpack_from(block)
        message = block[RECORD_HEAD.size : RECORD_HEAD.size + length]
        assert len(message) == length
        found.append(Record(handle, lost, message))
        block = block[RECORD_HEAD.size + length :]
    return found


class Ring:
    """`fx_ring_t`."""

    def __init__(self, library: ctypes.CDLL, capacity: int) -> None:
        self._library = library
        self._ring = ctypes.create_string_buffer(RING_BYTES)
        assert library.fx_ring_open(self._ring, ctypes.c_size_t(capacity))

    def push(self, handle: int, message: bytes, collected_at_us: int = 1) -> None:
        head = RecordHead(handle, len(message), collected_at_us, 2, 0)
        self._library.fx_ring_push(self._ring, head, message)

    def poll(self, timeout_ms: int = 0, room: int = 1 << 20) -> bytes:
        out = ctypes.create_string_buffer(room)
        moved = self._library.fx_ring_poll(self._ring, out, ctypes.c_size_t(room), timeout_ms)
        return out.raw[:moved]

    def forget(self, handle: int) -> None:
        self._library.fx_ring_forget(self._ring, ctypes.c_uint32(handle))

    def close(self) -> None:
        self._library.fx_ring_close(self._ring)

    @property
    def ended(self) -> bool:
        return bool(self._library.fx_ring_ended(self._ring))

    def free(self) -> None:
        self._library.fx_ring_free(self._ring)


@pytest.fixture
def ring(library: ctypes.CDLL) -> Iterator[Ring]:
    made = Ring(library, 200)
    yield made
    made.free()


def test_a_record_is_laid_out_as_the_door_says(ring: Ring) -> None:
    ring.push(7, b"abc", collected_at_us=5)
    assert ring.poll() == RECORD_HEAD.pack(7, 3, 5, 2, 0) + b"abc"


def test_what_nobody_polls_is_dropped_oldest_first_and_counted(ring: Ring) -> None:
    for number in range(10):  # 32 bytes each: six fit
        ring.push(1 + number % 2, bytes([number] * 4))
    assert records_of(ring.poll()) == [
        Record(1, 2, bytes([4] * 4)),
        Record(2, 2, bytes([5] * 4)),
        *(Record(1 + n % 2, 0, bytes([n] * 4)) for n in range(6, 10)),
    ]
    ring.push(1, b"next")
    assert records_of(ring.poll()) == [Record(1, 0, b"next")]


def test_a_report_larger_than_the_ring_is_lost_and_counted(ring: Ring) -> None:
    ring.push(3, bytes(300))
    ring.push(3, b"x")
    assert records_of(ring.poll()) == [Record(3, 1, b"x")]


def test_whole_records_go_into_the_room_there_is(ring: Ring) -> None:
    for number in range(3):
        ring.push(1, bytes([number] * 4))
    assert [r.message[0] for r in records_of(ring.poll(room=95))] == [0, 1]
    assert [r.message[0] for r in records_of(ring.poll(room=95))] == [2]


def test_a_subscription_that_ended_leaves_no_count_behind(ring: Ring) -> None:
    ring.push(3, bytes(300))
    ring.forget(3)
    ring.push(3, b"x")
    assert records_of(ring.poll()) == [Record(3, 0, b"x")]


def test_the_end_wakes_whoever_polls_and_comes_after_the_last_report(ring: Ring) -> None:
    ring.push(1, b"x")
    ring.close()
    assert not ring.ended
    assert len(records_of(ring.poll(timeout_ms=60_000))) == 1
    assert ring.ended
    assert ring.poll(timeout_ms=60_000) == b""


def test_a_poll_that_waits_is_woken_by_a_report(ring: Ring) -> None:
    got: list[bytes] = []
    waiting = threading.Thread(target=lambda: got.append(ring.poll(timeout_ms=60_000)))
    waiting.start()
    ring.push(1, b"x")
    waiting.join(30)
    assert [r.message for r in records_of(got[0])] == [b"x"]


@given(
    capacity=st.integers(40, 300),
    steps=st.lists(
        st.one_of(
            st.tuples(st.integers(1, 5), st.integers(0, 90)), st.integers(28, 200).map(lambda n: n)
        ),
        max_size=80,
    ),
)
@settings(max_examples=300, deadline=None)
def test_every_report_is_polled_once_or_counted_as_lost(
    library: ctypes.CDLL, capacity: int, steps: list[tuple[int, int] | int]
) -> None:
    ring = Ring(library, capacity)
    pushed: list[tuple[int, bytes]] = []
    polled: list[Record] = []
    for step in steps:
        if isinstance(step, int):
            polled += records_of(ring.poll(room=step))
        else:
            handle, length = step
            message = bytes([len(pushed) % 256] * length)
            pushed.append((handle, message))
            ring.push(handle, message)
    polled += records_of(ring.poll())
    for handle in range(1, 6):  # one more each, so that what was lost last is told
        ring.push(handle, b"")
        polled += records_of(ring.poll())
        pushed.append((handle, b""))
    ring.free()

    remaining = iter(pushed)
    assert all((r.handle, r.message) in remaining for r in polled), "out of order"
    told = Counter[int]()
    for record in polled:
        told[record.handle] += 1 + record.lost
    assert told == Counter(handle for handle, _ in pushed)
