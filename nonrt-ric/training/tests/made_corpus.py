"""Synthetic series: periodic queues with noise, which are partly predictable."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from rlc_dataset import SCHEMA, write_run
from rlc_dataset.provenance import text_sha256
from rlc_model import FEATURES, Quantity
from rlc_train.horizon import Layout
from rlc_train.series import Series

BOTH = (Quantity.OCCUPANCY, Quantity.DRAIN)
SCENARIO = "name: made\nseed: 7\n"


def layout(points: int = 20, quantities: tuple[Quantity, ...] = BOTH) -> Layout:
    """Steps of 1 ms from 11 ms on."""
    return Layout(quantities, tuple(range(11_000, 11_000 + 1_000 * points, 1_000)))


def waves(rows: int, seed: int, size: float = 1.0, noise: float = 0.05) -> np.ndarray:
    """``(rows, 2)`` occupancy and drain: a wave of unknown phase and period, and noise."""
    rng = np.random.default_rng(seed)
    turn = 2 * np.pi * (np.arange(rows) / rng.uniform(40, 80) + rng.random())
    occupancy = 20_000 + 10_000 * np.sin(turn) + noise * 20_000 * rng.standard_normal(rows)
    drain = 2_000 + 800 * np.cos(turn) + noise * 2_000 * rng.standard_normal(rows)
    return np.maximum(np.stack([occupancy, drain], axis=1) * size, 0)


def series(
    name: str = "r1",
    rows: int = 6_000,
    *,
    seed: int = 1,
    cell: str = "a",
    mobility: str = "static",
    size: float = 1.0,
    levels: np.ndarray | None = None,
    radio: str = "",
) -> Series:
    """A bearer of `levels`, or of :func:`waves`; its radio is the cell unless it is named."""
    values = waves(rows, seed, size) if levels is None else levels
    features = np.zeros((len(values), len(FEATURES)), np.float32)
    features[:, FEATURES.index("occupancy_bytes")] = values[:, 0]
    features[:, FEATURES.index("drained_bytes_per_ms")] = values[:, 1]
    targets = np.full((len(values), len(Quantity)), np.nan, np.float32)
    targets[:, list(Quantity).index(Quantity.OCCUPANCY)] = features[:, 0]
    targets[:, list(Quantity).index(Quantity.DRAIN)] = features[:, 1]
    fresh = np.arange(len(values)) > 0
    at_us = 1_000 * np.arange(len(values), dtype=np.int64)
    limit_reported = np.zeros(len(values), np.bool_)
    return Series(
        name,
        f"size-{size:g}",
        cell,
        mobility,
        at_us,
        features,
        fresh,
        targets,
        limit_reported,
        radio=radio or cell,
        bearer_kind="paced",
    )


def corpus(rows: int = 6_000) -> list[Series]:
    """Three cells, two mobility patterns."""
    return [
        series(f"r{i}", rows, seed=i, cell="abc"[i % 3], mobility=("static", "walk")[i // 3])
        for i in range(6)
    ]


def write_dataset(
    root: Path, rows: int = 3_000, *, first: int = 0, size: float = 1.0, noise: float = 0.05
) -> Path:
    """The same kind of series as a data set on disk: three cells, one run each, from `first` on."""
    for number, cell in enumerate("abc", start=first):
        values = waves(rows, number, size, noise)
        occupancy = values[:, 0].astype(np.uint32)
        drained = values[:, 1].astype(np.uint64)
        columns = {
            "time_us": 1_000 * np.arange(rows, dtype=np.int64),
            "rnti": np.full(rows, 17, np.uint32),
            "drb": np.full(rows, 1, np.uint8),
            "rlc_occupancy_bytes": occupancy,
            "rlc_occupancy_packets": occupancy // 1500,
            "rlc_pdu_bytes": (np.cumsum(drained) % 2**32).astype(np.uint32),
            "rlc_hol_us": (occupancy // 3).astype(np.uint32),
            "rlc_mean_sojourn_us": occupancy / 3.0,
            "pacer_limit_bytes": pa.nulls(rows, pa.uint32()),
            "arrived_delta_bytes": drained,
            "drained_delta_bytes": drained,
            "mcs": np.full(rows, 20, np.uint8),
            "tbs_bytes": np.full(rows, 3000, np.uint32),
        }
        table = pa.table({k: pa.array(v) for k, v in columns.items()}).cast(SCHEMA)
        write_run(
            root,
            table,
            {
                "cell": cell,
                "mobility": "static",
                "run": f"waves-s{number}",
                "source": "gnb-lab",
                "scenario": SCENARIO,
                "scenario_sha256": text_sha256(SCENARIO),
                "seed": 7,
                "producer": "gnb-lab 0.1.0",
            },
        )
    return root
