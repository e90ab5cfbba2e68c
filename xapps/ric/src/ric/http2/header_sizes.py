"""Sizes of header blocks (RFC 7541), without their contents.

A block of a few bytes may name a large entry of the dynamic table many times, so the size of what a
block means is known only to who follows that table.
"""

from __future__ import annotations

from collections import deque
from typing import Final

TABLE_BYTES: Final = 4096
"""Size of the dynamic table, unless a server's SETTINGS give another (RFC 9113 §6.5.2)."""
ENTRY_BYTES: Final = 32
"""Counted for each field beside its name and value (RFC 7541 §4.1)."""

_STATIC: Final = tuple(
    (len(name), len(value))
    for name, _, value in (
        field.partition("|")
        for field in [
            ":authority",
            ":method|GET",
            ":method|POST",
            ":path|/",
            ":path|/index.html",
            ":scheme|http",
            ":scheme|https",
            ":status|200",
            ":status|204",
            ":status|206",
            ":status|304",
            ":status|400",
            ":status|404",
            ":status|500",
            "accept-charset",
            "accept-encoding|gzip, deflate",
            "accept-language",
            "accept-ranges",
            "accept",
            "access-control-allow-origin",
            "age",
            "allow",
            "authorization",
            "cache-control",
            "content-disposition",
            "content-encoding",
            "content-language",
            "content-length",
            "content-location",
            "content-range",
            "content-type",
            "cookie",
            "date",
            "etag",
            "expect",
            "expires",
            "from",
            "host",
            "if-match",
            "if-modified-since",
            "if-none-match",
            "if-range",
            "if-unmodified-since",
            "last-modified",
            "link",
            "location",
            "max-forwards",
            "proxy-authenticate",
            "proxy-authorization",
            "range",
            "referer",
            "refresh",
            "retry-after",
            "server",
            "set-cookie",
            "strict-transport-security",
            "transfer-encoding",
            "user-agent",
            "vary",
            "via",
            "www-authenticate",
        ]
    )
)
"""Lengths of names and values of the static table (RFC 7541 Appendix A)."""

_CODES: Final = {
    5: 10, 6: 26, 7: 32, 8: 6, 10: 5, 11: 3, 12: 2, 13: 6, 14: 2, 15: 3, 19: 3, 20: 8, 21: 13,
    22: 26, 23: 29, 24: 12, 25: 4, 26: 15, 27: 19, 28: 29, 30: 4,
}  # fmt: skip
"""Symbols by the bits of their code (RFC 7541 Appendix B). The code is canonical, so these numbers
say where each symbol ends."""
_LONGEST: Final = max(_CODES)
_MAX_INTEGER_BYTES: Final = 4


class HeaderError(ValueError):
    """A header block that cannot be read, or that is larger than it may be."""


def _code_ends() -> tuple[tuple[int, int], ...]:
    """Bits of a code, and the first value of `_LONGEST` bits that does not begin with one."""
    end, found = 0, []
    for bits, symbols in _CODES.items():
        end += symbols << (_LONGEST - bits)
        found.append((end, bits))
    return tuple(found)


_ENDS: Final = _code_ends()


def _bits_of(value: int) -> int:
    return next(bits for end, bits in _ENDS if value < end)


_SHORT: Final = tuple(_bits_of(byte << (_LONGEST - 8)) for byte in range(0xFE))
"""Bits of the code that begins with a byte. Those of 8 bits or less are 0xfd and below."""


def huffman_length(text: bytes | memoryview) -> int:
    """Number of octets that a string with Huffman coding stands for (RFC 7541 §5.2)."""
    symbols = window = filled = 0
    for byte in text:
        window = (window << 8 | byte) & 0xFFFF_FFFF_FFFF
        filled += 8
        while filled >= 8:
            head = window >> (filled - 8) & 0xFF
            if head < 0xFE:
                bits = _SHORT[head]
            elif filled < _LONGEST:
                break
            else:
                bits = _bits_of(window >> (filled - _LONGEST) & ((1 << _LONGEST) - 1))
            filled -= bits
            symbols += 1
    # What is left holds codes, and fewer than 8 ones as padding.
    while filled:
        rest = (window & ((1 << filled) - 1)) << (_LONGEST - filled)
        rest |= (1 << (_LONGEST - filled)) - 1
        bits = _bits_of(rest)
        if bits > filled:
            break
        filled -= bits
        symbols += 1
    return symbols


class HeaderSizes:
    """The dynamic table of one connection, as the lengths of its entries."""

    def __init__(self) -> None:
        self._entries: deque[tuple[int, int]] = deque()
        self._used = 0
        self._most = TABLE_BYTES

    def size(self, block: bytes | bytearray, most: int) -> int:
        """Size of the fields of a block as SETTINGS_MAX_HEADER_LIST_SIZE counts it, bytes.

        Raises `HeaderError` if it is larger than `most` or no header block; the connection cannot
        be read any further then.
        """
        total = at = 0
        data = memoryview(block)
        while at < len(data):
            first = data[at]
            if first & 0xE0 == 0x20:
                most_table, at = self._integer(data, at, 5)
                if most_table > TABLE_BYTES:
                    raise HeaderError(f"a table of {most_table} bytes; expected {TABLE_BYTES}")
                self._most = most_table
                self._evict(0)
                continue
            if first & 0x80:
                index, at = self._integer(data, at, 7)
                name, value = self._entry(index)
            else:
                index, at = self._integer(data, at, 6 if first & 0x40 else 4)
                if index:
                    name = self._entry(index)[0]
                else:
                    name, at = self._string(data, at)
                value, at = self._string(data, at)
                if first & 0x40:
                    self._add(name, value)
            total += name + value + ENTRY_BYTES
            if total > most:
                raise HeaderError(f"more than {most} bytes of metadata")
        return total

    def _entry(self, index: int) -> tuple[int, int]:
        if 0 < index <= len(_STATIC):
            return _STATIC[index - 1]
        if len(_STATIC) < index <= len(_STATIC) + len(self._entries):
            return self._entries[index - len(_STATIC) - 1]
        raise HeaderError(f"a field of index {index}, which no table has")

    def _add(self, name: int, value: int) -> None:
        size = name + value + ENTRY_BYTES
        self._evict(size)
        if size <= self._most:
            self._entries.appendleft((name, value))
            self._used += size

    def _evict(self, room: int) -> None:
        while self._entries and self._used + room > self._most:
            name, value = self._entries.pop()
            self._used -= name + value + ENTRY_BYTES

    @staticmethod
    def _integer(data: memoryview, at: int, prefix: int) -> tuple[int, int]:
        """An integer (RFC 7541 §5.1) and where it ends."""
        full = (1 << prefix) - 1
        value = data[at] & full
        at += 1
        if value < full:
            return value, at
        for shift in range(0, 7 * _MAX_INTEGER_BYTES, 7):
            if at == len(data):
                break
            byte = data[at]
            at += 1
            value += (byte & 0x7F) << shift
            if not byte & 0x80:
                return value, at
        raise HeaderError("an integer without an end")

    def _string(self, data: memoryview, at: int) -> tuple[int, int]:
        """Length of a string (RFC 7541 §5.2), decoded, and where it ends."""
        if at == len(data):
            raise HeaderError("a field without its value")
        coded = data[at] & 0x80
        length, at = self._integer(data, at, 7)
        if at + length > len(data):
            raise HeaderError("a string longer than its block")
        end = at + length
        return (huffman_length(data[at:end]) if coded else length), end
