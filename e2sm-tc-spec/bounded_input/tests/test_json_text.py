"""JSON whose meaning depends on its reader is refused."""

from __future__ import annotations

import json

import pytest
from bounded_input import JsonError, parse_json


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 2}', '[{"b": {"a": 1, "c": 2, "a": 1}}]', b'{"a":1,"a":1}']
)
def test_a_key_given_twice_is_refused(text: str | bytes) -> None:
    with pytest.raises(JsonError, match=r"^key 'a' given twice; expected it once$"):
        parse_json(text)


def test_a_long_key_is_cut() -> None:
    key = "k" * 1_000
    with pytest.raises(ValueError, match=r"key 'k{59}…' given twice"):
        parse_json(f'{{"{key}": 1, "{key}": 2}}')


def test_equal_keys_of_different_objects_are_kept() -> None:
    document = {"a": {"a": [{"a": 1}, {"a": 2}]}, "b": None}
    assert parse_json(json.dumps(document)) == document


@pytest.mark.parametrize("text", ["{", b"\xff", "[" * 100_000, "1" * 5_000])
def test_what_is_no_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(JsonError, match=r"^[^;]+.*; expected JSON$"):
        parse_json(text)


def test_numbers_that_are_none_of_json_go_to_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        parse_json('{"a": NaN}', lambda _: 1 / 0)
