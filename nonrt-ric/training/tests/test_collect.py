"""``rlc-train collect``: what a node reports becomes runs, whatever happens on the way."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from ric.settings import GatewaySettings
from ric.sm import MAC_OID, RLC_OID, TC_V1_OID
from ric.testing import FakeNode, FakeRic
from rlc_dataset import Dataset
from rlc_train.cli import main
from rlc_train.collect.command import record
from rlc_train.collect.session import Session, Wish, partition_name
from rlc_train.errors import TrainError
from test_recorder import START_US, mac_message, rlc_message, tc_message

NODE = "gnb:001-01/0xe00"


def wish(root: Path, **changes: Any) -> Wish:
    base: dict[str, Any] = {
        "root": root,
        "cell": "",
        "mobility": "car",
        "node_id": "",
        "duration_s": 0.1,
        "segment_s": 60.0,
        "stall_s": 5.0,
        "producer": "rlc-train test",
    }
    return Wish(**(base | changes))


async def subscribed(ric: FakeRic, count: int) -> None:
    while len(ric.subscriptions) < count:
        await asyncio.sleep(0.001)


async def report(node: FakeNode, instants: range, *, oids: set[str]) -> None:
    for k in instants:
        at_us = START_US + 1_000 * k
        if MAC_OID in oids:
            node.report(MAC_OID, mac_message(at_us, {17: (k % 20, k)}), collected_at_us=at_us)
        if TC_V1_OID in oids:
            node.report(TC_V1_OID, tc_message({(17, 1): 5_000 + k}), collected_at_us=at_us)
        await asyncio.sleep(0)
        message = rlc_message(at_us, {(17, 1): (k, 100 * k)})
        node.report(RLC_OID, message, collected_at_us=at_us)
        await asyncio.sleep(0.0005)


ALL = {RLC_OID, MAC_OID, TC_V1_OID}


async def recorded(
    ric: FakeRic, node: FakeNode, what: Wish, oids: set[str], **more: Any
) -> Session:
    recording = asyncio.create_task(record(GatewaySettings(), what, link=ric.link()))
    await subscribed(ric, more.get("streams", len(oids)))
    await report(node, more.get("instants", range(102)), oids=oids)
    return await asyncio.wait_for(recording, 20)


async def test_a_nodes_reports_become_a_run(tmp_path: Path) -> None:
    ric = FakeRic()
    node = ric.add_node(NODE, *ALL)
    session = await recorded(ric, node, wish(tmp_path), ALL)
    (run,) = Dataset.open(tmp_path)
    assert run.provenance == session.written[0]
    assert run.provenance.partition.startswith("cell=gnb-001-01-0xe00/mobility=car/run=2023")
    assert (run.provenance.source, run.provenance.node_id) == ("e2", NODE)
    assert run.provenance.scenario is None
    table = run.table()
    assert table.num_rows == 100
    assert table.column("mcs").to_pylist()[:30] == [*range(20), *range(10)]
    assert table.column("queue_limit_bytes").to_pylist() == [5_000 + k for k in range(100)]
    assert table.column("drained_bytes").to_pylist() == [0] + [100] * 99


async def test_a_node_without_mac_and_tc_reports_is_recorded_too(tmp_path: Path) -> None:
    ric = FakeRic()
    node = ric.add_node(NODE, RLC_OID)
    await recorded(ric, node, wish(tmp_path), {RLC_OID})
    (run,) = Dataset.open(tmp_path)
    table = run.table()
    assert table.column("mcs").null_count == table.num_rows == 100
    assert not run.arrays().known.any()


async def test_a_refused_subscription_beside_rlc_is_done_without(tmp_path: Path) -> None:
    ric = FakeRic()
    node = ric.add_node(NODE, *ALL)
    node.refuse_subscriptions(MAC_OID, "too many")
    await recorded(ric, node, wish(tmp_path), {RLC_OID, TC_V1_OID})
    (run,) = Dataset.open(tmp_path)
    table = run.table()
    assert table.column("mcs").null_count == 100
    assert table.column("queue_limit_bytes").null_count == 0


async def test_segments_are_runs_of_their_own(tmp_path: Path) -> None:
    ric = FakeRic()
    node = ric.add_node(NODE, RLC_OID)
    session = await recorded(ric, node, wish(tmp_path, segment_s=0.04), {RLC_OID})
    data = Dataset.open(tmp_path)
    assert [run.rows for run in data] == [40, 40, 20]
    assert [run.provenance.run[-4:] for run in data] == ["0000", "0001", "0002"]
    assert len(session.written) == 3


async def test_a_node_that_falls_silent_leaves_what_it_said(tmp_path: Path) -> None:
    ric = FakeRic()
    node = ric.add_node(NODE, RLC_OID)
    with pytest.raises(TrainError, match=r"sent no RLC report for 0.2 s; 0 runs"):
        await recorded(ric, node, wish(tmp_path, stall_s=0.2), {RLC_OID}, instants=range(30))
    (run,) = Dataset.open(tmp_path)
    assert run.rows == 30


async def test_a_subscription_that_breaks_goes_on_with_a_gap(tmp_path: Path) -> None:
    ric = FakeRic()
    node = ric.add_node(NODE, RLC_OID)
    settings = GatewaySettings(backoff_initial_s=0.001)
    recording = asyncio.create_task(record(settings, wish(tmp_path), link=ric.link()))
    await subscribed(ric, 1)
    await report(node, range(40), oids={RLC_OID})
    node.break_streams()
    await subscribed(ric, 1)
    await report(node, range(50, 102), oids={RLC_OID})
    session = await asyncio.wait_for(recording, 20)
    assert session.recorder.counts.missing == 10
    (run,) = Dataset.open(tmp_path)
    assert run.rows == 90
    assert run.arrays(allow_gaps=True).present.sum() == 90


async def test_garbage_is_counted_and_the_rest_is_recorded(tmp_path: Path) -> None:
    ric = FakeRic()
    node = ric.add_node(NODE, RLC_OID)
    recording = asyncio.create_task(record(GatewaySettings(), wish(tmp_path), link=ric.link()))
    await subscribed(ric, 1)
    await report(node, range(10), oids={RLC_OID})
    node.report(RLC_OID, b"\x07garbage", collected_at_us=START_US + 9_500)
    await report(node, range(10, 102), oids={RLC_OID})
    session = await asyncio.wait_for(recording, 20)
    assert session.bad_messages == 1
    (run,) = Dataset.open(tmp_path)
    assert run.rows == 100


async def test_stopping_writes_what_there_is(tmp_path: Path) -> None:
    ric = FakeRic()
    node = ric.add_node(NODE, RLC_OID)
    async with ric.client() as gateway:
        session = Session(gateway, wish(tmp_path, duration_s=1e6), lambda *_: None)
        recording = asyncio.create_task(session.run())
        await subscribed(ric, 1)
        await report(node, range(25), oids={RLC_OID})
        recording.cancel()
        with suppress(asyncio.CancelledError):
            await recording
    (run,) = Dataset.open(tmp_path)
    assert run.rows == 25


async def test_a_node_that_never_comes_is_named(tmp_path: Path) -> None:
    ric = FakeRic()
    ric.add_node(NODE, RLC_OID)
    what = wish(tmp_path, node_id="other", stall_s=0.05)
    with pytest.raises(TrainError, match="other did not appear within"):
        await record(GatewaySettings(), what, link=ric.link())
    ric.remove_node(NODE)
    what = wish(tmp_path, stall_s=0.05)
    with pytest.raises(TrainError, match="a node with RLC reports did not appear"):
        await record(GatewaySettings(), what, link=ric.link())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--duration-s", "0"], "--duration-s: 0 is not above 0"),
        (["--duration-s", "nan"], "--duration-s: nan is not above 0"),
        (["--duration-s", "1", "--cell", "a/b"], "--cell: 'a/b' is not a directory name"),
        (
            ["--duration-s", "1", "--gateway", "10.0.0.1:1"],
            "plain text",
        ),
    ],
)
def test_wrong_arguments_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["collect", "--out", str(tmp_path / "x"), *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.startswith("rlc-train collect: ")


def test_a_partitions_name_is_a_directorys() -> None:
    assert partition_name("gnb:001/01 µ") == "gnb-001-01--"
    assert partition_name("") == "unknown"
