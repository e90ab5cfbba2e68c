"""MCS, transport block and queue limit from the other service models, over a fake RIC."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest
from doubles import Reports
from ric.metrics import GatewayMetrics
from ric.sm import mac, rlc, tc
from ric.testing import FakeRic, ran_function
from rlc_forecaster.core import Forecaster
from rlc_forecaster.indications import ContextFeed

NODE = "gnb-001-01-0xe00"
AT_US = 1_700_000_000_000_000


class RecordingForecaster(Forecaster):
    """Records context updates."""

    def __init__(self) -> None:
        super().__init__(NODE)
        self.mac: list[Any] = []
        self.limits: list[Any] = []

    def update_mac(self, rnti: Any, mcs: Any, tbs_bytes: Any, at_us: int) -> None:
        super().update_mac(rnti, mcs, tbs_bytes, at_us)
        self.mac.append((rnti.tolist(), list(mcs), list(tbs_bytes), at_us))

    def update_limits(self, rnti: Any, drb: Any, limit_bytes: Any, at_us: int) -> None:
        super().update_limits(rnti, drb, limit_bytes, at_us)
        if len(rnti):
            self.limits.append((rnti.tolist(), drb.tolist(), limit_bytes.tolist()))


async def test_mac_values_out_of_range_do_not_reach_the_engine(report: Reports) -> None:
    ric = FakeRic()
    fake = ric.add_node(NODE, ran_function(rlc.OID), ran_function(mac.OID))
    engine, metrics = RecordingForecaster(), GatewayMetrics()
    engine.on_report(report({17: (1, 0), 18: (1, 0)}), AT_US)
    records = mac.zeros(3)
    records["rnti"] = [17, 18, 19]
    records["dl_mcs1"] = [9, 200, 3]
    records["dl_curr_tbs"] = [400, 1, 2**40]
    async with asyncio.timeout(10), ric.client() as gateway:
        feed = ContextFeed(gateway, metrics, fake.node, engine, 10)
        task = asyncio.create_task(feed.follow_mac())
        while not ric.subscriptions:
            await asyncio.sleep(0.005)
        fake.report(mac.OID, b"garbage")
        fake.report(mac.OID, mac.encode(records, AT_US + 500))
        while not engine.mac:
            await asyncio.sleep(0.005)
        task.cancel()
    assert engine.mac == [([17], [9], [400], AT_US + 500)]
    assert metrics.indication_stats(NODE, mac.OID).bad == 1


async def test_a_node_without_mac_or_tc_is_forecast_without_them() -> None:
    ric = FakeRic()
    fake = ric.add_node(NODE, ran_function(rlc.OID))
    async with asyncio.timeout(10), ric.client() as gateway:
        feed = ContextFeed(gateway, GatewayMetrics(), fake.node, RecordingForecaster(), 10)
        await feed.follow_mac()
        await feed.follow_limits()
    assert not ric.subscriptions


def pipeline_status(*bearers: tuple[dict[str, int], int | None]) -> bytes:
    """Status of bearers (UE, pacer limit) with DRB 2."""
    return tc.encode(
        "indication",
        {
            "pipeline_status": [
                {
                    "bearer": {"ue": ue, "drb": 2},
                    "revision": 1,
                    "name": "bdp_only",
                    "safe": False,
                    "lease_left_ms": None,
                    "head_of_line_age_us": 0,
                    "queues": [],
                    "pacer": {
                        "drain_kbps": 0,
                        "rlc_occupancy_bytes": 0,
                        "forwarded_bytes": 0,
                        "limit_bytes": limit_bytes,
                        "by_forecast": None,
                    },
                    "ingress_packets": 0,
                    "ingress_bytes": 0,
                    "dropped_packets": 0,
                }
                for ue, limit_bytes in bearers
            ]
        },
    )


@pytest.mark.skipif(not tc.available(), reason="the E2SM-TC codec is not installed")
async def test_queue_limits_are_those_of_pacers_that_have_one(report: Reports) -> None:
    ric = FakeRic()
    fake = ric.add_node(NODE, ran_function(rlc.OID), ran_function(tc.V1_OID))
    engine, metrics = RecordingForecaster(), GatewayMetrics()
    engine.on_report(report({17: (1, 0), 18: (1, 0)}), AT_US)
    async with asyncio.timeout(10), ric.client() as gateway:
        feed = ContextFeed(gateway, metrics, fake.node, engine, 10)
        task = asyncio.create_task(feed.follow_limits())
        while not ric.subscriptions:
            await asyncio.sleep(0.005)
        fake.report(tc.V1_OID, b"garbage")
        fake.report(tc.V1_OID, tc.encode("indication", {"events": []}))
        bearers = ({"rnti": 17}, 30_000), ({"rnti": 18}, None), ({"gnb_cu_ue_f1ap_id": 17}, 1)
        fake.report(tc.V1_OID, pipeline_status(*bearers))
        while not engine.limits:
            await asyncio.sleep(0.005)
        task.cancel()
    assert engine.limits == [([17], [2], [30_000])]
    assert metrics.indication_stats(NODE, tc.V1_OID).bad == 1


@pytest.mark.skipif(not tc.available(), reason="the E2SM-TC codec is not installed")
def test_the_codec_encodes_the_subscription() -> None:
    action = {"style": "pipeline_status", "bearers": [], "top_flows": 1}
    assert tc.decode("action-definition", tc.encode("action-definition", action)) == action


def test_the_limit_of_an_unknown_bearer_is_ignored(report: Reports) -> None:
    engine = Forecaster(NODE)
    empty = np.empty(0, np.int64)
    engine.update_limits(empty, empty, empty, AT_US)
    engine.on_report(report({17: (1, 0)}), AT_US)
    engine.update_limits(np.array([99]), np.array([1]), np.array([5]), AT_US + 1)
    batch = engine.on_report(report({17: (1, 0)}), AT_US + 1_000)
    assert batch is not None
    assert batch.limited.tolist() == [False]
