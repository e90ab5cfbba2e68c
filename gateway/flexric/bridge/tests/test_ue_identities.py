"""One UE in the reports of O-DU, O-CU-CP and O-CU-UP: joined where the standards allow it, else
unknown."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace

import pytest
from bridge_world import BridgeWorld, some
from fake_flexric import KPM, MAC, RLC, kpm_definition, node, rlc_message
from flexric_bridge.nodes import NodeRegistry, base_station_of
from flexric_bridge.sdk import E2Node, RanFunction
from flexric_bridge.ue_identities import IN_KPM, Rntis, UeIdentities, UeIds
from hypothesis import given
from hypothesis import strategies as st
from ric.e2 import KpmUe
from ric.gateway.messages import node_from_pb
from ric.sm import KPM_OID, MAC_OID, RLC_OID, kpm

NOBODY: set[int] = set()
RAN = 0x0102_0304_0506_0708


def joined(own: UeIds, *others: UeIds, rntis: set[int] = NOBODY) -> UeIds:
    """What is known of a UE of the DU, which also reports `rntis`, with what the CU reports."""
    identities = UeIdentities()
    for number, other in enumerate(others):
        identities.learn(f"cu-{number}", [other], NOBODY)
    (known,) = identities.learn("du", [own], rntis)
    return known


def test_du_and_cu_up_are_joined_through_the_cu_cp() -> None:
    cu_cp = UeIds(amf_ue_ngap_id=7, gnb_cu_ue_f1ap_id=300, gnb_cu_cp_ue_e1ap_id=41)
    cu_up = UeIds(gnb_cu_cp_ue_e1ap_id=41, ran_ue_id=RAN)
    whole = UeIds(7, 300, 41, RAN)
    assert joined(UeIds(gnb_cu_ue_f1ap_id=300), cu_cp, cu_up) == whole
    assert joined(UeIds(gnb_cu_ue_f1ap_id=300), cu_up) == UeIds(gnb_cu_ue_f1ap_id=300)


def test_the_ran_ue_id_joins_parts_directly() -> None:
    cu_up = UeIds(gnb_cu_cp_ue_e1ap_id=41, ran_ue_id=RAN)
    known = joined(UeIds(gnb_cu_ue_f1ap_id=300, ran_ue_id=RAN), cu_up)
    assert known == UeIds(None, 300, 41, RAN)


def test_equal_numbers_on_different_interfaces_and_of_an_amf_join_nothing() -> None:
    own = UeIds(gnb_cu_ue_f1ap_id=7)
    assert joined(own, UeIds(gnb_cu_cp_ue_e1ap_id=7), UeIds(amf_ue_ngap_id=7)) == own
    amf = UeIds(amf_ue_ngap_id=7)
    assert joined(amf, UeIds(amf_ue_ngap_id=7, gnb_cu_ue_f1ap_id=1)) == amf


def test_what_parts_contradict_each_other_in_is_unknown() -> None:
    own = UeIds(gnb_cu_ue_f1ap_id=300, ran_ue_id=RAN)
    assert joined(own, UeIds(gnb_cu_ue_f1ap_id=300, ran_ue_id=RAN + 1)).ran_ue_id is None
    assert joined(own, UeIds(gnb_cu_ue_f1ap_id=301, ran_ue_id=RAN)).gnb_cu_ue_f1ap_id is None


def test_an_identity_is_an_rnti_only_if_it_is_for_each_ue_of_the_node() -> None:
    ues = [UeIds(gnb_cu_ue_f1ap_id=17), UeIds(gnb_cu_ue_f1ap_id=18)]
    both, one = UeIdentities(), UeIdentities()
    assert [ids.rnti for ids in both.learn("du", ues, {17, 18, 19})] == [17, 18]
    assert [ids.rnti for ids in one.learn("du", ues, {17, 19})] == [None, None]
    # FlexRIC writes the octets of a number lowest first.
    turned = int.from_bytes((17).to_bytes(8), "little")
    assert joined(UeIds(ran_ue_id=turned), rntis={17}).rnti == 17


def test_the_rnti_of_the_du_belongs_to_the_ue_of_the_cu() -> None:
    identities = UeIdentities()
    identities.learn("du", [UeIds(gnb_cu_ue_f1ap_id=300, ran_ue_id=17)], {17})
    (known,) = identities.learn("cu-up", [UeIds(gnb_cu_cp_ue_e1ap_id=1, ran_ue_id=17)], NOBODY)
    assert known == UeIds(None, 300, 1, 17, 17)
    identities.forget("du")
    (known,) = identities.learn("cu-up", [UeIds(gnb_cu_cp_ue_e1ap_id=1, ran_ue_id=17)], NOBODY)
    assert known == UeIds(None, None, 1, 17)


def test_rntis_are_those_of_the_reports_that_take_turns() -> None:
    rntis = Rntis()
    rntis.observe(RLC_OID, rlc_message(((17, 1), (17, 2))))
    rntis.observe(RLC_OID, rlc_message(((18, 1),)))
    rntis.observe(MAC_OID, b"no report of MAC")
    rntis.observe(KPM_OID, b"not looked at")
    assert rntis.known() == {17, 18}


ids = st.builds(UeIds, *[st.none() | st.integers(0, 3)] * 4)


@given(st.lists(st.lists(ids, max_size=5), max_size=4))
def test_joining_changes_nothing_that_a_ue_says_of_itself(parts: Sequence[Sequence[UeIds]]) -> None:
    identities = UeIdentities()
    for number, ues in enumerate(parts):
        for own, known in zip(ues, identities.learn(f"{number}", ues, NOBODY), strict=True):
            for name in IN_KPM:
                said = getattr(own, name)
                assert said is None or getattr(known, name) in (said, None)


# ----------------------------------------------------------------------------- the parts


def part(kind: str, number: int | None, *functions: RanFunction) -> E2Node:
    """A part of one gNB."""
    suffix = kind.removeprefix("gnb-") + ("" if number is None else f"-{number:#x}")
    return replace(
        node(0xE00),
        id=f"gnb-001-01-0xe00-{suffix}",
        type=kind,
        cu_du_id=number,
        functions=functions,
    )


DEFINITION = RanFunction(
    KPM,
    "1.3.6.1.4.1.53148.1.5.2.2",
    1,
    kpm_definition(("DRB.RlcSduDelayDl", "DRB.PdcpSduVolumeDL")),
)
DU = part("gnb-du", 1, DEFINITION, RanFunction(RLC, RLC_OID, 1, b""))
CU_UP = part("gnb-cuup", 2, DEFINITION)
CU_CP = part("gnb-cucp", None, DEFINITION)


def test_parts_are_of_one_base_station_and_a_whole_is_its_own() -> None:
    assert {base_station_of(each) for each in (DU, CU_UP, CU_CP)} == {"gnb-001-01-0xe00"}
    assert base_station_of(node(0xE00)) == node(0xE00).id
    assert base_station_of(replace(DU, nb_id=0xE01)) != base_station_of(DU)
    registry = NodeRegistry(None)
    shown = [node_from_pb(registry.connected(each).message) for each in (DU, CU_UP, CU_CP)]
    assert [(each.type.value, each.part_id) for each in shown] == [
        ("gnb-du", 1),
        ("gnb-cu-up", 2),
        ("gnb-cu-cp", None),
    ]
    assert {each.base_station_id for each in shown} == {"gnb-001-01-0xe00"}
    assert shown[1].ran_functions[0].announced_oid == "1.3.6.1.4.1.53148.1.5.2.2"


def kpm_of(ues: Sequence[UeIds], name: str) -> bytes:
    """A report as the SDK delivers it."""
    out = struct.pack("<II", 100, len(ues))
    for place, ue in enumerate(ues):
        known = [(bit, getattr(ue, field)) for bit, field in enumerate(IN_KPM)]
        out += bytes((sum(1 << bit for bit, value in known if value is not None),))
        out += b"".join(struct.pack("<Q", value) for _, value in known if value is not None)
        out += struct.pack("<IB", 1, len(name)) + name.encode() + struct.pack("<d", place)
    return out


async def test_volumes_of_the_cu_and_delays_of_the_du_are_of_one_ue(world: BridgeWorld) -> None:
    await world.start(DU, CU_UP, CU_CP)
    on_f1 = [UeIds(gnb_cu_ue_f1ap_id=n, ran_ue_id=n << 56) for n in (17, 18)]
    on_e1 = [UeIds(gnb_cu_cp_ue_e1ap_id=40 + n) for n in (18, 17)]
    cu_cp = [
        UeIds(amf_ue_ngap_id=n, gnb_cu_ue_f1ap_id=n, gnb_cu_cp_ue_e1ap_id=40 + n) for n in (17, 18)
    ]
    world.reporting(DU.id, RLC, lambda: rlc_message(((17, 1), (18, 1))))
    world.reporting(DU.id, KPM, lambda: kpm_of(on_f1, "DRB.RlcSduDelayDl"))
    world.reporting(CU_UP.id, KPM, lambda: kpm_of(on_e1, "DRB.PdcpSduVolumeDL"))
    world.reporting(CU_CP.id, KPM, lambda: kpm_of(cu_cp, "DRB.PdcpSduVolumeDL"))
    trigger = kpm.event_trigger(10)
    async with world.client(CU_CP.id) as client:
        names = ("DRB.RlcSduDelayDl", "DRB.PdcpSduVolumeDL")
        await some(client.subscribe(DU.id, RLC_OID, trigger), 2)
        for other in (CU_CP, DU):
            await some(client.subscribe(other.id, KPM_OID, trigger, (), names), 2)
        (got, *_) = await some(client.subscribe(CU_UP.id, KPM_OID, trigger, (), names), 1)
    assert kpm.report_of(got).ues == tuple(
        KpmUe(n, {"DRB.PdcpSduVolumeDL": float(place)}, n, n, 40 + n, n << 56)
        for place, n in enumerate((18, 17))
    )


async def test_a_node_of_another_make_gets_the_subscription_of_the_standard(
    world: BridgeWorld,
) -> None:
    await world.start(CU_UP, DU)
    trigger = kpm.event_trigger(100)
    world.reporting(CU_UP.id, KPM, lambda: kpm_of((), "x"))
    world.reporting(DU.id, KPM, lambda: kpm_of((), "x"))
    async with world.client(DU.id) as client:
        for each in (CU_UP, DU):
            await some(client.subscribe(each.id, KPM_OID, trigger, (), ("DRB.PdcpSduVolumeDL",)), 1)
    ((_, standard),), ((_, flexrics),) = (world.ric.on(each.id, KPM) for each in (CU_UP, DU))
    assert (standard.trigger.hex(), flexrics.trigger) == ("0063", b"")
    # Style 4, first addition behind the marker of the formats.
    assert standard.action.startswith(bytes.fromhex("00010480"))
    assert (standard.names, flexrics.action) == (flexrics.names, b"")


@pytest.mark.parametrize("version", [1])
def test_a_version_without_ues_is_not_offered(
    version: int, capsys: pytest.CaptureFixture[str]
) -> None:
    oid = f"1.3.6.1.4.1.53148.1.{version}.2.2"
    old = replace(node(0xE00, (MAC,)), functions=(RanFunction(KPM, oid, 1, b"x"),))
    known = NodeRegistry(None).connected(old)
    assert KPM_OID not in known.functions
    assert f"E2SM-KPM version {version}; expected 2 or later" in capsys.readouterr().out
