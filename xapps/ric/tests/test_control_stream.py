"""RIC controls over one call: each is answered independently of the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest
from ric.e2 import ControlAnswer
from ric.errors import (
    ControlTimeout,
    GatewayProtocolError,
    GatewayUnavailable,
)
from ric.gateway import GrpcLink
from ric.gateway.control_door import MOST_AT_ONCE, ControlDoor, NoAnswer
from ric.settings import GatewaySettings
from ric.sm import TC_V1_OID
from sojourn_interfaces import e2_gateway_pb2 as pb

SERVICE = "sojourn.e2.v1.E2Gateway"
PATIENCE_S = 10.0


class Gateway:
    """A gateway with controls only, which counts its calls and treats a control by its message."""

    def __init__(self) -> None:
        self.calls = 0
        self.begun: list[bytes] = []
        self.given_up: list[bytes] = []
        self.go_on = asyncio.Event()
        self.door = ControlDoor(self.carry_out)
        self.garbage: bytes | None = None
        control = grpc.stream_stream_rpc_method_handler(
            self.stream, pb.ControlRequest.FromString, self.serialized
        )
        self.server = grpc.aio.server()
        self.server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(SERVICE, {"Control": control}),)
        )
        self.port = self.server.add_insecure_port("127.0.0.1:0")

    async def stream(self, requests: Any, context: Any) -> None:
        self.calls += 1
        await self.door.stream(requests, context)

    def serialized(self, response: pb.ControlResponse) -> bytes:
        return self.garbage or response.SerializeToString()

    async def carry_out(self, request: pb.ControlRequest) -> pb.ControlAnswer:
        message = request.message
        self.begun.append(message)
        if message.startswith(b"wait"):
            try:
                await self.go_on.wait()
            except asyncio.CancelledError:
                self.given_up.append(message)
                raise
        if message == b"gone":
            raise NoAnswer(grpc.StatusCode.UNAVAILABLE, "gone on the way")
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
    await gateway.server.stop(None)


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


async def test_each_control_has_its_own_answer_as_soon_as_it_is_done(
    gateway: Gateway, link: GrpcLink
) -> None:
    slow = control(link, b"wait")
    await gateway.until_begun(1)
    messages = [b"%d" % number for number in range(3 * MOST_AT_ONCE)]
    answers = await asyncio.gather(*(control(link, message) for message in messages))
    assert [answer.outcome for answer in answers] == messages
    assert not slow.done()
    gateway.go_on.set()
    assert (await slow).outcome == b"wait"
    assert gateway.begun == [b"wait", *messages]
    assert gateway.calls == 1


async def test_more_than_may_be_under_way_wait_in_the_connection(
    gateway: Gateway, link: GrpcLink
) -> None:
    messages = [b"wait %d" % number for number in range(2 * MOST_AT_ONCE)]
    controls = [control(link, message) for message in messages]
    await gateway.until_begun(MOST_AT_ONCE)
    await asyncio.sleep(0.05)
    assert len(gateway.begun) == MOST_AT_ONCE
    gateway.go_on.set()
    assert [answer.outcome for answer in await asyncio.gather(*controls)] == messages


async def test_what_one_ends_with_is_not_the_end_of_the_others(
    gateway: Gateway, link: GrpcLink
) -> None:
    slow = control(link, b"wait")
    with pytest.raises(GatewayUnavailable, match="gone on the way"):
        await control(link, b"gone")
    with pytest.raises(GatewayProtocolError, match="UNKNOWN: the gateway failed"):
        await control(link, b"bug")
    gateway.go_on.set()
    assert (await slow).outcome == b"wait"
    assert gateway.calls == 1


async def test_a_caller_that_gives_up_takes_no_other_with_it(
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
    # The answer to one that nobody waits for any more is nobody else's.
    gateway.go_on.set()
    assert (await control(link, b"last")).outcome == b"last"
    assert gateway.calls == 1


async def test_a_client_that_leaves_gives_up_its_controls(gateway: Gateway, link: GrpcLink) -> None:
    pending = control(link, b"wait")
    await gateway.until_begun(1)
    await link.close()
    with pytest.raises(GatewayUnavailable):
        await pending
    async with asyncio.timeout(PATIENCE_S):
        while gateway.given_up != [b"wait"]:
            await asyncio.sleep(0.001)


async def test_a_gateway_that_stops_answers_what_it_began_and_takes_no_more(
    gateway: Gateway, link: GrpcLink
) -> None:
    begun = control(link, b"wait")
    await gateway.until_begun(1)
    gateway.door.end("the gateway stops")
    late = control(link, b"late")
    gateway.go_on.set()
    assert (await begun).outcome == b"wait"
    with pytest.raises(GatewayUnavailable, match="the gateway stops"):
        await late
    assert b"late" not in gateway.begun
    assert (await control(link, b"another call")).acknowledged
    assert gateway.calls == 2


async def test_bytes_that_are_no_answer_are_a_protocol_error(
    gateway: Gateway, link: GrpcLink
) -> None:
    gateway.garbage = b"\xff\xff\xff"
    with pytest.raises(GatewayProtocolError):
        await control(link, b"x")
    gateway.garbage = None
    assert (await control(link, b"y")).outcome == b"y"


async def test_an_error_code_of_a_newer_gateway_is_unknown(
    gateway: Gateway, link: GrpcLink
) -> None:
    error = pb.ControlError(code=99, detail="new")
    gateway.garbage = pb.ControlResponse(request_id=1, error=error).SerializeToString()
    with pytest.raises(GatewayProtocolError, match="UNKNOWN: new"):
        await control(link, b"x")
