"""Frames and header blocks as a listener reads them: examples of the RFCs, and any bytes."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ric.http2.frames import (
    MAX_CONTINUATIONS,
    MAX_HEADER_BYTES,
    PREFACE,
    FrameError,
    Piece,
    RequestFrames,
    ResponseFrames,
    goaway,
    refusal,
)
from ric.http2.header_sizes import HeaderError, HeaderSizes, huffman_length

DATA, HEADERS, RST_STREAM, SETTINGS, PING, CONTINUATION = 0, 1, 3, 4, 6, 9
END_STREAM, END_HEADERS, PADDED = 1, 4, 8
BIG = b"\x40\x03big\x7f\xa1\x1e" + b"v" * 4000
"""A field that fills the dynamic table."""


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + payload


def size_of(fields: list[tuple[str, str]]) -> int:
    return sum(len(name) + len(value) + 32 for name, value in fields)


@pytest.mark.parametrize(
    "blocks",
    [
        # RFC 7541 C.3, C.4: the same requests without and with Huffman coding.
        ["828684410f7777772e6578616d706c652e636f6d", "828684be58086e6f2d6361636865",
         "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565"],
        ["828684418cf1e3c2e5f23a6ba0ab90f4ff", "828684be5886a8eb10649cbf",
         "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf"],
    ],
    ids=["C.3", "C.4"],
)  # fmt: skip
def test_requests_of_the_rfc_have_the_sizes_of_their_fields(blocks: list[str]) -> None:
    first = [(":method", "GET"), (":scheme", "http"), (":path", "/")]
    host = (":authority", "www.example.com")
    second = [*first, host, ("cache-control", "no-cache")]
    third = [(":method", "GET"), (":scheme", "https"), (":path", "/index.html"), host]
    wanted = [[*first, host], second, [*third, ("custom-key", "custom-value")]]
    sizes = HeaderSizes()
    for block, fields in zip(blocks, wanted, strict=True):
        assert sizes.size(bytes.fromhex(block), 10_000) == size_of(fields)


def test_responses_of_the_rfc_evict_entries_of_a_small_table() -> None:
    """RFC 7541 C.6: Huffman coding, a table of 256 bytes."""
    date = "Mon, 21 Oct 2013 20:13:21 GMT"
    where = ("location", "https://www.example.com")
    sizes = HeaderSizes()
    first = (
        "3fe101488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad"
        "171863c78f0b97c8e9ae82ae43d3"
    )
    control = ("cache-control", "private")
    expected = size_of([(":status", "302"), control, ("date", date), where])
    assert sizes.size(bytes.fromhex(first), 10_000) == expected
    second = "4883640effc1c0bf"
    expected = size_of([(":status", "307"), control, ("date", date), where])
    assert sizes.size(bytes.fromhex(second), 10_000) == expected
    third = (
        "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335"
        "dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007"
    )
    cookie = "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"
    fields = [(":status", "200"), control, ("date", date), where, ("content-encoding", "gzip")]
    assert sizes.size(bytes.fromhex(third), 10_000) == size_of([*fields, ("set-cookie", cookie)])


def test_a_block_that_names_a_large_entry_again_and_again_is_as_large_as_what_it_means() -> None:
    sizes = HeaderSizes()
    assert sizes.size(BIG, MAX_HEADER_BYTES) == 3 + 4000 + 32
    assert sizes.size(b"\xbe" * 4, MAX_HEADER_BYTES) == 4 * 4035
    with pytest.raises(HeaderError, match="more than 16384 bytes of metadata"):
        sizes.size(b"\xbe" * 5, MAX_HEADER_BYTES)


@pytest.mark.parametrize(
    "block",
    ["80", "be", "ff80808080808001", "4003616263", "0003", "3fffff7f", "00ff", "7f"],
)
def test_a_block_that_cannot_be_read_is_refused(block: str) -> None:
    with pytest.raises(HeaderError):
        HeaderSizes().size(bytes.fromhex(block), MAX_HEADER_BYTES)


@given(st.binary(max_size=200))
def test_any_block_has_a_size_or_is_refused(block: bytes) -> None:
    with suppress(HeaderError):
        assert 0 <= HeaderSizes().size(block, MAX_HEADER_BYTES) <= MAX_HEADER_BYTES
    # Codes have 5 to 30 bits.
    assert len(block) * 8 // 30 - 1 <= huffman_length(block) <= len(block) * 8 // 5


REQUEST = b"".join(
    (
        PREFACE,
        frame(SETTINGS, 0, 0, b""),
        frame(HEADERS, 0, 1, bytes.fromhex("828684410f7777772e")),
        frame(CONTINUATION, 0, 1, bytes.fromhex("6578616d70")),
        frame(CONTINUATION, END_HEADERS, 1, bytes.fromhex("6c652e636f6d")),
        frame(DATA, END_STREAM, 1, bytes(20_000)),
        frame(HEADERS, END_HEADERS | PADDED | 0x20, 3, b"\x02" + bytes(5) + b"\x82\0\0"),
        frame(PING, 0, 0, bytes(8)),
        frame(RST_STREAM, 0, 3, bytes(4)),
    )
)


@given(st.lists(st.integers(0, len(REQUEST)), max_size=30))
def test_what_passes_does_not_depend_on_how_it_comes(cuts: list[int]) -> None:
    frames = RequestFrames()
    pieces: list[Piece] = []
    at = [0, *sorted(cuts), len(REQUEST)]
    for start, end in pairwise(at):
        pieces += frames.receive(REQUEST[start:end])
    assert b"".join(piece.data for piece in pieces) == REQUEST
    assert sum(piece.frames for piece in pieces) == 8
    blocks = [piece for piece in pieces if piece.opens]
    assert [(block.opens, block.header_bytes) for block in blocks] == [(1, 180), (3, 42)]
    assert [block.block_bytes for block in blocks] == [20, 1]
    assert [stream for piece in pieces for stream in piece.resets] == [3]


@given(st.lists(st.binary(max_size=60), max_size=8), st.booleans())
def test_any_bytes_pass_or_are_refused(chunks: list[bytes], begun: bool) -> None:
    frames = RequestFrames()
    passed = b""
    with suppress(FrameError):
        for chunk in ([PREFACE] if begun else []) + chunks:
            passed += b"".join(piece.data for piece in frames.receive(chunk))
    assert ((PREFACE if begun else b"") + b"".join(chunks)).startswith(passed)


@pytest.mark.parametrize(
    ("frames", "why"),
    [
        (b"GET / HTTP/1.1\r\n\r\n       ", "no HTTP/2 preface"),
        (frame(HEADERS, 0, 1, b"") + frame(PING, 0, 0, bytes(8)), "within a header block"),
        (frame(HEADERS, 0, 1, b"") + frame(CONTINUATION, 4, 3, b""), "within a header block"),
        (frame(CONTINUATION, END_HEADERS, 1, b"\x82"), "a frame of type 9"),
        (frame(5, END_HEADERS, 1, bytes(4)), "a frame of type 5"),
        (frame(PING, 0, 0, bytes(16_385)), "a frame of 16385 bytes"),
        (frame(HEADERS, END_HEADERS | PADDED, 1, b"\x05\x82"), "more padding than frame"),
        (frame(HEADERS, END_HEADERS | PADDED, 1, b""), "a padded frame without padding"),
        (frame(HEADERS, 0, 1, b"") + frame(CONTINUATION, 0, 1, b"") * (MAX_CONTINUATIONS + 1),
         "more than 16 continuations"),
        (frame(HEADERS, 0, 1, bytes(16_000)) + frame(CONTINUATION, 0, 1, bytes(400)),
         "more than 16384 bytes of metadata"),
        (frame(HEADERS, END_HEADERS, 1, BIG) + frame(HEADERS, END_HEADERS, 3, b"\xbe" * 5),
         "more than 16384 bytes of metadata"),
    ],
)  # fmt: skip
def test_what_no_client_may_send_is_refused(frames: bytes, why: str) -> None:
    data = frames if frames.startswith(b"GET") else PREFACE + frames
    with pytest.raises(FrameError, match=why):
        list(RequestFrames().receive(data))


ANSWERS = b"".join(
    (
        frame(SETTINGS, 0, 0, b""),
        frame(HEADERS, END_HEADERS, 1, b"\x88"),
        frame(DATA, 0, 1, bytes(3000)),
        frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\x88"),
        frame(RST_STREAM, 0, 3, bytes(4)),
        refusal(5, 8, "too much"),
        goaway(7, 11, "calm"),
    )
)


@given(st.lists(st.integers(0, len(ANSWERS)), max_size=30))
def test_the_ends_of_calls_are_seen_however_answers_come(cuts: list[int]) -> None:
    frames = ResponseFrames()
    ended: list[int] = []
    at = [0, *sorted(cuts), len(ANSWERS)]
    for start, end in pairwise(at):
        ended += frames.receive(ANSWERS[start:end])
    assert ended == [1, 3, 5]
    assert frames.between


@given(st.lists(st.binary(max_size=60), max_size=8))
def test_any_answers_are_read(chunks: list[bytes]) -> None:
    frames = ResponseFrames()
    for chunk in chunks:
        assert all(stream >= 0 for stream in frames.receive(chunk))
