"""Forecasts of an O-DU, fed to the CU of the same gNB, over a fake RIC."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import numpy as np
import pytest
from ric import NodeType
from ric.e2 import ControlAnswer
from ric.sm import TC_V1_OID, rlc, tc
from ric.testing import FakeNode, FakeRic, ran_function
from rlc_forecaster.core import Batch, Layout
from rlc_forecaster.cu_feed import CuFeed, messages
from rlc_model import Quantity

GNB = "gnb-001-01-0xe00"
CU, DU = f"{GNB}-cu", f"{GNB}-du-0x1"
ORIGIN_US = 1_700_000_000_000_000
POINTS_US = (11_000, 13_000, 17_000)


def forecasts(origin_us: int = ORIGIN_US, node: str = DU, bearers: int = 1) -> Batch:
    """Two quantities at three points and quantiles of 0.5, 0.7, 0.9; a drain of 100 bytes/ms."""
    layout = Layout((Quantity.OCCUPANCY, Quantity.DRAIN), POINTS_US, (0.5, 0.7, 0.9))
    values = np.full((bearers, 2, 3, 3), 100, np.float32)
    values[:, 0] = np.array([[1000], [2000], [4000]])
    values[:, 0, :, 1:] += 7
    return Batch(
        node,
        origin_us,
        np.arange(17, 17 + bearers, dtype=np.uint32),
        np.full(bearers, 2, np.uint8),
        layout,
        values,
        *(np.ones(bearers, np.uint8), np.zeros(bearers, np.uint8)),
        np.zeros(bearers, np.bool_),
        np.full(bearers, 500, np.float32),
        "",
    )


def split(ric: FakeRic, *dus: str, node_type: NodeType = NodeType.GNB_CU) -> FakeNode:
    """A CU with a TC function, and its O-DUs."""
    for du in dus:
        ric.add_node(du, ran_function(rlc.OID), node_type=NodeType.GNB_DU, base_station_id=GNB)
    return ric.add_node(CU, ran_function(TC_V1_OID), node_type=node_type, base_station_id=GNB)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.002)


def test_the_report_and_the_points_after_it_are_fed_in_uniform_steps() -> None:
    (message,) = messages(forecasts())
    (fed,) = tc.decode("control", message)["forecast_feed"]["bearers"]
    assert fed == {
        "bearer": {"ue": {"rnti": 17}, "drb": 2},
        "origin_us": ORIGIN_US,
        "horizon_start_us": 0,
        "step_us": 2_000,
        # 500 at the origin, 1000 after 11 ms, then 500 B/ms.
        "occupancy_bytes": [500, 591, 682, 773, 864, 955, 1500, 2500, 3500, 4000],
        "limit_bytes": [],
        "drain_bytes": [0] + [200] * 9,
    }


def test_a_report_with_many_bearers_is_fed_in_several_controls() -> None:
    fed = [
        forecast["bearer"]["ue"]["rnti"]
        for message in messages(forecasts(bearers=70))
        for forecast in tc.decode("control", message)["forecast_feed"]["bearers"]
    ]
    assert fed == list(range(17, 87))


async def test_the_newest_forecasts_of_the_du_reach_the_cu_once_each() -> None:
    ric = FakeRic()
    cu = split(ric, DU)
    latest = {DU: forecasts()}
    async with ric.client() as gateway:
        feed = CuFeed(gateway, latest, 5)
        following = asyncio.create_task(feed.follow(cu.node))
        await until(lambda: len(ric.controls) == 1)
        await asyncio.sleep(0.05)
        assert len(ric.controls) == 1, "what was fed already is not fed again"
        latest[DU] = forecasts(ORIGIN_US + 10_000)
        await until(lambda: len(ric.controls) == 2)
        following.cancel()
    assert {control.node_id for control in ric.controls} == {CU}
    header = tc.decode("control-header", ric.controls[1].header)
    assert header["style"] == 3
    (fed,) = tc.decode("control", ric.controls[1].message)["forecast_feed"]["bearers"]
    assert fed["origin_us"] == ORIGIN_US + 10_000


@pytest.mark.parametrize("dus", [(), (DU, f"{GNB}-du-0x2")], ids=["no DU", "two DUs"])
async def test_without_a_du_of_its_own_a_cu_is_not_fed(dus: tuple[str, ...]) -> None:
    """The same C-RNTI in two cells: one UE's queue would decide about another's packets."""
    ric = FakeRic()
    cu = split(ric, *dus)
    async with ric.client() as gateway:
        feed = CuFeed(gateway, {du: forecasts(node=du) for du in (DU, *dus)}, 5)
        following = asyncio.create_task(feed.follow(cu.node))
        await asyncio.sleep(0.05)
        following.cancel()
    assert not ric.controls


async def test_a_gnb_in_one_piece_is_left_alone() -> None:
    ric = FakeRic()
    gnb = split(ric, DU, node_type=NodeType.GNB)
    async with ric.client() as gateway:
        await CuFeed(gateway, {DU: forecasts()}, 5).follow(gnb.node)
    assert not ric.controls


async def test_a_refusal_does_not_end_the_feed(capsys: pytest.CaptureFixture[str]) -> None:
    ric = FakeRic()
    cu = split(ric, DU)
    refusal = {
        "cause": "unknown_bearer",
        "element": "bearer",
        "detail": "no DRB 2 of RNTI 17 here now",
        "revision": None,
        "holder": None,
    }
    outcome = tc.encode("control-outcome", {"refused": refusal})
    cu.on_control(TC_V1_OID, lambda *_: ControlAnswer(acknowledged=False, outcome=outcome))
    latest = {DU: forecasts()}
    async with ric.client() as gateway:
        following = asyncio.create_task(CuFeed(gateway, latest, 5).follow(cu.node))
        for sent in range(1, 4):
            latest[DU] = forecasts(ORIGIN_US + sent)
            await until(lambda wanted=sent: len(ric.controls) >= wanted)  # type: ignore[misc]
        following.cancel()
    shown = capsys.readouterr().out
    assert shown.count("no DRB 2 of RNTI 17") == 1, "said when it changes"
