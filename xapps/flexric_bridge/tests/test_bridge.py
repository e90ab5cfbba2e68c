"""The gateway in front of a RIC that dies, hangs, forgets and floods."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import time
from contextlib import aclosing
from dataclasses import replace

import grpc.aio
import pytest
from bridge_world import PATIENCE_S, QUICKLY_STALE, BridgeWorld, some
from fake_flexric import ABORT, DEFAULT, HANG, KPM, RLC, TC, kpm_message, node, record, rlc_message
from flexric_bridge.app import Bridge
from flexric_bridge.budget import Use
from flexric_bridge.discovery import CHECK_S
from flexric_bridge.hub import MAX_SLICES
from flexric_bridge.ric_state import RicState
from flexric_bridge.sdk import RanFunction, SdkError, SdkErrorKind
from flexric_bridge.settings import RicSettings
from kpm_definitions import encode
from ric import E2GatewayClient, NodeEventKind
from ric.e2 import SNssai, SubscriptionRequest
from ric.errors import GatewayError, GatewayUnavailable, NodeGone, SubscriptionRefused
from ric.gateway import GrpcLink
from ric.settings import GatewaySettings
from ric.sm import KPM_OID, MAC_OID, RLC_OID, TC_V0_OID, TC_V1_OID, kpm, rlc, tc
from sojourn_interfaces import e2_gateway_pb2 as pb
from sojourn_interfaces.e2_gateway_pb2_grpc import E2GatewayStub

ONE, TWO, THREE = node(0xE00), node(0xE01), node(0xE02)


def kill_child(bridge: Bridge) -> None:
    """SIGKILL to the process that owns the SDK."""
    assert bridge.session._child is not None
    os.kill(bridge.session._child.pid, signal.SIGKILL)


async def test_reports_of_several_nodes_reach_their_readers_unchanged(world: BridgeWorld) -> None:
    world.ric.add(ONE, TWO)
    await world.start()
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
    world.ric.add(ONE)
    bridge = await world.start()
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
            # A slower one comes and goes without a request.
            await some(other.subscribe(ONE.id, RLC_OID, rlc.event_trigger(50)), 1)
            assert world.ric.asked["subscribe"] == 2
    gaps_ms = [
        (b.collected_at_us - a.collected_at_us) / 1000 for a, b in itertools.pairwise(slow_ones)
    ]
    assert min(gaps_ms) >= 75
    assert len(fast) == 30
    # Nobody reads any more: the subscription goes, once.
    await world.until(lambda: not world.ric.subscriptions)
    assert bridge.budget.spent == {Use.SUBSCRIPTION: 2, Use.DELETION: 2}


async def test_a_slow_reader_loses_the_oldest_and_is_told(world: BridgeWorld) -> None:
    world.ric.add(ONE)
    bridge = await world.start()
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
        stream = client.subscribe(ONE.id, RLC_OID, rlc.event_trigger(1), queue_depth=4)
        async with aclosing(stream) as indications:
            asking = asyncio.ensure_future(anext(indications))
            handle, item = await world.subscription(ONE.id, RLC, RLC_OID)
            big = rlc_message(tuple((n, 1) for n in range(400)))
            for _ in range(40):
                # More than the connection's buffers take, all at once.
                world.ric.block(item.session, record(handle, big, time.time_ns() // 1000) * 20)
            last = first = await asyncio.wait_for(asking, PATIENCE_S)
            while last.sequence < 799:
                last = await asyncio.wait_for(anext(indications), PATIENCE_S)
        assert first.sequence == first.dropped
        assert last.dropped > 0
        assert bridge.metrics.flow(ONE.id, RLC_OID).reports == 800
    await world.until(lambda: bridge.metrics.dropped == last.dropped)


@pytest.mark.parametrize("most", [0, 3])
async def test_a_stream_carries_as_many_in_a_message_as_were_asked_for(
    world: BridgeWorld, most: int
) -> None:
    world.ric.add(ONE)
    bridge = await world.start()
    async with (
        world.client() as client,
        grpc.aio.insecure_channel(bridge.address) as channel,
        asyncio.timeout(PATIENCE_S),
    ):
        await client.wait_for_node(ONE.id)
        call = E2GatewayStub(channel).Subscribe(
            pb.SubscribeRequest(
                node_id=ONE.id,
                ran_function_oid=RLC_OID,
                event_trigger=rlc.event_trigger(1),
                max_batch=most,
            )
        )
        handle, item = await world.subscription(ONE.id, RLC, RLC_OID)
        now_us = time.time_ns() // 1000
        world.ric.block(item.session, record(handle, rlc_message(), now_us) * 9)
        sizes: list[int] = []
        while sum(sizes) < 9:
            sizes.append(1 + len((await call.read()).later))
        call.cancel()
    assert max(sizes) == max(most, 1)


async def test_reports_lost_in_the_ring_and_of_nobody_are_counted(world: BridgeWorld) -> None:
    world.ric.add(ONE)
    bridge = await world.start()
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
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
    world.ric.add(ONE)
    bridge = await world.start()
    flow = bridge.metrics.flow(ONE.id, RLC_OID)
    now_us = time.time_ns() // 1000

    async def heard(client: E2GatewayClient, period_ms: int, *at_ms: int) -> None:
        stream = client.subscribe(ONE.id, RLC_OID, rlc.event_trigger(period_ms))
        asking = asyncio.ensure_future(some(stream, len(at_ms)))
        await world.until(lambda: flow.period_ms == period_ms, "the subscription")
        await world.until(lambda: len(world.ric.on(ONE.id, RLC)) == 1, "the only one")
        handle, item = await world.subscription(ONE.id, RLC, RLC_OID)
        for ms in at_ms:
            world.ric.block(item.session, record(handle, rlc_message(), now_us + 1000 * ms))
        await asking

    async with world.client() as client:
        await client.wait_for_node(ONE.id)
        await heard(client, 2, 0, 2, 4, 12, 14)
        assert flow.pace.missing == 3
        # Made anew with another period: nobody asked for reports in between.
        await heard(client, 1, 500, 501, 503)
        assert flow.pace.missing == 4


async def test_a_child_that_crashes_is_nodes_going_and_coming_back(world: BridgeWorld) -> None:
    world.ric.add(ONE)
    bridge = await world.start()
    world.reporting(ONE.id, RLC, rlc_message)
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
        stream = client.subscribe(ONE.id, RLC_OID, rlc.event_trigger(10))
        events = client.watch_nodes()
        async with aclosing(stream) as indications, aclosing(events) as changes:
            assert (await anext(changes)).kind is NodeEventKind.CONNECTED
            async with asyncio.timeout(PATIENCE_S):
                assert (await anext(indications)).subscription == 1
                world.ric.answer["control"] = lambda _question: ABORT
                with pytest.raises(GatewayError):
                    await client.control(ONE.id, TC_V0_OID, bytes(4), bytes(12))
                assert (await anext(changes)).kind is NodeEventKind.DISCONNECTED
                assert (await anext(changes)).kind is NodeEventKind.CONNECTED
                while (await anext(indications)).subscription == 1:
                    pass
    assert bridge.session.restarts["lost"] == 1
    assert "SIGABRT" not in bridge.session.why, "the session is up again"
    assert bridge.budget.sessions == 2, "the RIC's life goes on"


async def test_a_child_that_hangs_is_killed_and_the_reason_told(world: BridgeWorld) -> None:
    world.ric.add(ONE)
    bridge = await world.start(ric={"command_timeout_s": 2})
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
        world.ric.answer["control"] = lambda _question: HANG
        pid = bridge.session._child.pid if bridge.session._child else 0
        with pytest.raises(GatewayError, match="no answer to control within 2 s"):
            await client.control(ONE.id, TC_V0_OID, bytes(4), bytes(12))
        await world.until(lambda: bridge.session.up and bridge.session.starts == 2)
        assert bridge.session._child is not None
        assert bridge.session._child.pid != pid
    assert bridge.session.restarts["hung"] == 1


async def test_a_ric_that_dies_and_comes_back_has_a_new_budget(world: BridgeWorld) -> None:
    world.ric.add(ONE)
    bridge = await world.start()
    world.reporting(ONE.id, RLC, rlc_message)
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
        stream = client.subscribe(ONE.id, RLC_OID, rlc.event_trigger(10))
        async with aclosing(stream) as indications, asyncio.timeout(PATIENCE_S):
            await anext(indications)
            assert bridge.budget.used == 1
            bridge.budget.spend(Use.CONTROL, 40_000)
            await world.ric.stop()
            await world.until(lambda: not bridge.session.up and bridge.session.starts >= 3)
            assert "is not there" in bridge.session.why
            assert not bridge.readiness.ready
            await world.ric.start()
            while (await anext(indications)).subscription == 1:
                pass
    assert bridge.budget.used == 1
    assert bridge.budget.sessions == 1


async def test_a_silent_node_is_gone_and_back_when_it_reports(world: BridgeWorld) -> None:
    world.ric.add(ONE, TWO)
    bridge = await world.start(nodes=QUICKLY_STALE)
    talking = world.reporting(ONE.id, RLC, rlc_message)
    world.reporting(TWO.id, RLC, rlc_message)
    trigger = rlc.event_trigger(10)
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
        await some(client.subscribe(TWO.id, RLC_OID, trigger), 1)
        stream = client.subscribe(ONE.id, RLC_OID, trigger)
        async with aclosing(stream) as indications, asyncio.timeout(PATIENCE_S):
            await anext(indications)
            talking.cancel()
            await world.until(lambda: bridge.nodes.present(ONE.id) is None, "ONE gone")
            assert bridge.nodes.present(TWO.id) is not None
            with pytest.raises(GatewayError):
                await client.control(ONE.id, TC_V0_OID, bytes(4), bytes(12))
            assert not world.ric.controls, "a control to a node that is away ends the RIC"
            world.reporting(ONE.id, RLC, rlc_message)
            while (await anext(indications)).subscription == 1:
                pass
    assert bridge.session.starts == 1
    assert len(world.ric.on(ONE.id, RLC)) <= 1


async def test_a_control_waits_for_the_report_of_a_node_that_is_overdue(
    world: BridgeWorld,
) -> None:
    # The node may have died a moment ago, and its RIC would not survive the control.
    world.ric.add(ONE)
    await world.start(nodes={"stale_after_s": 240})
    talking = world.reporting(ONE.id, RLC, rlc_message)
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
        stream = client.subscribe(ONE.id, RLC_OID, rlc.event_trigger(10))
        async with aclosing(stream) as indications, asyncio.timeout(PATIENCE_S):
            await anext(indications)
            talking.cancel()
            await asyncio.sleep(0.1)
            control = asyncio.ensure_future(
                client.control(ONE.id, TC_V0_OID, bytes(4), bytes(12), timeout_s=PATIENCE_S)
            )
            await asyncio.sleep(0.2)
            assert not world.ric.controls
            world.reporting(ONE.id, RLC, rlc_message)
            assert (await control).acknowledged
    assert len(world.ric.controls) == 1


async def test_a_ric_that_is_behind_is_asked_for_nothing(world: BridgeWorld) -> None:
    # It ends itself over an answer that takes 3 s, and answers wait behind the reports.
    world.ric.add(ONE, TWO)
    await world.start()
    world.reporting(ONE.id, RLC, rlc_message)
    world.reporting(TWO.id, RLC, rlc_message)
    trigger = rlc.event_trigger(10)
    async with world.client() as client:
        await client.wait_for_node(TWO.id)
        stream = client.subscribe(ONE.id, RLC_OID, trigger)
        async with aclosing(stream) as indications, asyncio.timeout(PATIENCE_S):
            await anext(indications)
            world.ric.behind_us = 1_500_000
            async for indication in indications:
                if indication.received_at_us - indication.collected_at_us > 1_000_000:
                    break
            asked = world.ric.asked.copy()
            for node in (ONE, TWO):
                with pytest.raises(GatewayError, match=f"node {ONE.id} come 1.5 s late; the RIC"):
                    await client.control(node.id, TC_V0_OID, bytes(4), bytes(12))
            waiting = asyncio.ensure_future(some(client.subscribe(TWO.id, RLC_OID, trigger), 1))
            await asyncio.sleep(0.2)
            assert world.ric.asked == asked
            world.ric.behind_us = 900_000
            assert await waiting
            assert (await client.control(ONE.id, TC_V0_OID, bytes(4), bytes(12))).acknowledged
    assert len(world.ric.controls) == 1


async def test_what_nobody_reads_is_ended_when_the_ric_is_no_longer_behind(
    world: BridgeWorld,
) -> None:
    world.ric.add(ONE)
    bridge = await world.start(subscriptions={"linger_s": 0})
    world.reporting(ONE.id, RLC, rlc_message)
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
        stream = client.subscribe(ONE.id, RLC_OID, rlc.event_trigger(10))
        async with aclosing(stream) as indications, asyncio.timeout(PATIENCE_S):
            await anext(indications)
            world.ric.behind_us = 1_500_000
            await world.until(bridge.hub.left_behind, "behind")
        await asyncio.sleep(0.3)
        assert world.ric.asked["unsubscribe"] == 0
        world.ric.behind_us = 0
        await world.until(lambda: world.ric.asked["unsubscribe"] == 1, "ended")
    assert bridge.hub.subscriptions == 0


async def test_a_node_that_restarts_is_found_by_a_look_and_subscribed_again(
    world: BridgeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flexric_bridge.absence.FIRST_LOOK_S", 0.1)
    world.ric.add(ONE, TWO)
    bridge = await world.start(nodes={**QUICKLY_STALE, "look_again_s": 1})
    world.reporting(ONE.id, RLC, rlc_message)
    world.reporting(TWO.id, RLC, rlc_message)
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
        stream = client.subscribe(ONE.id, RLC_OID, rlc.event_trigger(10))
        async with aclosing(stream) as indications, asyncio.timeout(PATIENCE_S):
            await anext(indications)
            del world.ric.nodes[ONE.id]
            world.ric.subscriptions.clear()
            await world.until(lambda: bridge.nodes.present(ONE.id) is None, "ONE gone")
            world.ric.add(ONE)
            while (await anext(indications)).subscription == 1:
                pass
    assert bridge.metrics.looks["answered"] >= 1
    assert bridge.session.starts == 1
    assert world.ric.asked["unsubscribe"] == 0, "a deletion on a node that is away ends the RIC"


async def test_a_node_that_was_back_and_reported_is_looked_for_at_once_again(
    world: BridgeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that any time of absence but that which has just begun makes for the longest delay.
    monkeypatch.setattr("flexric_bridge.absence.SHARE", 1e6)
    world.ric.add(ONE)
    bridge = await world.start()
    world.reporting(ONE.id, RLC, rlc_message)
    discovery, absences = bridge.discovery, bridge.discovery._absences
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
        stream = client.subscribe(ONE.id, RLC_OID, rlc.event_trigger(10))
        async with aclosing(stream) as indications, asyncio.timeout(PATIENCE_S):
            await anext(indications)
            known = bridge.nodes.known[ONE.id]
            bridge.hub.node_went(known, "a first time")
            discovery._note()
            await world.until(lambda: known.present, "a report of it")
            discovery._note()
            heard_ns = bridge.hub.heard_ns(known)
            await world.until(lambda: bridge.hub.heard_ns(known) > heard_ns, "another")
            bridge.hub.node_went(known, "a second time")
            now_ns = time.monotonic_ns()
            discovery._note()
    assert absences.next_look_s(now_ns) == 1


async def test_a_node_that_joins_late_is_found_without_ending_streams(world: BridgeWorld) -> None:
    world.ric.add(ONE)
    bridge = await world.start(nodes={"look_again_s": 0.2})
    world.reporting(ONE.id, RLC, rlc_message)
    world.reporting(TWO.id, RLC, rlc_message)
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
        stream = client.subscribe(ONE.id, RLC_OID, rlc.event_trigger(10))
        async with aclosing(stream) as indications, asyncio.timeout(PATIENCE_S):
            await anext(indications)
            world.ric.add(TWO)
            await client.wait_for_node(TWO.id)
            assert await some(client.subscribe(TWO.id, RLC_OID, rlc.event_trigger(10)), 1)
            before = world.ric.asked["subscribe"]
            assert before >= 3
            seen = [(await anext(indications)).subscription for _ in range(5)]
    assert set(seen) == {1}
    assert bridge.session.restarts["reopened"] == 1
    assert bridge.budget.spent[Use.DELETION] >= 1


async def test_with_many_nodes_the_ric_is_not_asked_again(world: BridgeWorld) -> None:
    world.ric.add(*(node(number) for number in range(11)))
    bridge = await world.start(nodes={"look_again_s": 0.05})
    await world.until(lambda: bridge.session.up)
    await asyncio.sleep(0.5)
    assert world.ric.asked["open"] == 1
    world.ric.nodes.clear()
    assert bridge.discovery._told.startswith("11 nodes are known")


async def test_definitions_near_the_rics_limit_stop_looks_as_well(world: BridgeWorld) -> None:
    world.ric.add(node(1, definition=4000), node(2, definition=3000))
    bridge = await world.start(nodes={"look_again_s": 0.05})
    await world.until(lambda: "32 KiB" in bridge.discovery._told)
    assert world.ric.asked["open"] == 1


async def test_kpm_is_typed_and_names_a_gnb_does_not_know_never_reach_it(
    world: BridgeWorld,
) -> None:
    world.ric.add(ONE)
    await world.start()
    values = {"DRB.UEThpDl": 1234.5, "RRU.PrbTotDl": 10.0}
    world.reporting(ONE.id, KPM, lambda: kpm_message(100, values))
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
        names = ("DRB.UEThpDl", "DRB.Nonsense", "RRU.PrbTotDl")
        trigger = kpm.event_trigger(100)
        (got,) = await some(client.subscribe(ONE.id, KPM_OID, trigger, (), names), 1)
        ((_, item),) = world.ric.on(ONE.id, KPM)
        assert (item.names, item.period_ms) == (("DRB.UEThpDl", "RRU.PrbTotDl"), 100)
        report = kpm.report_of(got)
        assert report.unsupported == ("DRB.Nonsense",)
        assert (report.period_ms, report.ues[0].rnti, report.ues[0].values) == (100, 17, values)
        assert report.units == {"DRB.UEThpDl": "kbit/s"}  # 10 may be PRBs or percent
        with pytest.raises(SubscriptionRefused, match=r"DRB\.Nonsense"):
            await some(client.subscribe(ONE.id, KPM_OID, trigger, (), names[1:2]), 1)


async def test_each_reader_of_kpm_gets_what_it_asked_for(world: BridgeWorld) -> None:
    """Not what others asked for, nor the throughput that tells the units."""
    world.ric.add(ONE)
    await world.start()
    values = {"DRB.UEThpDl": 40_000.0, "RRU.PrbTotDl": 1060.0, "DRB.PdcpSduVolumeDL": 4000.0}
    world.reporting(ONE.id, KPM, lambda: kpm_message(100, values))
    prb, volume = ("RRU.PrbTotDl",), ("DRB.PdcpSduVolumeDL",)
    trigger = kpm.event_trigger(100)
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
        one = client.subscribe(ONE.id, KPM_OID, trigger, (), prb)
        two = client.subscribe(ONE.id, KPM_OID, trigger, (), volume)
        (first,), (second,) = await asyncio.gather(some(one, 1), some(two, 1))
    told = [kpm.report_of(each) for each in (first, second)]
    assert [report.ues[0].values for report in told] == [
        {"RRU.PrbTotDl": 1060.0},
        {"DRB.PdcpSduVolumeDL": 4000.0},
    ]
    assert [report.units for report in told] == [
        {"RRU.PrbTotDl": "PRB"},
        {"DRB.PdcpSduVolumeDL": "kbit"},
    ]


async def test_kpm_of_a_slice_is_a_subscription_of_its_own(world: BridgeWorld) -> None:
    world.ric.add(ONE)
    bridge = await world.start()
    world.reporting(ONE.id, KPM, lambda: kpm_message(100, {"DRB.UEThpDl": 40_000.0}))
    trigger, names = kpm.event_trigger(100), ("DRB.UEThpDl",)
    slices = (None, SNssai(2), SNssai(2, 0), SNssai(2, 0x10203), SNssai(2, 0x10203))
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
        streams = [
            client.subscribe(ONE.id, KPM_OID, trigger, (), names, kpm_slice=each) for each in slices
        ]
        got = await asyncio.gather(*(some(stream, 1) for stream in streams))
    assert all(kpm.report_of(first).ues[0].values for (first,) in got)
    asked = [item.kpm_slice for _, item in world.ric.on(ONE.id, KPM)]
    assert sorted(asked, key=str) == sorted([None, [2, None], [2, 0], [2, 0x10203]], key=str)
    for label in ("kpm", "kpm SST 2", "kpm SST 2 SD 0x000000", "kpm SST 2 SD 0x010203"):
        labels = {"node": ONE.id, "ran_function": label}
        assert bridge.registry.get_sample_value("sojourn_flexric_reports_total", labels)


@pytest.mark.parametrize(
    ("oid", "asked", "said"),
    [
        (KPM_OID, SNssai(256), r"kpm_slice\.sst: 256; expected 0 to 255"),
        (KPM_OID, SNssai(1, 1 << 24), r"kpm_slice\.sd: 16777216; expected 0 to 16777215"),
        (RLC_OID, SNssai(1), "kpm_slice: RAN function .* takes none"),
    ],
)
async def test_what_is_no_slice_is_refused_before_it_reaches_the_ric(
    world: BridgeWorld, oid: str, asked: SNssai, said: str
) -> None:
    world.ric.add(ONE)
    await world.start()
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
        with pytest.raises(SubscriptionRefused, match=said):
            stream = client.subscribe(
                ONE.id, oid, kpm.event_trigger(100), (), ("DRB.UEThpDl",), kpm_slice=asked
            )
            await some(stream, 1)
    assert world.ric.asked["subscribe"] == 0


async def test_slices_of_a_node_are_bounded(world: BridgeWorld) -> None:
    world.ric.add(ONE)
    await world.start()
    world.reporting(ONE.id, KPM, lambda: kpm_message(100, {"DRB.UEThpDl": 1.0}))
    trigger, names = kpm.event_trigger(100), ("DRB.UEThpDl",)
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
        for sst in range(MAX_SLICES):
            slice_ = SNssai(sst)
            await some(client.subscribe(ONE.id, KPM_OID, trigger, (), names, kpm_slice=slice_), 1)
        assert len(world.ric.on(ONE.id, KPM)) == MAX_SLICES
        with pytest.raises(SubscriptionRefused, match=f"of {MAX_SLICES} slices"):
            one_more = SNssai(MAX_SLICES)
            await some(client.subscribe(ONE.id, KPM_OID, trigger, (), names, kpm_slice=one_more), 1)


async def test_a_slice_that_is_not_read_any_more_makes_room(world: BridgeWorld) -> None:
    world.ric.add(ONE)
    await world.start(subscriptions={"linger_s": 0.0})
    world.reporting(ONE.id, KPM, lambda: kpm_message(100, {"DRB.UEThpDl": 1.0}))
    trigger, names = kpm.event_trigger(100), ("DRB.UEThpDl",)
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
        for sst in range(2 * MAX_SLICES):
            slice_ = SNssai(sst)
            await some(client.subscribe(ONE.id, KPM_OID, trigger, (), names, kpm_slice=slice_), 1)
            await world.until(lambda: not world.ric.on(ONE.id, KPM))


async def test_a_node_that_changed_is_asked_for_what_it_announces_now(world: BridgeWorld) -> None:
    world.ric.add(ONE)
    bridge = await world.start()
    values = {"DRB.UEThpDl": 40_000.0, "RRU.PrbTotDl": 1060.0}
    world.reporting(ONE.id, KPM, lambda: kpm_message(100, values))
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
        names, trigger = ("DRB.UEThpDl", "RRU.PrbTotDl"), kpm.event_trigger(100)
        await some(client.subscribe(ONE.id, KPM_OID, trigger, (), names), 1)
        known = bridge.nodes.known[ONE.id]
        assert known.units.era is not None
        units = known.units
        less = replace(ONE, functions=(RanFunction(KPM, KPM_OID, 2, encode(names[:1])),))
        world.ric.nodes[ONE.id] = less
        starts = bridge.session.starts
        kill_child(bridge)
        await world.until(lambda: bridge.session.starts > starts and bridge.session.up)
        await world.until(lambda: known.node == less)
        (got,) = await some(client.subscribe(ONE.id, KPM_OID, trigger, (), names), 1)
        assert kpm.report_of(got).unsupported == names[1:]
        ((_, item),) = world.ric.on(ONE.id, KPM)
        assert item.names == names[:1]
        assert known.units is not units, "its units may be others now"


async def test_a_node_without_reports_for_each_ue_is_not_asked_for_kpm(world: BridgeWorld) -> None:
    lacking = replace(
        ONE,
        functions=(RanFunction(KPM, KPM_OID, 2, encode(("DRB.UEThpDl",), styles=(1, 3))),),
    )
    world.ric.add(lacking)
    await world.start()
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
        trigger = kpm.event_trigger(100)
        with pytest.raises(SubscriptionRefused, match="report styles 1, 3; expected style 4"):
            await some(client.subscribe(ONE.id, KPM_OID, trigger, (), ("DRB.UEThpDl",)), 1)
    assert world.ric.asked["subscribe"] == 0


@pytest.mark.parametrize(
    ("trigger", "said"), [(b"", "0 bytes"), (bytes(4), "at least 1"), (bytes(5), "5 bytes")]
)
async def test_bad_triggers_are_refused_before_they_reach_the_ric(
    world: BridgeWorld, trigger: bytes, said: str
) -> None:
    world.ric.add(ONE)
    await world.start()
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
        with pytest.raises(SubscriptionRefused, match=said):
            await some(client.subscribe(ONE.id, MAC_OID, trigger), 1)
    assert world.ric.asked["subscribe"] == 0


async def test_refusals_are_told_as_the_proto_says(world: BridgeWorld) -> None:
    world.ric.add(ONE, node(5, functions=(RLC,)))
    await world.start()

    def refuse(_question: object) -> object:
        raise SdkError("refused", "the RAN function does not want to")

    world.ric.answer["subscribe"] = refuse
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
        with pytest.raises(SubscriptionRefused, match="does not want to"):
            await some(client.subscribe(ONE.id, MAC_OID, rlc.event_trigger(10)), 1)
        with pytest.raises(GatewayError, match="offers no RAN function"):
            await some(client.subscribe(node(5).id, MAC_OID, rlc.event_trigger(10)), 1)
        trigger = tc.encode("event-trigger", {"periodic": {"period_ms": 50}})
        flows = {"style": "flow_inventory", "bearers": [], "top_flows": 8}
        with pytest.raises(SubscriptionRefused, match="does not tell its flows"):
            await some(
                client.subscribe(
                    ONE.id, TC_V1_OID, trigger, [tc.encode("action-definition", flows)]
                ),
                1,
            )


async def test_the_budget_refuses_before_the_ric_runs_out_and_keeps_a_reserve(
    world: BridgeWorld,
) -> None:
    world.ric.add(ONE)
    bridge = await world.start(budget={"requests": 20, "reserve": 5})
    world.reporting(ONE.id, RLC, rlc_message)
    message = tc.encode(
        "control", {"type": "PCR", "act": "MOD", "pcr_type": "DUMMY", "dummy": 0}, "v0"
    )
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
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
    world.ric.add(ONE)
    await world.start()
    go = asyncio.Event()

    async def wait(_node_id: str, _message: bytes) -> None:
        await go.wait()

    world.ric.on_control = wait

    def shaper(queue: int, rate: int) -> bytes:
        control = {"type": "SHP", "act": "MOD", "id": queue, "time_window_ms": 10,
                   "max_rate_kbps": rate, "active": 1}  # fmt: skip
        return tc.encode("control", control, "v0")

    sent = [shaper(0, 1), shaper(0, 2), shaper(1, 3), shaper(0, 4), shaper(0, 5)]
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
        asking = []
        for number, message in enumerate(sent):
            asking.append(
                asyncio.ensure_future(client.control(ONE.id, TC_V0_OID, bytes(4), message))
            )
            await _in_line(world, number)
        go.set()
        answers = await asyncio.wait_for(asyncio.gather(*asking), PATIENCE_S)
    assert [answer.acknowledged for answer in answers] == [True, False, True, False, True]
    assert [m for _, m in world.ric.controls] == [sent[0], sent[2], sent[4]]
    assert all("superseded" in a.detail for a in answers if not a.acknowledged)


async def _in_line(world: BridgeWorld, count: int) -> None:
    """Return when `count` controls wait behind the first, or were superseded."""
    bridge = world.bridge
    assert bridge is not None
    await world.until(
        lambda: world.ric.controls and bridge.lane.length + bridge.lane.superseded >= count
    )


async def test_a_control_that_the_node_refuses_is_an_answer(world: BridgeWorld) -> None:
    world.ric.add(ONE)
    await world.start()

    async def refuse(_node_id: str, _message: bytes) -> None:
        raise SdkError("bad-message", "queue.id: 7; expected a queue")

    world.ric.on_control = refuse
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
        answer = await client.control(ONE.id, TC_V0_OID, bytes(4), bytes(12))
    assert not answer.acknowledged
    assert "queue.id: 7" in answer.detail


async def test_a_graceful_stop_ends_subscriptions_and_the_session(world: BridgeWorld) -> None:
    world.ric.add(ONE)
    await world.start(subscriptions={"linger_s": 60})
    world.reporting(ONE.id, RLC, rlc_message)
    world.reporting(ONE.id, TC, bytes)
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
        await some(client.subscribe(ONE.id, RLC_OID, rlc.event_trigger(10)), 1)
        assert world.ric.subscriptions
        await world.stop()
    assert not world.ric.subscriptions
    assert world.ric.asked["unsubscribe"] == 1
    assert world.ric.closed == 1


async def test_a_graceful_stop_tells_readers_why(world: BridgeWorld) -> None:
    world.ric.add(ONE)
    bridge = await world.start()
    world.reporting(ONE.id, RLC, rlc_message)
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
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
    async with world.client() as client:
        await client.wait_for_node(ONE.id)
        control = asyncio.ensure_future(client.control(ONE.id, TC_V0_OID, bytes(4), bytes(12)))
        await taken.wait()
        stopping = asyncio.ensure_future(world.stop())
        await asyncio.sleep(0.05)
        release.set()
        assert (await control).acknowledged
        await stopping


async def test_a_ric_that_hangs_up_is_noticed_though_nobody_asks(world: BridgeWorld) -> None:
    world.ric.add(ONE)
    bridge = await world.start(ric={"backoff_initial_s": 20, "backoff_max_s": 20})
    await world.until(lambda: bridge.session.up)
    await world.ric.stop()
    await world.until(lambda: not bridge.session.up)
    assert "no more reports will come" in bridge.session.why
    assert "the RIC hung up" in bridge.session.why


async def test_a_ric_that_ends_itself_over_us_is_left_alone_ever_longer(
    world: BridgeWorld,
) -> None:
    # nearRT-RIC aborts when an xApp connects before a node has; so each time it gets more time.
    world.ric.add(ONE)
    times_s: list[float] = []

    def ends_itself(_question: object) -> object:
        times_s.append(asyncio.get_running_loop().time())
        if len(times_s) > 3:
            return DEFAULT
        raise SdkError("closed", "the RIC ended the association before it answered")

    world.ric.answer["open"] = ends_itself
    ric = {"backoff_initial_s": 0.001, "backoff_max_s": 0.001, "nodes_come_within_s": 0.2}
    bridge = await world.start(ric=ric)
    await world.until(lambda: bridge.session.up)
    waits_s = [later - earlier for earlier, later in itertools.pairwise(times_s)]
    assert len(waits_s) == 3
    assert all(wait >= least for wait, least in zip(waits_s, (0.4, 0.8, 1.6), strict=True))


@pytest.mark.parametrize("away_s", [0.0, 1.0])
async def test_a_ric_that_returns_is_asked_when_its_nodes_had_their_time(
    world: BridgeWorld, away_s: float
) -> None:
    """Also one that is back before anybody finds it away."""
    world.ric.add(ONE)
    rested_s: list[float] = []

    def note(question: dict[str, float]) -> object:
        rested_s.append(question["rested_s"])
        return DEFAULT

    world.ric.answer["open"] = note
    bridge = await world.start(ric={"nodes_come_within_s": 0.5})
    await world.until(lambda: bridge.session.up)
    await world.ric.stop()
    await asyncio.sleep(away_s)
    await world.ric.start()
    await world.until(lambda: len(rested_s) == 2)
    await world.until(lambda: bridge.session.up)
    assert rested_s == [0, 0.5]


async def test_a_ric_that_stays_away_is_absent_and_no_failure_of_ours(world: BridgeWorld) -> None:
    world.ric.add(ONE)
    await world.ric.stop()
    bridge = await world.start(ric={"backoff_initial_s": 60, "backoff_max_s": 60})
    await world.until(lambda: bridge.session.starts == 3, "a third child, without back-off")
    assert bridge.session.state is RicState.ABSENT
    assert "is not there" in bridge.session.why
    await world.ric.start()
    await world.until(lambda: bridge.session.up)


async def test_five_deaths_of_the_ric_in_a_row_cost_no_more_than_one(world: BridgeWorld) -> None:
    """With the settings of users, but for the ports."""
    world.ric.add(ONE)
    defaults = {
        name: RicSettings.model_fields[name].default
        for name in ("backoff_initial_s", "backoff_max_s", "nodes_come_within_s")
    }
    bridge = await world.start(ric=defaults)
    await world.until(lambda: bridge.session.up)
    for _ in range(5):
        await world.ric.stop()
        await world.until(lambda: not bridge.session.up)
        await asyncio.sleep(0.5)
        await world.ric.start()
        await asyncio.sleep(0.5)
    returned_s = asyncio.get_running_loop().time()
    await world.until(lambda: bridge.session.up)
    assert asyncio.get_running_loop().time() - returned_s < 10


async def test_a_ric_without_nodes_is_a_state_of_its_own(world: BridgeWorld) -> None:
    """It is asked again soon, and each question is told apart from a failure."""

    def has_none(_question: object) -> object:
        if world.ric.nodes:
            return DEFAULT
        raise SdkError("no-nodes", "the near-RT RIC has no E2 node yet")

    world.ric.answer["open"] = has_none
    bridge = await world.start(ric={"backoff_initial_s": 60, "backoff_max_s": 60})
    await world.until(lambda: bridge.session.state is RicState.WITHOUT_NODES)
    assert "no E2 node has connected to it yet" in bridge.session.why
    condition = bridge.readiness.conditions()["ric"]
    assert not condition.ok
    assert condition.detail.startswith("without_nodes: ")
    asked = world.ric.asked["open"]
    await world.until(lambda: world.ric.asked["open"] > asked, "asked again, without back-off")
    world.ric.add(ONE)
    await world.until(lambda: bridge.session.up)
    state = bridge.registry.get_sample_value("sojourn_flexric_ric_state", {"state": "up"})
    assert state == 1.0


@pytest.mark.parametrize(
    ("kind", "state", "words"),
    [
        ("no-sctp", RicState.NO_SCTP, "modprobe sctp"),
        ("mismatch", RicState.NO_MODULE, "make flexric-bridge"),
        ("timeout", RicState.SILENT, "does not answer"),
    ],
)
async def test_why_there_is_no_session_is_told_apart(
    world: BridgeWorld, kind: SdkErrorKind, state: RicState, words: str
) -> None:
    def fails(_question: object) -> object:
        raise SdkError(kind, "as told")

    world.ric.add(ONE)
    world.ric.answer["open"] = fails
    bridge = await world.start()
    await world.until(lambda: bridge.session.state is state)
    await world.until(lambda: words in bridge.session.why)
    world.ric.answer.clear()
    await world.until(lambda: bridge.session.up, "it heals by itself")


async def test_a_look_ends_with_the_session_and_never_meets_the_next_ric(
    world: BridgeWorld,
) -> None:
    # nearRT-RIC does not survive a look before its nodes are back.
    world.ric.add(ONE)
    world.ric.answer["open"] = lambda _question: HANG if world.ric.asked["open"] == 2 else DEFAULT
    patient = {"open_timeout_s": 10 * PATIENCE_S}
    bridge = await world.start(nodes={"look_again_s": 0.05}, ric=patient)
    await world.until(lambda: world.ric.asked["open"] == 2, "a look under way")
    kill_child(bridge)
    await world.until(lambda: bridge.metrics.looks["failed"] == 1, "the look given up")


async def test_a_look_at_a_ric_that_lost_its_nodes_is_an_answer(world: BridgeWorld) -> None:
    world.ric.add(ONE)

    def second_has_none(_question: object) -> object:
        if world.ric.asked["open"] < 2:
            return DEFAULT
        raise SdkError("no-nodes", "the near-RT RIC has no E2 node yet")

    world.ric.answer["open"] = second_has_none
    bridge = await world.start(nodes={"look_again_s": 0.05})
    await world.until(lambda: bridge.metrics.looks["answered"] >= 1)
    await world.until(lambda: bridge.nodes.present(ONE.id) is None)
    assert bridge.session.up
    assert not bridge.metrics.looks["failed"]


async def test_the_end_of_a_session_is_no_absence_of_nodes(world: BridgeWorld) -> None:
    world.ric.add(ONE)
    bridge = await world.start(nodes={"look_again_s": 0})
    await world.until(lambda: bridge.session.up)
    for number in range(2, 5):
        kill_child(bridge)
        await world.until(lambda: not bridge.session.up)
        assert bridge.discovery._next_s() is None
        await world.until(lambda number=number: bridge.session.starts == number, "another")
        await world.until(lambda: bridge.session.up)
    await asyncio.sleep(2 * CHECK_S)
    assert bridge.discovery._next_s() is None
    assert world.ric.asked["open"] == bridge.session.starts, "somebody looked"


async def test_a_node_that_a_new_session_lacks_is_looked_for_at_once(
    world: BridgeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flexric_bridge.absence.FIRST_LOOK_S", 0.1)
    world.ric.add(ONE, TWO)
    bridge = await world.start(nodes={"look_again_s": 0})
    await world.until(lambda: bridge.nodes.present(TWO.id) is not None)
    del world.ric.nodes[TWO.id]
    kill_child(bridge)
    await world.until(lambda: bridge.session.starts == 2 and bridge.session.up)
    await world.until(lambda: bridge.metrics.looks["answered"] >= 1, "a look")
    assert bridge.nodes.present(TWO.id) is None
    world.ric.add(TWO)
    await world.until(lambda: bridge.nodes.present(TWO.id) is not None, "TWO is back")
