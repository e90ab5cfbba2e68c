"""The columns of a run: one row per bearer and report, as DATA_CARD.md describes them.

Units stand in the names, and again in the metadata of each field, where readers compare them.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

SCHEMA_VERSION: Final = 1
PERIOD_US: Final = 1_000
"""Between two reports of a bearer."""

UNIT: Final = b"unit"
VERSION_KEY: Final = b"sojourn.schema_version"
PROVENANCE_KEY: Final = b"sojourn.provenance"


def _field(name: str, kind: pa.DataType, unit: str, *, nullable: bool = False) -> pa.Field:
    return pa.field(name, kind, nullable=nullable, metadata={UNIT: unit.encode()})


SCHEMA: Final = pa.schema(
    [
        _field("time_us", pa.int64(), "us"),
        _field("ue", pa.uint32(), "1"),
        _field("drb", pa.uint8(), "1"),
        _field("txbuf_occ_bytes", pa.uint32(), "B"),
        _field("txbuf_occ_pkts", pa.uint32(), "1"),
        _field("txpdu_bytes", pa.uint32(), "B"),
        _field("txsdu_wt_us", pa.uint32(), "us"),
        # 64 bits in the report, but a mean of µs is no more exact than this, nor is a sample.
        _field("txsdu_avg_time_to_tx", pa.float32(), "us"),
        _field("queue_limit_bytes", pa.uint32(), "B", nullable=True),
        _field("arrived_bytes", pa.uint64(), "B"),
        _field("drained_bytes", pa.uint64(), "B"),
        _field("mcs", pa.uint8(), "1", nullable=True),
        _field("tbs_bytes", pa.uint32(), "B", nullable=True),
    ],
    metadata={VERSION_KEY: str(SCHEMA_VERSION).encode()},
)
"""Rows are in order of (ue, drb, time_us)."""

COLUMNS: Final = tuple(SCHEMA.names)
KEY: Final = ("ue", "drb", "time_us")
PARTITIONS: Final = ("cell", "mobility", "run")
"""Directories, outermost first: ``cell=…/mobility=…/run=…``."""
