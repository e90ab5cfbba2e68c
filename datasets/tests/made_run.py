"""Synthetic runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from rlc_dataset import SCHEMA
from rlc_dataset.provenance import text_sha256

SCENARIO = "name: made\nseed: 7\n"
START_US = 1_700_000_000_000_000


def table(
    rows: int = 20, bearers: Sequence[tuple[int, int]] = ((17, 1),), seed: int = 1
) -> pa.Table:
    """Bearers with a report every ms and a counter near its wrap."""
    rng = np.random.default_rng(seed)
    parts = []
    for ue, drb in bearers:
        drained = rng.integers(0, 4_000, rows).astype(np.uint64)
        occupancy = rng.integers(0, 90_000, rows).astype(np.uint32)
        columns = {
            "time_us": START_US + 1_000 * np.arange(rows, dtype=np.int64),
            "rnti": np.full(rows, ue, np.uint32),
            "drb": np.full(rows, drb, np.uint8),
            "rlc_occupancy_bytes": occupancy,
            "rlc_occupancy_packets": occupancy // 1500,
            "rlc_pdu_bytes": (2**32 - 20_000 + np.cumsum(drained)).astype(np.uint32),
            "rlc_hol_us": rng.integers(0, 50_000, rows).astype(np.uint32),
            "rlc_mean_sojourn_us": rng.uniform(0, 9_000, rows),
            "pacer_limit_bytes": pa.array(
                rng.integers(3_000, 90_000, rows), pa.uint32(), mask=rng.random(rows) < 0.3
            ),
            "arrived_delta_bytes": rng.integers(0, 4_000, rows).astype(np.uint64),
            "drained_delta_bytes": drained,
        }
        unknown = rng.random(rows) < 0.3
        columns["mcs"] = pa.array(rng.integers(0, 28, rows), pa.uint8(), mask=unknown)
        columns["tbs_bytes"] = pa.array(rng.integers(0, 9_000, rows), pa.uint32(), mask=unknown)
        parts.append(pa.table({k: pa.array(v) for k, v in columns.items()}).cast(SCHEMA))
    return pa.concat_tables(parts)


def provenance(run: str = "r1", cell: str = "a", mobility: str = "static") -> dict[str, object]:
    """Provenance of a simulated run."""
    return {
        "cell": cell,
        "mobility": mobility,
        "run": run,
        "source": "gnb-lab",
        "scenario": SCENARIO,
        "scenario_sha256": text_sha256(SCENARIO),
        "seed": 7,
        "producer": "gnb-lab 0.1.0",
    }
