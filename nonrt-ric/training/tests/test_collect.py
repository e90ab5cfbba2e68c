"""``rlc-train collect`` records a node's reports as runs, despite faults."""

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
from rlc_train.collect.session import RecordingOptions, Session, partition_name
from rlc_train.errors import TrainError
from test_recorder import START_US, mac_message, rlc_message, tc_message

NODE = "gnb:001-01/0xe00"


def options_for(root: Path, **changes: Any) -> RecordingOptions:
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
    return RecordingOptions(**(base | changes))


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
    ric: FakeRic, node: FakeNode, options: RecordingOptions, oids: set[str], **more: Any
) -> Session:
    recording = asyncio.create_task(record(GatewaySettings(), options, link=ric.link()))
    await subscribed(ric, more.get("streams", len(oids)))
    await report(node, more.get("instants", range(102)), oids=oids)
    return await asyncio.wait_for(recording, 20)


async def test_a_nodes_reports_become_a_run(tmp_path: Path) -> None:
    ric = FakeRic()
    node = ric.add_node(NODE, *ALL)
    session = await recorded(ric, node, options_for(tmp_path), ALL)
    (run,) = Dataset.open(tmp_path)
    assert run.provenance == session.written[0]
    assert run.provenance.partition.startswith("cell=gnb-001-01-0xe00/mobility=car/run=2023")
    assert (run.provenance.source, run.provenance.node_id) == ("e2", NODE)
    assert run.provenance.scenario is None
    table = run.table()
    assert table.num_rows == 100
    assert table.column("mcs").to_pylist()[:30] == [*range(20), *range(10)]
    assert table.column("pacer_limit_bytes").to_pylist() == [5_000 + k for k in range(100)]
    assert table.column("drained_delta_bytes").to_pylist() == [0] + [100] * 99


async def test_a_node_without_mac_and_tc_reports_is_recorded(tmp_path: Path) -> None:
    ric = FakeRic()
    node = ric.add_node(NODE, RLC_OID)
    await recorded(ric, node, options_for(tmp_path), {RLC_OID})
    (run,) = Dataset.open(tmp_path)
    table = run.table()
    assert table.column("mcs").null_count == table.num_rows == 100
    assert not run.arrays().known.any()


async def test_a_refused_mac_subscription_leaves_its_columns_null(tmp_path: Path) -> None:
    ric = FakeRic()
    node = ric.add_node(NODE, *ALL)
    node.refuse_subscriptions(MAC_OID, "too many")
    await recorded(ric, node, options_for(tmp_path), {RLC_OID, TC_V1_OID})
    (run,) = Dataset.open(tmp_path)
    table = run.table()
    assert table.column("mcs").null_count == 100
    assert table.column("pacer_limit_bytes").null_count == 0


async def test_segments_are_separate_runs(tmp_path: Path) -> None:
    ric = FakeRic()
    node = ric.add_node(NODE, RLC_OID)
    session = await recorded(ric, node, options_for(tmp_path, segment_s=0.04), {RLC_OID})
    data = Dataset.open(tmp_path)
    assert [run.rows for run in data] == [40, 40, 20]
    assert [run.provenance.run[-4:] for run in data] == ["0000", "0001", "0002"]
    assert len(session.written) == 3


async def test_reports_of_a_node_that_stalls_are_written(tmp_path: Path) -> None:
    ric = FakeRic()
    node = ric.add_node(NODE, RLC_OID)
    with pytest.raises(TrainError, match=r"sent no RLC report for 0.2 s; 0 runs"):
        await recorded(ric, node, options_for(tmp_path, stall_s=0.2), {RLC_OID}, instants=range(30))
    (run,) = Dataset.open(tmp_path)
    assert run.rows == 30


async def test_a_broken_subscription_continues_with_a_gap(tmp_path: Path) -> None:
    ric = FakeRic()
    node = ric.add_node(NODE, RLC_OID)
    settings = GatewaySettings(backoff_initial_s=0.001)
    recording = asyncio.create_task(record(settings, options_for(tmp_path), link=ric.link()))
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


async def test_invalid_reports_are_counted_and_the_rest_is_recorded(tmp_path: Path) -> None:
    ric = FakeRic()
    node = ric.add_node(NODE, RLC_OID)
    recording = asyncio.create_task(
        record(GatewaySettings(), options_for(tmp_path), link=ric.link())
    )
    await subscribed(ric, 1)
    await report(node, range(10), oids={RLC_OID})
    node.report(RLC_OID, b"\x07garbage", collected_at_us=START_US + 9_500)
    await report(node, range(10, 102), oids={RLC_OID})
    session = await asyncio.wait_for(recording, 20)
    assert session.bad_messages == 1
    (run,) = Dataset.open(tmp_path)
    assert run.rows == 100


async def test_stopping_writes_the_run(tmp_path: Path) -> None:
    ric = FakeRic()
    node = ric.add_node(NODE, RLC_OID)
    async with ric.client() as gateway:
        session = Session(gateway, options_for(tmp_path, duration_s=1e6), lambda *_: None)
        recording = asyncio.create_task(session.run())
        await subscribed(ric, 1)
        await report(node, range(25), oids={RLC_OID})
        recording.cancel()
        with suppress(asyncio.CancelledError):
            await recording
    (run,) = Dataset.open(tmp_path)
    assert run.rows == 25


async def test_a_missing_node_is_named(tmp_path: Path) -> None:
    ric = FakeRic()
    ric.add_node(NODE, RLC_OID)
    options = options_for(tmp_path, node_id="other", stall_s=0.05)
    with pytest.raises(TrainError, match="other did not appear within"):
        await record(GatewaySettings(), options, link=ric.link())
    ric.remove_node(NODE)
    options = options_for(tmp_path, stall_s=0.05)
    with pytest.raises(TrainError, match="a node with RLC reports did not appear"):
        await record(GatewaySettings(), options, link=ric.link())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--duration-s", "0"], "--duration-s: 0; expected a number above 0"),
        (["--duration-s", "nan"], "--duration-s: nan; expected a number above 0"),
        (["--duration-s", "1", "--cell", "a/b"], "--cell: 'a/b'; expected letters"),
        (["--duration-s", "1", "--gateway", "10.0.0.1:1"], "plain text"),
    ],
)
def test_invalid_arguments_give_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["collect", "--out", str(tmp_path / "x"), *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.startswith("rlc-train collect: ")


def test_a_partition_name_is_a_directory_name() -> None:
    assert partition_name("gnb:001/01 µ") == "gnb-001-01--"
    assert partition_name("") == "unknown"
