"""The E2SM-TC service model: v0 (FlexRIC's plain layout) and v1 (aligned PER).

Values have the JSON shape of the service model: names in snake_case, units in the names, one key
for the alternative of a choice, ``None`` for what is absent. See ``spec/E2SM-TC-v1.md``.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from e2sm_tc import _native
from e2sm_tc._native import OID_V0, OID_V1, CodecError

__all__ = [
    "OID_V0",
    "OID_V1",
    "CodecError",
    "Encoding",
    "Kind",
    "decode",
    "encode",
]

Encoding: TypeAlias = Literal["v0", "v1"]
Kind: TypeAlias = Literal[
    "control",
    "control-header",
    "control-outcome",
    "event-trigger",
    "action-definition",
    "indication-header",
    "indication",
    "ran-function-definition",
    "pipeline",
]


def encode(kind: Kind, value: Mapping[str, Any] | str, encoding: Encoding = "v1") -> bytes:
    """Encode a message.

    A choice without parameters is its bare name: ``encode("event-trigger", "on_change")``.

    Raises:
        CodecError: the value does not have the shape of the message, or is out of range.
    """
    try:
        text = json.dumps(value)
    except TypeError as error:
        raise CodecError(f"value: {error}") from error
    return _native.encode(encoding, kind, text)


def decode(kind: Kind, data: bytes, encoding: Encoding = "v1") -> Any:
    """Decode a message: a ``dict``, or a ``str`` for a choice without parameters.

    Raises:
        CodecError: the bytes are no such message; says where and what was expected.
    """
    return json.loads(_native.decode(encoding, kind, bytes(data)))
