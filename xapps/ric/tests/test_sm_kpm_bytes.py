"""Bytes of KPM indications. Those written out here are assembled by the rules of aligned PER
(X.691), field by field, not by the compiler that reads them.
"""

from __future__ import annotations

import io
import json
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from ric.cli import sm
from ric.errors import ServiceModelError, ServiceModelUnavailable
from ric.sm import kpm_bytes

HEADER = "00"
"""Extension bits, no optional string."""
MEASUREMENTS = (
    "0000 00 01 0064"  # one record; one value: an integer, 100
    "0000 000041 01 200000"  # one measurement: the name "A"; one label: noLabel
    "4003e7"  # granularity period 1000
)
FORMAT_1 = "0c" + MEASUREMENTS
FORMAT_3 = "4000 19 00 0000 080007 60" + MEASUREMENTS
"""An extension of 25 octets: the gNB-CU UE F1AP ID 7 and its measurements."""


def decode(kind: kpm_bytes.Kind, digits: str) -> dict[str, Any]:
    return kpm_bytes.decode(kind, bytes.fromhex(digits))


def measurements(value: object) -> dict[str, Any]:
    label = {"measLabel": {"noLabel": "true"}}
    return {
        "measData": [{"measRecord": [value]}],
        "measInfoList": [{"measType": {"measName": "A"}, "labelInfoList": [label]}],
        "granulPeriod": 1000,
    }


@pytest.mark.parametrize(("stamp", "version"), [("ee70c580", 2), ("ee70c5803ffc4f60", 3)])
def test_a_header_tells_its_version_by_the_length_of_its_time_stamp(
    stamp: str, version: int
) -> None:
    assert decode("indication-header", HEADER + stamp) == {
        "versions": [version],
        "indicationHeader-Format1": {"colletStartTime": stamp},
        "time": {
            "NTP": "2026-10-07T13:20:00+00:00",
            "Unix seconds, little-endian": "2038-06-17T21:32:30+00:00",
        },
    }


@pytest.mark.parametrize(
    ("stamp", "name", "time"),
    [
        ("68aaaaaa", "Unix seconds", "2025-08-24T06:01:14+00:00"),
        ("00063d1b3f5ea800", "Unix microseconds", "2025-08-24T12:04:56+00:00"),
        ("00000198dabf5e80", "Unix milliseconds", "2025-08-24T06:23:51+00:00"),
    ],
)
def test_other_ways_of_writing_time_are_shown_where_they_give_a_date(
    stamp: str, name: str, time: str
) -> None:
    assert decode("indication-header", HEADER + stamp)["time"][name] == time


def test_measurements_of_a_cell() -> None:
    assert decode("indication", FORMAT_1) == {
        "versions": [2, 3],
        "indicationMessage-Format1": measurements(100),
    }


def test_measurements_of_each_ue() -> None:
    ue = {"ueID": {"gNB-DU-UEID": {"gNB-CU-UE-F1AP-ID": 7}}, "measReport": measurements(100)}
    assert decode("indication", FORMAT_3) == {
        "versions": [2, 3],
        "indicationMessage-Format3": {"ueMeasReportList": [ue]},
    }


@pytest.mark.parametrize(
    ("item", "value"),
    [
        ("20 03 80 ff 05", 2.5),  # real: base 2, exponent -1, mantissa 5
        ("20 01 40", "inf"),
        ("40", None),  # noValue
    ],
)
def test_kinds_of_values(item: str, value: object) -> None:
    digits = "0c 0000 00 01" + item + "0000 000041 01 200000 4003e7"
    assert decode("indication", digits)["indicationMessage-Format1"] == measurements(value)


@pytest.mark.parametrize("version", [2, 3])
def test_conditions_differ_between_the_versions(version: int) -> None:
    label = ("measLabel", {"fiveQI": 9})
    condition = label if version == 2 else {"matchingCondChoice": label, "logicalOR": "true"}
    content = {
        "measData": [{"measRecord": [("integer", 1)]}],
        "measCondUEidList": [{"measType": ("measID", 5), "matchingCond": [condition]}],
    }
    message = {"indicationMessage-formats": ("indicationMessage-Format2", content)}
    data = kpm_bytes._codec(version).encode("E2SM-KPM-IndicationMessage", message)
    assert kpm_bytes.decode("indication", data)["versions"] == [version]


@pytest.mark.parametrize(
    ("kind", "digits", "why"),
    [
        ("indication", "00", "version 2: .*out of data.*; version 3: .*out of data"),
        ("indication", FORMAT_1 + "00", "ends before the last byte"),
        ("indication-header", HEADER + "ee70c58000", "ends before the last byte"),
        ("indication-header", "", "out of data"),
        ("indication", "00" * (kpm_bytes.MAX_BYTES + 1), "65537 bytes; expected at most 65536"),
    ],
)
def test_other_bytes_are_refused_with_what_each_version_misses(
    kind: kpm_bytes.Kind, digits: str, why: str
) -> None:
    with pytest.raises(ServiceModelError, match=f"^kpm: {kind}: .*{why}"):
        decode(kind, digits)


def run(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    *arguments: str,
) -> list[dict[str, Any]]:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    assert sm.main(["decode", "--sm", "kpm", *arguments]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_ric_sm_reads_kpm(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    message, refused = run(monkeypatch, capsys, f"{FORMAT_1}\n00\n")
    assert message["value"]["indicationMessage-Format1"]["granulPeriod"] == 1000
    assert refused["error"].startswith("kpm: indication: ")
    header = f"{HEADER}ee70c580\n"
    (shown,) = run(monkeypatch, capsys, header, "--type", "indication-header")
    assert shown["value"]["versions"] == [2]


@pytest.mark.parametrize(
    "arguments",
    [["encode", "--sm", "kpm"], ["decode", "--sm", "kpm", "--type", "control"]],
)
def test_what_there_is_not_for_kpm_is_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        sm.main(arguments)
    assert "indication" in capsys.readouterr().err


def test_without_asn1tools_the_missing_module_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    kpm_bytes._codec.cache_clear()
    monkeypatch.setitem(sys.modules, "asn1tools", None)
    with pytest.raises(ServiceModelUnavailable, match="asn1tools"):
        decode("indication", FORMAT_1)


def test_a_label_with_everything_is_read_as_another_compiler_wrote_it() -> None:
    """Written by pycrate 0.8.1: PLMN, slice, 5QI, QFI, QCIs, ARPs and the rest."""
    message = (
        "0c0000000100640000000041013ffffe00f110404000000500097e0102037000fffe000000000000"
        "0000010000022103e7"
    )
    shown = decode("indication", message)["indicationMessage-Format1"]["measInfoList"][0]
    ((label, *_),) = (shown["labelInfoList"],)
    assert label["measLabel"]["qCI"] == 1
    assert label["measLabel"]["qCImax"] == 2
    assert label["measLabel"]["aRPmax"] == 15
    assert len(label["measLabel"]) == 21
