"""Axes of sweeps: lists, ranges and what is refused."""

from __future__ import annotations

import pytest
from gnb_lab import SweepError
from gnb_lab.sweeps.axis import Axis


def values(text: str) -> list[object]:
    return list(Axis.parse(text).values)


def test_lists_ranges_and_mappings_are_values() -> None:
    assert values("cell.n_prb=24,51..53,106") == [24, 51, 52, 53, 106]
    assert values("ues[*].drbs[*].pipeline=fq_codel, low_latency") == ["fq_codel", "low_latency"]
    mapping = {"template": "low_latency", "bulk_bound_us": 1}
    text = "p={template: low_latency, bulk_bound_us: 1},'a,b',[1, 2],true"
    assert values(text) == [mapping, "a,b", [1, 2], True]
    quoted = r"""p="a\",b", 'it'',s', its',{a: "]"}"""
    assert values(quoted) == ['a",b', "it',s", "its'", {"a": "]"}]
    assert values("p=1,1.0,true") == [1, 1.0, True], "other values, though Python's are equal"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4..20..4", [4, 8, 12, 16, 20]),
        ("4..19..4", [4, 8, 12, 16]),
        ("1..3", [1, 2, 3]),
        ("-2..2..2", [-2, 0, 2]),
        ("5..5", [5]),
        ("0.1..0.7..0.1", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]),
        ("1..2..0.5", [1.0, 1.5, 2.0]),
        ("../trace.csv", ["../trace.csv"]),
        ("a..b", ["a..b"]),
        ("1..2..3..4", ["1..2..3..4"]),
        (".5..1", [".5..1"]),
    ],
)
def test_a_range_includes_its_end_and_does_not_drift(text: str, expected: list[object]) -> None:
    found = values(f"a={text}")
    assert found == expected
    assert [type(each) for each in found] == [type(each) for each in expected]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cell.n_prb", "expected PATH=VALUES"),
        ("cell.n_prb=", "a value is missing"),
        ("cell.n_prb=1,,2", "a value is missing"),
        ("cell.n_prb=1,2,1", "cell.n_prb: the value 1 is there twice"),
        ("cell.n_prb=9..1", "cell.n_prb: '9..1': it ends before it begins"),
        ("a..b=1", "expected a path such as"),
        ("a=1..90000,100001..190000", "a: more than 100000 values"),
        ("a=1..4..0", "step is not above 0"),
        ("a=1..4..-1", "step is not above 0"),
        ("a=1..x", "decimal numbers"),
        ("a=1..4..", "decimal numbers"),
        ("a=0..999999999999999..0.000000001", "a range has at most"),
        ("a=1..100001", "100001 values; a range has at most 100000"),
        ("a={", "the value is not YAML"),
    ],
)
def test_malformed_axes_are_reported(text: str, said: str) -> None:
    with pytest.raises(SweepError, match=r"^--over: ") as raised:
        Axis.parse(text)
    assert said in str(raised.value)
    assert raised.value.is_input
