"""A control that passes is one that a decoder of E2SM-TC v0 reads to its last byte."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

import e2sm_tc
import pytest
from c_parts import Error, Fence
from hypothesis import given, settings
from hypothesis import strategies as st

VECTORS = Path(__file__).parents[5] / "e2sm-tc-spec" / "vectors" / "v0.jsonl"
CONTROLS = {
    vector["name"]: bytes.fromhex(vector["hex"])
    for vector in map(json.loads, VECTORS.read_text().splitlines())
    if vector["kind"] == "control"
}
BAD_MESSAGE = 3


class Check:
    """`fx_tc_v0_check_control`: what it says of a message."""

    def __init__(self, library: ctypes.CDLL, fence: Fence) -> None:
        self._library = library
        self._fence = fence

    def __call__(self, message: bytes) -> str | None:
        error = Error()
        placed = self._fence.place(message)
        if self._library.fx_tc_v0_check_control(
            placed, ctypes.c_size_t(len(message)), ctypes.byref(error)
        ):
            return None
        assert error.kind == BAD_MESSAGE
        return str(error.detail.decode())


@pytest.fixture(scope="module")
def check(library: ctypes.CDLL, fence: Fence) -> Check:
    return Check(library, fence)


def decodes(message: bytes) -> bool:
    """What the project's codec, written independently, says of it."""
    try:
        e2sm_tc.decode("control", message, "v0")
    except e2sm_tc.CodecError:
        return False
    return True


@pytest.mark.parametrize("name", CONTROLS)
def test_every_vector_passes(check: Check, name: str) -> None:
    assert check(CONTROLS[name]) is None


@pytest.mark.parametrize("name", CONTROLS)
def test_truncated_and_extended_vectors_are_refused(check: Check, name: str) -> None:
    message = CONTROLS[name]
    for length in range(len(message)):
        assert check(message[:length]) is not None
    problem = check(message + b"\0")
    assert problem is not None
    assert f"ends at byte {len(message)}" in problem


@given(data=st.data())
@settings(max_examples=2000, deadline=None)
def test_it_accepts_what_the_codec_accepts_and_nothing_else(check: Check, data: Any) -> None:
    message = bytearray(data.draw(st.sampled_from(list(CONTROLS.values()))))
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(message) - 1))
        message[at] = data.draw(st.integers(0, 255))
    del message[data.draw(st.integers(0, 2 * len(message))) :]
    message += data.draw(st.binary(max_size=8))
    assert (check(bytes(message)) is None) == decodes(bytes(message))


@given(message=st.binary(max_size=200))
@settings(max_examples=1000, deadline=None)
def test_any_bytes_get_an_answer(check: Check, message: bytes) -> None:
    assert (check(message) is None) == decodes(message)


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("07000000", "ctrl at byte 0 is 7; expected 0 (CLS), 1 (PLC)"),
        ("0000000003000000", "act at byte 4 is 3; expected 0 (ADD), 1 (DEL) or 2 (MOD)"),
        ("000000000000000009000000", "CLS type at byte 8 is 9; expected 0 (RR), 1 (OSI)"),
        ("02000000000000000300000000000000", "QUEUE type at byte 8 is 3; expected 0 (FIFO)"),
        ("020000000000000001000000", "QUEUE target_ms, interval_ms begins at byte 12 and takes 8"),
        ("0300000002000000010000000300000001000000", "SCH queues begins at byte 16 and takes 12"),
        ("030000000200000001000000ffffffff", "SCH queues begins at byte 16 and takes 17179869180"),
    ],
)
def test_a_refusal_names_the_place_and_what_was_expected(
    check: Check, message: str, problem: str
) -> None:
    assert problem in (check(bytes.fromhex(message)) or "")


def test_a_message_longer_than_flexric_sends_is_refused(check: Check) -> None:
    queues = 600
    message = bytes.fromhex("030000000200000001000000") + queues.to_bytes(4, "little")
    message += bytes(4 * queues)
    assert decodes(message)
    assert check(message) == "the control message has 2416 bytes; expected at most 2048"


def test_a_header_is_four_bytes(library: ctypes.CDLL, fence: Fence) -> None:
    for length in range(8):
        error = Error()
        good = library.fx_tc_v0_check_header(
            fence.place(bytes(length)), ctypes.c_size_t(length), ctypes.byref(error)
        )
        assert good == (length == 4)
