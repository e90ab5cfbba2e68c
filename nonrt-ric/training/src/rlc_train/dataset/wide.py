"""A data set of varied networks: several runs of every cell with every mobility pattern.

UEs, bearers, RLC modes, pacers and traffic are drawn from the run's seed. Cells differ in
bandwidth, numerology, TDD pattern, scheduler and link errors, so that a held-out cell behaves
differently.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Final

from rlc_train.dataset.grid import drql_pipeline
from rlc_train.dataset.plan import UNPACED, RunPlan, seed_of


def _cell(core_delay_us: int, n_prb: int, rat: str = "nr", **parts: Any) -> Mapping[str, Any]:
    if "tdd" in parts:
        parts["tdd"] = {"pattern": parts["tdd"]}
    if "bler" in parts:
        parts["harq"] = {"bler": parts.pop("bler")}
    return {"cell": {"rat": rat, "n_prb": n_prb, **parts}, "core_delay_us": core_delay_us}


CELLS: Final[Mapping[str, Mapping[str, Any]]] = {
    # Cell of TC-RAN (irazabal2024): downlink-heavy, 5 ms pattern.
    "n78-106prb-7-2": _cell(5_000, 106, scs_khz=30, tdd="DDDDDDDMUU"),
    # A short pattern, proportional fair, link adaptation at 10 % BLER.
    "n78-51prb-3-1": _cell(10_000, 51, scs_khz=30, tdd="DDDMU", scheduler="pf", bler=0.1),
    # FDD, slots of 1 ms.
    "n1-52prb-fdd": _cell(20_000, 52, scs_khz=15, scheduler="pf"),
    # Half uplink, with block errors.
    "n41-162prb-4-5": _cell(15_000, 162, scs_khz=30, tdd="DDDDMUUUUU", bler=0.05),
    # Millimetre waves: slots of 125 µs, two layers.
    "n257-66prb-3-1": _cell(4_000, 66, scs_khz=120, layers=2, tdd="DDDMU", bler=0.1),
    # LTE cell of irazabal2021.
    "b7-25rb-lte": _cell(25_000, 25, "lte", bler=0.1),
}
"""Cells by name; ``core_delay_us`` is the delay to the servers."""

MOBILITIES: Final = ("static", "pedestrian", "car", "tram", "train")
"""Patterns of irazabal2021 §V-C."""

_CHANNEL_PERIODS_MS: Final = {
    "static": 1000,
    "pedestrian": 200,
    "car": 100,
    "tram": 100,
    "train": 50,
}
"""Period of channel changes. The paper has 1 s, its log period; faster UEs have faster fading."""

_CONGESTION_CONTROLS: Final = ("cubic", "reno", "bbr", "bbr3", "westwood", "vegas", "prague")


def plan(duration_s: float, seed: int, repeats: int) -> list[RunPlan]:
    """`repeats` runs of every cell with every mobility pattern."""
    return [
        run_plan((cell, mobility, f"{index:02}"), duration_s, seed)
        for cell in CELLS
        for mobility in MOBILITIES
        for index in range(repeats)
    ]


def unpaced_plan(duration_s: float, seed: int, repeats: int) -> list[RunPlan]:
    """The runs of :func:`plan` with the same UEs and traffic, but no pacer."""
    return [
        run_plan((cell, mobility, f"{index:02}"), duration_s, seed, unpaced=True)
        for cell in CELLS
        for mobility in MOBILITIES
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
        ues.append({"rnti": rnti, "channel": _channel(mobility), "drbs": drbs})
        for drb in drbs:
            flows += flows_of(rng, rnti, drb["id"], duration_s)
            if unpaced:
                drb["pipeline"] = UNPACED
    scenario = {
        "duration_s": duration_s,
        "cell": cell["cell"],
        "split": {"core_delay_us": cell["core_delay_us"], "core_jitter_us": 500},
        "ues": ues,
        "flows": flows,
    }
    run = f"unpaced-r{run}" if unpaced else run
    return RunPlan.of(name, mobility, run, scenario, own_seed)


def _channel(mobility: str) -> dict[str, Any]:
    return {"mobility": {"pattern": mobility, "period_ms": _CHANNEL_PERIODS_MS[mobility]}}


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
    """Traffic of a bearer: one or two loads and a latency-sensitive flow."""
    base = {"rnti": rnti, "drb": drb}
    kinds = rng.choices(
        ("tcp", "udp_cbr", "web", "video", "call"), weights=(6, 4, 2, 2, 1), k=rng.randint(1, 2)
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
        if kind == "tcp":
            flow["congestion_control"] = rng.choice(_CONGESTION_CONTROLS)
        elif kind == "udp_cbr":
            flow["rate_kbps"] = rng.choice((1_000, 5_000, 10_000, 40_000, 100_000))
        flows.append(flow)
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
