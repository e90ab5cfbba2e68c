"""Indications encoded by hand, and the queue they wait in."""

from __future__ import annotations

import asyncio

import pytest
from e2_gateway_server import Outbox
from e2_gateway_server.indication import (
    encode_event,
    encode_header,
    encode_kpm,
    encode_kpm_report,
    encode_numbers,
    encode_report,
    encode_source,
    encode_subscription_id,
    time_varint,
    varint,
)
from hypothesis import given
from hypothesis import strategies as st
from sojourn_interfaces import e2_gateway_pb2 as pb

U64 = st.integers(0, 2**64 - 1)


@given(
    *(st.binary(max_size=300), U64, U64, st.tuples(U64, U64, U64), st.binary(max_size=20)),
)
def test_the_parts_of_an_indication_are_its_protobuf_message(
    message: bytes, collected: int, received: int, of_reader: tuple[int, int, int], header: bytes
) -> None:
    sequence, dropped, coalesced = of_reader
    source = encode_source("n", 143, "1.2") + encode_header(header)
    report = encode_report(source, message, collected, received)
    expected = pb.Indication(
        node_id="n",
        ran_function_id=143,
        ran_function_oid="1.2",
        sequence=sequence,
        header=header,
        message=message,
        collected_at_us=collected,
        received_at_us=received,
        dropped=dropped,
        coalesced=coalesced,
    )
    numbers = encode_numbers(sequence, dropped, coalesced)
    assert pb.Indication.FromString(report + numbers) == expected
    event = encode_event(encode_subscription_id(sequence), "indication", report, numbers)
    (found,) = pb.SubscribeResponse.FromString(b"".join(event)).events
    assert (found.subscription_id, found.indication) == (sequence, expected)


def test_a_kpm_report_can_be_extended_for_one_reader() -> None:
    ue = pb.KpmUe(rnti=7, values={"DRB.UEThpDl": 2.5})
    report = encode_kpm_report(encode_source("n", 2, "1.3"), pb.KpmReport(ues=[ue]), 1, 2)
    lacking = encode_kpm(pb.KpmReport(unsupported=["A", "B"]))
    mine = pb.Indication.FromString(report + lacking + encode_numbers(0, 0, 0))
    assert list(mine.kpm.unsupported) == ["A", "B"]
    assert list(mine.kpm.ues) == [ue]
    assert (mine.collected_at_us, mine.received_at_us) == (1, 2)


@given(st.one_of(U64, st.integers(2**49 - 1, 2**56)))
def test_a_time_is_encoded_as_any_varint(value: int) -> None:
    assert time_varint(value) == varint(value)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (2**64 - 1, "ffffffffffffffffff01")],
)
def test_varints_are_those_of_protobuf(value: int, encoded: str) -> None:
    assert varint(value).hex() == encoded


async def test_an_outbox_drops_the_oldest_and_ends_after_what_is_queued() -> None:
    changes: list[None] = []
    outbox: Outbox[str] = Outbox(2, lambda: changes.append(None))
    for number, item in enumerate("abc"):
        outbox.put(item)
        assert outbox.dropped == max(0, number - 1)
    outbox.skip(5)
    outbox.end(ValueError("first"))
    outbox.end(ValueError("second"))
    assert len(changes) == 5
    assert (await outbox.get(), outbox.take(), outbox.take()) == ((1, "b"), (2, "c"), None)
    assert outbox.dropped == 6
    with pytest.raises(ValueError, match="first"):
        await outbox.get()
    assert str(await outbox.until_ended()) == "first"


async def test_an_outbox_wakes_who_waits_for_an_item_and_for_the_end() -> None:
    outbox: Outbox[str] = Outbox()
    item, end = asyncio.create_task(outbox.get()), asyncio.create_task(outbox.until_ended())
    await asyncio.sleep(0)
    outbox.put("a")
    outbox.put("b")
    assert await item == (0, "a")
    assert not end.done()
    outbox.end(ValueError("over"))
    assert str(await end) == "over"
    assert await outbox.get() == (1, "b")


def test_an_outbox_of_the_newest_keeps_10_ms_and_gives_back_what_it_held() -> None:
    room, now_s = Bytes(100), iter([ms / 1000 for ms in (*range(25), 1024)])
    outbox: Outbox[bytes] = Outbox(64, room=room, newest=True, now_s=lambda: next(now_s))
    for _ in range(10):
        outbox.put(b"a")
    assert (outbox.coalesced, room.free) == (0, 90), "no reader is late yet"
    for _ in range(15):
        outbox.put(b"b")
    taken = []
    while (item := outbox.take()) is not None:
        taken.append(item[0])
    assert taken == [20, 21, 22, 23, 24], "the second time all of 10 to 19"
    assert (outbox.coalesced, outbox.dropped, room.free) == (20, 0, 100)
    outbox.put(b"c")
    assert outbox.take() == (25, b"c"), "nothing waited"
    assert outbox.coalesced == 20


class Bytes:
    """Room for some bytes."""

    def __init__(self, most: int) -> None:
        self.free = float(most)

    def take(self, amount: float) -> bool:
        if amount > self.free:
            return False
        self.free -= amount
        return True

    def give(self, amount: float) -> None:
        self.free += amount


def test_an_outbox_without_room_loses_its_own_oldest_and_gives_back_what_it_held() -> None:
    room = Bytes(10)
    outbox: Outbox[bytes] = Outbox(0, room=room)
    for item in (b"aaaa", b"bbbb", b"cccccc"):
        outbox.put(item)
    assert (outbox.dropped, room.free) == (1, 0)
    outbox.put(b"d" * 11)
    assert (outbox.dropped, room.free) == (4, 10), "one that never fits is lost as well"
    outbox.put(b"e")
    assert outbox.take() == (4, b"e")
    assert room.free == 10
    outbox.put(b"ff")
    outbox.close()
    outbox.put(b"g")
    assert (outbox.take(), room.free) == (None, 10)
