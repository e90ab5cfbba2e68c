"""A backend as one client may use it: its nodes and rights alone, with an audit log."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractContextManager, aclosing, asynccontextmanager
from typing import Final, Protocol

import grpc
from sojourn_interfaces import check_identifiers
from sojourn_interfaces import e2_gateway_pb2 as pb

from e2_gateway_server.backend import Backend, ProcedureError
from e2_gateway_server.outbox import Outbox

_NO_NODE: Final = frozenset(
    {
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
    }
)
"""Codes of procedures that reached no node."""


class Refusal(Protocol):
    """Why a client is refused."""

    @property
    def code(self) -> grpc.StatusCode:
        """Status for the client."""
        ...

    @property
    def detail(self) -> str:
        """What the client reads."""
        ...


class Caller(Protocol):
    """The client of a call and what it may do."""

    @property
    def audited(self) -> bool:
        """Whether what it does is logged."""
        ...

    def sees(self, node_id: str) -> bool:
        """Whether a node is listed for it."""
        ...

    def refusal(self, right: str, node_id: str, *, what: str) -> Refusal | None:
        """Why it may not `subscribe` or `control` at a node; `None` if it may.

        `what` is what it asked for, for the audit log.
        """
        ...

    def watch(
        self, right: str, node_id: str, on_lost: Callable[[Refusal], None]
    ) -> AbstractContextManager[None]:
        """Call `on_lost` if it loses the right."""
        ...

    def audit(
        self,
        action: str,
        outcome: str,
        *,
        node: str,
        ran_function: str,
        what: str,
        limited: bool = False,
    ) -> None:
        """Log what it did; `limited` for what had no effect, which may be left out."""
        ...


def describe(request: pb.ControlRequest) -> str:
    """A control for the audit log, without its service model: the start of its SHA-256."""
    return f"sha256 {hashlib.sha256(request.message).hexdigest()[:16]}"


class AuthorizedBackend:
    """A `Backend` in front of another, for one client."""

    def __init__(
        self,
        backend: Backend,
        caller: Caller,
        describe_control: Callable[[pb.ControlRequest], str] = describe,
    ) -> None:
        self._backend = backend
        self._caller = caller
        self._describe = describe_control

    def nodes(self) -> list[pb.Node]:
        """See `Backend.nodes`."""
        return [node for node in self._backend.nodes() if self._caller.sees(node.id)]

    async def watch_nodes(self) -> AsyncGenerator[pb.NodeEvent]:
        """See `Backend.watch_nodes`."""
        async with aclosing(self._backend.watch_nodes()) as events:
            async for event in events:
                if self._caller.sees(event.node.id):
                    yield event

    @asynccontextmanager
    async def subscribe(
        self, subscription: pb.Subscription, outbox: Outbox[bytes]
    ) -> AsyncGenerator[None]:
        """See `Backend.subscribe`; ends when the client loses the right."""
        node, oid = subscription.node_id, subscription.ran_function_oid
        _check_identifiers(node, oid)
        _raise_if(self._caller.refusal("subscribe", node, what=oid))

        def end(refusal: Refusal) -> None:
            outbox.end(ProcedureError(refusal.code, refusal.detail))

        def audit(outcome: str, *, limited: bool = False) -> None:
            self._caller.audit(
                "subscribe", outcome, node=node, ran_function=oid, what="reports", limited=limited
            )

        try:
            async with self._backend.subscribe(subscription, outbox):
                audit("accepted")
                with self._caller.watch("subscribe", node, end):
                    yield
        except ProcedureError as error:
            audit(f"rejected: {error}", limited=error.code in _NO_NODE)
            raise

    async def control(self, request: pb.ControlRequest) -> pb.ControlAnswer:
        """See `Backend.control`."""
        node, oid = request.node_id, request.ran_function_oid
        _check_identifiers(node, oid)
        what = self._describe(request) if self._caller.audited else ""
        _raise_if(self._caller.refusal("control", node, what=what))
        outcome, limited = "rejected: no answer", False
        try:
            answer = await self._backend.control(request)
            accepted = answer.status == pb.ControlAnswer.ACKNOWLEDGED
            outcome = "accepted" if accepted else f"rejected: {answer.detail}"
        except ProcedureError as error:
            outcome, limited = f"rejected: {error}", error.code in _NO_NODE
            raise
        finally:
            self._caller.audit(
                "control", outcome, node=node, ran_function=oid, what=what, limited=limited
            )
        return answer


def _check_identifiers(node_id: str, ran_function_oid: str) -> None:
    """Before anything is done with them: a pattern of nodes takes time by their length."""
    try:
        check_identifiers(node_id=node_id, ran_function_oid=ran_function_oid)
    except ValueError as error:
        raise ProcedureError(grpc.StatusCode.INVALID_ARGUMENT, str(error)) from None


def _raise_if(refusal: Refusal | None) -> None:
    if refusal is not None:
        raise ProcedureError(refusal.code, refusal.detail)
