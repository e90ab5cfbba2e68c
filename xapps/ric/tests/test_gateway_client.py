"""The client while gateway and nodes connect and disconnect, on virtual time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from ric.backoff import Backoff
from ric.clock import SystemClock
from ric.e2 import (
    ControlAnswer,
    Indication,
    Node,
    NodeEvent,
    NodeEventKind,
    Reading,
    SNssai,
    SubscriptionRequest,
)
from ric.errors import (
    ControlTimeout,
    GatewayUnavailable,
    NodeGone,
    RanFunctionUnknown,
    SubscriptionRefused,
)
from ric.gateway import E2GatewayClient, for_each_node
from ric.gateway.node_table import NodeTable
from ric.metrics import GatewayCollector, GatewayMetrics
from ric.settings import GatewaySettings
from ric.sm import MAC_OID, RLC_OID, TC_V1_OID, rlc
from ric.testing import FakeNode, FakeRic, on_virtual_time

TRIGGER = rlc.event_trigger(1)


@pytest.fixture
def ric() -> FakeRic:
    return FakeRic()


def tick(now_us: int) -> bytes:
    return rlc.encode(rlc.zeros(1), now_us)


def outcomes(client: E2GatewayClient) -> dict[str, int]:
    return {key[2]: count for key, count in client.metrics.subscriptions.items()}


async def settled() -> None:
    """Run all tasks that are ready."""
    await asyncio.sleep(1e-6)


@asynccontextmanager
async def subscribed(
    ric: FakeRic, **options: Any
) -> AsyncIterator[tuple[FakeNode, E2GatewayClient, AsyncGenerator[Indication]]]:
    """A node, a client, and RLC reports of which the first was received."""
    node = ric.add_node("gnb-1", RLC_OID)
    async with ric.client() as gateway:
        stream = gateway.subscribe("gnb-1", RLC_OID, TRIGGER, **options)
        first = asyncio.ensure_future(anext(stream))
        await settled()
        node.report(RLC_OID)
        await first
        yield node, gateway, stream
        await stream.aclose()


# ------------------------------------------------------------------ indications


@on_virtual_time
async def test_indications_arrive_in_order_with_their_times(ric: FakeRic) -> None:
    node = ric.add_node("gnb-1", RLC_OID)
    async with ric.client() as gateway:
        stream = gateway.subscribe("gnb-1", RLC_OID, TRIGGER)
        first = asyncio.ensure_future(anext(stream))
        await settled()
        node.report(RLC_OID, b"one", collected_at_us=ric.clock.now_us() - 70)
        node.report(RLC_OID, b"two")
        got = [await first, await anext(stream)]
    assert [(i.message, i.sequence, i.missed, i.subscription) for i in got] == [
        (b"one", 0, 0, 1),
        (b"two", 1, 0, 1),
    ]
    assert got[0].received_at_us - got[0].collected_at_us == 70
    assert got[0].handled_at_us >= got[0].received_at_us


@on_virtual_time
async def test_the_request_reaches_the_node_unchanged(ric: FakeRic) -> None:
    ric.add_node("gnb-1", RLC_OID)
    async with ric.client() as gateway:
        stream = gateway.subscribe(
            "gnb-1",
            RLC_OID,
            TRIGGER,
            [b"action"],
            ["DRB.UEThpDl"],
            queue_depth=5,
            kpm_slice=SNssai(2, 0),
        )
        waiting = asyncio.ensure_future(anext(stream))
        await settled()
        (subscription,) = ric.subscriptions
        request = subscription.request
        waiting.cancel()
    assert (request.event_trigger, request.actions) == (TRIGGER, (b"action",))
    assert (request.kpm_measurements, request.queue_depth) == (("DRB.UEThpDl",), 5)
    assert request.kpm_slice == SNssai(2, 0)


@on_virtual_time
async def test_a_gap_in_the_sequence_is_reported_and_counted(ric: FakeRic) -> None:
    async with subscribed(ric) as (node, gateway, stream):
        node.skip(RLC_OID, 3)
        node.report(RLC_OID)
        assert (await anext(stream)).missed == 3
        node.report(RLC_OID)
        assert (await anext(stream)).missed == 0
        assert gateway.metrics.indications["gnb-1", RLC_OID].missed_at_gateway == 3


@on_virtual_time
async def test_indications_dropped_for_a_slow_reader_are_counted_once(ric: FakeRic) -> None:
    async with subscribed(ric, queue_depth=4) as (node, gateway, stream):
        for _ in range(10):
            node.report(RLC_OID)
        got = [await anext(stream) for _ in range(4)]
        assert [i.sequence for i in got] == [7, 8, 9, 10]
        assert [i.missed for i in got] == [6, 0, 0, 0]
        assert gateway.metrics.indications["gnb-1", RLC_OID].missed_at_gateway == 6


@on_virtual_time
async def test_a_late_reader_of_the_newest_gets_it_and_nothing_counts_as_missed(
    ric: FakeRic,
) -> None:
    async with subscribed(ric, reading=Reading.NEWEST) as (node, gateway, stream):
        for _ in range(200):
            await asyncio.sleep(0.001)
            node.report(RLC_OID)
        got = [await anext(stream)]
        while got[-1].sequence < 200:
            got.append(await anext(stream))
        assert len(got) <= 10
        assert (got[0].coalesced, got[-1].coalesced) == (200 - len(got),) * 2
        assert {each.missed for each in got} == {0}
        stats = gateway.metrics.indications["gnb-1", RLC_OID]
        assert (stats.coalesced, stats.missed_at_gateway) == (200 - len(got), 0)
        node.skip(RLC_OID, 3)
        node.report(RLC_OID)
        assert (await anext(stream)).missed == 3, "a loss is one still"
        assert stats.coalesced == 200 - len(got)


@on_virtual_time
async def test_a_reader_of_the_newest_that_keeps_up_gets_every_indication(ric: FakeRic) -> None:
    async with subscribed(ric, reading=Reading.NEWEST) as (node, gateway, stream):
        for number in range(100):
            await asyncio.sleep(0.001)
            node.report(RLC_OID)
            if number % 9 == 8:
                assert [(await anext(stream)).coalesced for _ in range(9)] == [0] * 9
        assert gateway.metrics.indications["gnb-1", RLC_OID].coalesced == 0


@on_virtual_time
async def test_a_slow_handler_gets_the_newest_and_the_number_it_missed(ric: FakeRic) -> None:
    node = ric.add_node("gnb-1", RLC_OID)
    async with ric.client() as gateway:
        stream = gateway.subscribe("gnb-1", RLC_OID, TRIGGER, keep_newest=2)
        first = asyncio.ensure_future(anext(stream))
        await settled()
        node.report_every(RLC_OID, 1_000, tick)
        assert (await first).sequence == 0
        await asyncio.sleep(0.0505)
        late = await anext(stream)
        then = await anext(stream)
        assert (late.sequence, late.missed) == (49, 48)
        assert (then.sequence, then.missed) == (50, 0)
        stats = gateway.metrics.indications["gnb-1", RLC_OID]
        assert stats.missed_by_slow_handler == 48
        await stream.aclose()
        await settled()
        assert ric.subscriptions == []


@on_virtual_time
async def test_a_reader_of_the_newest_that_is_behind_passes_most_over_until_it_is_not(
    ric: FakeRic,
) -> None:
    async with subscribed(ric, keep_newest=32) as (node, gateway, stream):
        stats = gateway.metrics.indications["gnb-1", RLC_OID]

        async def reported(count: int, delay_us: int) -> list[int]:
            """Indications that were in a connection for so long: what was missed before each."""
            missed: list[int] = []
            for _ in range(count):
                await asyncio.sleep(0.001)
                node.report(RLC_OID, received_at_us=ric.clock.now_us() - delay_us)
                await settled()
                if stats.received - stats.missed_by_slow_handler > passed + len(missed):
                    missed.append((await anext(stream)).missed)
            return missed

        passed = stats.received
        # The clocks differ by an hour.
        assert await reported(20, -3_600_000_000) == [0] * 20
        passed += 20
        assert await reported(20, -3_599_990_000) == [0] * 20
        passed += 20
        late = await reported(161, -3_599_950_000)
        assert late == [7] * 20
        passed += 20
        assert (await reported(1, -3_600_000_000)) == [1], "the last of those that were late"
        passed += 1
        # A path that is longer from now on.
        longer = await reported(12_000, -3_599_960_000)
        assert longer[-1_000:] == [0] * 1_000


@on_virtual_time
async def test_gaps_of_the_gateway_count_even_if_the_next_indication_is_dropped(
    ric: FakeRic,
) -> None:
    async with subscribed(ric, keep_newest=1) as (node, _, stream):
        node.skip(RLC_OID, 5)
        node.report(RLC_OID)
        node.report(RLC_OID)
        await settled()
        assert (await anext(stream)).missed == 6


@pytest.mark.parametrize("keep_newest", [0, 4])
@on_virtual_time
async def test_handling_time_is_that_of_the_handler(ric: FakeRic, keep_newest: int) -> None:
    async with subscribed(ric, keep_newest=keep_newest) as (node, gateway, stream):
        await asyncio.sleep(0.030)
        node.report(RLC_OID)
        await anext(stream)
        handling = gateway.metrics.indications["gnb-1", RLC_OID].handling
        assert handling.count == 1
        assert handling.sum_us == pytest.approx(30_000, rel=0.01)


@on_virtual_time
async def test_a_bounded_stream_raises_a_refusal(ric: FakeRic) -> None:
    ric.add_node("gnb-1", RLC_OID).refuse_subscriptions(RLC_OID, "period too short")
    async with ric.client() as gateway:
        with pytest.raises(SubscriptionRefused, match="period too short"):
            await anext(gateway.subscribe("gnb-1", RLC_OID, TRIGGER, keep_newest=2))


@on_virtual_time
async def test_closing_the_iterator_ends_the_subscription(ric: FakeRic) -> None:
    ric.add_node("gnb-1", RLC_OID).report_every(RLC_OID, 1_000, tick)
    async with ric.client() as gateway:
        async with aclosing(gateway.subscribe("gnb-1", RLC_OID, TRIGGER)) as stream:
            await anext(stream)
            assert len(ric.subscriptions) == 1
        assert ric.subscriptions == []


# ------------------------------------------------------- gateway and node churn


@on_virtual_time
async def test_the_client_waits_for_a_gateway_that_is_not_reachable_yet(ric: FakeRic) -> None:
    ric.down()
    ric.add_node("gnb-1", RLC_OID).report_every(RLC_OID, 1_000, tick)
    async with ric.client() as gateway:
        first = asyncio.ensure_future(anext(gateway.subscribe("gnb-1", RLC_OID, TRIGGER)))
        await asyncio.sleep(60)
        assert not first.done()
        assert not gateway.connected
        ric.up()
        began = asyncio.get_running_loop().time()
        await first
        assert gateway.connected
        assert asyncio.get_running_loop().time() - began <= 5.0 + 0.01
        assert gateway.metrics.connects == 1
        assert gateway.metrics.losses == 0


@on_virtual_time
async def test_the_iterator_continues_after_a_restart_of_the_gateway(ric: FakeRic) -> None:
    ric.add_node("gnb-1", RLC_OID).report_every(RLC_OID, 1_000, tick)
    async with ric.client() as gateway:
        stream = gateway.subscribe("gnb-1", RLC_OID, TRIGGER)
        assert (await anext(stream)).subscription == 1
        ric.down()
        asyncio.get_running_loop().call_later(30, ric.up)
        began = asyncio.get_running_loop().time()
        resumed = await anext(stream)
        assert resumed.subscription == 2
        assert (resumed.sequence, resumed.missed) == (0, 0)
        assert 30 <= asyncio.get_running_loop().time() - began <= 40.1
        assert gateway.metrics.losses == 1
        assert outcomes(gateway)["started"] == 2


@on_virtual_time
async def test_the_back_off_restarts_after_a_long_outage(ric: FakeRic) -> None:
    ric.add_node("gnb-1", RLC_OID)
    async with ric.client() as gateway:
        for outage_s, limit_s in ((300, 5.01), (0.001, 0.06)):
            await asyncio.sleep(1)
            ric.down()
            await asyncio.sleep(outage_s)
            assert outage_s < 1 or "not available: " in gateway.metrics.problem
            ric.up()
            back_at_s = asyncio.get_running_loop().time()
            while not gateway.connected:
                await asyncio.sleep(0.001)
            assert asyncio.get_running_loop().time() - back_at_s <= limit_s
        assert gateway.metrics.losses == 2


@on_virtual_time
async def test_a_node_that_returns_is_subscribed_to_immediately(ric: FakeRic) -> None:
    ric.add_node("gnb-1", RLC_OID).report_every(RLC_OID, 1_000, tick)
    async with ric.client() as gateway:
        stream = gateway.subscribe("gnb-1", RLC_OID, TRIGGER)
        await anext(stream)
        ric.remove_node("gnb-1")
        again = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(3600 / 2)
        assert not again.done()
        ric.add_node("gnb-1", RLC_OID).report_every(RLC_OID, 1_000, tick)
        began = asyncio.get_running_loop().time()
        assert (await again).subscription == 2
        assert asyncio.get_running_loop().time() - began < 0.01


@on_virtual_time
async def test_series_of_a_node_are_absent_while_it_is_not_connected(ric: FakeRic) -> None:
    registry = CollectorRegistry()

    def indications() -> float | None:
        labels = {"node": "gnb-1"}
        last = registry.get_sample_value("sojourn_e2_last_indication_timestamp_seconds", labels)
        count = registry.get_sample_value("sojourn_e2_indications_total", labels)
        assert (last is None) == (count is None)
        return count

    async with subscribed(ric) as (_node, gateway, stream):
        GatewayCollector(gateway.metrics, registry)
        assert indications() == 1
        ric.remove_node("gnb-1")
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(1)
        assert indications() is None
        node = ric.add_node("gnb-1", RLC_OID)
        await asyncio.sleep(1)
        node.report(RLC_OID)
        await waiting
        assert indications() == 2


@on_virtual_time
async def test_a_broken_stream_is_resumed_while_the_node_stays(ric: FakeRic) -> None:
    node = ric.add_node("gnb-1", RLC_OID)
    node.report_every(RLC_OID, 1_000, tick)
    async with ric.client() as gateway:
        stream = gateway.subscribe("gnb-1", RLC_OID, TRIGGER)
        for number in range(1, 21):
            assert (await anext(stream)).subscription == number
            node.break_streams()
        assert outcomes(gateway) == {"started": 20, "lost": 19}
        assert gateway.metrics.losses == 0
        # Each resumption worked, so each retry begins again with the shortest delay.
        assert asyncio.get_running_loop().time() <= 20 * (0.05 + 0.002)


@on_virtual_time
async def test_a_refused_subscription_is_an_error_not_a_retry(ric: FakeRic) -> None:
    ric.add_node("gnb-1", RLC_OID).refuse_subscriptions(RLC_OID, "0 ms")
    async with ric.client() as gateway:
        with pytest.raises(SubscriptionRefused) as caught:
            await anext(gateway.subscribe("gnb-1", RLC_OID, b""))
        assert (caught.value.node_id, caught.value.detail) == ("gnb-1", "0 ms")
        assert outcomes(gateway) == {"refused": 1}


@on_virtual_time
async def test_an_unknown_ran_function_is_an_error_not_a_retry(ric: FakeRic) -> None:
    ric.add_node("gnb-1", MAC_OID)
    async with ric.client() as gateway:
        with pytest.raises(RanFunctionUnknown, match=f"gnb-1.*{RLC_OID}"):
            await anext(gateway.subscribe("gnb-1", RLC_OID, TRIGGER))


@on_virtual_time
async def test_a_ran_function_that_goes_away_ends_the_iterator(ric: FakeRic) -> None:
    ric.add_node("gnb-1", RLC_OID).report_every(RLC_OID, 1_000, tick)
    async with ric.client() as gateway:
        stream = gateway.subscribe("gnb-1", RLC_OID, TRIGGER)
        await anext(stream)
        for source in ric._nodes["gnb-1"].sources:
            source.cancel()
        ric.update_node("gnb-1", MAC_OID)
        with pytest.raises(RanFunctionUnknown):
            await anext(stream)


@on_virtual_time
async def test_many_subscriptions_make_one_connection_attempt_at_a_time(ric: FakeRic) -> None:
    for index in range(50):
        ric.add_node(f"gnb-{index}", RLC_OID)
    lists = 0
    nodes = ric.nodes

    def counted() -> tuple[Node, ...]:
        nonlocal lists
        lists += 1
        return nodes()

    ric.nodes = counted  # type: ignore[method-assign]
    async with ric.client() as gateway, asyncio.TaskGroup() as tasks:

        async def drain(node_id: str) -> None:
            async with aclosing(gateway.subscribe(node_id, RLC_OID, TRIGGER)) as stream:
                async for _ in stream:
                    pass

        readers = [tasks.create_task(drain(f"gnb-{index}")) for index in range(50)]
        await asyncio.sleep(1)
        ric.down()
        lists = 0
        await asyncio.sleep(100)
        assert 20 <= lists <= 60, "once for each delay of the one back-off"
        for reader in readers:
            reader.cancel()


@on_virtual_time
async def test_changes_during_an_outage_of_the_gateway_become_events(ric: FakeRic) -> None:
    ric.add_node("stays", RLC_OID)
    ric.add_node("leaves", RLC_OID)
    events: list[tuple[str, str]] = []

    async with ric.client() as gateway:

        async def watch() -> None:
            async for event in gateway.watch_nodes():
                events.append((event.kind.value, event.node.id))  # noqa: PERF401 - endless

        watching = asyncio.create_task(watch())
        await asyncio.sleep(1)
        ric.down()
        ric.remove_node("leaves")
        ric.add_node("comes", RLC_OID)
        await asyncio.sleep(10)
        assert {node.id for node in gateway.nodes} == {"stays", "leaves"}
        ric.up()
        await asyncio.sleep(10)
        ric.update_node("stays", RLC_OID, MAC_OID)
        await settled()
        watching.cancel()
        assert gateway.metrics.nodes == {"stays", "comes"}
    assert sorted(events[:2]) == [("connected", "leaves"), ("connected", "stays")]
    assert sorted(events[2:4]) == [("connected", "comes"), ("disconnected", "leaves")]
    assert events[4:] == [("updated", "stays")]


@on_virtual_time
async def test_the_periodic_list_repairs_a_lost_node_event(ric: FakeRic) -> None:
    ric.add_node("gnb-1", RLC_OID)
    async with ric.client(GatewaySettings(reconcile_s=10)) as gateway:
        await asyncio.sleep(1)
        del ric._nodes["gnb-1"]
        await asyncio.sleep(1)
        assert len(gateway.nodes) == 1
        await asyncio.sleep(10)
        assert not gateway.nodes


@on_virtual_time
async def test_a_control_that_finds_no_node_refreshes_the_list(ric: FakeRic) -> None:
    ric.add_node("gnb-1", RLC_OID)
    async with ric.client(GatewaySettings(reconcile_s=1000)) as gateway:
        await asyncio.sleep(1)
        del ric._nodes["gnb-1"]
        with pytest.raises(NodeGone):
            await gateway.control("gnb-1", RLC_OID, b"", b"")
        await settled()
        assert not gateway.nodes


@on_virtual_time
async def test_a_list_that_an_event_overtook_is_requested_again(ric: FakeRic) -> None:
    ric.add_node("old", RLC_OID)
    link: Any = ric.link()
    list_nodes = link.list_nodes

    async def slow_list() -> tuple[Node, ...]:
        nodes: tuple[Node, ...] = await list_nodes()
        await asyncio.sleep(1)
        return nodes

    link.list_nodes = slow_list
    async with E2GatewayClient(link=link, clock=ric.clock) as gateway:

        async def watch() -> None:
            async for event in gateway.watch_nodes():
                assert event.kind is not NodeEventKind.DISCONNECTED

        watching = asyncio.create_task(watch())
        await asyncio.sleep(0.5)
        ric.add_node("new", RLC_OID)
        await asyncio.sleep(30)
        assert not watching.done()
        watching.cancel()


@on_virtual_time
async def test_each_node_has_a_run_while_it_offers_the_function(ric: FakeRic) -> None:
    log: list[str] = []

    async def run(node: Node) -> None:
        log.append(f"+{node.id}")
        try:
            await asyncio.Event().wait()
        finally:
            log.append(f"-{node.id}")

    ric.add_node("a", RLC_OID)
    ric.add_node("no-rlc", MAC_OID)
    async with ric.client() as gateway:
        runs = asyncio.create_task(for_each_node(gateway, RLC_OID, run))
        await asyncio.sleep(1)
        ric.add_node("b", RLC_OID)
        await settled()
        ric.update_node("a", RLC_OID, MAC_OID)
        await settled()
        ric.remove_node("b")
        await settled()
        ric.add_node("b", RLC_OID)
        await settled()
        ric.update_node("a", MAC_OID)
        await settled()
        assert log == ["+a", "+b", "-b", "+b", "-a"]
        runs.cancel()
        await asyncio.gather(runs, return_exceptions=True)
        assert log[5:] == ["-b"]


@on_virtual_time
async def test_the_next_run_of_a_node_starts_after_the_previous_has_ended(ric: FakeRic) -> None:
    log: list[str] = []

    async def run(node: Node) -> None:
        log.append("begin")
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(1)
            log.append("end")

    ric.add_node("a", RLC_OID)
    async with ric.client() as gateway:
        runs = asyncio.create_task(for_each_node(gateway, RLC_OID, run))
        await settled()
        for _ in range(3):
            ric.remove_node("a")
            await settled()
            ric.add_node("a", RLC_OID)
            await settled()
        assert log == ["begin"]
        await asyncio.sleep(5)
        assert log == ["begin", "end", "begin"]
        runs.cancel()
        await asyncio.gather(runs, return_exceptions=True)


@on_virtual_time
async def test_an_error_of_one_run_is_raised(ric: FakeRic) -> None:
    async def run(node: Node) -> None:
        raise ValueError(node.id)

    ric.add_node("a", RLC_OID)
    async with ric.client() as gateway:
        with pytest.raises(ExceptionGroup) as caught:
            await for_each_node(gateway, RLC_OID, run)
    assert str(caught.value.exceptions[0]) == "a"


# --------------------------------------------------------------------- controls


@on_virtual_time
async def test_a_control_is_answered_and_timed(ric: FakeRic) -> None:
    node = ric.add_node("gnb-1", TC_V1_OID)

    async def answer(header: bytes, message: bytes) -> ControlAnswer:
        await asyncio.sleep(0.002)
        return ControlAnswer(message == b"good", b"outcome:" + header, "because")

    node.on_control(TC_V1_OID, answer)
    async with ric.client() as gateway:
        good = await gateway.control("gnb-1", TC_V1_OID, b"h", b"good")
        bad = await gateway.control("gnb-1", TC_V1_OID, b"h", b"bad")
        assert (good.acknowledged, good.outcome) == (True, b"outcome:h")
        assert (bad.acknowledged, bad.detail) == (False, "because")
        assert good.answered_at_us - good.sent_at_us == 2000
        assert [(c.header, c.message) for c in ric.controls] == [(b"h", b"good"), (b"h", b"bad")]
        assert gateway.metrics.controls == {
            ("gnb-1", TC_V1_OID, "acknowledged"): 1,
            ("gnb-1", TC_V1_OID, "failed"): 1,
        }
        assert gateway.metrics.control_time["gnb-1", TC_V1_OID].sum_us == pytest.approx(4000)


@on_virtual_time
async def test_a_control_without_answer_times_out_and_is_not_sent_twice(ric: FakeRic) -> None:
    node = ric.add_node("gnb-1", TC_V1_OID)

    async def silence(header: bytes, message: bytes) -> ControlAnswer:
        await asyncio.sleep(3600)
        return ControlAnswer(True)

    node.on_control(TC_V1_OID, silence)
    async with ric.client() as gateway:
        with pytest.raises(ControlTimeout, match=r"within 0\.25 s"):
            await gateway.control("gnb-1", TC_V1_OID, b"", b"", timeout_s=0.25)
        assert len(ric.controls) == 1
        assert gateway.metrics.controls["gnb-1", TC_V1_OID, "timeout"] == 1


@on_virtual_time
async def test_controls_that_cannot_be_delivered_raise_typed_errors(ric: FakeRic) -> None:
    ric.add_node("gnb-1", RLC_OID)
    async with ric.client() as gateway:
        with pytest.raises(RanFunctionUnknown):
            await gateway.control("gnb-1", TC_V1_OID, b"", b"")
        with pytest.raises(NodeGone):
            await gateway.control("gnb-2", TC_V1_OID, b"", b"")
        ric.down()
        with pytest.raises(GatewayUnavailable):
            await gateway.control("gnb-1", TC_V1_OID, b"", b"")
        assert {key[2] for key in gateway.metrics.controls} == {
            "ran_function_unknown",
            "node_gone",
            "gateway_unavailable",
        }


def test_a_client_that_is_not_open_raises() -> None:
    client = E2GatewayClient()
    with pytest.raises(GatewayUnavailable, match="async with"):
        client.subscribe("gnb-1", RLC_OID)
    assert not client.connected
    assert client.nodes == ()


# --------------------------------------------------------------------- back-off


def test_delays_grow_to_the_cap_and_stay_within_their_jitter() -> None:
    backoff = Backoff(0.1, 2.0, 2.0, random.Random(1))
    steps = [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0, 2.0]
    delays = [backoff.next_s() for _ in steps]
    assert all(step / 2 <= delay <= step for step, delay in zip(steps, delays, strict=True))
    assert len(set(delays[-3:])) == 3
    backoff.reset()
    assert backoff.failures == 0
    assert backoff.next_s() <= 0.1


def test_two_clients_do_not_retry_in_step() -> None:
    one, two = (Backoff(1.0, 8.0, rng=random.Random(seed)) for seed in (1, 2))
    assert [one.next_s() for _ in range(5)] != [two.next_s() for _ in range(5)]


@on_virtual_time
async def test_a_stream_that_keeps_breaking_is_retried_with_growing_delays(ric: FakeRic) -> None:
    node = ric.add_node("gnb-1", RLC_OID)
    attempts: list[float] = []
    open_subscription = ric.open_subscription

    def breaking(request: Any, *outbox: Any) -> Any:
        attempts.append(asyncio.get_running_loop().time())
        subscription = open_subscription(request, *outbox)
        node.break_streams()
        return subscription

    ric.open_subscription = breaking  # type: ignore[assignment, method-assign]
    async with ric.client() as gateway:
        waiting: asyncio.Task[Indication] = asyncio.create_task(
            gateway.subscribe("gnb-1", RLC_OID, TRIGGER).__anext__()
        )
        await asyncio.sleep(60)
        waiting.cancel()
    gaps = [later - earlier for earlier, later in pairwise(attempts)]
    assert gaps[0] <= 0.05
    assert all(2.5 <= gap <= 5.01 for gap in gaps[8:])


# ------------------------------------------------------------------------------ node table


class GoingLink:
    """A gateway that disconnects on `gone`; cancelling its list of nodes takes 1 s."""

    address = "gateway:1"

    def __init__(self) -> None:
        self.gone, self.ending = asyncio.Event(), asyncio.Event()

    async def watch_nodes(self) -> AsyncGenerator[NodeEvent]:
        await self.gone.wait()
        raise GatewayUnavailable(self.address, "went away")
        yield

    async def list_nodes(self) -> tuple[Node, ...]:
        try:
            return await asyncio.Future()
        finally:
            self.ending.set()
            await asyncio.sleep(1)

    def indications(self, request: SubscriptionRequest) -> AsyncGenerator[Indication]:
        raise AssertionError(request)

    async def control(
        self, node_id: str, oid: str, header: bytes, message: bytes, timeout_s: float
    ) -> ControlAnswer:
        raise AssertionError(node_id, oid, header, message, timeout_s)

    async def close(self) -> None:
        """No effect."""


@on_virtual_time
async def test_a_client_can_be_closed_while_its_gateway_disconnects() -> None:
    link = GoingLink()
    table = NodeTable(link, SystemClock(), GatewayMetrics(), Backoff(1, 1), 10)
    running = asyncio.create_task(table.run())
    await asyncio.sleep(0.1)
    link.gone.set()
    # The task group is about to end with the error; the cancellation is of its parent.
    await link.ending.wait()
    running.cancel()
    async with asyncio.timeout(60):
        with pytest.raises(asyncio.CancelledError):
            await running
