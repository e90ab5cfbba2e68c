"""Reports wait in order; when there is no room the oldest go and are counted."""

from __future__ import annotations

import ctypes
import struct
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
        self.at = ctypes.create_string_buffer(RING_BYTES)
        assert library.fx_ring_open(self.at, ctypes.c_size_t(capacity))

    def push(self, handle: int, message: bytes, collected_at_us: int = 1) -> None:
        head = RecordHead(handle, len(message), collected_at_us, 2, 0)
        self._library.fx_ring_push(self.at, head, message)

    def take(self, room: int = 1 << 20) -> bytes:
        out = ctypes.create_string_buffer(room)
        moved = self._library.fx_ring_take(self.at, out, ctypes.c_size_t(room))
        return out.raw[:moved]

    def forget(self, handle: int) -> None:
        self._library.fx_ring_forget(self.at, ctypes.c_uint32(handle))

    @property
    def empty(self) -> bool:
        return bool(self._library.fx_ring_is_empty(self.at))

    def free(self) -> None:
        self._library.fx_ring_free(self.at)


@pytest.fixture
def ring(library: ctypes.CDLL) -> Iterator[Ring]:
    made = Ring(library, 200)
    yield made
    made.free()


def test_a_record_has_the_documented_layout(ring: Ring) -> None:
    ring.push(7, b"abc", collected_at_us=5)
    assert ring.take() == RECORD_HEAD.pack(7, 3, 5, 2, 0) + b"abc"


def test_unread_reports_are_dropped_oldest_first_and_counted(ring: Ring) -> None:
    for number in range(10):  # 32 bytes each: six fit
        ring.push(1 + number % 2, bytes([number] * 4))
    assert records_of(ring.take()) == [
        Record(1, 2, bytes([4] * 4)),
        Record(2, 2, bytes([5] * 4)),
        *(Record(1 + n % 2, 0, bytes([n] * 4)) for n in range(6, 10)),
    ]
    ring.push(1, b"next")
    assert records_of(ring.take()) == [Record(1, 0, b"next")]


def test_a_report_larger_than_the_ring_is_lost_and_counted(ring: Ring) -> None:
    ring.push(3, bytes(300))
    ring.push(3, b"x")
    assert records_of(ring.take()) == [Record(3, 1, b"x")]


def test_only_whole_records_are_copied(ring: Ring) -> None:
    for number in range(3):
        ring.push(1, bytes([number] * 4))
    assert [r.message[0] for r in records_of(ring.take(room=95))] == [0, 1]
    assert [r.message[0] for r in records_of(ring.take(room=95))] == [2]


def test_an_ended_subscription_leaves_no_count(ring: Ring) -> None:
    ring.push(3, bytes(300))
    ring.forget(3)
    ring.push(3, b"x")
    assert records_of(ring.take()) == [Record(3, 0, b"x")]


def test_a_ring_knows_whether_it_is_empty(ring: Ring) -> None:
    assert ring.empty
    ring.push(1, b"x")
    assert not ring.empty
    ring.take()
    assert ring.empty


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
def test_every_report_is_taken_once_or_counted_as_lost(
    library: ctypes.CDLL, capacity: int, steps: list[tuple[int, int] | int]
) -> None:
    ring = Ring(library, capacity)
    pushed: list[tuple[int, bytes]] = []
    taken: list[Record] = []
    for step in steps:
        if isinstance(step, int):
            taken += records_of(ring.take(room=step))
        else:
            handle, length = step
            message = bytes([len(pushed) % 256] * length)
            pushed.append((handle, message))
            ring.push(handle, message)
    taken += records_of(ring.take())
    for handle in range(1, 6):  # one more each reports the last losses
        ring.push(handle, b"")
        taken += records_of(ring.take())
        pushed.append((handle, b""))
    ring.free()

    remaining = iter(pushed)
    assert all((r.handle, r.message) in remaining for r in taken), "out of order"
    reported = Counter[int]()
    for record in taken:
        reported[record.handle] += 1 + record.lost
    assert reported == Counter(handle for handle, _ in pushed)


# ---------------------------------------------------------------------- time of collection


KPM, MAC, RLC, TC = 2, 142, 143, 146
NOW_US = 1_795_000_000_000_000


def collected_at_us(library: ctypes.CDLL, ran_function: int, message: bytes) -> int:
    return int(library.fx_collected_at_us(ran_function, message, ctypes.c_size_t(len(message))))


@pytest.mark.parametrize(("ran_function", "element"), [(RLC, 152), (MAC, 176)])
def test_rlc_and_mac_end_with_their_time(
    library: ctypes.CDLL, ran_function: int, element: int
) -> None:
    message = struct.pack(f"<I{3 * element}xq", 3, NOW_US)
    assert collected_at_us(library, ran_function, message) == NOW_US


def test_other_messages_have_no_time(library: ctypes.CDLL) -> None:
    good = struct.pack("<I152xq", 1, NOW_US)
    for bad in (b"", good[:-1], good + b"\0", struct.pack("<I152xq", 2, NOW_US), bytes(11)):
        assert collected_at_us(library, RLC, bad) == 0
    assert collected_at_us(library, TC, struct.pack("<Iq", 0, -1)) == 0


@given(age_us=st.integers(-(2**31) + 1, 2**31 - 1))
def test_kpm_has_the_low_half_of_its_time(library: ctypes.CDLL, age_us: int) -> None:
    collected = NOW_US - age_us
    widened = library.fx_widen_us(ctypes.c_uint32(collected % 2**32), ctypes.c_uint64(NOW_US))
    assert widened == collected
