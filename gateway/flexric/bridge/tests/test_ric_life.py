"""Failures of the RIC, of nodes and of the SDK: crashes, hangs, lag, reconnection."""

from __future__ import annotations

import asyncio
import itertools
import time
from contextlib import aclosing
from functools import partial
from pathlib import Path

import pytest
from bridge_world import (
    ONE,
    PATIENCE_S,
    QUICKLY_STALE,
    TWO,
    BridgeWorld,
    kill_child,
    resubscribed,
    some,
)
from fake_flexric import ABORT, DEFAULT, HANG, RLC, node, rlc_message
from flexric_bridge.app import Bridge
from flexric_bridge.budget import Use
from flexric_bridge.child_process import ChildProcess, Deadlines
from flexric_bridge.discovery import CHECK_S
from flexric_bridge.ric_state import RicState
from flexric_bridge.sdk import SdkError, SdkErrorKind
from flexric_bridge.settings import RicSettings
from ric import NodeEventKind
from ric.errors import GatewayError
from ric.sm import RLC_OID, TC_V0_OID, rlc


async def test_a_crash_of_the_child_disconnects_and_reconnects_nodes(world: BridgeWorld) -> None:
    bridge = await world.start(ONE)
    world.reporting(ONE.id, RLC, rlc_message)
    async with world.client(ONE.id) as client:
        stream = client.subscribe(ONE.id, RLC_OID, rlc.event_trigger(10))
        events = client.watch_nodes()
        async with aclosing(stream) as indications, aclosing(events) as changes:
            assert (await anext(changes)).kind is NodeEventKind.CONNECTED
            async with asyncio.timeout(PATIENCE_S):
                assert (await anext(indications)).subscription == 1
                world.ric.answer["control"] = lambda _request: ABORT
                with pytest.raises(GatewayError):
                    await client.control(ONE.id, TC_V0_OID, bytes(4), bytes(12))
                assert (await anext(changes)).kind is NodeEventKind.DISCONNECTED
                assert (await anext(changes)).kind is NodeEventKind.CONNECTED
                await resubscribed(indications)
    assert bridge.session.restarts["lost"] == 1
    assert "SIGABRT" not in bridge.session.why, "the session is up again"
    assert bridge.budget.sessions == 2, "the RIC did not restart"


async def test_a_child_that_hangs_is_killed_with_a_reason(world: BridgeWorld) -> None:
    bridge = await world.start(ONE, ric={"command_timeout_s": 2})
    async with world.client(ONE.id) as client:
        world.ric.answer["control"] = lambda _request: HANG
        pid = bridge.session._child.pid if bridge.session._child else 0
        with pytest.raises(GatewayError, match="no answer to control within 2 s"):
            await client.control(ONE.id, TC_V0_OID, bytes(4), bytes(12))
        await world.until(lambda: bridge.session.up and bridge.session.starts == 2)
        assert bridge.session._child is not None
        assert bridge.session._child.pid != pid
    assert bridge.session.restarts["hung"] == 1


async def test_a_restarted_ric_has_a_new_budget(world: BridgeWorld) -> None:
    bridge = await world.start(ONE)
    world.reporting(ONE.id, RLC, rlc_message)
    async with world.reading() as (_, indications):
        assert bridge.budget.used == 1
        bridge.budget.spend(Use.CONTROL, 40_000)
        await world.ric.stop()
        await world.until(lambda: not bridge.session.up and bridge.session.starts >= 3)
        assert "is absent" in bridge.session.why
        assert not bridge.readiness.ready
        await world.ric.start()
        await resubscribed(indications)
    assert bridge.budget.used == 1
    assert bridge.budget.sessions == 1


async def test_a_silent_node_is_disconnected_until_it_reports_again(world: BridgeWorld) -> None:
    bridge = await world.start(ONE, TWO, nodes=QUICKLY_STALE)
    talking = world.reporting(ONE.id, RLC, rlc_message)
    world.reporting(TWO.id, RLC, rlc_message)
    trigger = rlc.event_trigger(10)

    def reports(node_id: str) -> float | None:
        labels = {"node": node_id, "ran_function": "rlc"}
        return bridge.registry.get_sample_value("sojourn_flexric_reports_total", labels)

    async with world.client(ONE.id) as client:
        await some(client.subscribe(TWO.id, RLC_OID, trigger), 1)
        stream = client.subscribe(ONE.id, RLC_OID, trigger)
        async with aclosing(stream) as indications, asyncio.timeout(PATIENCE_S):
            await anext(indications)
            before = reports(ONE.id)
            assert before
            talking.cancel()
            await world.until(lambda: bridge.nodes.present(ONE.id) is None, "ONE gone")
            assert bridge.nodes.present(TWO.id) is not None
            assert reports(ONE.id) is None
            assert reports(TWO.id)
            with pytest.raises(GatewayError):
                await client.control(ONE.id, TC_V0_OID, bytes(4), bytes(12))
            assert not world.ric.controls, "the RIC aborts on a control to an absent node"
            world.reporting(ONE.id, RLC, rlc_message)
            await resubscribed(indications)
            assert (reports(ONE.id) or 0) > before, "the counter goes on"
    assert bridge.session.starts == 1
    assert len(world.ric.on(ONE.id, RLC)) <= 1


async def test_a_control_waits_for_the_report_of_a_node_that_is_overdue(world: BridgeWorld) -> None:
    # The node may have just died, and the RIC would abort on the control.
    await world.start(ONE, nodes={"stale_after_s": 240})
    talking = world.reporting(ONE.id, RLC, rlc_message)
    async with world.reading() as (client, _):
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


async def test_a_ric_that_is_behind_gets_no_requests(world: BridgeWorld) -> None:
    # It aborts on an answer that takes 3 s, and answers queue behind reports.
    await world.start(ONE, TWO)
    world.reporting(ONE.id, RLC, rlc_message)
    world.reporting(TWO.id, RLC, rlc_message)
    trigger = rlc.event_trigger(10)
    async with world.reading() as (client, indications):
        world.ric.behind_us = 1_500_000
        async for indication in indications:
            if indication.received_at_us - indication.collected_at_us > 1_000_000:
                break
        asked = world.ric.requests.copy()
        for node in (ONE, TWO):
            with pytest.raises(GatewayError, match=f"node {ONE.id} come 1.5 s late; the RIC"):
                await client.control(node.id, TC_V0_OID, bytes(4), bytes(12))
        waiting = asyncio.ensure_future(some(client.subscribe(TWO.id, RLC_OID, trigger), 1))
        await asyncio.sleep(0.2)
        assert world.ric.requests == asked
        world.ric.behind_us = 900_000
        assert await waiting
        assert (await client.control(ONE.id, TC_V0_OID, bytes(4), bytes(12))).acknowledged
    assert len(world.ric.controls) == 1


async def test_unread_subscriptions_end_once_the_ric_is_no_longer_behind(
    world: BridgeWorld,
) -> None:
    bridge = await world.start(ONE, subscriptions={"linger_s": 0})
    world.reporting(ONE.id, RLC, rlc_message)
    async with world.reading():
        world.ric.behind_us = 1_500_000
        await world.until(bridge.hub.undeletable, "behind")
    await asyncio.sleep(0.3)
    assert world.ric.requests["unsubscribe"] == 0
    world.ric.behind_us = 0
    await world.until(lambda: world.ric.requests["unsubscribe"] == 1, "ended")
    assert bridge.hub.subscriptions == 0


async def test_a_restarted_node_is_found_by_a_query_and_subscribed_again(
    world: BridgeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flexric_bridge.absence.SHORTEST_S", 0.1)
    bridge = await world.start(ONE, TWO, nodes={**QUICKLY_STALE, "query_period_s": 1})
    world.reporting(ONE.id, RLC, rlc_message)
    world.reporting(TWO.id, RLC, rlc_message)
    async with world.reading() as (_, indications):
        del world.ric.nodes[ONE.id]
        world.ric.subscriptions.clear()
        await world.until(lambda: bridge.nodes.present(ONE.id) is None, "ONE gone")
        world.ric.add(ONE)
        await resubscribed(indications)
    assert bridge.metrics.node_queries["answered"] >= 1
    assert bridge.session.starts == 1
    assert world.ric.requests["unsubscribe"] == 0, "the RIC aborts on a deletion on an absent node"


async def test_the_process_of_the_next_query_starts_while_a_node_is_away(
    world: BridgeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flexric_bridge.absence.SHORTEST_S", 3600)
    bridge = await world.start(ONE, TWO, nodes=QUICKLY_STALE)
    discovery = bridge.discovery
    world.reporting(ONE.id, RLC, rlc_message)
    async with world.reading():
        assert discovery._starting is None
        del world.ric.nodes[ONE.id]
        await world.until(lambda: discovery._starting and discovery._starting.done(), "a start")
        assert discovery._starting is not None
        child = discovery._starting.result()
        assert (child.alive, world.ric.requests["open"]) == (True, 1), "it has not connected"
        world.ric.add(ONE)
        await world.until(lambda: not child.alive, "the end: no node is away")
    assert world.ric.requests["open"] == 1


async def test_a_node_that_had_returned_is_queried_for_at_once_again(
    world: BridgeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that every absence but a new one has the longest delay.
    monkeypatch.setattr("flexric_bridge.absence.SHARE", 1e6)
    bridge = await world.start(ONE)
    world.reporting(ONE.id, RLC, rlc_message)
    discovery, absences = bridge.discovery, bridge.discovery._absences
    async with world.reading():
        known = bridge.nodes.known[ONE.id]
        bridge.hub.node_disconnected(known, "a first time")
        discovery._update_presence()
        await world.until(lambda: known.present, "a report of it")
        discovery._update_presence()
        found_ns = time.monotonic_ns()
        await world.until(lambda: bridge.hub.last_report_ns(known) > found_ns, "another")
        # Without a pause: the next report ends the absence.
        bridge.hub.node_disconnected(known, "a second time")
        now_ns = time.monotonic_ns()
        discovery._update_presence()
        assert absences.next_query_s(now_ns) == 1


async def test_a_node_that_joins_late_is_found_without_ending_streams(world: BridgeWorld) -> None:
    bridge = await world.start(ONE, nodes={"query_period_s": 0.2})
    world.reporting(ONE.id, RLC, rlc_message)
    world.reporting(TWO.id, RLC, rlc_message)
    async with world.reading() as (client, indications):
        world.ric.add(TWO)
        await client.wait_for_node(TWO.id)
        assert await some(client.subscribe(TWO.id, RLC_OID, rlc.event_trigger(10)), 1)
        before = world.ric.requests["subscribe"]
        assert before >= 3
        seen = [(await anext(indications)).subscription for _ in range(5)]
    assert set(seen) == {1}
    assert bridge.session.restarts["reopened"] == 1
    assert bridge.budget.spent[Use.DELETION] >= 1


async def test_with_many_nodes_there_are_no_queries(world: BridgeWorld) -> None:
    world.ric.add(*(node(number) for number in range(11)))
    bridge = await world.start(nodes={"query_period_s": 0.05})
    await world.until(lambda: bridge.session.up)
    await asyncio.sleep(0.5)
    assert world.ric.requests["open"] == 1
    world.ric.nodes.clear()
    assert bridge.discovery._last_warning.startswith("11 nodes are known")


async def test_definitions_near_the_rics_limit_stop_queries(world: BridgeWorld) -> None:
    world.ric.add(node(1, definition=4000), node(2, definition=3000))
    bridge = await world.start(nodes={"query_period_s": 0.05})
    await world.until(lambda: "32 KiB" in bridge.discovery._last_warning)
    assert world.ric.requests["open"] == 1


async def test_a_ric_that_ends_the_association_is_noticed_without_a_request(
    world: BridgeWorld,
) -> None:
    bridge = await world.start(ONE, ric={"backoff_initial_s": 20, "backoff_max_s": 20})
    await world.until(lambda: bridge.session.up)
    await world.ric.stop()
    await world.until(lambda: not bridge.session.up)
    assert "no more reports will come" in bridge.session.why
    assert "the RIC hung up" in bridge.session.why


async def test_a_ric_that_aborts_on_setup_gets_longer_setup_delays(world: BridgeWorld) -> None:
    # nearRT-RIC aborts when an xApp connects before a node; each delay is longer.
    world.ric.add(ONE)
    times_s: list[float] = []

    def aborts(_request: object) -> object:
        times_s.append(asyncio.get_running_loop().time())
        if len(times_s) > 3:
            return DEFAULT
        raise SdkError("closed", "the RIC ended the association before it answered")

    world.ric.answer["open"] = aborts
    ric = {"backoff_initial_s": 0.001, "backoff_max_s": 0.001, "nodes_come_within_s": 0.2}
    bridge = await world.start(ric=ric)
    await world.until(lambda: bridge.session.up)
    waits_s = [later - earlier for earlier, later in itertools.pairwise(times_s)]
    assert len(waits_s) == 3
    assert all(wait >= least for wait, least in zip(waits_s, (0.4, 0.8, 1.6), strict=True))


@pytest.mark.parametrize("away_s", [0.0, 1.0])
async def test_a_returning_ric_is_set_up_after_its_nodes_had_time_to_connect(
    world: BridgeWorld, away_s: float
) -> None:
    """Also one that returned before its absence was detected."""
    world.ric.add(ONE)
    setup_delays_s: list[float] = []

    def note(request: dict[str, float]) -> object:
        setup_delays_s.append(request["setup_delay_s"])
        return DEFAULT

    world.ric.answer["open"] = note
    bridge = await world.start(ric={"nodes_come_within_s": 0.5})
    await world.until(lambda: bridge.session.up)
    await world.ric.stop()
    await asyncio.sleep(away_s)
    await world.ric.start()
    await world.until(lambda: len(setup_delays_s) == 2)
    await world.until(lambda: bridge.session.up)
    assert setup_delays_s == [0, 0.5]


async def test_an_absent_ric_is_no_failure_of_the_bridge(world: BridgeWorld) -> None:
    world.ric.add(ONE)
    await world.ric.stop()
    bridge = await world.start(ric={"backoff_initial_s": 60, "backoff_max_s": 60})
    await world.until(lambda: bridge.session.starts == 3, "a third child, without back-off")
    assert bridge.session.state is RicState.ABSENT
    assert "is absent" in bridge.session.why
    await world.ric.start()
    await world.until(lambda: bridge.session.up)


async def test_five_consecutive_crashes_of_the_ric_cost_no_more_than_one(
    world: BridgeWorld,
) -> None:
    """All settings but the ports are the defaults."""
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


async def test_a_ric_without_nodes_has_its_own_state(world: BridgeWorld) -> None:
    """It is queried again soon; an empty list is not counted as a failure."""

    def has_none(_request: object) -> object:
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
    asked = world.ric.requests["open"]
    await world.until(lambda: world.ric.requests["open"] > asked, "asked again, without back-off")
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
async def test_reasons_for_a_missing_session_are_distinguished(
    world: BridgeWorld, kind: SdkErrorKind, state: RicState, words: str
) -> None:
    def fails(_request: object) -> object:
        raise SdkError(kind, "for a reason")

    world.ric.add(ONE)
    world.ric.answer["open"] = fails
    bridge = await world.start()
    await world.until(lambda: bridge.session.state is state)
    await world.until(lambda: words in bridge.session.why)
    world.ric.answer.clear()
    await world.until(lambda: bridge.session.up, "the session recovers")


async def test_a_query_ends_with_the_session_and_never_reaches_the_next_ric(
    world: BridgeWorld,
) -> None:
    # nearRT-RIC aborts on a query before its nodes have reconnected.
    world.ric.add(ONE)
    world.ric.answer["open"] = lambda _request: HANG if world.ric.requests["open"] == 2 else DEFAULT
    patient = {"open_timeout_s": 10 * PATIENCE_S}
    bridge = await world.start(nodes={"query_period_s": 0.05}, ric=patient)
    await world.until(lambda: world.ric.requests["open"] == 2, "a query in progress")
    kill_child(bridge)
    await world.until(lambda: bridge.metrics.node_queries["failed"] == 1, "the query abandoned")


async def test_a_query_to_a_ric_without_nodes_is_an_answer(world: BridgeWorld) -> None:
    world.ric.add(ONE)

    def second_has_none(_request: object) -> object:
        if world.ric.requests["open"] < 2:
            return DEFAULT
        raise SdkError("no-nodes", "the near-RT RIC has no E2 node yet")

    world.ric.answer["open"] = second_has_none
    bridge = await world.start(nodes={"query_period_s": 0.05})
    await world.until(lambda: bridge.metrics.node_queries["answered"] >= 1)
    await world.until(lambda: bridge.nodes.present(ONE.id) is None)
    assert bridge.session.up
    assert not bridge.metrics.node_queries["failed"]


def _has_started(bridge: Bridge, sessions: int) -> bool:
    return bridge.session.starts == sessions


async def test_the_end_of_a_session_does_not_count_as_absence_of_nodes(world: BridgeWorld) -> None:
    bridge = await world.start(ONE, nodes={"query_period_s": 0})
    await world.until(lambda: bridge.session.up)
    for number in range(2, 5):
        kill_child(bridge)
        await world.until(lambda: not bridge.session.up)
        assert bridge.discovery._next_query_s() is None
        await world.until(partial(_has_started, bridge, number), "another")
        await world.until(lambda: bridge.session.up)
    await asyncio.sleep(2 * CHECK_S)
    assert bridge.discovery._next_query_s() is None
    assert world.ric.requests["open"] == bridge.session.starts, "no query"


async def test_a_node_missing_in_a_new_session_is_queried_for_at_once(
    world: BridgeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flexric_bridge.absence.SHORTEST_S", 0.1)
    bridge = await world.start(ONE, TWO, nodes={"query_period_s": 0})
    await world.until(lambda: bridge.nodes.present(TWO.id) is not None)
    del world.ric.nodes[TWO.id]
    kill_child(bridge)
    await world.until(lambda: bridge.session.starts == 2 and bridge.session.up)
    await world.until(lambda: bridge.metrics.node_queries["answered"] >= 1, "a query")
    assert bridge.nodes.present(TWO.id) is None
    world.ric.add(TWO)
    await world.until(lambda: bridge.nodes.present(TWO.id) is not None, "TWO is back")


def _descriptors() -> set[Path]:
    return set(Path("/proc/self/fd").iterdir())


async def test_a_child_whose_start_is_cancelled_leaves_no_process_and_no_descriptor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def forever(**_: object) -> None:
        await asyncio.Event().wait()

    before = _descriptors()
    monkeypatch.setattr(asyncio, "open_connection", forever)
    child = ChildProcess("fake_sdk:FakeSdk", Deadlines(1, 1), lambda _: None, lambda: None)
    starting = asyncio.create_task(child.start())
    while not child.alive:
        await asyncio.sleep(0.005)
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    assert child.pid > 0
    assert not child.alive
    while not _descriptors() <= before:  # its output ends
        await asyncio.sleep(0.005)
