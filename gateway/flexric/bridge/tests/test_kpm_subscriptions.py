"""KPM through the gateway: names, slices and units, reader by reader."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from bridge_world import ONE, BridgeWorld, kill_child, some
from fake_flexric import KPM, kpm_definition, kpm_message
from flexric_bridge.hub import MAX_SLICES
from flexric_bridge.sdk import RanFunction
from ric.e2 import SNssai
from ric.errors import SubscriptionRefused
from ric.sm import KPM_OID, RLC_OID, kpm


async def test_kpm_is_typed_and_unknown_measurements_are_not_sent_to_the_gnb(
    world: BridgeWorld,
) -> None:
    await world.start(ONE)
    values = {"DRB.UEThpDl": 1234.5, "RRU.PrbTotDl": 10.0}
    world.reporting(ONE.id, KPM, lambda: kpm_message(100, values))
    async with world.client(ONE.id) as client:
        names = ("DRB.UEThpDl", "DRB.Nonsense", "RRU.PrbTotDl")
        trigger = kpm.event_trigger(100)
        (got,) = await some(client.subscribe(ONE.id, KPM_OID, trigger, (), names), 1)
        ((_, item),) = world.ric.on(ONE.id, KPM)
        assert (item.names, item.period_ms) == (("DRB.UEThpDl", "RRU.PrbTotDl"), 100)
        report = kpm.report_of(got)
        assert report.unsupported == ("DRB.Nonsense",)
        (ue,) = report.ues
        assert (report.period_ms, ue.rnti, ue.amf_ue_ngap_id, ue.values) == (100, 0, 17, values)
        assert report.units == {"DRB.UEThpDl": "kbit/s"}  # 10 may be a count or percent
        with pytest.raises(SubscriptionRefused, match=r"DRB\.Nonsense"):
            await some(client.subscribe(ONE.id, KPM_OID, trigger, (), names[1:2]), 1)


async def test_each_kpm_reader_gets_its_own_measurements(world: BridgeWorld) -> None:
    """Reports hold neither those of other readers nor the throughput that decides the units."""
    await world.start(ONE)
    values = {"DRB.UEThpDl": 40_000.0, "RRU.PrbTotDl": 1060.0, "DRB.PdcpSduVolumeDL": 4000.0}
    world.reporting(ONE.id, KPM, lambda: kpm_message(100, values))
    prb, volume = ("RRU.PrbTotDl",), ("DRB.PdcpSduVolumeDL",)
    trigger = kpm.event_trigger(100)
    async with world.client(ONE.id) as client:
        one = client.subscribe(ONE.id, KPM_OID, trigger, (), prb)
        two = client.subscribe(ONE.id, KPM_OID, trigger, (), volume)
        (first,), (second,) = await asyncio.gather(some(one, 1), some(two, 1))
    reports = [kpm.report_of(each) for each in (first, second)]
    assert [report.ues[0].values for report in reports] == [
        {"RRU.PrbTotDl": 1060.0},
        {"DRB.PdcpSduVolumeDL": 4000.0},
    ]
    assert [report.units for report in reports] == [
        {"RRU.PrbTotDl": "PRB"},
        {"DRB.PdcpSduVolumeDL": "kbit"},
    ]


async def test_kpm_of_a_slice_has_its_own_subscription(world: BridgeWorld) -> None:
    bridge = await world.start(ONE)
    world.reporting(ONE.id, KPM, lambda: kpm_message(100, {"DRB.UEThpDl": 40_000.0}))
    trigger, names = kpm.event_trigger(100), ("DRB.UEThpDl",)
    slices = (None, SNssai(2), SNssai(2, 0), SNssai(2, 0x10203), SNssai(2, 0x10203))
    async with world.client(ONE.id) as client:
        streams = [
            client.subscribe(ONE.id, KPM_OID, trigger, (), names, kpm_slice=each) for each in slices
        ]
        got = await asyncio.gather(*(some(stream, 1) for stream in streams))
    assert all(kpm.report_of(first).ues[0].values for (first,) in got)
    asked = [item.kpm_slice for _, item in world.ric.on(ONE.id, KPM)]
    assert sorted(asked, key=str) == sorted(
        [None, *({"sst": 2, "sd": sd} for sd in (None, 0, 0x10203))], key=str
    )
    for label in ("kpm", "kpm SST 2", "kpm SST 2 SD 0x000000", "kpm SST 2 SD 0x010203"):
        labels = {"node": ONE.id, "ran_function": label}
        assert bridge.registry.get_sample_value("sojourn_flexric_reports_total", labels)


@pytest.mark.parametrize(
    ("oid", "asked", "problem"),
    [
        (KPM_OID, SNssai(256), r"kpm_slice\.sst: 256; expected 0 to 255"),
        (KPM_OID, SNssai(1, 1 << 24), r"kpm_slice\.sd: 16777216; expected 0 to 16777215"),
        (RLC_OID, SNssai(1), "kpm_slice: RAN function .* takes none"),
    ],
)
async def test_an_invalid_slice_is_refused_before_it_reaches_the_ric(
    world: BridgeWorld, oid: str, asked: SNssai, problem: str
) -> None:
    await world.start(ONE)
    async with world.client(ONE.id) as client:
        with pytest.raises(SubscriptionRefused, match=problem):
            stream = client.subscribe(
                ONE.id, oid, kpm.event_trigger(100), (), ("DRB.UEThpDl",), kpm_slice=asked
            )
            await some(stream, 1)
    assert world.ric.requests["subscribe"] == 0


async def test_slices_of_a_node_are_limited(world: BridgeWorld) -> None:
    await world.start(ONE, subscriptions={"linger_s": 60})
    world.reporting(ONE.id, KPM, lambda: kpm_message(100, {"DRB.UEThpDl": 1.0}))
    trigger, names = kpm.event_trigger(100), ("DRB.UEThpDl",)
    async with world.client(ONE.id) as client:
        for sst in range(MAX_SLICES):
            slice_ = SNssai(sst)
            await some(client.subscribe(ONE.id, KPM_OID, trigger, (), names, kpm_slice=slice_), 1)
        assert len(world.ric.on(ONE.id, KPM)) == MAX_SLICES
        with pytest.raises(SubscriptionRefused, match=f"reports of {MAX_SLICES} slices"):
            one_more = SNssai(MAX_SLICES)
            await some(client.subscribe(ONE.id, KPM_OID, trigger, (), names, kpm_slice=one_more), 1)


async def test_an_unused_slice_is_released_for_another(world: BridgeWorld) -> None:
    await world.start(ONE, subscriptions={"linger_s": 0.0})
    world.reporting(ONE.id, KPM, lambda: kpm_message(100, {"DRB.UEThpDl": 1.0}))
    trigger, names = kpm.event_trigger(100), ("DRB.UEThpDl",)
    async with world.client(ONE.id) as client:
        for sst in range(2 * MAX_SLICES):
            slice_ = SNssai(sst)
            await some(client.subscribe(ONE.id, KPM_OID, trigger, (), names, kpm_slice=slice_), 1)
            await world.until(lambda: not world.ric.on(ONE.id, KPM))


async def test_a_changed_node_gets_only_measurements_that_it_announces_now(
    world: BridgeWorld,
) -> None:
    bridge = await world.start(ONE)
    values = {"DRB.UEThpDl": 40_000.0, "RRU.PrbTotDl": 1060.0}
    world.reporting(ONE.id, KPM, lambda: kpm_message(100, values))
    async with world.client(ONE.id) as client:
        names, trigger = ("DRB.UEThpDl", "RRU.PrbTotDl"), kpm.event_trigger(100)
        await some(client.subscribe(ONE.id, KPM_OID, trigger, (), names), 1)
        known = bridge.nodes.known[ONE.id]
        assert known.units.era is not None
        units = known.units
        less = replace(ONE, functions=(RanFunction(KPM, KPM_OID, 2, kpm_definition(names[:1])),))
        world.ric.nodes[ONE.id] = less
        starts = bridge.session.starts
        kill_child(bridge)
        await world.until(lambda: bridge.session.starts > starts and bridge.session.up)
        await world.until(lambda: known.node == less)
        (got,) = await some(client.subscribe(ONE.id, KPM_OID, trigger, (), names), 1)
        assert kpm.report_of(got).unsupported == names[1:]
        ((_, item),) = world.ric.on(ONE.id, KPM)
        assert item.names == names[:1]
        assert known.units is not units, "its units may have changed"


async def test_a_node_without_per_ue_reports_gets_no_kpm_subscription(world: BridgeWorld) -> None:
    lacking = replace(
        ONE,
        functions=(RanFunction(KPM, KPM_OID, 2, kpm_definition(("DRB.UEThpDl",), styles=(1, 3))),),
    )
    await world.start(lacking)
    async with world.client(ONE.id) as client:
        trigger = kpm.event_trigger(100)
        with pytest.raises(SubscriptionRefused, match="report styles 1, 3; expected style 4"):
            await some(client.subscribe(ONE.id, KPM_OID, trigger, (), ("DRB.UEThpDl",)), 1)
    assert world.ric.requests["subscribe"] == 0
