"""A split OpenAirInterface gNB: delay and goodput over a distant DU, by the CU's pipeline.

    export OAI_BUILD=… FLEXRIC_SRC=… FLEXRIC_BUILD=…
    python benchmarks/oai_split.py --mbps 30 --delays 0 10 40 --out out/bench

CU and DU in processes of their own with the core network of the tests (pycrate), a cell of 24 PRBs,
RLC-AM, F1-U later by T_c each way, near-RT RIC and bridge. A UDP download of more than the cell
carries, a VoIP-like flow and a ping. Schemes: `transparent`; `low_latency` in the CU, which is
`alone` without forecasts; `fed`, which the forecaster sends those of the DU's RLC.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from measuring import write
from oai_flows import Flows, percentiles
from oai_starts import repeated
from sojourn_demo.oai.network import enter
from sojourn_demo.programs import Programs
from split_loop import SplitLoop

INSIDE: Final = "SOJOURN_BENCH_INSIDE"
PIPELINES: Final = {"transparent": "transparent", "alone": "low_latency", "fed": "low_latency"}
PRBS: Final = 24


async def run(given: argparse.Namespace, folder: Path, scheme: str, delay_ms: float) -> Any:
    """One run."""
    async with Programs(folder) as programs:
        with tempfile.TemporaryDirectory(prefix="sojourn-") as scratch:
            split = await SplitLoop.start(
                *(programs, folder, Path(scratch)),
                delay_ms=delay_ms,
                pipeline=PIPELINES[scheme],
                prbs=PRBS,
                real_time=True,
            )
            ue = await split.sa.attach(0)
            if scheme == "fed":
                await split.feed()
            flows = await Flows.start(split.sa, ue, given.mbps)
            await asyncio.sleep(given.settle)
            flows.mark()
            before = split.sa.bearers()
            held = await split.in_rlc(given.seconds)
            figures = flows.figures()
            (bearer,), (first,) = split.sa.bearers(), before
            key = "dropped_by_pipeline_packets"
            if given.keep is not None:
                np.save(given.keep / f"{scheme}-{delay_ms:g}.npy", [held.at_us, held.bytes])
            relay = split.sa.f1u
            assert relay is not None
            await programs.stop(relay)
            return {
                **figures,
                "f1u_latest_ms": float(relay.log.read_text().split()[-1]),
                "rlc_bytes": percentiles(held.bytes),
                "rlc_longest_bytes": max(held.bytes),
                "reports": len(held.bytes),
                "dropped": bearer[key] - first[key],
            }


def once(given: argparse.Namespace, root: Path, scheme: str, delay_ms: float) -> Any:
    """One run in a folder of its own."""
    return asyncio.run(run(given, Path(tempfile.mkdtemp(dir=root)), scheme, delay_ms))


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mbps", type=float, default=20.0, help="of the download")
    parser.add_argument("--settle", type=float, default=4.0, help="seconds before each run counts")
    parser.add_argument("--seconds", type=float, default=12.0, help="of each run")
    parser.add_argument("--delays", type=float, nargs="+", default=[0, 10, 40], help="T_c, ms")
    parser.add_argument("--schemes", nargs="+", choices=PIPELINES, default=list(PIPELINES))
    parser.add_argument("--keep", type=Path, help="folder for what the RLC held, each report")
    parser.add_argument("--out", type=Path, help="folder for oai_split.json")
    given = parser.parse_args()
    if INSIDE not in os.environ:
        os.environ[INSIDE] = "1"
        enter((sys.executable, *sys.argv))
    rows = []
    with tempfile.TemporaryDirectory() as root:
        for delay_ms in given.delays:
            for scheme in given.schemes:
                row = {"f1u_ms": delay_ms, "scheme": scheme}
                rows.append(row | repeated(partial(once, given, Path(root), scheme, delay_ms)))
                print(rows[-1], flush=True)
    write(given.out, "oai_split.json", rows)


if __name__ == "__main__":
    main()
