"""Throughput of each pacer relative to no pacer, and the mean sojourn time in the RLC.

The bearer of the default scenario gets 80 Mbit/s of UDP, without queue management.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gnb_lab
from measuring import show

ROOT = Path(__file__).parent.parent
SCENARIO = ROOT / "lab" / "scenarios" / "default.yaml"
SPLIT_DELAY_US = 10_000
"""One-way delay of F1-U."""


def dyn_rlc(interval_us: int, target_us: int, min_sdus: int, max_sdus: int) -> dict[str, Any]:
    """DynRLC with averages over `interval_us`."""
    return {
        "dyn_rlc": {
            "interval_us": interval_us,
            "target_us": target_us,
            "min_sdus": min_sdus,
            "max_sdus": max_sdus,
            "alpha_milli": 50,
        }
    }


PACERS: Mapping[str, object] = {
    "none": "none",
    "bdp5g": "bdp5g",
    "bdp5g_prototype": "bdp5g_prototype",
    "e5g_bdp": "e5g_bdp",
    "drql": {"drql": {"mtu_bytes": 1500}},
    "dql": {"dql": {"min_bytes": 0, "max_bytes": 1_000_000}},
    "dyn_rlc, irazabal2021": dyn_rlc(10_000, 3_000, 1, 10),
    "dyn_rlc, kumar2018, 40 ms": dyn_rlc(200_000, 40_000, 8, 256),
    "ebb, 5 ms": {"ebb": {"target_us": 5_000}},
    "ebb, 20 ms": {"ebb": {"target_us": 20_000}},
    "upf_sdap": "upf_sdap",
    "forecast, persistence": {"forecast": {"stale_us": 100_000}},
}


def run(pacer: object, radio: Path | None, split: bool, duration_s: float) -> tuple[int, float]:
    """Packets that drain with a saturated bearer, and their mean time in the RLC, ms."""
    pipeline = {
        "name": "paced",
        "classifier": {"round_robin": {"first": 0, "count": 1}},
        "queues": [{"first": 0, "count": 1, "discipline": {"fifo": {"drop": "tail"}}}],
        "scheduler": "round_robin",
        "pacer": pacer,
        "buffer": {"packets": 10_000, "bytes": 15_000_000, "overflow": "tail"},
    }
    overrides: dict[str, object] = {
        "flows": [{"name": "udp", "kind": "udp_cbr", "rate_kbps": 80_000}],
        "ues[0].drbs[0].pipeline": pipeline,
        "duration_s": duration_s,
    }
    if radio is not None:
        overrides["ues[0].channel"] = {"mahimahi": {"path": str(radio.resolve())}}
    if split:
        overrides["split.f1_delay_us"] = SPLIT_DELAY_US
    world = gnb_lab.World(SCENARIO, overrides=overrides)
    world.step_until(round(duration_s * 1e6))
    (bearer,) = world.summary()["bearers"]
    return bearer["drained_packets"], bearer["rlc_sojourn_ms"]["mean"]


def column(radio: Path | None, split: bool, duration_s: float) -> list[list[float]]:
    """Results of each pacer on one radio: what drained over that without a pacer, ms in the RLC."""
    results = [run(pacer, radio, split, duration_s) for pacer in PACERS.values()]
    unpaced, _ = results[0]
    if unpaced == 0:
        raise SystemExit(f"nothing drains in {duration_s} s: {radio or 'default cell'}")
    return [[drained / unpaced, rlc_ms] for drained, rlc_ms in results]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--trace", type=Path, help="Mahimahi trace, in addition to the default cell"
    )
    parser.add_argument("--split", action="store_true", help="10 ms between CU and DU")
    parser.add_argument("--duration", type=float, default=40.0, metavar="S", help="virtual seconds")
    arguments = parser.parse_args()
    radios = ([arguments.trace] if arguments.trace else []) + [None]
    rows: list[dict[str, object]] = [{"pacer": name} for name in PACERS]
    for radio in radios:
        name = radio.name if radio else "default cell"
        cells = column(radio, arguments.split, arguments.duration)
        for row, (share, rlc_ms) in zip(rows, cells, strict=True):
            row |= {f"{name}, drained": f"{share:.3f}", f"{name}, ms in the RLC": f"{rlc_ms:.1f}"}
    show(rows)


if __name__ == "__main__":
    main()
