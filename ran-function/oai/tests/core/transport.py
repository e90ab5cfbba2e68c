"""The association with the gNB: SCTP as the preload for machines without it carries it over TCP.

A message travels as its length, payload protocol identifier and stream, then its bytes
(`gateway/flexric/bridge/preload`).
"""

from __future__ import annotations

import asyncio
import struct
from typing import Final

from core import CoreError

HEAD: Final = struct.Struct("<IIHxx")
LONGEST_BYTES: Final = 65536
NGAP_PPID: Final = 60 << 24
"""Payload protocol identifier of NGAP in network order (38.412 §7)."""


class Association:
    """Messages from and to one gNB."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Messages go over a connection that was accepted."""
        self._reader, self._writer = reader, writer

    async def receive(self) -> tuple[int, bytes] | None:
        """Stream and bytes of the next message; `None` when the gNB has left.

        Raises:
            CoreError: The message is longer than NGAP's are.
        """
        try:
            length, _, stream = HEAD.unpack(await self._reader.readexactly(HEAD.size))
            if length > LONGEST_BYTES:
                raise CoreError(f"a message of {length} bytes; expected up to {LONGEST_BYTES}")
            return stream, await self._reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    def send(self, stream: int, message: bytes) -> None:
        """Sends a message."""
        self._writer.write(HEAD.pack(len(message), NGAP_PPID, stream) + message)
