"""Subscriptions to KPM are the bytes of another compiler: pycrate 0.8.1 on the ASN.1 of E2SM-KPM
v03.00."""

from __future__ import annotations

import pytest
from flexric_bridge.kpm_subscription import action_definition, event_trigger
from flexric_bridge.sdk import SNssai


@pytest.mark.parametrize(
    ("names", "period_ms", "kpm_slice", "trigger", "action"),
    [
        (
            ("DRB.UEThpDl", "DRB.RlcSduDelayDl"),
            100,
            SNssai(1),
            "0063",
            "00010480370000003840010004010100000100a04452422e5545546870446c0120000001004452422e526c63"
            "53647544656c6179446c012000000063",
        ),
        (
            ("DRB.UEThpDl",),
            70_000,
            SNssai(1, 0x203),
            "1001116f",
            "00010480250000003840010004040100020300000000a04452422e5545546870446c012000008001116f",
        ),
    ],
)
def test_a_subscription_is_what_another_compiler_encodes(
    names: tuple[str, ...], period_ms: int, kpm_slice: SNssai, trigger: str, action: str
) -> None:
    assert event_trigger(period_ms).hex() == trigger
    assert action_definition(names, period_ms, kpm_slice).hex() == action
