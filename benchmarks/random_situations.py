"""Scenarios drawn at random, by which a policy is compared on situations that nobody chose.

python benchmarks/random_situations.py --seed 7 --count 24 --out out/random
tc-controller evaluate out/random
"""

import argparse
import json
from pathlib import Path
from random import Random

TDD = ["DDDDDDDMUU", "DDDMU", "DDMUU", "DMUU", "DDDDMDDMUU", "DDDDDDDDDDDDDDMUUUUU"]
SENDERS = ["cubic", "cubic", "cubic", "reno", "bbr", "bbr2", "bbr3", "prague", "westwood"]
RNTI = 17921


def cell(rng: Random) -> dict[str, object]:
    """A cell of LTE (FDD) or NR (FDD or one of the TDD patterns)."""
    scheduler = {"kind": rng.choice(["round_robin", "proportional_fair"])}
    if rng.random() < 0.2:
        return {
            "rat": "lte",
            "n_prb": rng.choice([15, 25]),
            "scs_khz": 15,
            "mcs_table": "qam64",
            "scheduler": scheduler,
        }
    drawn: dict[str, object] = {
        "rat": "nr",
        "n_prb": rng.choice([24, 51, 106, 162]),
        "scs_khz": rng.choice([15, 30]),
    }
    if rng.random() < 0.8:
        drawn["tdd"] = {"pattern": rng.choice(TDD)}
    return {**drawn, "scheduler": scheduler}


def channel(rng: Random) -> dict[str, object]:
    """Fading of 38.901 at a speed, a Gaussian SNR, or a rate that steps."""
    kind = rng.choice(["fading", "fading", "fading", "gauss", "steps"])
    if kind == "gauss":
        mean, deviation, coherence = (
            rng.uniform(6, 22),
            rng.uniform(2, 7),
            rng.choice([50, 200, 1000]),
        )
        return {
            "gauss_markov": {
                "mean_snr_db": round(mean, 1),
                "std_dev_db": round(deviation, 1),
                "coherence_ms": coherence,
            }
        }
    if kind == "steps":
        values = [round(10 ** rng.uniform(3.3, 4.8)) for _ in range(rng.randint(3, 10))]
        return {"rate_series": {"period_ms": rng.choice([500, 2000, 5000]), "values_kbps": values}}
    fading: dict[str, object] = {
        "mean_snr_db": round(rng.uniform(3, 28), 1),
        "speed_kmh": rng.choice([0.3, 3, 30, 60, 120]),
    }
    if rng.random() < 0.5:
        fading["shadowing"] = {"std_dev_db": 4, "correlation_m": 37}
    return {"fading": fading}


def drx(rng: Random) -> dict[str, object]:
    """DRX in a fifth of the draws."""
    if rng.random() >= 0.2:
        return {}
    long_cycle_ms, inactivity_ms = rng.choice([80, 160, 320]), rng.choice([20, 60, 100])
    cycle = {"long_cycle_ms": long_cycle_ms, "on_duration_ms": 10, "inactivity_ms": inactivity_ms}
    return {"drx": cycle}


def split(rng: Random) -> dict[str, object]:
    """Distance of the server, and in a third of the draws an F1 between CU and DU."""
    drawn: dict[str, object] = {"core_delay_us": rng.choice([2000, 5000, 10000, 20000, 40000])}
    if rng.random() < 1 / 3:
        drawn["f1_delay_us"] = rng.choice([1000, 3000, 5000, 10000])
        drawn["f1"] = {
            "delivery_status_us": rng.choice([1000, 5000, 10000]),
            "jitter_us": rng.choice([0, 1000]),
        }
    return drawn


def downloads(rng: Random, rnti: int | str, duration_s: int) -> list[dict[str, object]]:
    """One to four groups of downloads, from start to end or for a part of the run."""
    drawn = []
    for i in range(rng.randint(1, 4)):
        sender = rng.choice(SENDERS)
        flow: dict[str, object] = {
            "name": f"bulk{i}",
            "kind": rng.choice(["tcp", "tcp", "quic"]),
            "congestion_control": sender,
            "rnti": rnti,
            "count": rng.choice([1, 1, 1, 2, 6]),
        }
        if sender in ("cubic", "reno") and rng.random() < 0.25:
            flow["ecn"] = True
        flow["start_s"] = 1 if i == 0 else round(rng.uniform(1, duration_s / 2), 1)
        flow["start_jitter_ms"] = 500
        if rng.random() < 0.3:
            flow["stop_s"] = round(flow["start_s"] + rng.uniform(4, duration_s / 2), 1)  # type: ignore[operator]
        drawn.append(flow)
    return drawn


def situation(seed: int) -> dict[str, object]:
    """The scenario of `seed`, 40 s long."""
    rng, duration_s = Random(seed), 40
    several = rng.random() < 0.35
    count = rng.randint(2, 8) if several else 1
    limit = rng.choice([500_000, 2_000_000, 10_000_000, 10_000_000])
    rlc = {"mode": rng.choice(["um", "um", "am"]), "limit_bytes": limit}
    groups = [count - count // 2, count // 2] if several else [1]
    ues = [
        {
            "rnti": RNTI + 100 * i,
            "count": n,
            "channel": channel(rng),
            "drbs": [{"id": 1, "rlc": rlc}],
            **drx(rng),
        }
        for i, n in enumerate(groups)
    ]
    who: int | str = "each" if several else RNTI
    flows = downloads(rng, who, duration_s)
    flows.append({"name": "ping", "kind": "ping", "interval_ms": 103, "rnti": who})
    optional = {"voip": {"dscp": 46}, "game": {"dscp": 40}, "call": {"dscp": 34}, "web": {}}
    for kind, more in optional.items():
        if rng.random() < 0.3:
            flows.append({"name": kind, "kind": kind, "rnti": who, **more})
    return {
        "name": f"random_{seed}",
        "seed": seed,
        "duration_s": duration_s,
        "cell": cell(rng),
        "split": split(rng),
        "ues": ues,
        "flows": flows,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--seed", type=int, default=1, help="seed of the first scenario; each has a seed of its own"
    )
    parser.add_argument("--count", type=int, default=24, help="number of scenarios")
    parser.add_argument("--out", type=Path, required=True, help="folder of the scenario files")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for seed in range(args.seed, args.seed + args.count):
        path = args.out / f"random_{seed}.yaml"
        path.write_text(json.dumps(situation(seed), indent=2) + "\n")
    print(f"{args.count} scenarios in {args.out}")


if __name__ == "__main__":
    main()
