"""Queueing schemes in an OpenAirInterface gNB and in the lab: the same cell, load and pipelines.

    OAI_BUILD=… FLEXRIC_BUILD=… python benchmarks/oai_schemes.py --out out/bench

A UDP download at more than the cell carries, a ping and a VoIP-like flow; no control, `fq_codel`
with `bdp5g`, `low_latency`. Both have 106 PRBs, OAI's TDD pattern, one MCS, RLC-UM with 10 MB. In
OAI times are of the radio, and the pipeline is set through a near-RT RIC.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import e2sm_tc
import yaml
from measuring import write
from ric import E2GatewayClient
from ric.settings import GatewaySettings
from ric.sm import TC_V1_OID
from sojourn_demo.measure import percentiles
from sojourn_demo.oai.loop import Loop
from sojourn_demo.oai.network import enter
from sojourn_demo.oai.recorder import Recorder
from sojourn_demo.oai.traffic import UDP_BYTES, Bulk, Traffic
from sojourn_demo.programs import Programs
from sojourn_demo.recording import Recording, read_recording
from tc_messages import HEADER, bearer_of, transaction

INSIDE = "SOJOURN_BENCH_INSIDE"
SCHEMES: dict[str, Any] = {
    "none": None,
    "fq_codel, bdp5g": e2sm_tc.pipeline("fq_codel", {"pacer": "bdp5g"}),
    "low_latency": e2sm_tc.pipeline("low_latency", {}),
}
SETTLE_S = 8.0
WARM_UP_S = 2.0
PATIENCE_S = 30.0


async def _install(gateway: str, cell_status: Any, pipeline: Any) -> None:
    settings = GatewaySettings(address=gateway, control_timeout_s=PATIENCE_S)
    message = transaction(bearer_of(cell_status), {"replace": pipeline})
    async with E2GatewayClient(settings) as client:
        async for event in client.watch_nodes():
            answer = await client.control(event.node.id, TC_V1_OID, HEADER, message)
            if not answer.acknowledged:
                raise SystemExit(f"refused: {answer.detail}")
            return


async def in_oai(folder: Path, arguments: argparse.Namespace, pipeline: Any) -> Recording:
    """One scheme in the gNB."""
    with tempfile.TemporaryDirectory(prefix="sojourn-") as scratch:
        async with Programs(folder) as programs:
            loop = await Loop.start(programs, Path(scratch), folder, max_mcs=arguments.mcs)
            if pipeline is not None:
                await _install(loop.gateway, loop.cell.status(), pipeline)
            traffic = Traffic(loop.cell, folder, Bulk(arguments.mbps))
            recorder = Recorder(loop.gateway, traffic, loop.cell)
            recording = asyncio.create_task(recorder.run())
            await traffic.start()
            await asyncio.sleep(SETTLE_S)
            recorder.begin()
            await asyncio.sleep(arguments.seconds)
            recorder.end()
            recording.cancel()
            recorder.write(folder)
    return read_recording(folder)


def in_lab(folder: Path, arguments: argparse.Namespace, pipeline: Any) -> Recording:
    """One scheme in the lab."""
    drb: dict[str, Any] = {"id": 1, "rlc": {"mode": "um", "limit_bytes": 10_000_000}}
    if pipeline is not None:
        drb["pipeline"] = pipeline
    rate_kbps = round(2000 * arguments.mbps)
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
        "ues": [{"rnti": 17921, "channel": {"fixed_mcs": arguments.mcs}, "drbs": [drb]}],
        "flows": [
            {
                "name": "bulk",
                "kind": "udp_cbr",
                "rate_kbps": rate_kbps,
                "packet_bytes": UDP_BYTES + 28,
            },
            {"name": "ping", "kind": "ping", "interval_ms": 100, "qfi": 9},
            {"name": "voip", "kind": "voip"},
        ],
    }
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(scenario))
    program = Path(sys.executable).parent / "gnb-lab"
    command = [str(word) for word in (program, "run", path, "--out", folder / "lab")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return read_recording(folder / "lab")


def row(recording: Recording) -> dict[str, Any]:
    """The figures of a recording."""
    span = (WARM_UP_S, recording.duration_s)
    return {
        "drained_mbps": recording.drained_mbit.rate(*span),
        "ping_ms": percentiles(recording.rtt_ms.between(*span)),
        "voip_ms": percentiles(recording.voip_ms.between(*span)),
        "rlc_hol_ms": percentiles(recording.rlc_hol_ms.between(*span)),
    }


async def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """All schemes in both."""
    found: dict[str, Any] = {"mcs": arguments.mcs}
    with tempfile.TemporaryDirectory() as root:
        for name, pipeline in SCHEMES.items():
            folder = Path(tempfile.mkdtemp(dir=root))
            rows = {"lab": row(in_lab(folder, arguments, pipeline))}
            if not arguments.lab_alone:
                rows["oai"] = row(await in_oai(folder, arguments, pipeline))
            found[name] = rows
            for where, figures in rows.items():
                print(name, where, figures, flush=True)
    return found


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mcs", type=int, default=9)
    parser.add_argument("--mbps", type=float, default=30.0, help="UDP, of the wall's seconds")
    parser.add_argument("--seconds", type=float, default=14.0)
    parser.add_argument("--lab-alone", action="store_true")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if INSIDE not in os.environ:
        os.environ[INSIDE] = "1"
        enter((sys.executable, *sys.argv))
    write(arguments.out, "oai_schemes.json", asyncio.run(run(arguments)))


if __name__ == "__main__":
    main()
