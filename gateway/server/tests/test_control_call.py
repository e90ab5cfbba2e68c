"""RIC controls over one call: each is answered independently of the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import grpc
import pytest
from e2_gateway_server import SERVICE, Backend, ProcedureError
from e2_gateway_server.control_call import MAX_PENDING, ControlCall
from ric.e2 import ControlAnswer
from ric.errors import ControlTimeout, GatewayProtocolError, GatewayUnavailable
from ric.gateway import GrpcLink
from ric.grpc_server import GrpcServer, GrpcServerSettings
from ric.security import Security
from ric.settings import GatewaySettings
from ric.sm import TC_V1_OID
from sojourn_interfaces import e2_gateway_pb2 as pb

PATIENCE_S = 10.0


class Gateway:
    """A gateway with controls only, which counts its calls and treats a control by its message."""

    def __init__(self) -> None:
        self.calls = 0
        self.begun: list[bytes] = []
        self.given_up: list[bytes] = []
        self.go_on = asyncio.Event()
        self.call: ControlCall | None = None
        self.garbage: bytes | None = None
        self.server = GrpcServer(
            SERVICE,
            {"Control": ("control", self.serve)},
            GrpcServerSettings(listen="127.0.0.1:0"),
            security=Security(),
        )
        self.port = self.server.port

    async def serve(self, requests: Any, call: Any) -> None:
        self.calls += 1

        async def write(message: bytes) -> None:
            await call.write(self.garbage or message)

        self.call = ControlCall(cast("Backend", self), requests, write)
        try:
            await self.call.run()
        except ProcedureError as error:
            call.abort(error.code, str(error))

    async def control(self, request: pb.ControlRequest) -> pb.ControlAnswer:
        message = request.message
        self.begun.append(message)
        if message.startswith(b"wait"):
            try:
                await self.go_on.wait()
            except asyncio.CancelledError:
                self.given_up.append(message)
                raise
        if message == b"gone":
            raise ProcedureError(grpc.StatusCode.UNAVAILABLE, "gone meanwhile")
        if message == b"bug":
            raise LookupError(message)
        return pb.ControlAnswer(status=pb.ControlAnswer.ACKNOWLEDGED, outcome=message)

    async def until_begun(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while len(self.begun) < count:
                await asyncio.sleep(0.001)


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    gateway = Gateway()
    await gateway.server.start()
    yield gateway
    gateway.go_on.set()
    await gateway.server.stop(0)


@pytest.fixture
async def link(gateway: Gateway, fast_gateway: GatewaySettings) -> AsyncIterator[GrpcLink]:
    address = f"127.0.0.1:{gateway.port}"
    link = GrpcLink(fast_gateway.model_copy(update={"address": address}))
    yield link
    await link.close()


def control(
    link: GrpcLink, message: bytes, timeout_s: float = PATIENCE_S
) -> asyncio.Task[ControlAnswer]:
    return asyncio.create_task(link.control("gnb-1", TC_V1_OID, b"", message, timeout_s))


async def test_each_control_is_answered_when_it_completes(gateway: Gateway, link: GrpcLink) -> None:
    slow = control(link, b"wait")
    await gateway.until_begun(1)
    messages = [b"%d" % number for number in range(3 * MAX_PENDING)]
    answers = await asyncio.gather(*(control(link, message) for message in messages))
    assert [answer.outcome for answer in answers] == messages
    assert not slow.done()
    gateway.go_on.set()
    assert (await slow).outcome == b"wait"
    assert gateway.begun == [b"wait", *messages]
    assert gateway.calls == 1


async def test_controls_beyond_the_limit_wait_in_the_connection(
    gateway: Gateway, link: GrpcLink
) -> None:
    messages = [b"wait %d" % number for number in range(2 * MAX_PENDING)]
    controls = [control(link, message) for message in messages]
    await gateway.until_begun(MAX_PENDING)
    await asyncio.sleep(0.05)
    assert len(gateway.begun) == MAX_PENDING
    gateway.go_on.set()
    assert [answer.outcome for answer in await asyncio.gather(*controls)] == messages


async def test_the_error_of_a_control_does_not_affect_the_others(
    gateway: Gateway, link: GrpcLink
) -> None:
    slow = control(link, b"wait")
    with pytest.raises(GatewayUnavailable, match="gone meanwhile"):
        await control(link, b"gone")
    with pytest.raises(GatewayProtocolError, match="UNKNOWN: the gateway failed"):
        await control(link, b"bug")
    gateway.go_on.set()
    assert (await slow).outcome == b"wait"
    assert gateway.calls == 1


async def test_a_caller_that_gives_up_does_not_affect_the_others(
    gateway: Gateway, link: GrpcLink
) -> None:
    hasty, cancelled = control(link, b"wait 1", 0.05), control(link, b"wait 2")
    await gateway.until_begun(2)
    cancelled.cancel()
    with pytest.raises(ControlTimeout):
        await hasty
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    assert (await control(link, b"patient")).outcome == b"patient"
    async with asyncio.timeout(PATIENCE_S):
        while gateway.given_up != [b"wait 1"]:
            await asyncio.sleep(0.001)
    # A late answer does not reach another control.
    gateway.go_on.set()
    assert (await control(link, b"last")).outcome == b"last"
    assert gateway.calls == 1


async def test_a_client_that_leaves_cancels_its_controls(gateway: Gateway, link: GrpcLink) -> None:
    pending = control(link, b"wait")
    await gateway.until_begun(1)
    await link.close()
    with pytest.raises(GatewayUnavailable):
        await pending
    async with asyncio.timeout(PATIENCE_S):
        while gateway.given_up != [b"wait"]:
            await asyncio.sleep(0.001)


async def test_a_gateway_that_stops_answers_pending_controls_and_accepts_no_more(
    gateway: Gateway, link: GrpcLink
) -> None:
    begun = control(link, b"wait")
    await gateway.until_begun(1)
    assert gateway.call is not None
    gateway.call.stop(ProcedureError(grpc.StatusCode.UNAVAILABLE, "the gateway stops"))
    late = control(link, b"late")
    gateway.go_on.set()
    assert (await begun).outcome == b"wait"
    with pytest.raises(GatewayUnavailable, match="the gateway stops"):
        await late
    assert b"late" not in gateway.begun
    assert (await control(link, b"another call")).acknowledged
    assert gateway.calls == 2


async def test_garbage_is_a_protocol_error(gateway: Gateway, link: GrpcLink) -> None:
    gateway.garbage = b"\xff\xff\xff"
    with pytest.raises(GatewayProtocolError):
        await control(link, b"x")
    gateway.garbage = None
    assert (await control(link, b"y")).outcome == b"y"


async def test_an_error_code_that_grpc_lacks_is_unknown(gateway: Gateway, link: GrpcLink) -> None:
    error = pb.ControlError(code=99, detail="new")
    gateway.garbage = pb.ControlResponse(request_id=1, error=error).SerializeToString()
    with pytest.raises(GatewayProtocolError, match="UNKNOWN: new"):
        await control(link, b"x")
