"""Runs of recorded radios, and of simulated ones whose SNR jumps.

Each run is there twice, with a pacer at each bearer and without any, and is otherwise the same:
paced and unpaced bearers have even shares. Cells (FDD and TDD), one to three UEs, the delay between
CU and DU, pacers and traffic are drawn from the run's seed. The UEs of a Mahimahi trace share its
opportunities, as they would a link; those of other traces replay different parts.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rlc_dataset import TraceOrigin

from rlc_train.dataset import wide
from rlc_train.dataset.plan import UNPACED, RunPlan, seed_of
from rlc_train.dataset.traces import Radio, channel

RECORDED: Final = "recorded"
JUMPS: Final = "jumps"
"""Mobility patterns: of recorded radios, and of an SNR that jumps."""

CELLS: Final[Mapping[str, Mapping[str, Any]]] = {
    "n3-106prb-fdd": {
        "cell": {"rat": "nr", "n_prb": 106, "scs_khz": 15, "scheduler": "pf"},
        "core_delay_us": 12_000,
    },
    **{name: wide.CELLS[name] for name in ("n78-106prb-7-2", "n78-51prb-3-1", "b7-25rb-lte")},
}
"""A Mahimahi trace has the capacity itself; of the cell it takes slots and TDD pattern."""

F1_DELAYS_US: Final = (0, 0, 1_000, 10_000, 40_000)
"""CU to DU: monolithic in two runs of five, a near DU, and T_c of stolidis2024."""

_PACERS: Final = ("drql", "dql", "e5g_bdp", "dyn_rlc", "low_latency")
_PACER_WEIGHTS: Final = (6, 2, 2, 2, 6)
_LONGEST_RUN: Final = 64
"""Characters of a partition's name."""


def plan(radios: Sequence[Radio], duration_s: float, seed: int, repeats: int) -> list[RunPlan]:
    """`repeats` pairs of runs for each radio and for each cell with jumps of the SNR.

    A run depends on the seed, on its own radio and on its number; others change nothing.

    Raises:
        DatasetError: A radio has no measured step.
    """
    plans = []
    for index in range(repeats):
        for radio in radios:
            plans += _recorded(radio, index, duration_s, seed)
        for cell in CELLS:
            plans += _jumping(cell, index, duration_s, seed)
    return plans


def _recorded(radio: Radio, index: int, duration_s: float, seed: int) -> list[RunPlan]:
    own_seed = seed_of(seed, RECORDED, radio.name, f"{index:02}")
    rng = random.Random(own_seed)
    cell = rng.choice(tuple(CELLS))
    shared = radio.trace.source == "mahimahi"
    files: dict[str, str] = {}
    channels: list[dict[str, Any]] = []
    traces: list[TraceOrigin] = []
    for ue in range(rng.choice((1, 1, 2, 3))):
        if shared and channels:
            channels.append(channels[0])
            continue
        first_step, part = radio.window(duration_s, rng)
        element, named = channel(part, f"trace-{ue}")
        channels.append(element)
        files |= named
        traces.append(radio.origin(first_step))
    place = (cell, RECORDED, _run_name(radio.name))
    return _pair(
        place,
        index,
        channels=channels,
        rng=rng,
        duration_s=duration_s,
        seed=own_seed,
        traces=traces,
        files=files,
    )


def _jumping(cell: str, index: int, duration_s: float, seed: int) -> list[RunPlan]:
    own_seed = seed_of(seed, JUMPS, cell, f"{index:02}")
    rng = random.Random(own_seed)
    channels = [_jumps(rng, duration_s) for _ in range(rng.choice((1, 1, 2, 3)))]
    return _pair(
        (cell, JUMPS, JUMPS),
        index,
        channels=channels,
        rng=rng,
        duration_s=duration_s,
        seed=own_seed,
    )


def _jumps(rng: random.Random, duration_s: float) -> dict[str, Any]:
    """An SNR that holds for half a second to three, then jumps by 8 dB at least: a blocked path, a
    beam that was lost. Until the next report the gNB sends with the MCS of before."""
    lowest_db, highest_db = (round(end_db) for end_db in wide.MEAN_SNR_DB)
    values_db = [rng.randint(lowest_db, highest_db)]
    while len(values_db) < 2 * duration_s:
        far = [db for db in range(lowest_db, highest_db + 1) if abs(db - values_db[-1]) >= 8]
        values_db += [rng.choice(far)] * rng.randint(1, 6)
    return {"snr_series": {"period_ms": 500, "values_db": values_db}}


def _pair(
    place: tuple[str, str, str],
    index: int,
    *,
    channels: Sequence[Mapping[str, Any]],
    rng: random.Random,
    duration_s: float,
    seed: int,
    traces: Sequence[TraceOrigin] = (),
    files: Mapping[str, str] | None = None,
) -> list[RunPlan]:
    """The run with pacers and the one without."""
    cell, mobility, run = place
    lte = CELLS[cell]["cell"]["rat"] == "lte"
    flows: list[dict[str, Any]] = []
    bearers: list[tuple[dict[str, Any], Any]] = []
    for number in range(len(channels)):
        bearers.append((wide.rlc_of(rng, lte), _pipeline(rng)))
        flows += wide.flows_of(rng, 17921 + number, 1, duration_s)
    split = {
        "core_delay_us": CELLS[cell]["core_delay_us"],
        "core_jitter_us": 500,
        "f1_delay_us": rng.choice(F1_DELAYS_US),
    }

    def of(kind: str) -> RunPlan:
        ues = [
            {
                "rnti": 17921 + number,
                "channel": channels[number],
                "drbs": [
                    {"id": 1, "rlc": rlc, "pipeline": UNPACED if kind == "unpaced" else pipeline}
                ],
            }
            for number, (rlc, pipeline) in enumerate(bearers)
        ]
        scenario = {
            "duration_s": duration_s,
            "cell": CELLS[cell]["cell"],
            "split": split,
            "ues": ues,
            "flows": flows,
        }
        name = f"{run}-{kind}-r{index:02}"
        return RunPlan.of(cell, mobility, name, scenario, seed, traces=traces, files=files)

    return [of("paced"), of("unpaced")]


def _pipeline(rng: random.Random) -> Any:
    (kind,) = rng.choices(_PACERS, weights=_PACER_WEIGHTS)
    return kind if kind == "low_latency" else wide.paced_pipeline(kind, rng)


def _run_name(radio: str) -> str:
    """The radio's name as part of a partition; one that is long or has other characters gets a
    digest, so that two radios have two names."""
    name = re.sub(r"[^A-Za-z0-9._-]", "-", radio)
    most = _LONGEST_RUN - len("-unpaced-r00")
    if name == radio.replace("/", "-") and len(name) <= most:
        return name
    digest = hashlib.sha256(radio.encode()).hexdigest()[:8]
    return f"{name[: most - 9]}-{digest}"
