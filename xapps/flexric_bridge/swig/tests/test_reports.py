"""When a report was taken, by what the node wrote into it."""

from __future__ import annotations

import ctypes
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
