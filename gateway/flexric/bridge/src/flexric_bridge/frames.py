"""Frames between the supervisor and its child: a length and a body.

Commands and answers are JSON on one socket. Blocks of reports are in the SDK's own format on
another, so that no answer waits behind reports and reports are passed on unparsed.
"""

from __future__ import annotations

import asyncio
import base64
import json
import struct
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final

from flexric_bridge.sdk import BLOCK_HEAD, NO_MORE, E2Node, RanFunction, ReportRequest, SNssai

HEAD: Final = struct.Struct("<I")
"""u32 length of the body, bytes."""
MAX_COMMAND_BYTES: Final = 4 * 1024 * 1024
"""A RAN function definition has some kB, a node ten of them, a RIC some tens of nodes."""
MAX_REPORTS_BYTES: Final = 64 * 1024 * 1024


def pack(body: bytes) -> bytes:
    """A frame."""
    return HEAD.pack(len(body)) + body


def pack_json(value: Any) -> bytes:
    """A frame of JSON."""
    return pack(json.dumps(value, separators=(",", ":")).encode())


def text_of(data: bytes) -> str:
    """Bytes as text for JSON."""
    return base64.b64encode(data).decode("ascii")


def bytes_of(text: str) -> bytes:
    """The inverse of `text_of`."""
    return base64.b64decode(text, validate=True)


def node_to_json(node: E2Node) -> dict[str, Any]:
    """A node for JSON."""
    functions = [
        {**asdict(function), "definition": text_of(function.definition)}
        for function in node.functions
    ]
    return {**asdict(node), "functions": functions}


def node_from_json(value: dict[str, Any]) -> E2Node:
    """The inverse of `node_to_json`."""
    functions = tuple(
        RanFunction(item["id"], item["oid"], item["revision"], bytes_of(item["definition"]))
        for item in value["functions"]
    )
    return E2Node(**{**value, "functions": functions})


def request_to_json(request: ReportRequest) -> dict[str, Any]:
    """A subscription for JSON."""
    octets = {"trigger": text_of(request.trigger), "action": text_of(request.action)}
    return {**asdict(request), **octets}


def request_from_json(value: dict[str, Any]) -> ReportRequest:
    """The inverse of `request_to_json`, after JSON."""
    kpm_slice = value["kpm_slice"]
    return ReportRequest(
        **{
            **value,
            "kpm_measurements": tuple(value["kpm_measurements"]),
            "kpm_slice": None if kpm_slice is None else SNssai(**kpm_slice),
            "trigger": bytes_of(value["trigger"]),
            "action": bytes_of(value["action"]),
        }
    )


class BlockStream(asyncio.Protocol):
    """Splits the stream of reports into blocks."""

    def __init__(self, on_block: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._on_block = on_block
        self._on_end = on_end
        self._buffer = bytearray()

    def data_received(self, data: bytes) -> None:
        """More bytes of the stream."""
        buffer = self._buffer
        buffer += data
        at = 0
        while len(buffer) - at >= BLOCK_HEAD.size:
            (length,) = BLOCK_HEAD.unpack_from(buffer, at)
            if length > MAX_REPORTS_BYTES:
                raise ValueError(f"a block of {length} bytes; at most {MAX_REPORTS_BYTES} expected")
            end = at + BLOCK_HEAD.size + length
            if end > len(buffer):
                break
            if length == NO_MORE:
                self._on_end()
                break
            self._on_block(bytes(memoryview(buffer)[at + BLOCK_HEAD.size : end]))
            at = end
        del buffer[:at]
