"""Hand-overs come no more often than they may, in the long run."""

from __future__ import annotations

import ctypes
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
