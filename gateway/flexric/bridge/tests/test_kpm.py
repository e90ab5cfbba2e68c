"""KPM: available measurements, and the units of their values."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fake_flexric import KPM, MAC, RLC, kpm_definition, node
from flexric_bridge.kpm_definition import MAX_BYTES, KpmDefinitionError, decode, offered
from flexric_bridge.kpm_units import DELAY, KpmUnits, KpmUnitSet
from flexric_bridge.nodes import NodeRegistry
from flexric_bridge.sdk import RanFunction
from flexric_bridge.settings import KpmSettings
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from ric.sm import KPM_OID

NAMES = ("DRB.UEThpDl", "RRU.PrbTotDl")
names = st.text(
    alphabet="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._",
    min_size=1,
    max_size=40,
)


def test_only_measurements_of_the_per_ue_style_are_available() -> None:
    asked = (*NAMES, "DRB.Nonsense")
    assert offered(kpm_definition(NAMES), asked) == (NAMES, ("DRB.Nonsense",))
    assert offered(kpm_definition(("DRB.UEThpUl",)), asked) == ((), asked)


def test_kpm_of_every_version_is_one_function_towards_xapps() -> None:
    for oid in (f"1.3.6.1.4.1.53148.1.{version}.2.2" for version in (2, 3, 5)):
        function = RanFunction(KPM, oid, 1, kpm_definition(NAMES))
        known = NodeRegistry(None).connected(replace(node(0xE00), functions=(function,)))
        assert [function.oid for function in known.message.ran_functions] == [KPM_OID]


@pytest.mark.parametrize("styles", [(1,), (2, 3, 5)])
def test_a_node_without_the_per_ue_style_is_refused(styles: tuple[int, ...]) -> None:
    with pytest.raises(KpmDefinitionError, match=rf"report styles {styles[0]}.*expected style 4"):
        offered(kpm_definition(NAMES, styles), NAMES)


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        (b"", "empty; expected aligned PER"),
        (bytes(MAX_BYTES + 1), f"{MAX_BYTES + 1} bytes; expected at most {MAX_BYTES}"),
        (kpm_definition(NAMES)[:-4], "KPM RAN function definition: "),
        (b"\xff" * 100, "KPM RAN function definition: "),
    ],
)
def test_a_definition_that_does_not_decode_is_refused(definition: bytes, words: str) -> None:
    with pytest.raises(KpmDefinitionError, match=words):
        offered(definition, NAMES)


@given(st.sets(names, min_size=1, max_size=30), st.sets(st.integers(1, 5), min_size=1))
def test_definitions_decode_to_what_was_encoded(names: set[str], styles: set[int]) -> None:
    read = decode(kpm_definition(sorted(names), sorted(styles)))
    assert read.periodic
    assert {style.number for style in read.styles} == styles
    assert all(style.measurements == names for style in read.styles)
    assert (read.measurements is not None) == (4 in styles)


@given(st.binary(max_size=300))
def test_any_bytes_decode_or_are_refused(definition: bytes) -> None:
    try:
        decode(definition)
    except KpmDefinitionError as error:
        assert str(error).startswith("KPM RAN function definition: ")


@given(st.data())
def test_a_damaged_definition_decodes_or_is_refused(data: st.DataObject) -> None:
    damaged = bytearray(kpm_definition(NAMES))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at] = data.draw(st.integers(0, 255))
    try:
        decode(bytes(damaged[: data.draw(st.integers(1, len(damaged)))]))
    except KpmDefinitionError as error:
        assert str(error).startswith("KPM RAN function definition: ")


# ------------------------------------------------------------------------------- units

PRB, VOLUME, THROUGHPUT = "RRU.PrbTotDl", "DRB.PdcpSduVolumeDL", "DRB.UEThpDl"
ALL = (PRB, VOLUME, THROUGHPUT)


def units_after(*reports: list[dict[str, float]], period_ms: int = 100) -> dict[str, str]:
    units = KpmUnits("gnb", {})
    for report in reports:
        units.learn(period_ms, report)
    return units.of(ALL)


def test_units_are_unknown_until_reports_prove_them() -> None:
    idle = [{PRB: 0.0, VOLUME: 0.0, THROUGHPUT: 0.0}]
    small = [{PRB: 50.0, VOLUME: 1.0, THROUGHPUT: 900.0}]
    assert units_after(idle, small) == {THROUGHPUT: "kbit/s"}


def test_more_than_a_hundred_prbs_are_a_count_and_decide_the_volume_too() -> None:
    old = {PRB: "PRB", VOLUME: "kbit", THROUGHPUT: "kbit/s"}
    assert units_after([{PRB: 1060.0}]) == old
    assert units_after([{PRB: 60.0}, {PRB: 60.0}]) == old  # two UEs: 120 % of a cell is impossible


def test_percentages_of_a_full_cell_are_no_evidence_of_a_count() -> None:
    assert PRB not in units_after([{PRB: 34.0}, {PRB: 34.0}, {PRB: 34.0}])


@given(st.floats(20_000, 1e6), st.sampled_from((100, 1000)), st.floats(0.5, 2.0))
def test_a_volume_that_matches_the_throughput_decides_the_units(
    kbit_s: float, period_ms: int, apart: float
) -> None:
    kbit = kbit_s * period_ms / 1000
    old = [{VOLUME: kbit * apart, THROUGHPUT: kbit_s, PRB: 90.0}]
    assert units_after(old, period_ms=period_ms)[VOLUME] == "kbit"
    new = [{VOLUME: float(int(kbit / 1000)), THROUGHPUT: kbit_s, PRB: 90.0}]
    assert units_after(new, period_ms=period_ms) == {PRB: "%", VOLUME: "Mbit", THROUGHPUT: "kbit/s"}


def test_contradicting_reports_make_units_unknown() -> None:
    units = KpmUnits("gnb", {})
    units.learn(1000, [{VOLUME: 40.0, THROUGHPUT: 40_000.0}])
    assert units.era is KpmUnitSet.MBIT_AND_PERCENT
    units.learn(1000, [{PRB: 2000.0}])
    assert units.era is None
    units.learn(1000, [{PRB: 2000.0}])
    assert units.era is KpmUnitSet.KBIT_AND_COUNT


SRSRAN = (DELAY, "DRB.RlcPacketDropRateDl", "DRB.RlcSduTransmittedVolumeDL", "DRB.UEThpDl")
OAI = (DELAY, "DRB.UEThpDl", "DRB.PdcpSduVolumeDL", "RRU.PrbTotDl")


@pytest.mark.parametrize(
    ("functions", "measurements", "unit"),
    [
        pytest.param((KPM, MAC, RLC), OAI, "us", id="OAI, FlexRIC's agent"),
        pytest.param((KPM, MAC, RLC), SRSRAN, "us", id="FlexRIC's agent of later versions"),
        pytest.param((KPM,), SRSRAN, "0.1 ms", id="srsRAN and OCUDU"),
        pytest.param((KPM,), OAI, None, id="any gNB with KPM alone"),
    ],
)
def test_the_unit_of_the_rlc_delay_comes_from_what_the_node_announces(
    functions: tuple[int, ...], measurements: tuple[str, ...], unit: str | None
) -> None:
    """TS 28.552 has 0.1 ms, OAI sends µs: a queue of 500 ms must not be reported as 5 ms."""
    gnb = node(0xE00, functions)
    gnb = replace(
        gnb,
        functions=tuple(
            replace(each, definition=kpm_definition(measurements)) if each.id == KPM else each
            for each in gnb.functions
        ),
    )
    assert NodeRegistry(None).connected(gnb).units.of((DELAY,)).get(DELAY) == unit


def test_a_stated_unit_needs_no_evidence() -> None:
    settings = KpmSettings.model_validate(
        {
            "units": [
                {"node": "gnb-001-01-0xe01", "measurement": DELAY, "unit": "us"},
                {"node": "gnb-001-*", "measurement": DELAY, "unit": "0.1 ms"},
                {"node": "gnb-001-*", "measurement": PRB, "unit": "%"},
            ]
        }
    )
    book = NodeRegistry(None, settings.of_node)
    units = [book.connected(node(nb_id, (KPM,))).units for nb_id in (0xE00, 0xE01)]
    assert [each.of((DELAY, PRB)) for each in units] == [
        {DELAY: "0.1 ms", PRB: "%"},
        {DELAY: "us", PRB: "%"},
    ]


@pytest.mark.parametrize(
    ("measurement", "unit", "words"),
    [
        (DELAY, "ms", r"unit is 'ms'; expected us or 0\.1 ms"),
        ("DRB.UEThpDl", "kbit/s", r"measurement is 'DRB\.UEThpDl'; expected one of DRB\.RlcSdu"),
    ],
)
def test_a_stated_unit_is_one_of_its_measurement(measurement: str, unit: str, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        KpmSettings.model_validate({"units": [{"measurement": measurement, "unit": unit}]})


def test_units_are_unknown_again_after_a_node_changed() -> None:
    book, one = NodeRegistry(None), node(0xE00)
    before = book.connected(one).units
    assert book.connected(one).units is before
    newer = replace(one, functions=(RanFunction(KPM, KPM_OID, 3, kpm_definition(NAMES)),))
    assert book.connected(newer).units is not before
