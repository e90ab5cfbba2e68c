"""An answer belongs to the request that waits, however early or late it comes."""

from __future__ import annotations

import ctypes
import shutil
import threading
from pathlib import Path

import pytest

UNANSWERED, ACKNOWLEDGED, FAILED, DISCONNECTED = range(4)
OUTCOME_BYTES = 6144
"""`SOJOURN_TC_OUTCOME_BYTES`."""


class Answer(ctypes.Structure):
    """`fx_answer_t`."""

    _fields_ = (
        ("kind", ctypes.c_int),
        ("cause", ctypes.c_char * 96),
        ("outcome", ctypes.c_uint8 * OUTCOME_BYTES),
        ("outcome_bytes", ctypes.c_size_t),
    )


class Exchange:
    """exchange.c: one per process, as FlexRIC is."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        self._library.fx_exchange_await.restype = ctypes.c_size_t
        self._library.fx_exchange_answer.restype = ctypes.c_bool
        self._library.fx_exchange_expects.restype = ctypes.c_bool
        self._library.fx_exchange_acknowledged_late.restype = ctypes.c_bool

    def expect(self, request: int) -> None:
        self._library.fx_exchange_expect(ctypes.c_uint32(request))

    @property
    def expects(self) -> bool:
        return bool(self._library.fx_exchange_expects())

    def answer(self, request: int, kind: int = ACKNOWLEDGED) -> bool:
        return bool(self._library.fx_exchange_answer(ctypes.c_uint32(request), Answer(kind)))

    def acknowledged_late(self, request: int) -> bool:
        return bool(self._library.fx_exchange_acknowledged_late(ctypes.c_uint32(request)))

    def outcome_of(self, outcome: bytes) -> bytes:
        """What an answer keeps of an outcome."""
        answer = Answer(ACKNOWLEDGED)
        self._library.fx_put_outcome(ctypes.byref(answer), outcome, ctypes.c_size_t(len(outcome)))
        return bytes(answer.outcome[: answer.outcome_bytes])

    def await_all_ms(self, timeout_ms: int) -> list[int]:
        answers = (Answer * 16)()
        count = self._library.fx_exchange_await(timeout_ms, answers)
        return [answer.kind for answer in answers[:count]]

    def await_ms(self, timeout_ms: int) -> int:
        (kind,) = self.await_all_ms(timeout_ms)
        return kind

    def disconnect(self) -> None:
        self._library.fx_exchange_disconnect()


@pytest.fixture
def exchange(library: ctypes.CDLL, tmp_path: Path) -> Exchange:
    """One that nobody has used: there is one per loaded library."""
    return Exchange(shutil.copy(library._name, str(tmp_path / "own.so")))


def test_an_answer_may_come_before_anyone_waits(exchange: Exchange) -> None:
    assert not exchange.expects
    exchange.expect(1)
    assert exchange.expects
    assert exchange.answer(1)
    assert exchange.expects
    assert exchange.await_ms(60_000) == ACKNOWLEDGED
    assert not exchange.expects


def test_an_answer_that_comes_too_late_is_for_nobody_else(exchange: Exchange) -> None:
    """What is for no request of this module is taken as the answer to another user's."""
    exchange.expect(1)
    assert exchange.await_ms(1) == UNANSWERED
    assert exchange.answer(1)
    exchange.expect(2)
    assert exchange.answer(1)
    assert exchange.answer(2, FAILED)
    assert exchange.await_ms(60_000) == FAILED
    assert not exchange.answer(3), "of another user"


def test_a_late_acknowledgement_is_known_once(exchange: Exchange) -> None:
    for request in (1, 2, 3):
        exchange.expect(request)
    assert exchange.await_all_ms(1) == [UNANSWERED] * 3
    exchange.answer(1)
    exchange.answer(2, FAILED)
    assert [exchange.acknowledged_late(request) for request in (1, 2, 3)] == [True, False, False]
    assert not exchange.acknowledged_late(1)


def test_the_longest_outcome_is_kept_and_a_longer_one_reported(
    exchange: Exchange, capfd: pytest.CaptureFixture[str]
) -> None:
    """255 characters of element and 1023 of detail in UTF-8, 4 bytes each."""
    longest = b"x" * (4 * (255 + 1023) + 100)
    assert exchange.outcome_of(longest) == longest
    assert exchange.outcome_of(b"x" * (OUTCOME_BYTES + 1)) == b""
    expected = f"an outcome of {OUTCOME_BYTES + 1} bytes; expected at most {OUTCOME_BYTES}"
    assert expected in capfd.readouterr().err


def test_an_answer_wakes_the_waiting_thread(exchange: Exchange) -> None:
    exchange.expect(5)
    threading.Timer(0.02, exchange.answer, (5,)).start()
    assert exchange.await_ms(60_000) == ACKNOWLEDGED


def test_when_the_association_ends_every_request_is_answered(exchange: Exchange) -> None:
    exchange.expect(5)
    threading.Timer(0.02, exchange.disconnect).start()
    assert exchange.await_ms(60_000) == DISCONNECTED
    exchange.expect(6)
    assert exchange.await_ms(60_000) == DISCONNECTED


def test_several_answers_are_awaited_together_and_distinguished(exchange: Exchange) -> None:
    for request in (7, 8, 9):
        exchange.expect(request)
    assert exchange.answer(9)
    threading.Timer(0.02, exchange.answer, (8, FAILED)).start()
    threading.Timer(0.04, exchange.answer, (7,)).start()
    assert exchange.await_all_ms(60_000) == [ACKNOWLEDGED, FAILED, ACKNOWLEDGED]
    assert not exchange.answer(8)
    assert exchange.await_all_ms(60_000) == []


def test_of_several_those_without_an_answer_are_known(exchange: Exchange) -> None:
    for request in (7, 8, 9):
        exchange.expect(request)
    exchange.answer(8)
    assert exchange.await_all_ms(1) == [UNANSWERED, ACKNOWLEDGED, UNANSWERED]
    exchange.expect(10)
    exchange.expect(11)
    exchange.answer(10)
    exchange.disconnect()
    assert exchange.await_all_ms(60_000) == [ACKNOWLEDGED, DISCONNECTED]
