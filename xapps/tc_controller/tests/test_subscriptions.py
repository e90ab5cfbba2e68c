"""Subscriptions of the controller by its policy."""

from __future__ import annotations

import asyncio

import pytest
from ric.e2 import SNssai
from ric.sm import KPM_OID, RLC_OID
from ric.testing import FakeRic, run_virtual
from tc_controller.policy_file import PolicyError, parse_policy
from tc_controller.subscriptions import subscribe_all

RULES = "version: 1\nrules: [{name: all, ladder: []}]\n"


@pytest.mark.parametrize(
    ("reports", "expected"),
    [
        ("{kpm_period_ms: 100}", None),
        ("{kpm_period_ms: 100, kpm_slice: {sst: 2}}", SNssai(2)),
        ("{kpm_period_ms: 100, kpm_slice: {sst: 1, sd: 0x010203}}", SNssai(1, 0x10203)),
    ],
)
def test_kpm_is_subscribed_for_the_slice_of_the_policy(
    reports: str, expected: SNssai | None
) -> None:
    policy = parse_policy(f"{RULES}reports: {reports}\n", "policy.yaml")

    async def scenario() -> list[SNssai | None]:
        ric = FakeRic()
        ric.add_node("gnb-1", RLC_OID, KPM_OID)
        async with ric.client() as gateway:
            node = await gateway.wait_for_node("gnb-1")
            task = asyncio.ensure_future(
                subscribe_all(gateway, node, policy.reports, lambda _: None)
            )
            await asyncio.sleep(1)
            requests = [subscription.request for subscription in ric.subscriptions]
            task.cancel()
        return [request.kpm_slice for request in requests if request.oid == KPM_OID]

    assert run_virtual(scenario()) == [expected]


@pytest.mark.parametrize("slice_", ["{sst: 256}", "{sst: 1, sd: 0x1000000}", "{sd: 1}", "1"])
def test_an_invalid_slice_is_refused(slice_: str) -> None:
    with pytest.raises(PolicyError, match=r"reports\.kpm_slice"):
        parse_policy(f"{RULES}reports: {{kpm_slice: {slice_}}}\n", "policy.yaml")
