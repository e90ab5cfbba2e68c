"""gRPC's status, of a procedure that shares its call with others."""

from __future__ import annotations

from typing import Final

import grpc
import grpc.aio

_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}


def code_of(number: int) -> grpc.StatusCode:
    """The status code with a number; `UNKNOWN` for one of a newer gateway."""
    return _CODES.get(number, grpc.StatusCode.UNKNOWN)


def rpc_error(code: grpc.StatusCode, details: str) -> grpc.aio.AioRpcError:
    """What a call that ends so raises."""
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(), details)
