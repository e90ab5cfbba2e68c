"""Controls of v1 that the gateway cannot read."""

from __future__ import annotations

import json
from pathlib import Path

import e2sm_tc
import pytest
from flexric_bridge.tc.messages import Refused, decode_control

LATER = Path(__file__).parents[4] / "e2sm-tc-spec" / "tests" / "evolution.jsonl"
HEADER = e2sm_tc.encode("control-header", {"style": 1, "correlation_id": 0})
CONTROLS = [
    (bytes.fromhex(line["hex"]), line["here"]["refused"])
    for line in map(json.loads, LATER.read_text().splitlines())
    if line["kind"] == "control" and "refused" in line["here"]
]


@pytest.mark.parametrize(("message", "element"), CONTROLS)
def test_an_element_of_a_later_version_is_unsupported_and_named(
    message: bytes, element: str
) -> None:
    with pytest.raises(Refused) as refused:
        decode_control(HEADER, message)
    assert (refused.value.cause, refused.value.element) == ("unsupported", f"message.{element}")


@pytest.mark.parametrize(
    ("header", "message", "element"),
    [
        (b"", CONTROLS[0][0], "header"),
        (HEADER, CONTROLS[0][0][:20], "message.transaction.change.replace"),
    ],
)
def test_bytes_that_are_wrong_are_malformed_with_their_place(
    header: bytes, message: bytes, element: str
) -> None:
    with pytest.raises(Refused) as refused:
        decode_control(header, message)
    assert refused.value.cause == "malformed"
    assert refused.value.element.startswith(element)
