"""Digests of what data says, whatever compression or writer its files had."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rlc_dataset.schema import SCHEMA


def table_sha256(table: pa.Table) -> str:
    """SHA-256 over names, types, nulls and little-endian values of the columns, in their order."""
    digest = hashlib.sha256()
    for field in SCHEMA:
        column = table.column(field.name)
        digest.update(f"{field.name}:{field.type}:{len(column)}\n".encode())
        there = np.packbits(column.is_valid().to_numpy())
        digest.update(there.tobytes())
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
