"""Traffic control in a real OpenAirInterface gNB with its UE, RF simulator and E2 agent.

`make test-oai` runs these: each starts gNB and UE. Delays are of the radio's time, because a small
machine does not keep up with it.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import e2sm_tc
import numpy as np
import pytest
from clients import bearer_of, transaction
from ric import E2GatewayClient
from ric.settings import GatewaySettings
from ric.sm import TC_V1_OID
from rich.console import Console
from sojourn_demo.flexric import SETUP_DONE, FlexRic
from sojourn_demo.gateways import ANY_PORT, start_bridge, start_ric
from sojourn_demo.load.commands import ENDS_WITH_PARENT, python
from sojourn_demo.load.flow import Received, read_received
from sojourn_demo.oai import network
from sojourn_demo.oai.build import Oai
from sojourn_demo.oai.cell import Cell
from sojourn_demo.oai.loop import Loop
from sojourn_demo.oai.network import UE_ADDRESS
from sojourn_demo.oai.run import run
from sojourn_demo.programs import Programs
from sojourn_demo.recording import read_recording

pytestmark = [
    pytest.mark.skipif(
        "SOJOURN_TEST_OAI" not in os.environ,
        reason="`make test-oai` runs these where OAI_BUILD names an OpenAirInterface",
    ),
    pytest.mark.timeout(1200),
]
ROOT = Path(__file__).parents[3]
FLOW = "sojourn_demo.load.flow"
PORT = 5020
OWNER = "test"
CONTROL_TIMEOUT_S = 5.0
LEAST_RADIO_SPEED = 0.3
"""Below it, what other programs take of the machine decides on delays, not the queues."""
RECONFIGURED_S = float(os.environ.get("SOJOURN_OAI_SECONDS", "30"))
"""How long the pipeline is reconfigured under load, once a second."""


@asynccontextmanager
async def cell(folder: Path, **settings: str) -> AsyncIterator[Cell]:
    """gNB and UE without E2."""
    async with Programs(folder) as programs:
        oai = Oai.found(os.environ)
        made = await Cell.start(oai, programs, folder, settings=settings)
        await made.attach()
        yield made


@asynccontextmanager
async def loop(folder: Path, **settings: str) -> AsyncIterator[tuple[Loop, E2GatewayClient]]:
    """gNB, UE, near-RT RIC and bridge, with a client of the bridge that knows the gNB."""
    with TemporaryDirectory(prefix="sojourn-") as scratch:
        async with Programs(folder) as programs:
            made = await Loop.start(programs, Path(scratch), folder, settings=settings)
            gateway = GatewaySettings(address=made.gateway, control_timeout_s=CONTROL_TIMEOUT_S)
            async with E2GatewayClient(gateway) as client:
                await node_of(client)
                yield made, client


async def node_of(client: E2GatewayClient) -> str:
    """Id of the gNB, once it is there."""
    async with asyncio.timeout(60):
        async for event in client.watch_nodes():
            if event.node.ran_function(TC_V1_OID) is not None:
                return event.node.id
    raise AssertionError("no node")


@dataclass(frozen=True)
class Ledger:
    """Packets into the gNB's tunnel, through the pipeline, and out of the UE's tunnel."""

    into_tunnel: int
    not_read: int
    taken: int
    dropped: int
    forwarded: int
    out_of_tunnel: int

    @classmethod
    async def of(cls, cell: Cell) -> Ledger:
        # The status is at most 100 ms old.
        await asyncio.sleep(0.5)
        into = network.packets(network.GNB_TUN, "tx")
        out_of = cell.namespace.packets(network.UE_TUN, "rx")
        # Where the gNB's thread does not read them in time.
        not_read = network.packets(network.GNB_TUN, "tx_dropped")
        assert into is not None
        assert not_read is not None
        assert out_of is not None
        (counts,) = (each for each in cell.status()["bearers"] if each["rnti"] is not None)
        dropped = counts["dropped_by_pipeline_packets"] + counts["dropped_full_packets"]
        return cls(
            into, not_read, counts["taken_packets"], dropped, counts["forwarded_packets"], out_of
        )

    def since(self, before: Ledger) -> Ledger:
        return Ledger(
            *(now - then for now, then in zip(astuple(self), astuple(before), strict=True))
        )


class NumberedPackets:
    """A flow of numbered packets from the gNB's side to the UE."""

    def __init__(self, of: Cell, mbps: float, packet_bytes: int = 1300) -> None:
        self.cell = of
        self.out, self.ready = of.folder / "numbered.csv", of.folder / "numbered.ready"
        self.period_us = 8 * packet_bytes / mbps
        self.packet_bytes = packet_bytes

    async def start(self) -> None:
        self.ready.unlink(missing_ok=True)
        self.receiver = self.cell.programs.spawn(
            (
                *(*self.cell.namespace.prefix, *ENDS_WITH_PARENT, *python(FLOW)),
                *("receive", "--port", str(PORT), "--out", str(self.out)),
                *("--ready", str(self.ready)),
            ),
            name="numbered-receiver",
            has_ready_line=False,
        )
        await self.cell.programs.wait_until(self.receiver, self.ready.exists)
        self.sender = self.cell.programs.spawn(
            (
                *(*ENDS_WITH_PARENT, *python(FLOW), "send", f"{UE_ADDRESS}:{PORT}"),
                *("--bytes", str(self.packet_bytes), "--period-us", str(self.period_us)),
            ),
            name="numbered-sender",
            has_ready_line=False,
        )

    async def finish(self) -> tuple[int, Received]:
        """Ends the flow; the number of packets sent, and what arrived."""
        await self.cell.programs.stop(self.sender)
        await self.cell.programs.wait_until(self.cell.gnb, self._is_quiet)
        await self.cell.programs.stop(self.receiver)
        return int(self.sender.log.read_text().split()[-1]), read_received(self.out)

    async def finish_accounted(self, before: Ledger) -> Ledger:
        """Ends the flow and checks what became of each packet since `before`."""
        sent, arrived = await self.finish()
        spent = (await Ledger.of(self.cell)).since(before)
        assert spent.into_tunnel == spent.taken
        assert spent.into_tunnel + spent.not_read >= sent
        assert spent.taken == spent.forwarded + spent.dropped
        # OAI's RLC-UM loses an SDU now and then, without this library as well.
        lost_below = spent.forwarded - spent.out_of_tunnel
        assert 0 <= lost_below <= max(1, sent // 1000)
        assert arrived.lost(sent) <= spent.not_read + spent.dropped + lost_below
        assert (arrived.reordered, arrived.duplicates) == (0, 0)
        return spent

    def _is_quiet(self) -> bool:
        """Whether nothing waits in pipelines or RLC."""
        bearers = self.cell.status().get("bearers", [])
        if any(bearer["waiting_packets"] or bearer["rlc_bytes"] for bearer in bearers):
            return False
        before = self.out.stat().st_size
        time.sleep(0.3)
        return self.out.stat().st_size == before


def vectors(kind: str) -> list[bytes]:
    """The vectors of E2SM-TC v1 of a kind."""
    lines = (ROOT / "e2sm-tc-spec/vectors/v1.jsonl").read_text().splitlines()
    return [bytes.fromhex(each["hex"]) for each in map(json.loads, lines) if each["kind"] == kind]


@pytest.mark.parametrize("killed", [False, True])
async def test_a_ue_comes_and_goes(tmp_path: Path, killed: bool) -> None:
    """It cannot come back: without a core network OAI's gNB admits a UE once."""
    async with cell(tmp_path, SOJOURN_PIPELINE="low_latency") as made:
        before = await Ledger.of(made)
        flow = NumberedPackets(made, 2.0)
        await flow.start()
        await asyncio.sleep(2)
        await flow.finish_accounted(before)
        gone = NumberedPackets(made, 2.0)
        await gone.start()
        if killed:
            _kill(made.programs, "nr-uesoftmodem")
        else:
            await made.detach()
        await asyncio.sleep(5)
        assert made.gnb.alive
        status = made.status()
        assert status["buffers_exhausted"] == status["oversize_packets"] == 0
        for bearer in status["bearers"]:
            ended = bearer["forwarded_packets"] + bearer["waiting_packets"]
            ended += bearer["dropped_by_pipeline_packets"] + bearer["dropped_removed_packets"]
            assert bearer["taken_packets"] == ended
        await made.programs.stop(made.gnb)
        assert "Bye." in made.gnb.log.read_text(errors="replace")


async def test_without_ric_and_control_the_gnb_is_as_without_the_library(tmp_path: Path) -> None:
    found = {}
    for name, settings in (
        ("off", {"SOJOURN_OFF": "1"}),
        ("transparent", {"SOJOURN_PIPELINE": "transparent"}),
    ):
        folder = tmp_path / name
        folder.mkdir()
        async with cell(folder, **settings) as made:
            flow = NumberedPackets(made, 5.0)
            await flow.start()
            await asyncio.sleep(10)
            sent, arrived = await flow.finish()
            # OAI's RLC-UM loses an SDU now and then.
            assert arrived.lost(sent) <= sent // 1000
            assert (arrived.reordered, arrived.duplicates) == (0, 0)
            delays_us = (arrived.received_us - arrived.sent_us)[len(arrived.number) // 2 :]
            found[name] = float(np.median(delays_us))
    assert found["transparent"] == pytest.approx(found["off"], rel=0.5)


async def test_overload_is_cured_through_the_near_rt_ric(tmp_path: Path) -> None:
    arguments = Namespace(
        **{"out": tmp_path, "before": 10.0, "after": 20.0, "udp": 60.0, "mcs": None},
        **{"policy": None, "rlc_period_ms": None},
    )
    await run(arguments, Console())
    summary = json.loads((tmp_path / "summary.json").read_text())
    slowest = min(summary["radio_speed"].values())
    if slowest < LEAST_RADIO_SPEED:
        pytest.skip(
            f"other programs left so little that the radio ran at {slowest:.2f} of real time"
        )
    assert summary["phases"][0]["ping_rtt_ms"]["p95"] > 1000
    recording = read_recording(tmp_path / "with_control")
    decided_s = summary["switched_s"]
    cured = recording.rtt_ms.between(decided_s + 2, recording.duration_s)
    assert np.percentile(cured, 95) <= 40
    before = recording.drained_mbit.rate(2, decided_s)
    after = recording.drained_mbit.rate(decided_s, recording.duration_s)
    assert before is not None
    assert after is not None
    assert after >= 0.97 * before


async def test_every_control_of_v1_reaches_the_pipeline_as_it_was_sent(tmp_path: Path) -> None:
    log = tmp_path / "controls.jsonl"
    settings = {"SOJOURN_PIPELINE": "transparent", "SOJOURN_CONTROL_LOG": str(log)}
    async with loop(tmp_path, **settings) as (made, client):
        node = await node_of(client)
        headers = vectors("control-header")
        bearer = bearer_of(made.cell.status())
        definition = e2sm_tc.decode("ran-function-definition", _definition(client))
        messages = vectors("control")
        accepted, own = [], len(messages)
        # A vector whose header fits it takes the node's lease.
        leases = [each["node_lease"] for each in map(_control, messages) if "node_lease" in each]
        for owner in {each["owner"] for each in leases}:
            returned = {"node_lease": {"owner": owner, "lease_ms": None}}
            messages.append(e2sm_tc.encode("control", returned))
        transactions_from = len(messages)
        node_leases = e2sm_tc.encode("control-header", {"style": 4, "correlation_id": 1})
        transactions = e2sm_tc.encode("control-header", {"style": 1, "correlation_id": 1})
        for template in e2sm_tc.TEMPLATES:
            pipeline = e2sm_tc.pipeline(template, {})
            if _is_supported(pipeline, definition):
                accepted.append(len(messages))
                messages.append(transaction(bearer, {"replace": pipeline}))
        messages += [
            transaction(bearer, "safe"),
            e2sm_tc.encode("control", {"node_lease": {"owner": OWNER, "lease_ms": 60_000}}),
            e2sm_tc.encode("control", {"node_lease": {"owner": OWNER, "lease_ms": None}}),
        ]
        sent, outcomes = [], []
        for at, message in enumerate(messages):
            if at < own:
                header = headers[at % len(headers)]
            else:
                header = node_leases if at < transactions_from else transactions
            answer = await client.control(node, TC_V1_OID, header, message)
            sent.append((header.hex(), message.hex()))
            outcomes.append(answer.outcome.hex())
        seen = [json.loads(line) for line in log.read_text().splitlines()]
        assert [(each["header"], each["message"]) for each in seen] == sent
        assert [each["outcome"] for each in seen] == outcomes
        assert len(accepted) >= 5
        for at in accepted:
            assert "accepted" in e2sm_tc.decode("control-outcome", bytes.fromhex(outcomes[at]))
        assert made.cell.gnb.alive


def _control(message: bytes) -> Any:
    return e2sm_tc.decode("control", message)


def _definition(client: E2GatewayClient) -> bytes:
    (node,) = client.nodes
    function = node.ran_function(TC_V1_OID)
    assert function is not None
    return function.definition


def _is_supported(pipeline: Any, definition: Any) -> bool:
    try:
        e2sm_tc.check_pipeline(pipeline, definition["capabilities"])
    except e2sm_tc.PipelineError:
        return False
    return True


async def test_reconfiguration_under_load_loses_and_reorders_nothing(tmp_path: Path) -> None:
    async with loop(tmp_path, SOJOURN_PIPELINE="low_latency") as (made, client):
        node = await node_of(client)
        flow = NumberedPackets(made.cell, 2.0)
        before = await Ledger.of(made.cell)
        await flow.start()
        header = e2sm_tc.encode("control-header", {"style": 1, "correlation_id": 1})
        # The MCS starts at 0 and climbs for seconds.
        await asyncio.sleep(6)
        bearer = bearer_of(made.cell.status())
        revisions = []
        memory_mib = [_memory_mib(made.cell)]
        for at in range(round(RECONFIGURED_S)):
            template = ("fq_codel", "low_latency", "bdp_only", "fq_l4s")[at % 4]
            change = {"replace": e2sm_tc.pipeline(template, {})}
            answer = await client.control(node, TC_V1_OID, header, transaction(bearer, change))
            outcome = e2sm_tc.decode("control-outcome", answer.outcome)
            revisions.append(outcome["accepted"]["revision"])
            memory_mib.append(_memory_mib(made.cell))
            await asyncio.sleep(1)
        assert revisions == sorted(set(revisions))
        spent = await flow.finish_accounted(before)
        print(f"{len(revisions)} reconfigurations, {spent}, RSS {memory_mib[0]}, {memory_mib[-1]}")
        assert memory_mib[-1] <= 1.02 * memory_mib[0]


def _memory_mib(of: Cell) -> float:
    """Resident memory of the gNB."""
    status = Path(f"/proc/{of.gnb.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024


async def test_programs_that_die_take_no_packets_with_them(tmp_path: Path) -> None:
    log = tmp_path / "controls.jsonl"
    settings = {"SOJOURN_PIPELINE": "bdp_only", "SOJOURN_CONTROL_LOG": str(log)}
    with TemporaryDirectory(prefix="sojourn-") as scratch:
        async with Programs(tmp_path) as programs:
            made = await Loop.start(programs, Path(scratch), tmp_path, settings=settings)
            before = await Ledger.of(made.cell)
            flow = NumberedPackets(made.cell, 2.0)
            await flow.start()
            await _start_controller(programs, made.gateway)
            await programs.wait_until(made.cell.gnb, lambda: _pipeline(made.cell) == "low_latency")
            for victim in ("tc-controller", "flexric-bridge", "nearRT-RIC"):
                await asyncio.sleep(2)
                _kill(programs, victim)
            await asyncio.sleep(2)
            # The agent's log says so each time; it has done so once.
            connected = _times_set_up(made.cell)
            flexric = FlexRic.found(os.environ, node=False)
            made.ric = await start_ric(flexric, programs, Path(scratch))
            await programs.wait_until(made.cell.gnb, lambda: _times_set_up(made.cell) > connected)
            made.gateway = await start_bridge(flexric, programs, made.ric)
            controls = log.stat().st_size
            await _start_controller(programs, made.gateway)
            await programs.wait_until(made.cell.gnb, lambda: log.stat().st_size > controls)
            assert _pipeline(made.cell) == "low_latency"
            await flow.finish_accounted(before)
            assert made.cell.gnb.alive


async def _start_controller(programs: Programs, gateway: str) -> None:
    await programs.start("tc-controller", "--gateway", gateway, "--metrics-listen", ANY_PORT)


def _pipeline(of: Cell) -> str:
    """Name of the pipeline in force."""
    (bearer,) = (each for each in of.status()["bearers"] if each["rnti"] is not None)
    name: str = bearer["pipeline"]
    return name


def _kill(programs: Programs, name: str) -> None:
    (victim,) = (each for each in programs.started if each.name == name)
    victim.kill()
    programs.started.remove(victim)


def _times_set_up(of: Cell) -> int:
    return of.gnb.log.read_text(errors="replace").count(SETUP_DONE)
