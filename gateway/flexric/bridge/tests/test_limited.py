"""The bridge against a client that asks for too much, beside one that keeps its reports."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, aclosing
from typing import Any

import grpc.aio
import pytest
from bridge_world import ONE, PATIENCE_S, BridgeWorld, some
from fake_flexric import KPM, RLC, kpm_message, rlc_message
from ric.sm import KPM_OID, RLC_OID, kpm, rlc
from sojourn_interfaces import e2_gateway_pb2 as pb
from sojourn_interfaces.e2_gateway_pb2_grpc import E2GatewayStub


def subscribe(number: int, oid: str, trigger: bytes, *names: str) -> pb.SubscribeRequest:
    wanted = pb.Subscription(
        node_id=ONE.id, ran_function_oid=oid, event_trigger=trigger, kpm_measurements=names
    )
    return pb.SubscribeRequest(subscription_id=number, subscribe=wanted)


class Hostile:
    """A client that writes requests as it likes."""

    def __init__(self, world: BridgeWorld) -> None:
        assert world.bridge is not None
        self._channel = grpc.aio.insecure_channel(
            world.bridge.address, (("grpc.use_local_subchannel_pool", 1),)
        )
        self.call: Any = E2GatewayStub(self._channel).Subscribe()

    async def __aenter__(self) -> Hostile:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.call.cancel()
        await self._channel.close()

    async def ends(self, count: int) -> dict[int, pb.SubscriptionEnd]:
        """The first ends of its subscriptions."""
        ended: dict[int, pb.SubscriptionEnd] = {}
        async with asyncio.timeout(PATIENCE_S):
            while len(ended) < count:
                for event in (await self.call.read()).events:
                    if event.HasField("end"):
                        ended[event.subscription_id] = event.end
        return ended


@pytest.mark.parametrize("count", [300, 1024])
async def test_many_subscriptions_of_one_client_leave_another_its_reports(
    world: BridgeWorld, count: int
) -> None:
    await world.start(ONE)
    world.reporting(ONE.id, RLC, rlc_message)
    async with world.reading() as (_, stream), Hostile(world) as hostile:
        for number in range(1, count + 1):
            await hostile.call.write(subscribe(number, RLC_OID, rlc.event_trigger(1)))
        refused = await hostile.ends(count - 32)
        assert {end.code for end in refused.values()} == {8}
        details = {end.detail for end in refused.values()}
        assert any("its share of 400000000 report bytes/s" in detail for detail in details)
        before = (await anext(stream)).sequence
        after = [(await anext(stream)) for _ in range(50)]
        assert [each.sequence for each in after] == list(range(before + 1, before + 51))
        async with world.client(ONE.id) as third:
            assert await some(third.subscribe(ONE.id, RLC_OID, rlc.event_trigger(10)), 5)


async def test_the_load_of_a_subscription_follows_its_reports_and_ends_with_it(
    world: BridgeWorld,
) -> None:
    bridge = await world.start(ONE)
    large = rlc_message(tuple((n, 1) for n in range(100)))
    world.reporting(ONE.id, RLC, lambda: large)
    async with world.reading(period_ms=10):
        load = bridge.server.load
        cost = 100 * (len(large) + 8192)
        await world.until(lambda: load.shares.held == pytest.approx(cost), "measured")
    await world.until(lambda: load.shares.held == 0, "given back")


@pytest.mark.parametrize(
    ("names", "detail"),
    [
        (["DRB.X"] * 10_000, "kpm_measurements: 10000; expected at most 64"),
        (["D" * 151], "kpm_measurements[0]: 151 characters; expected at most 150"),
    ],
)
async def test_kpm_names_beyond_the_bounds_are_refused(
    world: BridgeWorld, names: list[str], detail: str
) -> None:
    await world.start(ONE)
    async with world.client(ONE.id), Hostile(world) as hostile:
        await hostile.call.write(subscribe(1, KPM_OID, kpm.event_trigger(100), *names))
        ended = await hostile.ends(1)
        assert (ended[1].code, ended[1].detail) == (3, detail)


async def test_bytes_queued_for_a_client_that_does_not_read_are_bounded(
    world: BridgeWorld,
) -> None:
    most = 2**20
    bridge = await world.start(ONE, server={"max_queued_bytes": most, "queue_depth": 100_000})
    names = ("DRB.UEThpDl", *(f"{number:03d}" + "x" * 147 for number in range(63)))
    values = {"DRB.UEThpDl": 1.0}
    async with AsyncExitStack() as stack, world.client(ONE.id) as second:
        stream = second.subscribe(ONE.id, KPM_OID, kpm.event_trigger(10), (), names[:1])
        reports = await stack.enter_async_context(aclosing(stream))
        hostile = await stack.enter_async_context(Hostile(world))
        for number in range(1, 9):
            await hostile.call.write(subscribe(number, KPM_OID, kpm.event_trigger(10), *names))
        world.reporting(ONE.id, KPM, lambda: kpm_message(10, values))
        queued = bridge.server.queued
        async with asyncio.timeout(PATIENCE_S):
            while queued.held < 0.4 * most:
                sequence = (await anext(reports)).sequence
                assert queued.held <= most
            for _ in range(50):
                got = await anext(reports)
                assert queued.held <= most
                assert got.sequence == sequence + 1, "it loses nothing"
                sequence = got.sequence
    await world.until(lambda: queued.held == 0, "given back")
