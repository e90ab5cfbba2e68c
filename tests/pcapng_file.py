"""Reads pcapng captures for tests (draft-ietf-opsawg-pcapng): sections in little-endian order."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

Options = dict[int, bytes]


@dataclass(frozen=True, slots=True)
class Packet:
    """An Enhanced Packet Block."""

    interface: int
    time_ns: int
    data: bytes
    options: Options

    @property
    def direction(self) -> int:
        """1 inbound, 2 outbound."""
        return int.from_bytes(self.options[2], "little") & 3

    @property
    def comment(self) -> str:
        """Its comment; empty without one."""
        return self.options.get(1, b"").decode()


@dataclass(slots=True)
class Capture:
    """One section."""

    section: Options = field(default_factory=dict)
    interfaces: list[tuple[int, Options]] = field(default_factory=list)
    """Link type and options of each."""
    packets: list[Packet] = field(default_factory=list)
    statistics: dict[int, Options] = field(default_factory=dict)

    def names(self) -> list[str]:
        """Names of the interfaces."""
        return [options[2].decode() for _, options in self.interfaces]

    def of(self, name: str) -> list[Packet]:
        """The packets of an interface."""
        number = self.names().index(name)
        return [packet for packet in self.packets if packet.interface == number]


def read(path: Path) -> Capture:
    """A capture; asserts that every block is as long as it says, twice."""
    capture = Capture()
    for kind, body in _blocks(path.read_bytes()):
        match kind:
            case 0x0A0D0D0A:
                assert struct.unpack_from("<IHH", body) == (0x1A2B3C4D, 1, 0)
                capture.section = _options(body[16:])
            case 1:
                (link_type,) = struct.unpack_from("<H", body)
                capture.interfaces.append((link_type, _options(body[8:])))
            case 6:
                number, high, low, length, original = struct.unpack_from("<IIIII", body)
                assert length == original
                options = _options(body[20 + (length + 3) // 4 * 4 :])
                data = body[20 : 20 + length]
                capture.packets.append(Packet(number, high << 32 | low, data, options))
            case 5:
                (number,) = struct.unpack_from("<I", body)
                capture.statistics[number] = _options(body[12:])
            case _:
                raise AssertionError(f"block of type {kind}")
    return capture


def _blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert length % 4 == 0
        assert struct.unpack_from("<I", data, at + length - 4) == (length,)
        yield kind, data[at + 8 : at + length - 4]
        at += length


def _options(data: bytes) -> Options:
    found: Options = {}
    at = 0
    while at < len(data):
        code, length = struct.unpack_from("<HH", data, at)
        if code == 0:
            assert at + 4 == len(data)
            break
        found[code] = data[at + 4 : at + 4 + length]
        at += 4 + (length + 3) // 4 * 4
    return found
