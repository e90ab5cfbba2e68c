"""The gateway for its xApps: subscriptions, readers, budget, controls, an orderly stop."""

from __future__ import annotations

import asyncio
import itertools
import time
from contextlib import aclosing
from typing import Any

import grpc.aio
import pytest
from bridge_world import ONE, PATIENCE_S, TWO, BridgeWorld, some
from fake_flexric import HANG, RLC, TC, node, record, rlc_message
from flexric_bridge.budget import Use
from flexric_bridge.sdk import SdkError
from ric import E2GatewayClient
from ric.e2 import SubscriptionRequest
from ric.errors import GatewayError, GatewayUnavailable, NodeGone, SubscriptionRefused
from ric.gateway import GrpcLink
from ric.settings import GatewaySettings
from ric.sm import KPM_OID, MAC_OID, RLC_OID, TC_V0_OID, TC_V1_OID, rlc, tc
from sojourn_interfaces import e2_gateway_pb2 as pb
from sojourn_interfaces.e2_gateway_pb2_grpc import E2GatewayStub


async def test_reports_of_several_nodes_reach_their_readers_unchanged(world: BridgeWorld) -> None:
    await world.start(ONE, TWO)
    async with world.client() as client:
        known = await client.wait_for_node(ONE.id)
        assert {f.oid for f in known.ran_functions} == {
            KPM_OID, MAC_OID, RLC_OID, TC_V0_OID, TC_V1_OID,
        }  # fmt: skip
        world.reporting(ONE.id, RLC, lambda: rlc_message(((17, 1),)))
        world.reporting(TWO.id, RLC, lambda: rlc_message(((18, 2), (19, 1))))
        trigger = rlc.event_trigger(10)
        first = await some(client.subscribe(ONE.id, RLC_OID, trigger), 5)
        second = await some(client.subscribe(TWO.id, RLC_OID, trigger), 5)
    assert [i.sequence for i in first] == [0, 1, 2, 3, 4]
    assert {tuple(rlc.decode(i.message).records["rnti"].tolist()) for i in first} == {(17,)}
    assert {tuple(rlc.decode(i.message).records["rnti"].tolist()) for i in second} == {(18, 19)}
    assert all(i.node_id == ONE.id and i.oid == RLC_OID for i in first)
    assert all(i.received_at_us - i.collected_at_us == 100 for i in first)


async def test_one_subscription_serves_all_at_the_shortest_period(world: BridgeWorld) -> None:
    bridge = await world.start(ONE)
    world.reporting(ONE.id, RLC, rlc_message)
    async with world.client() as client, world.client() as other:
        await client.wait_for_node(ONE.id)
        stream = client.subscribe(ONE.id, RLC_OID, rlc.event_trigger(100))
        async with aclosing(stream) as slow, asyncio.timeout(PATIENCE_S):
            slow_ones = [await anext(slow)]
            assert [item.period_ms for _, item in world.ric.on(ONE.id, RLC)] == [100]
            fast = await some(other.subscribe(ONE.id, RLC_OID, rlc.event_trigger(10)), 30)
            assert [item.period_ms for _, item in world.ric.on(ONE.id, RLC)] == [10]
            slow_ones += [await anext(slow) for _ in range(3)]
            # A slower reader joins and leaves without a request.
            await some(other.subscribe(ONE.id, RLC_OID, rlc.event_trigger(50)), 1)
            assert world.ric.requests["subscribe"] == 2
    gaps_ms = [
        (b.collected_at_us - a.collected_at_us) / 1000 for a, b in itertools.pairwise(slow_ones)
    ]
    assert min(gaps_ms) >= 75
    assert len(fast) == 30
    # Without readers the subscription is deleted, once.
    await world.until(lambda: not world.ric.subscriptions)
    assert bridge.budget.spent == {Use.SUBSCRIPTION: 2, Use.DELETION: 2}


async def test_a_slow_reader_loses_the_oldest_and_sees_how_many(world: BridgeWorld) -> None:
    bridge = await world.start(ONE)
    async with world.client(ONE.id) as client:
        stream = client.subscribe(ONE.id, RLC_OID, rlc.event_trigger(1), queue_depth=4)
        async with aclosing(stream) as indications:
            asking = asyncio.ensure_future(anext(indications))
            handle, item = await world.subscription(ONE.id, RLC, RLC_OID)
            big = rlc_message(tuple((n, 1) for n in range(400)))
            for _ in range(40):
                # More than the connection's buffers hold, at once.
                world.ric.block(item.session, record(handle, big, time.time_ns() // 1000) * 20)
            last = first = await asyncio.wait_for(asking, PATIENCE_S)
            while last.sequence < 799:
                last = await asyncio.wait_for(anext(indications), PATIENCE_S)
        assert first.sequence == first.dropped
        assert last.dropped > 0
        assert bridge.metrics.flow(ONE.id, RLC_OID).reports == 800
    await world.until(lambda: bridge.metrics.dropped == last.dropped)


async def test_reports_of_a_block_share_a_message(world: BridgeWorld) -> None:
    bridge = await world.start(ONE)
    async with (
        world.client() as client,
        grpc.aio.insecure_channel(bridge.address) as channel,
        asyncio.timeout(PATIENCE_S),
    ):
        await client.wait_for_node(ONE.id)
        call: Any = E2GatewayStub(channel).Subscribe()
        subscription = pb.Subscription(
            node_id=ONE.id, ran_function_oid=RLC_OID, event_trigger=rlc.event_trigger(1)
        )
        await call.write(pb.SubscribeRequest(subscription_id=1, subscribe=subscription))
        handle, item = await world.subscription(ONE.id, RLC, RLC_OID)
        now_us = time.time_ns() // 1000
        world.ric.block(item.session, record(handle, rlc_message(), now_us) * 9)
        sizes: list[int] = []
        while sum(sizes) < 9:
            sizes.append(len((await call.read()).events))
        call.cancel()
    assert max(sizes) > 1


async def test_lost_reports_and_reports_without_subscription_are_counted(
    world: BridgeWorld,
) -> None:
    bridge = await world.start(ONE)
    async with world.client(ONE.id) as client:
        stream = client.subscribe(ONE.id, RLC_OID, rlc.event_trigger(1))
        asking = asyncio.ensure_future(some(stream, 1))
        handle, item = await world.subscription(ONE.id, RLC, RLC_OID)
        now_us = time.time_ns() // 1000
        world.ric.block(item.session, record(handle + 100, b"nobody's", now_us))
        world.ric.block(item.session, record(handle, b"x" * 10, now_us)[:-3])
        world.ric.block(item.session, record(handle, rlc_message(), now_us, lost=7))
        await asking
    assert bridge.metrics.unknown_reports == 1
    assert bridge.metrics.bad_blocks == 1
    assert bridge.metrics.flow(ONE.id, RLC_OID).lost == 7


async def test_periods_for_which_a_node_sent_nothing_are_counted(world: BridgeWorld) -> None:
    bridge = await world.start(ONE)
    flow = bridge.metrics.flow(ONE.id, RLC_OID)
    now_us = time.time_ns() // 1000

    async def receive(client: E2GatewayClient, period_ms: int, *at_ms: int) -> None:
        stream = client.subscribe(ONE.id, RLC_OID, rlc.event_trigger(period_ms))
        asking = asyncio.ensure_future(some(stream, len(at_ms)))
        await world.until(lambda: flow.period_ms == period_ms, "the subscription")
        await world.until(lambda: len(world.ric.on(ONE.id, RLC)) == 1, "the only one")
        handle, item = await world.subscription(ONE.id, RLC, RLC_OID)
        for ms in at_ms:
            world.ric.block(item.session, record(handle, rlc_message(), now_us + 1000 * ms))
        await asking

    async with world.client(ONE.id) as client:
        await receive(client, 2, 0, 2, 4, 12, 14)
        assert flow.missing.count == 3
        # Subscribed again with another period: no reports are expected in between.
        await receive(client, 1, 500, 501, 503)
        assert flow.missing.count == 4


async def test_a_reader_gets_reports_while_the_replaced_subscription_has_not_ended(
    world: BridgeWorld,
) -> None:
    bridge = await world.start(ONE)
    flow = bridge.metrics.flow(ONE.id, RLC_OID)
    world.ric.answer["unsubscribe"] = lambda _request: HANG
    async with world.client(ONE.id) as client:

        def read(period_ms: int) -> asyncio.Future[object]:
            stream = client.subscribe(ONE.id, RLC_OID, rlc.event_trigger(period_ms))
            return asyncio.ensure_future(some(stream, 1))

        slow = read(10)
        await world.until(lambda: flow.period_ms == 10, "the subscription")
        fast = read(1)
        await world.until(lambda: flow.period_ms == 1, "the faster one")
        handle, item = world.ric.on(ONE.id, RLC)[-1]
        assert item.period_ms == 1
        now_us = time.time_ns() // 1000
        world.ric.block(item.session, record(handle, rlc_message(), now_us))
        await asyncio.gather(slow, fast)


@pytest.mark.parametrize(
    ("trigger", "problem"), [(b"", "0 bytes"), (bytes(4), "at least 1"), (bytes(5), "5 bytes")]
)
async def test_bad_triggers_are_refused_before_they_reach_the_ric(
    world: BridgeWorld, trigger: bytes, problem: str
) -> None:
    await world.start(ONE)
    async with world.client(ONE.id) as client:
        with pytest.raises(SubscriptionRefused, match=problem):
            await some(client.subscribe(ONE.id, MAC_OID, trigger), 1)
    assert world.ric.requests["subscribe"] == 0


async def test_refusals_have_the_status_codes_of_the_proto(world: BridgeWorld) -> None:
    world.ric.add(ONE, node(5, functions=(RLC,)))
    await world.start()

    def refuse(_request: object) -> object:
        raise SdkError("refused", "the RAN function does not want to")

    world.ric.answer["subscribe"] = refuse
    async with world.client(ONE.id) as client:
        with pytest.raises(SubscriptionRefused, match="does not want to"):
            await some(client.subscribe(ONE.id, MAC_OID, rlc.event_trigger(10)), 1)
        with pytest.raises(GatewayError, match="offers no RAN function"):
            await some(client.subscribe(node(5).id, MAC_OID, rlc.event_trigger(10)), 1)
        trigger = tc.encode("event-trigger", {"periodic": {"period_ms": 50}})
        flows = {"style": "flow_inventory", "bearers": [], "top_flows": 8}
        with pytest.raises(SubscriptionRefused, match="does not report its flows"):
            await some(
                client.subscribe(
                    ONE.id, TC_V1_OID, trigger, [tc.encode("action-definition", flows)]
                ),
                1,
            )


async def test_the_budget_refuses_before_the_ric_runs_out_and_keeps_a_reserve(
    world: BridgeWorld,
) -> None:
    bridge = await world.start(ONE, budget={"requests": 20, "reserve": 5})
    world.reporting(ONE.id, RLC, rlc_message)
    message = tc.encode(
        "control", {"type": "PCR", "act": "MOD", "pcr_type": "DUMMY", "dummy": 0}, "v0"
    )
    async with world.client(ONE.id) as client:
        answers = [await client.control(ONE.id, TC_V0_OID, bytes(4), message) for _ in range(17)]
        assert [answer.acknowledged for answer in answers] == [True] * 15 + [False] * 2
        assert "5 of the 20 requests" in answers[-1].detail
        assert await some(client.subscribe(ONE.id, RLC_OID, rlc.event_trigger(10)), 1)
        bridge.budget.spend(Use.CONTROL, 4)
    assert len(world.ric.controls) == 15
    assert bridge.budget.left == 0


async def test_controls_that_wait_for_one_element_are_superseded_by_the_last(
    world: BridgeWorld,
) -> None:
    await world.start(ONE)
    go = asyncio.Event()

    async def wait(_node_id: str, _message: bytes) -> None:
        await go.wait()

    world.ric.on_control = wait

    def shaper(queue: int, rate: int) -> bytes:
        control = {"type": "SHP", "act": "MOD", "id": queue, "time_window_ms": 10,
                   "max_rate_kbps": rate, "active": 1}  # fmt: skip
        return tc.encode("control", control, "v0")

    sent = [shaper(0, 1), shaper(0, 2), shaper(1, 3), shaper(0, 4), shaper(0, 5)]
    async with world.client(ONE.id) as client:
        asking = []
        for number, message in enumerate(sent):
            asking.append(
                asyncio.ensure_future(client.control(ONE.id, TC_V0_OID, bytes(4), message))
            )
            await _queued(world, number)
        go.set()
        answers = await asyncio.wait_for(asyncio.gather(*asking), PATIENCE_S)
    assert [answer.acknowledged for answer in answers] == [True, False, True, False, True]
    assert [m for _, m in world.ric.controls] == [sent[0], sent[2], sent[4]]
    assert all("superseded" in a.detail for a in answers if not a.acknowledged)


async def _queued(world: BridgeWorld, count: int) -> None:
    """Return when `count` controls wait behind the first, or were superseded."""
    bridge = world.bridge
    assert bridge is not None
    await world.until(
        lambda: world.ric.controls and bridge.lane.length + bridge.lane.superseded >= count
    )


async def test_a_control_that_the_node_refuses_is_an_answer(world: BridgeWorld) -> None:
    await world.start(ONE)

    async def refuse(_node_id: str, _message: bytes) -> None:
        raise SdkError("bad-message", "queue.id: 7; expected a queue")

    world.ric.on_control = refuse
    async with world.client(ONE.id) as client:
        answer = await client.control(ONE.id, TC_V0_OID, bytes(4), bytes(12))
    assert not answer.acknowledged
    assert "queue.id: 7" in answer.detail


async def test_a_graceful_stop_ends_subscriptions_and_the_session(world: BridgeWorld) -> None:
    await world.start(ONE, subscriptions={"linger_s": 60})
    world.reporting(ONE.id, RLC, rlc_message)
    world.reporting(ONE.id, TC, bytes)
    async with world.client(ONE.id) as client:
        await some(client.subscribe(ONE.id, RLC_OID, rlc.event_trigger(10)), 1)
        assert world.ric.subscriptions
        await world.stop()
    assert not world.ric.subscriptions
    assert world.ric.requests["unsubscribe"] == 1
    assert world.ric.closed == 1


async def test_a_graceful_stop_ends_readers_with_the_reason(world: BridgeWorld) -> None:
    bridge = await world.start(ONE)
    world.reporting(ONE.id, RLC, rlc_message)
    async with world.client(ONE.id):
        pass
    link = GrpcLink(GatewaySettings(address=bridge.address))
    first = asyncio.Event()

    async def read() -> None:
        request = SubscriptionRequest(ONE.id, RLC_OID, rlc.event_trigger(10))
        async for _ in link.indications(request):
            first.set()

    reading = asyncio.ensure_future(read())
    await asyncio.wait_for(first.wait(), PATIENCE_S)
    await world.stop()
    with pytest.raises((NodeGone, GatewayUnavailable), match="the gateway stops"):
        await reading
    await link.close()


async def test_a_graceful_stop_answers_the_control_under_way(world: BridgeWorld) -> None:
    world.ric.add(ONE)
    release, taken = asyncio.Event(), asyncio.Event()

    async def wait(_node_id: str, _message: bytes) -> None:
        taken.set()
        await release.wait()

    world.ric.on_control = wait
    await world.start()
    async with world.client(ONE.id) as client:
        control = asyncio.ensure_future(client.control(ONE.id, TC_V0_OID, bytes(4), bytes(12)))
        await taken.wait()
        stopping = asyncio.ensure_future(world.stop())
        await asyncio.sleep(0.05)
        release.set()
        assert (await control).acknowledged
        await stopping


async def test_reports_that_are_full_are_counted_and_logged_once(
    world: BridgeWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """RLC of 240 bearers arrives whole over two reports, of which each has 214."""
    bridge = await world.start(ONE)
    flow = bridge.metrics.flow(ONE.id, RLC_OID)
    turns = itertools.count()

    def some_bearers() -> bytes:
        first = next(turns) * 214
        return rlc_message(tuple((17 + (first + n) % 240, 1) for n in range(214)))

    world.reporting(ONE.id, RLC, some_bearers)
    async with world.client(ONE.id) as client:
        got = await some(client.subscribe(ONE.id, RLC_OID, rlc.event_trigger(1)), 20)
    assert flow.full == flow.reports >= 20
    rntis = [set(rlc.decode(each.message).records["rnti"].tolist()) for each in got]
    assert all(len(one | two) == 240 for one, two in itertools.pairwise(rntis))
    assert capsys.readouterr().out.count("each is in every second, third … one") == 1
