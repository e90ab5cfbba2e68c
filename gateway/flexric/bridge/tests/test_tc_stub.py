"""A stub of a TC function is distinguished from a real one and not used."""

from __future__ import annotations

import asyncio
import copy
import random
import time
from functools import partial
from typing import Any

import e2sm_tc
import gnb_lab
import pytest
from bridge_world import PATIENCE_S, BridgeWorld
from fake_flexric import RLC, TC, node, rlc_message
from flexric_bridge.nodes import NodeRegistry
from flexric_bridge.tc.messages import definition
from flexric_bridge.tc.stub import EVIDENCE, SETTLE_US, UNREPORTED, WINDOW, StubWatch
from flexric_bridge.traffic_control import ServedNode
from hypothesis import given
from hypothesis import strategies as st
from lab_node import BULK, SCENARIO, LabNode
from pipelines import hashed
from ric.errors import GatewayError, SubscriptionRefused
from ric.sm import TC_V0_OID, TC_V1_OID
from test_traffic_control import PLAIN, Tc, status

KINDS = ("FIFO", "CODEL", "ECN_CODEL")
Report = dict[str, Any]


def made_up(rng: random.Random, at_us: int = 0) -> Report:
    """A report of valid form, filled with random numbers of the ranges of `fill_tc_ind_data`."""
    queues = []
    for number in rng.sample(range(16), rng.randrange(16)):
        entry = copy.deepcopy(PLAIN["q"][0])  # type: ignore[index]
        entry["shp"]["id"] = number
        kind = rng.choice(KINDS)
        dropped = "marked_pkts" if kind == "ECN_CODEL" else "dropped_pkts"
        entry["queue"] = {
            "type": kind,
            **{name: rng.randrange(10_000) for name in ("bytes", "pkts", "bytes_fwd", "pkts_fwd")},
            dropped: rng.randrange(1000),
            "avg_sojourn_time": rng.random(),
            "last_sojourn_time": rng.randrange(100),
        }
        queues.append(entry)
    return {
        **copy.deepcopy(PLAIN),
        "sch": rng.choice(({"type": "RR"}, {"type": "PRIO", "q_prio": [1, 2]})),
        "cls": {"type": rng.choice(("RR", "STO")), "dummy": 0},
        "q": queues,
        "tstamp": at_us,
    }


def counted(forwarded: int, at_ms: int, queues: int = 1, **kinds: str) -> Report:
    """A report of a pipeline that works."""
    entries = [copy.deepcopy(PLAIN["q"][0]) for _ in range(queues)]  # type: ignore[index]
    for number, entry in enumerate(entries):
        entry["shp"]["id"] = number
        entry["queue"]["pkts_fwd"] = forwarded
        entry["queue"]["bytes_fwd"] = forwarded * 1500 % (1 << 32)
    stages = {stage: {"type": kind} for stage, kind in kinds.items()}
    return {**copy.deepcopy(PLAIN), "q": entries, "tstamp": at_ms * 1000, **stages}


@given(st.integers(0, 1 << 32))
def test_invented_reports_are_detected_within_seconds(seed: int) -> None:
    rng, watch = random.Random(seed), StubWatch()
    for second in range(2 * WINDOW):
        drawn = made_up(rng)
        for ms in range(0, 1000, 100):
            # Encoded and decoded, as on the wire.
            report = {**drawn, "tstamp": second * 1_000_000 + ms * 1000}
            message = e2sm_tc.encode("indication", report, "v0")
            watch.take(e2sm_tc.decode("indication", message, "v0"))
    assert "invents its reports" in watch.verdict


@given(st.lists(st.integers(0, 100_000), min_size=30, max_size=60), st.integers(0, 59))
def test_counter_wraps_and_a_restart_give_no_verdict(steps: list[int], restarts_at: int) -> None:
    watch, forwarded = StubWatch(), (1 << 32) - 1_000_000
    for number, more in enumerate(steps):
        forwarded = 0 if number == restarts_at else (forwarded + more) % (1 << 32)
        watch.take(counted(forwarded, 10 * number + 10, queues=1 if number > restarts_at else 3))
    assert watch.verdict == ""


def test_controls_that_restart_the_queues_give_no_verdict() -> None:
    watch, at_ms = StubWatch(), 0
    for _ in range(2 * WINDOW):
        watch.controlled()
        for forwarded in (5000, 1, 2):  # one that was under way, then the new queues
            at_ms += 10
            watch.take(counted(forwarded, at_ms))
    assert watch.verdict == ""


def test_a_packet_that_enters_while_its_queue_is_read_is_no_evidence() -> None:
    watch = StubWatch()
    for number in range(2 * WINDOW):
        report = counted(number, 10 * number)
        report["q"][0]["queue"] |= {"pkts": 1, "bytes": 0}
        watch.take(report)
    assert watch.verdict == ""


def test_a_pipeline_built_by_another_xapp_is_no_evidence() -> None:
    watch = StubWatch()
    reports = [
        *(counted(10, ms, queues=ms // 10 + 1) for ms in range(0, 80, 10)),
        counted(10, 80, queues=8, cls="STO"),
        counted(10, 90, queues=8, cls="STO", sch="PRIO"),
        counted(10, 100, queues=8, cls="STO", sch="PRIO", pcr="5G_BDP"),
    ]
    for report in reports:
        watch.take(report)
    assert watch.verdict == ""


def test_kinds_that_alternate_are_a_verdict_unless_controlled() -> None:
    asked, unasked = StubWatch(), StubWatch()
    for number in range(2 * WINDOW):
        report = counted(10, 10 * number, sch=("RR", "PRIO")[number % 2])
        asked.controlled()
        asked.take(report)
        unasked.take(report)
    assert asked.verdict == ""
    assert "the scheduler changes and changes back" in unasked.verdict


def test_counters_that_go_back_are_a_verdict_from_the_third_time_on() -> None:
    watch = StubWatch()
    for number in range(EVIDENCE):
        watch.take(counted(100, 20 * number))
        assert watch.verdict == ""
        watch.take(counted(1, 20 * number + 10))
    assert "bytes_fwd of queue 0 goes back from 150000 to 1500" in watch.verdict


def test_detection_resumes_a_second_after_a_control() -> None:
    watch = StubWatch()
    watch.take(counted(100, 0))
    watch.controlled()
    at_ms = SETTLE_US // 1000
    for ms in range(10, 3 * at_ms, 10):
        watch.take(counted(100 * (ms // 10 % 2), ms))
        if ms < at_ms:
            assert watch.verdict == ""
    assert "goes back" in watch.verdict


def test_a_repeated_report_is_one_piece_of_evidence() -> None:
    watch = StubWatch()
    report = counted(0, 0)
    report["q"][0]["queue"] |= {"pkts": 9, "bytes": 0}
    for number in range(2 * WINDOW):
        watch.controlled()
        watch.take({**report, "tstamp": 10_000 * number})
    assert watch.verdict == ""


def test_acknowledged_pipelines_that_are_never_reported_are_a_verdict() -> None:
    watch = StubWatch()
    for as_requested in (False, False, True, *(False,) * (UNREPORTED - 1)):
        watch.reported(as_requested=as_requested)
    assert watch.verdict == ""
    watch.reported(as_requested=False)
    assert "never appeared in its reports" in watch.verdict


def test_a_real_tc_function_under_load_is_no_stub() -> None:
    world = gnb_lab.World({**SCENARIO, "flows": [*SCENARIO["flows"], BULK]}, epoch_us=1_000_000)
    world.subscribe(gnb_lab.TC_V0_OID, 10)
    watch, taken = StubWatch(), 0
    for indication in world.step_until(3_000_000):
        watch.take(e2sm_tc.decode("indication", indication.message, "v0"))
        taken += 1
    assert taken > 200
    assert watch.verdict == ""


async def test_a_stub_is_not_used(world: BridgeWorld) -> None:
    gnb, rng = node(0xE00, functions=(RLC, TC)), random.Random(1)
    bridge = await world.start(gnb)
    world.reporting(gnb.id, RLC, rlc_message)
    world.reporting(
        gnb.id, TC, lambda: e2sm_tc.encode("indication", made_up(rng, time.time_ns() // 1000), "v0")
    )
    async with world.client(gnb.id) as client:
        tc = Tc(client, gnb.id, timeout_s=PATIENCE_S)
        with pytest.raises(SubscriptionRefused, match="invents its reports"):
            async for _ in tc.reports("pipeline_status", {"periodic": {"period_ms": 10}}):
                pass
        message = bridge.nodes.known[gnb.id].message
        assert {f.oid for f in message.ran_functions}.isdisjoint({TC_V1_OID})
        sent = len(world.ric.controls)
        with pytest.raises(GatewayError, match="invents its reports"):
            await tc.change({"replace": hashed(2)})
        with pytest.raises(GatewayError, match="invents its reports"):
            await client.control(gnb.id, TC_V0_OID, bytes(4), bytes(12))
    assert len(world.ric.controls) == sent
    value = bridge.registry.get_sample_value("sojourn_flexric_tc_stub", {"node": gnb.id})
    assert value == 1.0


async def test_a_verdict_before_the_subscription_is_complete_ends_it(
    world: BridgeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    gnb, rng = node(0xE00, functions=(RLC, TC)), random.Random(1)
    bridge = await world.start(gnb)
    hub = bridge.traffic.hub
    subscribed = hub.read

    async def read(known: Any, oid: str, period_ms: int, names: Any, who: Any) -> None:
        await subscribed(known, oid, period_ms, names, who)
        if oid == TC_V0_OID:
            for second in range(WINDOW):
                report = e2sm_tc.encode("indication", made_up(rng, second * 1_000_000), "v0")
                if not known.no_tc:
                    who.on_report(report, second, second)
            await asyncio.sleep(0)  # the readers are released

    monkeypatch.setattr(hub, "read", read)
    async with world.client(gnb.id) as client, asyncio.timeout(PATIENCE_S):
        tc = Tc(client, gnb.id)
        with pytest.raises(SubscriptionRefused, match="invents its reports"):
            async for _ in tc.reports("pipeline_status", {"periodic": {"period_ms": 10}}):
                pass
    assert bridge.traffic.served == {}


async def test_a_control_that_waits_for_a_first_report_gets_the_verdict(world: BridgeWorld) -> None:
    gnb, rng = node(0xE00, functions=(RLC, TC)), random.Random(1)
    await world.start(gnb)
    async with world.client(gnb.id) as client:
        change = asyncio.ensure_future(Tc(client, gnb.id).change({"replace": hashed(2)}))
        await world.until(lambda: len(world.ric.on(gnb.id, RLC)) == 1)
        world.reporting(
            gnb.id,
            TC,
            lambda: e2sm_tc.encode("indication", made_up(rng, time.time_ns() // 1000), "v0"),
        )
        with pytest.raises(GatewayError, match="invents its reports"):
            await change
    assert world.ric.controls == []


def shows_safe_pipeline(served: ServedNode) -> bool:
    current = served.function.in_force
    return bool(served.known.no_tc) or (current is not None and current.state.is_safe)


async def test_a_node_that_acknowledges_and_never_reports_a_pipeline_is_not_used(
    world: BridgeWorld,
) -> None:
    gnb = node(0xE00, functions=(RLC, TC))
    bridge = await world.start(gnb)
    world.reporting(gnb.id, RLC, rlc_message)
    world.reporting(
        gnb.id,
        TC,
        lambda: e2sm_tc.encode("indication", {**PLAIN, "tstamp": time.time_ns() // 1000}, "v0"),
    )
    async with world.client(gnb.id) as client:
        tc, known = Tc(client, gnb.id), bridge.nodes.known[gnb.id]
        for number in range(UNREPORTED):
            assert known.no_tc == ""
            assert "accepted" in await tc.change({"replace": hashed(2 + number)})
            # Reports still contain the safe pipeline.
            await world.until(partial(shows_safe_pipeline, bridge.traffic.served[gnb.id]))
    assert "acknowledges controls and does not carry them out" in known.no_tc


async def test_a_v0_control_of_an_xapp_pauses_detection(world: BridgeWorld) -> None:
    lab = LabNode(world.ric)
    bridge = await world.start()
    world.spawn(lab.run())
    async with world.client(lab.node.id) as client:
        await status(Tc(client, lab.node.id), 1)
        watch = bridge.traffic.served[lab.node.id].function.watch
        assert not watch._settling
        assert watch._settled_at_us == 0
        control = e2sm_tc.encode(
            "control", {"type": "PCR", "act": "MOD", "pcr_type": "DUMMY", "dummy": 0}, "v0"
        )
        await client.control(lab.node.id, TC_V0_OID, bytes(4), control)
        assert watch._settling or watch._settled_at_us > 0


def test_a_reconnected_node_is_tried_again() -> None:
    gnb, book = node(0xE00, functions=(RLC, TC)), NodeRegistry(definition(64, 64))
    known = book.connected(gnb)

    def offered() -> bool:
        return TC_V1_OID in {function.oid for function in known.message.ran_functions}

    assert offered()
    book.without_tc(known, "a stub")
    book.connected(gnb)
    assert not offered(), "it was listed before"
    book.disconnected(known, "test")
    book.connected(gnb)
    assert offered()


@pytest.mark.parametrize("overtaken", [False, True])
async def test_overtaken_reports_are_not_counted_twice(world: BridgeWorld, overtaken: bool) -> None:
    lab = LabNode(world.ric)
    bridge = await world.start()
    running = world.spawn(lab.run())
    async with world.client(lab.node.id) as client:
        await status(Tc(client, lab.node.id), 1)
    running.cancel()
    function = bridge.traffic.served[lab.node.id].function
    at_ms = time.time_ns() // 1_000_000
    reports = [counted(1000 + 10 * step, at_ms + 10 * step) for step in range(5)]
    order = [0, 2, 1, 4, 3] if overtaken else range(5)
    for step in order:
        function.on_indication(e2sm_tc.encode("indication", reports[step], "v0"))
    latest = function.status({})
    assert latest is not None
    queue = next(queue for queue in latest["queues"] if queue["id"] == 0)
    assert queue["forwarded_packets"] == 1040


async def test_a_lab_node_that_restarts_keeps_its_tc(world: BridgeWorld) -> None:
    lab = LabNode(world.ric)
    bridge = await world.start()
    running = world.spawn(lab.run())
    async with world.client(lab.node.id) as client:
        tc = Tc(client, lab.node.id)
        assert "accepted" in await tc.change({"replace": hashed(4)}, lease_ms=60_000)
        await status(tc, 2)
        running.cancel()
        world.spawn(LabNode(world.ric).run())
        until_s = time.monotonic() + 0.5
        while time.monotonic() < until_s:
            await status(tc)
    assert bridge.nodes.known[lab.node.id].no_tc == ""
