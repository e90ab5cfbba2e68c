"""A data set of varied networks: several runs of every cell at every speed.

The radio fades as 38.901 says; the gNB adapts to late CQI reports, so that blocks fail, and the UEs
share an uplink. Mean SNR, DRX, UEs, bearers, RLC modes, pacers and traffic are drawn from the run's
seed. Cells differ in carrier, bandwidth, numerology, TDD pattern and scheduler, so that a held-out
cell behaves differently.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Final

from rlc_train.dataset.grid import drql_pipeline
from rlc_train.dataset.plan import UNPACED, RunPlan, seed_of


def _cell(
    core_delay_us: int, carrier_ghz: float, n_prb: int, rat: str = "nr", **parts: Any
) -> Mapping[str, Any]:
    if "tdd" in parts:
        parts["tdd"] = {"pattern": parts["tdd"]}
    return {
        "cell": {"rat": rat, "n_prb": n_prb, **parts},
        "carrier_ghz": carrier_ghz,
        "core_delay_us": core_delay_us,
    }


CELLS: Final[Mapping[str, Mapping[str, Any]]] = {
    # Cell of TC-RAN (irazabal2024): downlink-heavy, 5 ms pattern.
    "n78-106prb-7-2": _cell(5_000, 3.5, 106, scs_khz=30, tdd="DDDDDDDMUU"),
    # A short pattern, proportional fair.
    "n78-51prb-3-1": _cell(10_000, 3.5, 51, scs_khz=30, tdd="DDDMU", scheduler="pf"),
    # FDD, slots of 1 ms.
    "n1-52prb-fdd": _cell(20_000, 2.1, 52, scs_khz=15, scheduler="pf"),
    # Half uplink.
    "n41-162prb-4-5": _cell(15_000, 2.6, 162, scs_khz=30, tdd="DDDDMUUUUU"),
    # Millimetre waves: slots of 125 µs, two layers.
    "n257-66prb-3-1": _cell(4_000, 28.0, 66, scs_khz=120, layers=2, tdd="DDDMU"),
    # LTE cell of irazabal2021.
    "b7-25rb-lte": _cell(25_000, 2.6, 25, "lte"),
}
"""Cells by name; ``core_delay_us`` is the delay to the servers."""

SPEEDS_KMH: Final[Mapping[str, float]] = {"pedestrian": 3.0, "car": 30.0, "train": 120.0}
"""Speed by mobility pattern."""

STREET: Final = "street"
"""Mobility pattern of UEs that are handed over between three sites in a row."""

_STREET_KMH: Final = (30, 50, 100)
_SITES_M: Final = (0, 500, 1000)
_STREET_MAX_GHZ: Final = 6.0
"""Millimetre waves do not reach from site to site."""

MEAN_SNR_DB: Final = (3.0, 27.0)
"""Means from the edge of a cell to its middle: with 10 % first errors MCS 2 to 24 of 256QAM."""

_DRX_SHARE: Final = 0.25
_UPLOAD_SHARE: Final = 0.15
_CONGESTION_CONTROLS: Final = (
    *("cubic", "reno", "bbr", "bbr2", "bbr3"),
    *("westwood", "vegas", "prague"),
)


def places() -> list[tuple[str, str]]:
    """Cell and mobility pattern of the runs: every cell at every speed, and streets."""
    fixed = [(cell, mobility) for cell in CELLS for mobility in SPEEDS_KMH]
    streets = [(cell, STREET) for cell, of in CELLS.items() if of["carrier_ghz"] < _STREET_MAX_GHZ]
    return fixed + streets


def plan(duration_s: float, seed: int, repeats: int) -> list[RunPlan]:
    """`repeats` runs of every one of :func:`places`."""
    return [
        run_plan((*place, f"{index:02}"), duration_s, seed)
        for place in places()
        for index in range(repeats)
    ]


def unpaced_plan(duration_s: float, seed: int, repeats: int) -> list[RunPlan]:
    """The runs of :func:`plan` with the same UEs and traffic, but no pacer."""
    return [
        run_plan((*place, f"{index:02}"), duration_s, seed, unpaced=True)
        for place in places()
        for index in range(repeats)
    ]


def run_plan(
    place: tuple[str, str, str],
    duration_s: float,
    seed: int,
    *,
    most_ues: int = 4,
    unpaced: bool = False,
) -> RunPlan:
    """One run of (cell, mobility, run), the cell being one of :data:`CELLS`.

    With `unpaced` no bearer has a pacer, and the run's name is ``unpaced-rRUN``.
    """
    name, mobility, run = place
    cell = CELLS[name]
    own_seed = seed_of(seed, "wide", *place)
    rng = random.Random(own_seed)
    lte = cell["cell"]["rat"] == "lte"
    ues, flows = [], []
    for index in range(rng.randint(1, most_ues)):
        rnti = 17921 + index
        drbs = [_drb(rng, drb, lte) for drb in range(1, rng.choice((1, 1, 2)) + 1)]
        radio = _on_street(rng, cell) if mobility == STREET else _in_cell(rng, cell, mobility)
        ues.append({"rnti": rnti, **radio, **_drx(rng), "drbs": drbs})
        for drb in drbs:
            flows += flows_of(rng, rnti, drb["id"], duration_s)
            if mobility == STREET:
                # An interruption and what is forwarded last longer than PDCP waits by default.
                drb["rlc"]["t_reordering_us"] = 500_000
            if unpaced:
                drb["pipeline"] = UNPACED
    several = {"cells": [{"position_m": [at, 0]} for at in _SITES_M]} if mobility == STREET else {}
    scenario = {
        "duration_s": duration_s,
        "cell": cell["cell"],
        **several,
        "split": {"core_delay_us": cell["core_delay_us"], "core_jitter_us": 500},
        "ues": ues,
        "flows": flows,
    }
    run = f"unpaced-r{run}" if unpaced else run
    return RunPlan.of(name, mobility, run, scenario, own_seed)


def _in_cell(rng: random.Random, cell: Mapping[str, Any], mobility: str) -> dict[str, Any]:
    """A UE of one cell."""
    fading = {
        "mean_snr_db": round(rng.uniform(*MEAN_SNR_DB), 1),
        "speed_kmh": SPEEDS_KMH[mobility],
        "carrier_ghz": cell["carrier_ghz"],
    }
    return {"channel": {"fading": fading}}


def _on_street(rng: random.Random, cell: Mapping[str, Any]) -> dict[str, Any]:
    """A UE that goes to and fro between two places that different sites serve."""
    fading = {
        "path": {"model": "uma", "line_of_sight": False},
        "speed_kmh": rng.choice(_STREET_KMH),
        "carrier_ghz": cell["carrier_ghz"],
    }
    beside_m = rng.randint(20, 60)
    ends = [rng.randint(0, 300), rng.randint(700, 1000)]
    rng.shuffle(ends)
    return {"channel": {"fading": fading}, "route_m": [[end, beside_m] for end in ends]}


def _drx(rng: random.Random) -> dict[str, Any]:
    """DRX of some UEs."""
    if rng.random() >= _DRX_SHARE:
        return {}
    drx: dict[str, Any] = {
        "long_cycle_ms": rng.choice((80, 160, 320)),
        "on_duration_ms": rng.choice((4, 10)),
        "inactivity_ms": rng.choice((20, 60, 100)),
    }
    if rng.random() < 0.5:
        drx |= {"short_cycle_ms": 40, "short_cycles": 4}
    return {"drx": drx}


def _drb(rng: random.Random, drb: int, lte: bool) -> dict[str, Any]:
    return {"id": drb, "rlc": rlc_of(rng, lte), "pipeline": _pipeline(rng)}


def rlc_of(rng: random.Random, lte: bool) -> dict[str, Any]:
    """RLC AM or UM, with a buffer of 1 or 10 MB."""
    mode = rng.choice(("am", "um"))
    sn_bits = 12 if mode == "um" or lte else 18
    return {"mode": mode, "sn_bits": sn_bits, "limit_bytes": rng.choice((1_000_000, 10_000_000))}


def _pipeline(rng: random.Random) -> Any:
    """DRQL, whose limit is forecast, for most bearers; other pacers or none for the rest."""
    kind = rng.choices(("drql", "dql", "e5g_bdp", "dyn_rlc", UNPACED), weights=(10, 3, 3, 2, 2))[0]
    return UNPACED if kind == UNPACED else paced_pipeline(kind, rng)


def paced_pipeline(kind: str, rng: random.Random) -> dict[str, Any]:
    """A pipeline of two queues with this pacer and a queue discipline that is drawn."""
    paced = drql_pipeline()
    pacers: dict[str, Any] = {
        "drql": paced["pacer"],
        "dql": {"dql": {"min_bytes": 3_000, "max_bytes": 1_000_000}},
        "e5g_bdp": "e5g_bdp",
        "dyn_rlc": {
            # irazabal2021 §V-D.
            "dyn_rlc": {
                "interval_us": 10_000,
                "target_us": 3_000,
                "min_sdus": 1,
                "max_sdus": 10,
                "alpha_milli": 50,
            }
        },
    }
    codel = {"codel": {"target_us": 5_000, "interval_us": 100_000, "ecn": False, "l4s": False}}
    for queues in paced["queues"]:
        queues["discipline"] = rng.choice(({"fifo": {"drop": "tail"}}, codel))
    return {**paced, "name": kind, "pacer": pacers[kind]}


def flows_of(rng: random.Random, rnti: int, drb: int, duration_s: float) -> list[dict[str, Any]]:
    """Traffic of a bearer: one or two loads, at times an upload, and a latency-sensitive flow."""
    base = {"rnti": rnti, "drb": drb}
    kinds = rng.choices(
        ("tcp", "quic", "udp_cbr", "web", "video", "call"),
        weights=(5, 3, 4, 2, 2, 1),
        k=rng.randint(1, 2),
    )
    flows: list[dict[str, Any]] = []
    for index, kind in enumerate(kinds):
        start_s = round(rng.uniform(0, 0.2) * duration_s, 3)
        flow: dict[str, Any] = {
            "name": f"{kind}-{rnti}-{drb}-{index}",
            "kind": kind,
            **base,
            "start_s": start_s,
        }
        if rng.random() < 0.3:
            flow["stop_s"] = round(start_s + rng.uniform(0.3, 0.8) * (duration_s - start_s), 3)
        if kind in ("tcp", "quic"):
            flow["congestion_control"] = rng.choice(_CONGESTION_CONTROLS)
        elif kind == "udp_cbr":
            flow["rate_kbps"] = rng.choice((1_000, 5_000, 10_000, 40_000, 100_000))
        flows.append(flow)
    if rng.random() < _UPLOAD_SHARE:
        flows.append({"name": f"upload-{rnti}-{drb}", "kind": "tcp", "direction": "up", **base})
    interactive = rng.choice(("ping", "voip", "game"))
    light: dict[str, Any] = {"name": f"{interactive}-{rnti}-{drb}", "kind": interactive, **base}
    if interactive == "ping":
        light["interval_ms"] = rng.choice((1, 10, 100))
    flows.append(light)
    return flows


SAMPLE_CELLS: Final = ("n78-106prb-7-2", "n78-51prb-3-1", "n1-52prb-fdd")
SAMPLE_MOBILITIES: Final = ("pedestrian", "car")


def sample_plan(duration_s: float, seed: int) -> list[RunPlan]:
    """The committed sample, for tests and the tutorial: six runs of one UE."""
    return [
        run_plan((cell, mobility, "00"), duration_s, seed, most_ues=1)
        for cell in SAMPLE_CELLS
        for mobility in SAMPLE_MOBILITIES
    ]
