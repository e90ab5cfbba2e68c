"""A backend as one client may use it: bounds of identifiers, and what is logged seldom."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext

import grpc
import pytest
from e2_gateway_server import AuthorizedBackend, Outbox, ProcedureError
from e2_gateway_server.authorized import Refusal
from sojourn_interfaces import e2_gateway_pb2 as pb

LONG = "g" * 257


class OneNode:
    """A backend with the node gnb-1."""

    def __init__(self) -> None:
        self.reached: list[str] = []

    def nodes(self) -> list[pb.Node]:
        return [pb.Node(id="gnb-1")]

    async def watch_nodes(self) -> AsyncGenerator[pb.NodeEvent]:
        yield pb.NodeEvent()

    @asynccontextmanager
    async def subscribe(
        self, subscription: pb.Subscription, outbox: Outbox[bytes]
    ) -> AsyncGenerator[None]:
        self._reach(subscription.node_id)
        yield

    async def control(self, request: pb.ControlRequest) -> pb.ControlAnswer:
        self._reach(request.node_id)
        return pb.ControlAnswer(status=pb.ControlAnswer.ACKNOWLEDGED)

    def _reach(self, node_id: str) -> None:
        self.reached.append(node_id)
        if node_id != "gnb-1":
            raise ProcedureError(grpc.StatusCode.NOT_FOUND, f"no node {node_id!r}")


class Recorded:
    """A client with all rights; `lines` are outcomes, and whether they may be left out."""

    audited = True

    def __init__(self) -> None:
        self.lines: list[tuple[str, bool]] = []

    def sees(self, node_id: str) -> bool:
        return True

    def refusal(self, right: str, node_id: str, *, what: str) -> Refusal | None:
        return None

    def watch(
        self, right: str, node_id: str, on_lost: Callable[[Refusal], None]
    ) -> AbstractContextManager[None]:
        return nullcontext()

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
        self.lines.append((outcome, limited))


def asked(node_id: str, oid: str, caller: Recorded, backend: OneNode) -> list[ProcedureError]:
    """A control and a subscription; their errors."""

    async def ask() -> list[ProcedureError]:
        authorized, errors = AuthorizedBackend(backend, caller), []
        try:
            await authorized.control(pb.ControlRequest(node_id=node_id, ran_function_oid=oid))
        except ProcedureError as error:
            errors.append(error)
        subscription = pb.Subscription(node_id=node_id, ran_function_oid=oid)
        try:
            async with authorized.subscribe(subscription, Outbox(1)):
                pass
        except ProcedureError as error:
            errors.append(error)
        return errors

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("node_id", "oid", "place"),
    [
        (LONG, "1", "node_id: 257 bytes"),
        ("gnb-1", LONG, "ran_function_oid: 257 bytes"),
        ("gnb-1\x1b[2J", "1", "node_id: a control character"),
    ],
)
def test_long_or_unprintable_identifiers_go_nowhere(node_id: str, oid: str, place: str) -> None:
    caller, backend = Recorded(), OneNode()
    for error in asked(node_id, oid, caller, backend):
        assert error.code is grpc.StatusCode.INVALID_ARGUMENT
        assert str(error).startswith(f"{place}; expected at most 256 bytes")
    assert (backend.reached, caller.lines) == ([], [])


def test_what_reaches_no_node_may_be_left_out_of_the_log() -> None:
    caller = Recorded()
    assert len(asked("x", "1", caller, OneNode())) == 2
    assert caller.lines == [("rejected: no node 'x'", True)] * 2
    caller.lines.clear()
    assert asked("gnb-1", "1", caller, OneNode()) == []
    assert caller.lines == [("accepted", False)] * 2
