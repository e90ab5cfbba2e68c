"""The columns of a run (one row per bearer and report, see DATA_CARD.md), and digests of rows.

Names have units, and so has the metadata of each field, which readers check.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rlc_dataset.errors import DatasetError

SCHEMA_VERSION: Final = 2
PERIOD_US: Final = 1_000
"""Report period."""

MAX_ROWS: Final = 1 << 24
"""Rows of a run, all in memory at once (1 GB): 60 s of 279 bearers. A file of 2 MB may have more
than fit, for columns of zeros compress to nothing."""

UNIT: Final = b"unit"
VERSION_KEY: Final = b"sojourn.schema_version"
PROVENANCE_KEY: Final = b"sojourn.provenance"


def _field(name: str, kind: pa.DataType, unit: str, *, nullable: bool = False) -> pa.Field:
    return pa.field(name, kind, nullable=nullable, metadata={UNIT: unit.encode()})


SCHEMA: Final = pa.schema(
    [
        _field("time_us", pa.int64(), "us"),
        _field("rnti", pa.uint32(), "1"),
        _field("drb", pa.uint8(), "1"),
        _field("rlc_occupancy_bytes", pa.uint32(), "B"),
        _field("rlc_occupancy_packets", pa.uint32(), "1"),
        _field("rlc_pdu_bytes", pa.uint32(), "B"),
        _field("rlc_hol_us", pa.uint32(), "us"),
        # 64 bits in the report, but features have 32 bits.
        _field("rlc_mean_sojourn_us", pa.float32(), "us"),
        _field("pacer_limit_bytes", pa.uint32(), "B", nullable=True),
        _field("arrived_delta_bytes", pa.uint64(), "B"),
        _field("drained_delta_bytes", pa.uint64(), "B"),
        _field("mcs", pa.uint8(), "1", nullable=True),
        _field("tbs_bytes", pa.uint32(), "B", nullable=True),
    ],
    metadata={VERSION_KEY: str(SCHEMA_VERSION).encode()},
)
"""Rows are in order of (rnti, drb, time_us)."""

COLUMNS: Final = tuple(SCHEMA.names)
KEY: Final = ("rnti", "drb", "time_us")
PARTITIONS: Final = ("cell", "mobility", "run")
"""Directories, outermost first: ``cell=…/mobility=…/run=…``."""


def check_rows(rows: int, file: str) -> None:
    """Refuses a run of too many rows, before they are decoded.

    Raises:
        DatasetError: There are more than `MAX_ROWS`.
    """
    if rows > MAX_ROWS:
        raise DatasetError(f"has {rows} rows; expected at most {MAX_ROWS} in a run", file=file)


def table_sha256(table: pa.Table) -> str:
    """SHA-256 over names, types, nulls and little-endian values of the columns, in their order."""
    digest = hashlib.sha256()
    for field in SCHEMA:
        column = table.column(field.name)
        digest.update(f"{field.name}:{field.type}:{len(column)}\n".encode())
        digest.update(np.packbits(column.is_valid().to_numpy()).tobytes())
        values = pc.fill_null(column, 0).to_numpy() if field.nullable else column.to_numpy()
        digest.update(np.ascontiguousarray(values, values.dtype.newbyteorder("<")).data)
    return digest.hexdigest()


def dataset_sha256(runs: Iterable[tuple[str, str]]) -> str:
    """SHA-256 over (partition, :func:`table_sha256`) of its runs, in order of partition: the
    ``trainingData.sha256`` of a model trained on them."""
    digest = hashlib.sha256()
    for partition, data_sha256 in sorted(runs):
        digest.update(f"{data_sha256}  {partition}\n".encode())
    return digest.hexdigest()
