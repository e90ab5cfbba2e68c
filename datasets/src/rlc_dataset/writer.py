"""Writes runs atomically."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from rlc_model.files import replacing

from rlc_dataset.check import check_table
from rlc_dataset.errors import DatasetError
from rlc_dataset.provenance import Provenance
from rlc_dataset.schema import PROVENANCE_KEY, SCHEMA, check_rows, table_sha256

FILE: Final = "bearers.parquet"
ROW_GROUP_ROWS: Final = 1 << 17
# Delta encoding is compact for times and counters.
ENCODINGS: Final = {
    field.name: "BYTE_STREAM_SPLIT" if pa.types.is_floating(field.type) else "DELTA_BINARY_PACKED"
    for field in SCHEMA
}


def write_run(
    root: Path, table: pa.Table, provenance: dict[str, object], *, allow_gaps: bool = False
) -> Provenance:
    """Checks a run and writes it into its partition below `root`.

    A killed process leaves at most a hidden file, which readers ignore and the next writer removes.

    Args:
        root: Directory of the data set.
        table: The rows, of :data:`~rlc_dataset.schema.SCHEMA`.
        provenance: Fields of :class:`~rlc_dataset.provenance.Provenance` except ``data_sha256``.
        allow_gaps: As :func:`~rlc_dataset.check.check_table`.

    Returns:
        The provenance as written.

    Raises:
        DatasetError: The rows are not a run, or the file cannot be written.
    """
    made = Provenance.model_validate({**provenance, "data_sha256": table_sha256(table)})
    path = root / made.partition / FILE
    check_rows(table.num_rows, str(path))
    check_table(table, str(path), allow_gaps=allow_gaps)
    metadata = {**SCHEMA.metadata, PROVENANCE_KEY: made.model_dump_json().encode()}
    try:
        with replacing(path) as file:
            pq.write_table(
                table.replace_schema_metadata(metadata),
                file,
                compression="zstd",
                row_group_size=ROW_GROUP_ROWS,
                use_dictionary=False,
                column_encoding=ENCODINGS,
            )
    except OSError as error:
        raise DatasetError(error.strerror or "cannot be written", file=str(path)) from error
    return made
