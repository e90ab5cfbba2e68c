"""Frames between the supervisor and its child: a length and a body.

Commands and answers are JSON on one socket. Blocks of reports are in the SDK's own format on
another, so that no answer waits behind reports and reports are passed on unparsed.
"""

from __future__ import annotations

import base64
import json
import struct
from typing import Any, Final

from flexric_bridge.sdk import E2Node, RanFunction

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
    return {
        "id": node.id,
        "type": node.type,
        "mcc": node.mcc,
        "mnc": node.mnc,
        "mnc_digits": node.mnc_digits,
        "nb_id": node.nb_id,
        "cu_du_id": node.cu_du_id,
        "functions": [
            {
                "id": function.id,
                "oid": function.oid,
                "revision": function.revision,
                "definition": text_of(function.definition),
            }
            for function in node.functions
        ],
    }


def node_from_json(value: dict[str, Any]) -> E2Node:
    """The inverse of `node_to_json`."""
    functions = tuple(
        RanFunction(item["id"], item["oid"], item["revision"], bytes_of(item["definition"]))
        for item in value["functions"]
    )
    return E2Node(**{**value, "functions": functions})
