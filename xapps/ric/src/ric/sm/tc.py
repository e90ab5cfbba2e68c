"""E2SM-TC through the `e2sm_tc` codec, which is loaded at the first use.

Values are the JSON shapes of the E2SM-TC document as `dict`s: snake_case names, units in the
names. `kind` names the information element: "event_trigger", "control", "indication", ….
"""

from __future__ import annotations

import functools
import importlib
from typing import Any, Final, Literal, Protocol, cast

from ric.errors import ServiceModelError, ServiceModelUnavailable
from ric.sm.oids import TC_V0_OID, TC_V1_OID

Encoding = Literal["v0", "v1"]

V0_OID: Final = TC_V0_OID
V1_OID: Final = TC_V1_OID


class _Codec(Protocol):
    CodecError: type[Exception]

    def encode(self, kind: str, value: Any, encoding: str = ...) -> bytes: ...

    def decode(self, kind: str, data: bytes, encoding: str = ...) -> Any: ...


@functools.cache
def _codec() -> _Codec:
    try:
        return cast(_Codec, importlib.import_module("e2sm_tc"))
    except ImportError as error:
        raise ServiceModelUnavailable("tc", "e2sm_tc") from error


def available() -> bool:
    """Whether the codec is installed."""
    try:
        _codec()
    except ServiceModelUnavailable:
        return False
    return True


def encode(kind: str, value: Any, encoding: Encoding = "v1") -> bytes:
    """The bytes of an information element.

    Raises `ServiceModelError` for a value the encoding cannot carry (the place is the element),
    `ServiceModelUnavailable` without the codec.
    """
    codec = _codec()
    try:
        return codec.encode(kind, value, encoding)
    except codec.CodecError as error:
        raise _as_service_model_error(kind, encoding, error) from error


def decode(kind: str, data: bytes, encoding: Encoding = "v1") -> dict[str, Any]:
    """The information element in `data`; raises as `encode` does."""
    codec = _codec()
    try:
        return cast(dict[str, Any], codec.decode(kind, data, encoding))
    except codec.CodecError as error:
        raise _as_service_model_error(kind, encoding, error) from error


def _as_service_model_error(kind: str, encoding: str, error: Exception) -> ServiceModelError:
    return ServiceModelError("tc", kind, str(error), f"an element of E2SM-TC {encoding}")
