"""Reading runs and whole data sets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rlc_model import Bearer, BearerSeries, ContractError, RunArrays, run_arrays
from rlc_model.series import report_array

from rlc_dataset.check import check_schema, check_table
from rlc_dataset.errors import DAMAGED, DatasetError, first_line
from rlc_dataset.names import RLC_FIELDS
from rlc_dataset.provenance import Provenance, SeriesOrigin, parse_provenance, series_origin
from rlc_dataset.schema import (
    PERIOD_US,
    PROVENANCE_KEY,
    check_rows,
    dataset_sha256,
    table_sha256,
)
from rlc_dataset.writer import FILE


@dataclass(frozen=True, slots=True)
class Run:
    """A run on disk, with its rows not yet read.

    Attributes:
        path: The file.
        provenance: Its provenance.
        rows: Number of rows.
    """

    path: Path
    provenance: Provenance
    rows: int

    @classmethod
    def open(cls, path: Path) -> Run:
        """Reads schema and provenance of a file.

        Raises:
            DatasetError: It is not Parquet, or not a run of this schema.
        """
        try:
            metadata = pq.read_metadata(path)
            schema = metadata.schema.to_arrow_schema()
        except DAMAGED as error:
            raise DatasetError(first_line(error), file=str(path)) from error
        check_schema(schema, str(path))
        check_rows(metadata.num_rows, str(path))
        provenance = (schema.metadata or {}).get(PROVENANCE_KEY)
        if provenance is None:
            raise DatasetError("has no provenance in its metadata", file=str(path))
        return cls(path, parse_provenance(provenance, str(path)), metadata.num_rows)

    def table(self, *, allow_gaps: bool = False, verify: bool = True) -> pa.Table:
        """Reads the rows.

        Args:
            allow_gaps: As :func:`~rlc_dataset.check.check_table`.
            verify: Whether to compare the rows with the digest in the provenance.

        Raises:
            DatasetError: The file is damaged or altered, or its rows are not a run.
        """
        try:
            # Not `pq.read_table`, which adds the partitions of the path as columns.
            with pq.ParquetFile(self.path) as file:
                # The file may be another one since it was opened.
                check_rows(file.metadata.num_rows, str(self.path))
                table = file.read()
        except DatasetError:
            raise
        except DAMAGED as error:
            raise DatasetError(first_line(error), file=str(self.path)) from error
        check_table(table, str(self.path), allow_gaps=allow_gaps)
        if verify and (found := table_sha256(table)) != self.provenance.data_sha256:
            raise DatasetError(
                f"has data of SHA-256 {found[:12]}…; its provenance has"
                f" {self.provenance.data_sha256[:12]}…",
                file=str(self.path),
            )
        return table

    def arrays(self, *, allow_gaps: bool = False, context_us: int = 1) -> RunArrays:
        """The run as features, masks and targets; raises as :meth:`table`.

        `context_us` is that of :func:`rlc_model.run_arrays`.
        """
        table = self.table(allow_gaps=allow_gaps)
        return table_arrays(table, str(self.path), context_us=context_us)

    def series(self, *, allow_gaps: bool = False) -> list[BearerSeries]:
        """The reports of each bearer, in order of (rnti, drb); raises as :meth:`table`."""
        return table_series(self.table(allow_gaps=allow_gaps))


def series_origins(provenance: Provenance, table: pa.Table) -> list[SeriesOrigin]:
    """Radio and kind of each bearer of a run, in order of (rnti, drb).

    What the provenance does not say: the radio is the cell, and a bearer is paced if a limit of its
    pacer was ever reported.
    """
    limited = pc.is_valid(table.column("pacer_limit_bytes")).to_numpy(zero_copy_only=False)
    ue, drb = (table.column(name).to_numpy() for name in ("rnti", "drb"))
    turns = np.flatnonzero((np.diff(ue) != 0) | (np.diff(drb) != 0)) + 1
    return [
        series_origin(
            provenance,
            int(ue[begin]),
            int(drb[begin]),
            radio=provenance.cell,
            is_limited=bool(limited[begin:end].any()),
        )
        for begin, end in pairwise([0, *turns.tolist(), table.num_rows])
    ]


@dataclass(frozen=True, slots=True)
class Dataset:
    """All runs below a directory, in order of partition."""

    root: Path
    runs: tuple[Run, ...]

    @classmethod
    def open(cls, root: Path) -> Dataset:
        """Finds the runs below `root`.

        Raises:
            DatasetError: There is none, or one is not of this schema or not in the partition of its
                provenance.
        """
        paths = sorted(root.glob(f"cell=*/mobility=*/run=*/{FILE}"))
        if not paths:
            expected = f"cell=*/mobility=*/run=*/{FILE}"
            raise DatasetError(f"has no run; expected {expected}", file=str(root))
        runs = tuple(Run.open(path) for path in paths)
        for run in runs:
            partition = run.path.parent.relative_to(root).as_posix()
            if partition != run.provenance.partition:
                raise DatasetError(
                    f"is a run of {run.provenance.partition}, but is in {partition}",
                    file=str(run.path),
                )
        return cls(root, runs)

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def select(
        self, *, cells: set[str] | None = None, mobilities: set[str] | None = None
    ) -> Dataset:
        """The runs of some cells and mobility patterns; None for all."""
        kept = tuple(
            run
            for run in self.runs
            if (cells is None or run.provenance.cell in cells)
            and (mobilities is None or run.provenance.mobility in mobilities)
        )
        return Dataset(self.root, kept)

    @property
    def cells(self) -> tuple[str, ...]:
        """All cells."""
        return tuple(sorted({run.provenance.cell for run in self.runs}))

    @property
    def mobilities(self) -> tuple[str, ...]:
        """All mobility patterns."""
        return tuple(sorted({run.provenance.mobility for run in self.runs}))

    def sha256(self) -> str:
        """Digest over all runs: the ``trainingData.sha256`` of a manifest."""
        return dataset_sha256(
            (run.provenance.partition, run.provenance.data_sha256) for run in self.runs
        )


def table_arrays(table: pa.Table, file: str = "", *, context_us: int = 1) -> RunArrays:
    """A checked table of one run as features, masks and targets, through the model contract.

    `context_us` is that of :func:`rlc_model.run_arrays`.

    Raises:
        DatasetError: The rows are not a run.
    """
    try:
        return run_arrays(table_series(table), period_us=PERIOD_US, context_us=context_us)
    except ContractError as error:
        raise DatasetError(str(error), file=file) from error


def table_series(table: pa.Table) -> list[BearerSeries]:
    """A checked table of one run as the reports of each bearer."""
    report = report_array(
        {field: table.column(name).to_numpy() for name, field in RLC_FIELDS.items()}
    )
    ue, drb, time_us = (table.column(name).to_numpy() for name in ("rnti", "drb", "time_us"))
    limit, mcs, tbs = (
        pc.fill_null(table.column(name).cast(pa.float64()), np.nan).to_numpy()
        for name in ("pacer_limit_bytes", "mcs", "tbs_bytes")
    )
    turns = np.flatnonzero((np.diff(ue) != 0) | (np.diff(drb) != 0)) + 1
    edges = [0, *turns.tolist(), table.num_rows]
    return [
        BearerSeries(
            Bearer(int(ue[begin]), int(drb[begin])),
            time_us[begin:end],
            report[begin:end],
            limit[begin:end],
            mcs[begin:end],
            tbs[begin:end],
        )
        for begin, end in pairwise(edges)
    ]
