"""Traffic control in an OpenAirInterface gNB: its cost, queueing schemes, transactions.

    OAI_BUILD=… python benchmarks/oai_gnb.py cost --mbps 30 --out out/bench
    OAI_BUILD=… FLEXRIC_BUILD=… python benchmarks/oai_gnb.py schemes --out out/bench
    OAI_BUILD=… FLEXRIC_BUILD=… python benchmarks/oai_gnb.py transactions --out out/bench

cost          CPU of the gNB and time in the MAC's thread. gNB and UE start for each round,
              alternately without the library (`SOJOURN_OFF=1`) and with `low_latency`. Each round
              downloads UDP and measures over whole log lines of the gNB, which are 128 radio frames
              apart, so CPU is per second of the radio. The rate is per second of wall-clock time;
              how fast the radio ran is printed
schemes       the same cell, load and pipelines in the gNB and in the lab: a UDP download at more
              than the cell carries, a ping and a VoIP-like flow; no control, `fq_codel` with
              `bdp5g`, `low_latency`. Both have 106 PRBs, OAI's TDD pattern, one MCS, RLC-UM with
              10 MB. In OAI times are of the radio, and the pipeline is set through a near-RT RIC
transactions  E2SM-TC v1 beside v0 through a near-RT RIC: the pipeline of `policies/flexric.yaml`,
              one control of v1, ten of v0, which the bridge makes of the same request. Radio and UE
              are idle. Times are from request to answer at the client. More than nine rounds of v0
              exceed what the bridge sends at once (`controls.burst`)
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import e2sm_tc
from clients import FLEXRIC_PIPELINE, bearer_of, change_pipeline, durations
from lab_run import lab_run
from measuring import cpu_s, show, write
from oai_starts import repeated
from ric import E2GatewayClient
from ric.settings import GatewaySettings
from ric.sm import TC_V1_OID
from sojourn_demo.measure import percentiles
from sojourn_demo.oai.build import Oai
from sojourn_demo.oai.cell import Cell
from sojourn_demo.oai.loop import Loop
from sojourn_demo.oai.network import enter
from sojourn_demo.oai.recorder import Recorder
from sojourn_demo.oai.traffic import UDP_BYTES, Bulk, Traffic
from sojourn_demo.programs import Programs
from sojourn_demo.recording import Recording, read_recording

INSIDE: Final = "SOJOURN_BENCH_INSIDE"
LINE, LINE_S = "Frame.Slot", 1.28
SETTLE_S: Final = {"cost": 6.0, "schemes": 8.0}
WARM_UP_S: Final = 2.0
PATIENCE_S: Final = 60.0
SCHEMES: Final[dict[str, Any]] = {
    "none": None,
    "fq_codel, bdp5g": e2sm_tc.pipeline("fq_codel", {"pacer": "bdp5g"}),
    "low_latency": e2sm_tc.pipeline("low_latency", {}),
}


async def _next_line(cell: Cell) -> int:
    def lines() -> int:
        return cell.gnb.log.read_text(errors="replace").count(LINE)

    before = lines()
    await cell.programs.wait_until(cell.gnb, lambda: lines() > before)
    return lines()


async def cost_round(
    folder: Path, given: argparse.Namespace, settings: dict[str, str]
) -> dict[str, Any]:
    """One round."""
    mbps, seconds = given.mbps, given.seconds
    async with Programs(folder) as programs:
        cell = await Cell.start(
            *(Oai.found(os.environ), programs, folder),
            settings=settings,
            real_time=given.real_time,
        )
        await cell.attach()
        traffic = Traffic(cell, folder, Bulk(mbps))
        await traffic.start()
        await asyncio.sleep(SETTLE_S["cost"])
        first = await _next_line(cell)
        began_s, before_s = time.monotonic(), cpu_s(cell.gnb.process.pid)
        total = traffic.goodput.total_bytes[-1]
        await asyncio.sleep(seconds)
        last = await _next_line(cell)
        wall_s, used_s = time.monotonic() - began_s, cpu_s(cell.gnb.process.pid) - before_s
        radio_s = LINE_S * (last - first)
        return {
            "cpu_per_radio_s": used_s / radio_s,
            "radio_speed": radio_s / wall_s,
            "goodput_mbps": 8e-6 * (traffic.goodput.total_bytes[-1] - total) / wall_s,
            "slot_times": cell.status().get("slot_times"),
            "slot_times_own": cell.status().get("slot_times_own"),
        }


def _cost_round(root: Path, given: argparse.Namespace, chosen: dict[str, str]) -> dict[str, Any]:
    return asyncio.run(cost_round(Path(tempfile.mkdtemp(dir=root)), given, chosen))


def cost(given: argparse.Namespace) -> dict[str, Any]:
    """All rounds, off and on in turn."""
    settings = {
        "off": {"SOJOURN_OFF": "1"},
        "low_latency": {"SOJOURN_PIPELINE": "low_latency", "SOJOURN_SLOT_CLOCK": given.slot_clock},
    }
    rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in settings}
    with tempfile.TemporaryDirectory() as root:
        for _ in range(given.rounds):
            for name, chosen in settings.items():
                found = repeated(partial(_cost_round, Path(root), given, chosen))
                print(name, found, flush=True)
                rounds[name].append(found)
    off, on = (
        sum(each["cpu_per_radio_s"] for each in found) / len(found) for found in rounds.values()
    )
    print(f"added CPU of the gNB: {on / off - 1:.1%}")
    measured = {"mbps": given.mbps, "slot_clock": given.slot_clock, "rounds": rounds}
    return measured | {"added_cpu": on / off - 1}


async def node_of(client: E2GatewayClient) -> str:
    """The gNB with traffic control."""
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            async for event in client.watch_nodes():
                if event.node.ran_function(TC_V1_OID) is not None:
                    return event.node.id
    raise SystemExit("no gNB with traffic control")


async def in_oai(folder: Path, given: argparse.Namespace, pipeline: Any) -> Recording:
    """One scheme in the gNB."""
    with tempfile.TemporaryDirectory(prefix="sojourn-") as scratch:
        async with Programs(folder) as programs:
            loop = await Loop.start(programs, Path(scratch), folder, max_mcs=given.mcs)
            if pipeline is not None:
                settings = GatewaySettings(address=loop.gateway, control_timeout_s=PATIENCE_S)
                async with E2GatewayClient(settings) as client:
                    named = bearer_of(loop.cell.status())
                    node = await node_of(client)
                    await change_pipeline(client, node, named, {"replace": pipeline})
            traffic = Traffic(loop.cell, folder, Bulk(given.mbps))
            recorder = Recorder(loop.gateway, traffic, loop.cell)
            recording = asyncio.create_task(recorder.run())
            await traffic.start()
            await asyncio.sleep(SETTLE_S["schemes"])
            recorder.begin()
            await asyncio.sleep(given.seconds)
            recorder.end()
            recording.cancel()
            recorder.write(folder)
    return read_recording(folder)


def in_lab(folder: Path, given: argparse.Namespace, pipeline: Any) -> Recording:
    """One scheme in the lab."""
    drb: dict[str, Any] = {"id": 1, "rlc": {"mode": "um", "limit_bytes": 10_000_000}}
    if pipeline is not None:
        drb["pipeline"] = pipeline
    rate = {"rate_kbps": round(2000 * given.mbps), "packet_bytes": UDP_BYTES + 28}
    scenario = {
        "name": "oai",
        "seed": 1,
        "duration_s": 20,
        "cell": {
            **{"rat": "nr", "n_prb": 106, "scs_khz": 30, "mcs_table": "qam64"},
            "tdd": {"pattern": "DDDDDDDMUU", "mixed_dl_symbols": 6, "mixed_ul_symbols": 4},
            # 126 resource elements of a PRB have data, by the blocks of OAI (38.214 §5.1.3.2).
            "overhead": {"pdcch_symbols": 2, "dmrs_symbols": 3, "dmrs_re": 6},
            # OAI schedules a UE in six slots of a pattern; the mixed one is not among them.
            "reserved": {"period_slots": 10, "slots": [0, 7], "n_prb": 106},
        },
        "split": {"core_delay_us": 0},
        "ues": [{"rnti": 17921, "channel": {"fixed_mcs": given.mcs}, "drbs": [drb]}],
        "flows": [
            {"name": "bulk", "kind": "udp_cbr", **rate},
            {"name": "ping", "kind": "ping", "interval_ms": 100, "qfi": 9},
            {"name": "voip", "kind": "voip"},
        ],
    }
    return lab_run(folder, scenario)


def figures(recording: Recording) -> dict[str, Any]:
    """What is compared of a recording."""
    span = (WARM_UP_S, recording.duration_s)
    return {
        "drained_mbps": recording.drained_mbit.rate(*span),
        "ping_ms": percentiles(recording.rtt_ms.between(*span)),
        "voip_ms": percentiles(recording.voip_ms.between(*span)),
        "rlc_hol_ms": percentiles(recording.rlc_hol_ms.between(*span)),
    }


async def schemes(given: argparse.Namespace) -> dict[str, Any]:
    """All schemes in both."""
    found: dict[str, Any] = {"mcs": given.mcs}
    with tempfile.TemporaryDirectory() as root:
        for name, pipeline in SCHEMES.items():
            folder = Path(tempfile.mkdtemp(dir=root))
            rows = {"lab": figures(in_lab(folder, given, pipeline))}
            if not given.lab_alone:
                rows["oai"] = figures(await in_oai(folder, given, pipeline))
            found[name] = rows
            show([{"scheme": name, "in": where, **row} for where, row in rows.items()])
    return found


async def transactions_of(rounds: int, version: str) -> dict[str, Any]:
    """Durations of the transactions of a version."""
    took_us: list[int] = []
    with (
        tempfile.TemporaryDirectory(prefix="sojourn-") as scratch,
        tempfile.TemporaryDirectory() as out,
    ):
        async with Programs(Path(out)) as programs:
            loop = await Loop.start(programs, Path(scratch), Path(out), tc_v1=version == "v1")
            named = bearer_of(loop.cell.status())
            settings = GatewaySettings(address=loop.gateway, control_timeout_s=PATIENCE_S)
            async with E2GatewayClient(settings) as client:
                node = await node_of(client)
                for at in range(rounds + 1):
                    replace = {"replace": FLEXRIC_PIPELINE}
                    duration_us = await change_pipeline(client, node, named, replace)
                    await change_pipeline(client, node, named, "safe")
                    if at:  # the first finds caches cold
                        took_us.append(duration_us)
    return durations(version, took_us)


async def transactions(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Both versions, one after the other."""
    rows = [await transactions_of(given.rounds, version) for version in ("v1", "v0")]
    show(rows)
    return rows


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="what", required=True)
    of_cost, of_schemes, of_transactions = map(commands.add_parser, MEASURED)
    for command in (of_cost, of_schemes):
        command.add_argument("--mbps", type=float, default=30.0, help="UDP, in wall-clock time")
        command.add_argument("--seconds", type=float, default=12.0, help="of each round")
    for command, rounds in ((of_cost, 3), (of_transactions, 8)):
        command.add_argument("--rounds", type=int, default=rounds)
    of_cost.add_argument(
        "--slot-clock",
        choices=("wall", "cpu"),
        default="wall",
        help="clock of the slot times: wall-clock, or the CPU time of the MAC's thread",
    )
    of_cost.add_argument(
        "--real-time",
        action="store_true",
        help="OAI takes real-time priority; other programs get what it leaves of the cores",
    )
    of_schemes.add_argument("--mcs", type=int, default=9)
    of_schemes.add_argument("--lab-alone", action="store_true")
    of_schemes.set_defaults(seconds=14.0)
    for name, command in commands.choices.items():
        command.add_argument("--out", type=Path, help=f"folder for oai_{name}.json")
    given = parser.parse_args()
    if INSIDE not in os.environ:
        os.environ[INSIDE] = "1"
        enter((sys.executable, *sys.argv))
    write(given.out, f"oai_{given.what}.json", MEASURED[given.what](given))


MEASURED: Final[dict[str, Callable[[argparse.Namespace], Any]]] = {
    "cost": cost,
    "schemes": lambda given: asyncio.run(schemes(given)),
    "transactions": lambda given: asyncio.run(transactions(given)),
}


if __name__ == "__main__":
    main()
