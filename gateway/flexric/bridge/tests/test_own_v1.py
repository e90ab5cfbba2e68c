"""Nodes whose TC function speaks E2SM-TC v1: nothing is translated."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import e2sm_tc
import pytest
from bridge_world import PATIENCE_S, BridgeWorld, kill_child
from fake_flexric import RLC, TC, TC_V1, Subscription, node, record, rlc_message
from flexric_bridge.sdk import V1_HEAD, V1_REFUSED
from ric import E2GatewayClient, Reading
from ric.errors import GatewayError, SubscriptionRefused
from ric.sm import TC_V0_OID, TC_V1_OID

CAPABILITIES = {
    **{kinds: ["fifo"] for kinds in ("classifiers", "queues", "schedulers", "pacers")},
    **dict.fromkeys(("policer", "shaper", "node_lease", "as_safe"), True),
    **dict.fromkeys(("max_queues", "max_filters", "max_bearers", "min_period_ms"), 7),
}
DEFINITION = e2sm_tc.encode(
    "ran-function-definition",
    {
        "short_name": "ORAN-E2SM-TC",
        "oid": e2sm_tc.OID_V1,
        "description": "the node's own",
        "capabilities": CAPABILITIES,
    },
)
OWN = node(0xE00, functions=(RLC, TC, TC_V1), tc_definition=DEFINITION)
BEARER = {"ue": {"rnti": 17}, "drb": 1}
ON_CHANGE = e2sm_tc.encode("event-trigger", "on_change")
EACH_20_MS = e2sm_tc.encode("event-trigger", {"periodic": {"period_ms": 20}})
HEADER = e2sm_tc.encode("control-header", {"style": 2, "correlation_id": 5})
RENEWAL = e2sm_tc.encode(
    "control", {"lease_renewal": {"bearer": BEARER, "revision": 3, "lease_ms": 900, "owner": None}}
)
ACCEPTED = e2sm_tc.encode("control-outcome", {"accepted": {"revision": 3, "lease_ms": 900}})
NOT_OWNER = e2sm_tc.encode(
    "control-outcome",
    {
        "refused": {
            "cause": "not_owner",
            "element": "owner",
            "detail": "held by another",
            "revision": 3,
            "holder": {"owner": "other", "lease_left_ms": 70},
        }
    },
)


def action(style: str, *bearers: dict[str, Any]) -> bytes:
    definition = {"style": style, "bearers": list(bearers), "top_flows": 8}
    return e2sm_tc.encode("action-definition", definition)


def report(collected_at_us: int, style: str = "events") -> tuple[bytes, bytes]:
    header = e2sm_tc.encode("indication-header", {"collected_at_us": collected_at_us})
    return header, e2sm_tc.encode("indication", {style: []})


def feed(origin_us: int) -> bytes:
    forecast = {
        "bearer": BEARER,
        "origin_us": origin_us,
        "horizon_start_us": 1,
        "step_us": 1000,
        "occupancy_bytes": [1, 2],
        "limit_bytes": [],
        "drain_bytes": [],
    }
    return e2sm_tc.encode("control", {"forecast_feed": {"bearers": [forecast]}})


class V1:
    """The v1 side of the fake RIC."""

    def __init__(self, world: BridgeWorld) -> None:
        self.world = world
        self.controls: list[tuple[int, bytes, bytes]] = []
        self.outcome: Callable[[], bytes] = lambda: ACCEPTED
        world.ric.answer["control"] = self._control

    def _control(self, request: dict[str, Any]) -> str:
        header, message = (bytes.fromhex(request[name]) for name in ("header", "message"))
        self.controls.append((request["function_id"], header, message))
        return self.outcome().hex()

    def subscriptions(self) -> list[Subscription]:
        return [item for _, item in self.world.ric.on(OWN.id, TC_V1)]

    def send(self, action_definition: bytes, header: bytes, message: bytes) -> None:
        """A report of each subscription with this action."""
        body = V1_HEAD.pack(len(header)) + header + message
        for handle, item in self.world.ric.on(OWN.id, TC_V1):
            if item.action == action_definition:
                self.world.ric.block(item.session, record(handle, body, time.time_ns() // 1000))

    async def keep_sending(self, action_definition: bytes, header: bytes, message: bytes) -> None:
        while True:
            self.send(action_definition, header, message)
            await asyncio.sleep(0.01)


@pytest.fixture
async def v1(world: BridgeWorld) -> V1:
    made = V1(world)
    await world.start(OWN)
    world.reporting(OWN.id, RLC, rlc_message)
    return made


def subscribe(client: E2GatewayClient, trigger: bytes, *actions: bytes) -> Any:
    return aclosing(client.subscribe(OWN.id, TC_V1_OID, trigger, list(actions)))


async def test_the_nodes_own_function_is_offered(world: BridgeWorld, v1: V1) -> None:
    async with world.client(OWN.id) as client:
        offered = {function.oid: function for function in client.nodes[0].ran_functions}
    assert (offered[TC_V1_OID].id, offered[TC_V1_OID].definition) == (TC_V1, DEFINITION)
    assert offered[TC_V0_OID].id == TC


async def test_a_service_model_without_tc_function_leaves_v0_in_its_place(
    world: BridgeWorld,
) -> None:
    text = b"E2SM-TC v1: no TC function in this process"
    await world.start(node(0xE00, functions=(RLC, TC, TC_V1), tc_definition=text))
    async with world.client(OWN.id) as client:
        offered = {function.oid: function for function in client.nodes[0].ran_functions}
    assert offered[TC_V1_OID].id == TC
    assert b"E2SM-TC v1 in front of a node that has v0" in offered[TC_V1_OID].definition


async def test_reports_pass_unchanged_and_equal_subscriptions_are_one(
    world: BridgeWorld, v1: V1
) -> None:
    events = action("events", BEARER)
    made = report(1_700_000_000_000_000)
    world.spawn(v1.keep_sending(events, *made))
    async with (
        world.client(OWN.id) as client,
        asyncio.timeout(PATIENCE_S),
        subscribe(client, ON_CHANGE, events) as one,
    ):
        first = await anext(one)
        async with subscribe(client, ON_CHANGE, events) as other:
            await anext(other)
            assert [(s.trigger, s.action) for s in v1.subscriptions()] == [(ON_CHANGE, events)]
    assert (first.header, first.message) == made
    assert first.collected_at_us == 1_700_000_000_000_000


async def test_each_action_is_a_subscription_of_its_own(world: BridgeWorld, v1: V1) -> None:
    styles = [action("pipeline_status"), action("flow_inventory")]
    for style, name in zip(styles, ("pipeline_status", "flow_inventory"), strict=True):
        world.spawn(v1.keep_sending(style, *report(1_700_000_000_000_000, name)))
    seen: set[str] = set()
    async with (
        world.client(OWN.id) as client,
        asyncio.timeout(PATIENCE_S),
        subscribe(client, EACH_20_MS, *styles) as stream,
    ):
        while len(seen) < len(styles):
            seen |= set(e2sm_tc.decode("indication", (await anext(stream)).message))
        assert {s.action for s in v1.subscriptions()} == set(styles)


@pytest.mark.usefixtures("v1")
async def test_events_cannot_be_read_so_that_newer_ones_replace_them(world: BridgeWorld) -> None:
    async with world.client(OWN.id) as client, asyncio.timeout(PATIENCE_S):
        events = client.subscribe(
            OWN.id, TC_V1_OID, ON_CHANGE, [action("events")], reading=Reading.NEWEST
        )
        with pytest.raises(SubscriptionRefused, match=r"NEWEST.*expected HISTORY"):
            await anext(events)


async def test_a_refused_subscription_ends_with_the_nodes_reason(
    world: BridgeWorld, v1: V1
) -> None:
    events = action("events")
    world.spawn(v1.keep_sending(events, V1_REFUSED, b"min_period_ms: 20; expected at least 50"))
    async with world.client(OWN.id) as client, asyncio.timeout(PATIENCE_S):
        with pytest.raises(GatewayError, match="expected at least 50"):
            async with subscribe(client, EACH_20_MS, events) as stream:
                await anext(stream)


async def test_a_report_that_is_none_is_counted(world: BridgeWorld, v1: V1) -> None:
    events = action("events")
    async with (
        world.client(OWN.id) as client,
        asyncio.timeout(PATIENCE_S),
        subscribe(client, ON_CHANGE, events) as stream,
    ):
        waiting = asyncio.ensure_future(anext(stream))
        await world.until(v1.subscriptions, "a subscription")
        bridge = world.bridge
        assert bridge is not None
        flow = bridge.metrics.flow(OWN.id, TC_V1_OID, "events on change")
        await world.until(lambda: flow.period_ms, "the answer")
        v1.send(events, b"\x80 no header", b"")
        await world.until(lambda: flow.bad == 1, "a bad report")
        made = report(5)
        v1.send(events, *made)
        assert (await waiting).message == made[1]


async def test_controls_and_outcomes_pass_unchanged(world: BridgeWorld, v1: V1) -> None:
    async with world.client(OWN.id) as client:
        accepted = await client.control(OWN.id, TC_V1_OID, HEADER, RENEWAL)
        v1.outcome = lambda: NOT_OWNER
        refused = await client.control(OWN.id, TC_V1_OID, HEADER, b"anything")
    assert v1.controls == [(TC_V1, HEADER, RENEWAL), (TC_V1, HEADER, b"anything")]
    assert (accepted.acknowledged, accepted.outcome) == (True, ACCEPTED)
    assert (refused.acknowledged, refused.outcome) == (False, NOT_OWNER)
    assert "not_owner: owner: held by another" in refused.detail
    # FlexRIC drops outcomes: the node is asked for them, once.
    assert [(s.trigger, s.action) for s in v1.subscriptions()] == [(ON_CHANGE, b"")]


async def test_a_control_without_outcome_is_an_error(world: BridgeWorld, v1: V1) -> None:
    v1.outcome = lambda: b""
    async with world.client(OWN.id) as client:
        with pytest.raises(GatewayError, match="no control answer"):
            await client.control(OWN.id, TC_V1_OID, HEADER, RENEWAL)


async def test_controls_beyond_the_rate_are_refused_for_capacity(world: BridgeWorld) -> None:
    v1 = V1(world)
    await world.start(OWN, controls={"per_s": 0.01, "burst": 1})
    world.reporting(OWN.id, RLC, rlc_message)
    async with world.client(OWN.id) as client:
        await client.control(OWN.id, TC_V1_OID, HEADER, RENEWAL)
        refused = await client.control(OWN.id, TC_V1_OID, HEADER, RENEWAL)
    outcome = e2sm_tc.decode("control-outcome", refused.outcome)
    assert outcome["refused"]["cause"] == "capacity"
    assert len(v1.controls) == 1


async def test_a_forecast_that_waits_is_replaced_by_a_later_one(world: BridgeWorld, v1: V1) -> None:
    release = asyncio.Event()
    answer = world.ric._answered

    async def slowly(session: int, request: dict[str, Any]) -> dict[str, Any] | None:
        if request["do"] == "control":
            await release.wait()
        return await answer(session, request)

    world.ric._answered = slowly  # type: ignore[method-assign]
    async with world.client(OWN.id) as client:
        first, *others = (
            world.spawn(client.control(OWN.id, TC_V1_OID, HEADER, message))
            for message in (RENEWAL, feed(1), feed(2))
        )
        bridge = world.bridge
        assert bridge is not None
        await world.until(lambda: bridge.lane.superseded == 1, "a replaced feed")
        release.set()
        answers = [await task for task in (first, *others)]
    assert [answer.acknowledged for answer in answers] == [True, False, True]
    assert "superseded" in answers[1].detail
    assert [message for _, _, message in v1.controls] == [RENEWAL, feed(2)]


async def test_events_alone_do_not_make_a_node_silent(world: BridgeWorld) -> None:
    v1 = V1(world)
    bridge = await world.start(OWN, nodes={"stale_after_s": 0.1})
    events = action("events")
    async with (
        world.client(OWN.id) as client,
        asyncio.timeout(PATIENCE_S),
        subscribe(client, ON_CHANGE, events) as stream,
    ):
        waiting = asyncio.ensure_future(anext(stream))
        await world.until(v1.subscriptions, "a subscription")
        await asyncio.sleep(0.5)
        assert bridge.hub.freshness.silent() == {}
        made = report(7)
        while not waiting.done():
            v1.send(events, *made)
            await asyncio.sleep(0.01)
        assert (await waiting).message == made[1]


async def test_a_new_session_has_the_subscription_to_outcomes(world: BridgeWorld, v1: V1) -> None:
    async with world.client(OWN.id) as client:
        await client.control(OWN.id, TC_V1_OID, HEADER, RENEWAL)
        (before,) = v1.subscriptions()
        assert world.bridge is not None
        kill_child(world.bridge)
        await world.until(
            lambda: any(s.session != before.session for s in v1.subscriptions()), "a new one"
        )
        await client.wait_for_node(OWN.id)
        answer = await client.control(OWN.id, TC_V1_OID, HEADER, RENEWAL)
    assert answer.outcome == ACCEPTED
    assert [s.action for s in v1.subscriptions()] == [b""]
