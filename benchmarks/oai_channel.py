"""An OpenAirInterface gNB in SA whose UE has a channel: `transparent` beside `low_latency`.

    OAI_BUILD=… python benchmarks/oai_channel.py --noise-db -12 --speeds 0 3 30 --out out/bench

A cell of 24 PRBs with the core network of the tests (pycrate), real-time priority, RLC-AM. A UDP
download of more than the cell carries, a VoIP-like flow and a ping. The channel is in the UE's RF
simulator, for the downlink: noise, and at a speed a flat Rayleigh path
(`ran-function/oai/tests/fading.py`); OAI has to be built with `-DENABLE_TELNETSRV=ON`. The error
rate is of first transmissions, of the MAC's log. `--lab` runs the same cell, load and fading in the
lab, with the mean SNR of `--snr-db` and OAI's link adaptation.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import re
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from lab_run import lab_run
from measuring import write
from oai_flows import TESTS, Flows, radio_us
from oai_starts import repeated
from sojourn_demo.measure import percentiles
from sojourn_demo.oai.network import enter
from sojourn_demo.programs import Programs

# isort: split
# Of the tests, whose folder is in the path by oai_flows.
from fading import CARRIER_GHZ, LEAST_POWER, SEED, doppler, rayleigh
from standalone import UE_TELNET_PORT, Channel, Standalone

INSIDE: Final = "SOJOURN_BENCH_INSIDE"
PRBS: Final = 24
SETTLE_S: Final = 4.0
LAB_S: Final = 30
ROUNDS: Final = re.compile(r"dlsch_rounds (\d+)/(\d+)/(\d+)/(\d+).*?BLER [\d.]+ MCS \(\d+\) (\d+)")
PIPELINES: Final = ("transparent", "low_latency")


def _rounds(text: str) -> list[tuple[int, ...]]:
    """Transmissions of the downlink by HARQ round, and MCS, of each line of the MAC's log."""
    return [tuple(map(int, found)) for found in ROUNDS.findall(text)]


async def in_oai(given: argparse.Namespace, folder: Path, pipeline: str, kmh: float) -> Any:
    """One run."""
    async with Programs(folder) as programs:
        sa = await Standalone.start(
            *(programs, folder),
            settings={"SOJOURN_PIPELINE": pipeline},
            prbs=PRBS,
            real_time=True,
        )
        ue = await sa.attach(0, channel=Channel(given.noise_db, given.gain_db))
        if kmh > 0:
            programs.spawn(
                (
                    *(*ue.prefix, sys.executable, str(TESTS / "fading.py")),
                    *("--port", str(UE_TELNET_PORT), "--gain-db", str(given.gain_db)),
                    *("--speed-kmh", str(kmh)),
                ),
                name="fading",
                has_ready_line=False,
            )
        flows = await Flows.start(sa, ue, given.mbps)
        await asyncio.sleep(SETTLE_S)
        flows.mark()
        radio_from_us = radio_us(sa)
        began = len(sa.gnb.log.read_text(errors="replace"))
        from_us = int(1e6 * asyncio.get_running_loop().time())
        await asyncio.sleep(given.seconds)
        speed = (radio_us(sa) - radio_from_us) / (1e6 * asyncio.get_running_loop().time() - from_us)
        figures = flows.figures()
        rounds = _rounds(sa.gnb.log.read_text(errors="replace")[began:])
        first, last = rounds[0], rounds[-1]
        return {
            "radio_speed": round(speed, 3),
            **figures,
            "first_bler": round((last[1] - first[1]) / max(1, last[0] - first[0]), 3),
            "mcs": float(np.mean([each[4] for each in rounds])),
            "dropped": sum(each["dropped_by_pipeline_packets"] for each in sa.bearers()),
        }


def once(given: argparse.Namespace, root: Path, pipeline: str, kmh: float) -> Any:
    """One run in a folder of its own."""
    return asyncio.run(in_oai(given, Path(tempfile.mkdtemp(dir=root)), pipeline, kmh))


def gains(kmh: float, seconds: int) -> list[float]:
    """The gain of each millisecond, dB, as `fading.py` sets it."""
    power = rayleigh(doppler(kmh, CARRIER_GHZ), SEED)
    powers = (max(power(ms / 1000), LEAST_POWER) for ms in range(1000 * seconds))
    return [10 * math.log10(power) for power in powers]


def in_lab(given: argparse.Namespace, folder: Path, pipeline: str, kmh: float) -> Any:
    """The same cell in the lab."""
    gains_db = gains(kmh, LAB_S) if kmh > 0 else [0.0]
    snr_db = [round(given.snr_db + gain, 2) for gain in gains_db]
    channel = {"snr_series": {"period_ms": 1, "values_db": snr_db}}
    drb: dict[str, Any] = {"id": 1, "rlc": {"mode": "am", "limit_bytes": 50_000_000}}
    if pipeline != "transparent":
        drb["pipeline"] = {"template": pipeline}
    scenario = {
        "name": "oai-channel",
        "seed": 1,
        "duration_s": LAB_S,
        "cell": {
            **{"rat": "nr", "n_prb": PRBS, "scs_khz": 30, "mcs_table": "qam64"},
            "tdd": {"pattern": "DDDDDDDMUU", "mixed_dl_symbols": 6, "mixed_ul_symbols": 4},
            "overhead": {"pdcch_symbols": 2, "dmrs_symbols": 3, "dmrs_re": 6},
            "reserved": {"period_slots": 10, "slots": [0, 7], "n_prb": PRBS},
            "adaptation": {"outer_loop": "oai"},
        },
        "split": {"core_delay_us": 0},
        "ues": [{"rnti": 17921, "channel": channel, "drbs": [drb]}],
        "flows": [
            {
                **{"name": "bulk", "kind": "udp_cbr"},
                **{"rate_kbps": round(1000 * given.mbps), "packet_bytes": 1328},
            },
            {"name": "ping", "kind": "ping", "interval_ms": 100, "qfi": 9},
            {"name": "voip", "kind": "voip"},
        ],
    }
    recording = lab_run(folder, scenario)
    span = (SETTLE_S, recording.duration_s)
    return {
        "drained_mbps": recording.drained_mbit.rate(*span),
        "voip_ms": percentiles(recording.voip_ms.between(*span)),
        "ping_ms": percentiles(recording.rtt_ms.between(*span)),
    }


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mbps", type=float, default=20.0, help="of the download")
    parser.add_argument("--seconds", type=float, default=15.0, help="of each run")
    parser.add_argument("--noise-db", type=float, default=-10.0, help="OAI's noise_power_dB")
    parser.add_argument("--gain-db", type=float, default=0.0, help="OAI's ploss_dB, the mean")
    parser.add_argument("--speeds", type=float, nargs="+", default=[0, 3, 30], help="km/h; 0: none")
    parser.add_argument("--pipelines", nargs="+", default=PIPELINES)
    parser.add_argument("--snr-db", type=float, help="of the lab, beside OAI")
    parser.add_argument("--lab", action="store_true", help="the lab alone")
    parser.add_argument("--out", type=Path, help="folder for oai_channel.json")
    given = parser.parse_args()
    if not given.lab and INSIDE not in os.environ:
        os.environ[INSIDE] = "1"
        enter((sys.executable, *sys.argv))
    rows = []
    with tempfile.TemporaryDirectory() as root:
        for kmh in given.speeds:
            for pipeline in given.pipelines:
                folder = Path(tempfile.mkdtemp(dir=root))
                run = {"kmh": kmh, "pipeline": pipeline}
                if given.lab:
                    rows.append(run | in_lab(given, folder, pipeline, kmh))
                else:
                    rows.append(run | repeated(partial(once, given, folder, pipeline, kmh)))
                print(rows[-1], flush=True)
    write(given.out, "oai_channel.json", rows)


if __name__ == "__main__":
    main()
