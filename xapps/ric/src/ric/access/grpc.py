"""The access list at a gRPC server: the client of a call."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Final
from urllib.parse import unquote

import grpc
import grpc.aio

from ric.access.access import Access, Caller, Peer, Refusal
from ric.access.file import Right

Context = grpc.aio.ServicerContext[Any, Any]

_CODES: Final = {
    "unauthenticated": grpc.StatusCode.UNAUTHENTICATED,
    "right": grpc.StatusCode.PERMISSION_DENIED,
    "node": grpc.StatusCode.PERMISSION_DENIED,
}


Denial = tuple[grpc.StatusCode, str]


class GrpcCaller:
    """The client of a call: an `e2_gateway_server.Caller`."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self.sees = caller.sees
        self.audit = caller.audit
        self.audited = caller.audited
        self.account = caller.account
        """See `Caller.account`."""
        self.name = caller.name
        """See `Caller.name`."""
        self.address = caller.peer.address
        """Address of its connection."""

    def denial(self, right: str, node_id: str, what: str) -> Denial | None:
        """Status and detail of a refusal, counted and audited; `None` if it may."""
        refusal = self._caller.refusal(Right(right), node_id, what=what)
        return None if refusal is None else _denial(refusal)

    def watch(
        self, right: str, node_id: str, on_lost: Callable[[Denial], None]
    ) -> AbstractContextManager[None]:
        """Call `on_lost` when a reload of the access file takes the right."""
        return self._caller.watch(Right(right), node_id, lambda refusal: on_lost(_denial(refusal)))


def _denial(refusal: Refusal) -> Denial:
    return _CODES[refusal.reason], refusal.detail


def caller_of(access: Access, context: Context, server: str = "grpc") -> GrpcCaller:
    """The client of a call, who is behind the relay.

    Nobody else has a right: a call may outlast its client's connection.
    """
    token = None
    for key, value in context.invocation_metadata() or ():
        if key == "authorization" and isinstance(value, str):
            token = bearer_token(value)
    behind = access.peers.get(unquote(context.peer()))
    if behind is None:
        return GrpcCaller(access.caller(Peer(server, "", must_be_certified=True)))
    return GrpcCaller(access.caller(replace(behind, token=token)))


def bearer_token(header: str) -> str:
    """The token of an `authorization` header, whose scheme has no case (RFC 9110 §11.1).

    Empty, and so no client's, for another scheme.
    """
    scheme, _, token = header.strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
