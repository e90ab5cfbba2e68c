"""What a hostile client does, for `hostile.py`: one function each, until it is killed."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Final

import grpc
import grpc.aio
from ric.sm import KPM_OID, RLC_OID, TC_V1_OID
from sojourn_interfaces import e2_gateway_pb2 as pb
from sojourn_interfaces import forecast_pb2
from sojourn_interfaces.e2_gateway_pb2_grpc import E2GatewayStub
from sojourn_interfaces.forecast_pb2_grpc import ForecasterStub

NODE: Final = "gnb-001-01-0xe00"
EVERY_MS: Final = (1).to_bytes(4, "little")
SOCKETS: Final = 900
CONNECTIONS: Final = 8
FAILURES: Final = (grpc.aio.AioRpcError, OSError)
"""Refused or disconnected: it goes on."""


def connection(address: str) -> grpc.aio.Channel:
    """A connection of its own."""
    options = (("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1))
    return grpc.aio.insecure_channel(address, options=options)


def gateway(address: str) -> E2GatewayStub:
    """A client over a connection of its own."""
    return E2GatewayStub(connection(address))


def kpm(names: list[str]) -> pb.Subscription:
    """A subscription to KPM each millisecond."""
    return pb.Subscription(
        node_id=NODE,
        ran_function_oid=KPM_OID,
        event_trigger=EVERY_MS,
        kpm_measurements=names,
        queue_depth=4096,
    )


async def requests(subscriptions: list[pb.Subscription]) -> AsyncIterator[pb.SubscribeRequest]:
    """Opens the subscriptions, then stays."""
    for number, subscription in enumerate(subscriptions):
        yield pb.SubscribeRequest(subscription_id=number, subscribe=subscription)
    await asyncio.Event().wait()


async def subscribe(address: str, subscriptions: list[pb.Subscription], reads: bool) -> None:
    """Holds subscriptions over one call, and opens them again if it ends."""
    stub = gateway(address)
    while True:
        with contextlib.suppress(*FAILURES):
            call = stub.Subscribe(requests(subscriptions))
            if not reads:
                await call.wait_for_connection()
                await asyncio.Event().wait()
            async for _ in call:
                pass
        await asyncio.sleep(0.1)


async def names(address: str, _http: str) -> None:
    """Requests of 870 kB: 60 000 names of measurements."""
    flood = kpm([f"DRB.Made.{number:05}" for number in range(60_000)])
    await asyncio.gather(*(subscribe(address, [flood] * 10, True) for _ in range(CONNECTIONS)))


async def unread(address: str, _http: str) -> None:
    """Reports with the longest names allowed, which it does not read."""
    flood = [kpm([f"{number}-{name:0145}" for name in range(64)]) for number in range(64)]
    await asyncio.gather(*(subscribe(address, flood, False) for _ in range(CONNECTIONS)))


async def subscriptions(address: str, count: int) -> None:
    """Subscriptions at 1 ms, each another one for the node."""
    rlc = pb.Subscription(node_id=NODE, ran_function_oid=RLC_OID, event_trigger=EVERY_MS)
    made = [kpm([f"DRB.Made.{number}", "DRB.UEThpDl"]) for number in range(count - 1)]
    await subscribe(address, [rlc, *made], True)


async def subscriptions_300(address: str, _http: str) -> None:
    """300 subscriptions at 1 ms."""
    await subscriptions(address, 300)


async def subscriptions_1024(address: str, _http: str) -> None:
    """1024 subscriptions at 1 ms."""
    await subscriptions(address, 1024)


async def silent(address: str, http: str) -> None:
    """900 sockets that send nothing, on each of both servers; opened again when they end."""

    async def hold(target: str) -> None:
        host, _, port = target.rpartition(":")
        while True:
            with contextlib.suppress(*FAILURES):
                reader, writer = await asyncio.open_connection(host, int(port))
                with contextlib.suppress(*FAILURES):
                    await reader.read()
                writer.close()
            await asyncio.sleep(1.0)

    await asyncio.gather(*(hold(target) for target in (address, http) for _ in range(SOCKETS)))


async def calls(address: str, _http: str) -> None:
    """ListNodes as fast as it is answered, 16 at a time over each connection."""

    async def flood(stub: E2GatewayStub) -> None:
        while True:
            with contextlib.suppress(*FAILURES):
                await stub.ListNodes(pb.ListNodesRequest())

    stubs = [gateway(address) for _ in range(CONNECTIONS)]
    await asyncio.gather(*(flood(stub) for stub in stubs for _ in range(16)))


async def controls(address: str, _http: str) -> None:
    """Controls as fast as the server reads them."""

    async def made() -> AsyncIterator[pb.ControlRequest]:
        for number in itertools.count(1):
            yield pb.ControlRequest(
                request_id=number,
                node_id=NODE,
                ran_function_oid=TC_V1_OID,
                message=bytes(1_000),
            )

    async def flood() -> None:
        stub = gateway(address)
        while True:
            with contextlib.suppress(*FAILURES):
                async for _ in stub.Control(made()):
                    pass

    await asyncio.gather(*(flood() for _ in range(CONNECTIONS)))


async def scrapes(_address: str, http: str) -> None:
    """GET /metrics as fast as it is answered, over 32 connections."""
    host, _, port = http.rpartition(":")
    request = f"GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()

    async def flood() -> None:
        while True:
            with contextlib.suppress(*FAILURES):
                reader, writer = await asyncio.open_connection(host, int(port))
                while not reader.at_eof():
                    writer.write(request)
                    await reader.read(1 << 16)
                writer.close()

    await asyncio.gather(*(flood() for _ in range(32)))


async def forecasts(address: str, request: forecast_pb2.ForecastRequest, streams: int) -> None:
    """Streams of forecasts over connections of their own, opened again when they end."""

    async def hold(stub: ForecasterStub) -> None:
        while True:
            with contextlib.suppress(*FAILURES):
                async for _ in stub.Subscribe(request):
                    pass

    stubs = [ForecasterStub(connection(address)) for _ in range(CONNECTIONS)]
    await asyncio.gather(*(hold(stubs[number % CONNECTIONS]) for number in range(streams)))


async def quantiles(address: str, _http: str) -> None:
    """Requests of 100 000 quantiles, 16 at a time over each connection."""
    levels = [(number + 1) / 100_001 for number in range(100_000)]
    request = forecast_pb2.ForecastRequest(quantiles=levels)
    await forecasts(address, request, 16 * CONNECTIONS)


async def streams(address: str, _http: str) -> None:
    """200 streams of all that is forecast, with 16 quantiles that the model lacks."""
    quantities = [forecast_pb2.OCCUPANCY_BYTES, forecast_pb2.LIMIT_BYTES, forecast_pb2.DRAIN_BYTES]
    levels = [0.11 + 0.05 * number for number in range(16)]
    request = forecast_pb2.ForecastRequest(quantities=quantities, quantiles=levels)
    await forecasts(address, request, 200)


ATTACKS: Final[dict[str, Callable[[str, str], Coroutine[Any, Any, None]]]] = {
    "names": names,
    "unread": unread,
    "subscriptions-300": subscriptions_300,
    "subscriptions-1024": subscriptions_1024,
    "silent": silent,
    "calls": calls,
    "controls": controls,
    "scrapes": scrapes,
}
"""Attacks on gnb-lab by name; the arguments are the addresses of its gRPC and HTTP servers."""
FORECASTER_ATTACKS: Final[dict[str, Callable[[str, str], Coroutine[Any, Any, None]]]] = {
    "forecaster-quantiles": quantiles,
    "forecaster-streams-200": streams,
    "forecaster-silent": silent,
    "forecaster-scrapes": scrapes,
}
"""Attacks on rlc-forecaster by name, with the same arguments."""
