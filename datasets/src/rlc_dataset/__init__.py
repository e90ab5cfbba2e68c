"""Data sets of RLC state: their format, and how they are read and written.

Start with :mod:`rlc_dataset.schema` (the columns) and :mod:`rlc_dataset.reader` (from a directory
to arrays for training); :mod:`rlc_dataset.writer` writes runs, :mod:`rlc_dataset.channels` loads
public traces. ``DATA_CARD.md`` describes the data and its limits.
"""

from rlc_dataset.check import check_table
from rlc_dataset.errors import DatasetError
from rlc_dataset.provenance import BearerKind, Provenance, SeriesOrigin, TraceOrigin
from rlc_dataset.reader import Dataset, Run, series_origins, table_arrays
from rlc_dataset.recording import Recording, find_recordings
from rlc_dataset.schema import COLUMNS, PERIOD_US, SCHEMA, dataset_sha256, table_sha256
from rlc_dataset.writer import write_run

__all__ = [
    "COLUMNS",
    "PERIOD_US",
    "SCHEMA",
    "BearerKind",
    "Dataset",
    "DatasetError",
    "Provenance",
    "Recording",
    "Run",
    "SeriesOrigin",
    "TraceOrigin",
    "check_table",
    "dataset_sha256",
    "find_recordings",
    "series_origins",
    "table_arrays",
    "table_sha256",
    "write_run",
]
