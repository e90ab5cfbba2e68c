"""Recordings of bearers of any origin, read bearer by bearer in pieces of bounded size.

A recording is a Parquet file with a row per bearer and report, in any order of bearers: a run of a
data set, ``bearers.parquet`` of ``gnb-lab run``, or a table of ``gnb_lab.World.frame()``. The lab
names some columns otherwise: see :mod:`rlc_dataset.names`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from rlc_model import Bearer, BearerSeries
from rlc_model.records import REPORT

from rlc_dataset.check import check_version
from rlc_dataset.errors import DAMAGED, DatasetError, first_line
from rlc_dataset.names import RLC_FIELDS, checked_values, columns_of
from rlc_dataset.provenance import (
    Provenance,
    SeriesOrigin,
    parse_provenance,
    series_origin,
)
from rlc_dataset.schema import PROVENANCE_KEY
from rlc_dataset.writer import FILE

Columns = dict[str, NDArray[np.float64]]
"""Values by the names of data sets."""

BATCH_ROWS: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording on disk, with its rows not yet read.

    Attributes:
        path: The file.
        name: ``cell/mobility/run`` of a run of a data set, else its path in the folder.
        provenance: Of a run of a data set, else None.
        columns: The column of each of :data:`~rlc_dataset.names.NAMES` that the file has.
        rows: Number of rows.
        bearers: Its bearers, in order of (rnti, drb), with radio and kind as
            :func:`~rlc_dataset.provenance.series_origin` has them; without a provenance the radio
            is `name`.
    """

    path: Path
    name: str
    provenance: Provenance | None
    columns: dict[str, str]
    rows: int
    bearers: dict[Bearer, SeriesOrigin] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path, name: str = "") -> Recording:
        """Reads schema and bearers of a file.

        Args:
            path: The file.
            name: Unless it has a provenance; its name without suffix if empty.

        Raises:
            DatasetError: It is not Parquet, is a run of another schema, or lacks a column.
        """
        try:
            metadata = pq.read_metadata(path)
            schema = metadata.schema.to_arrow_schema()
        except DAMAGED as error:
            raise DatasetError(first_line(error), file=str(path)) from error
        check_version(schema, str(path))
        columns = columns_of(schema.names, str(path))
        noted = (schema.metadata or {}).get(PROVENANCE_KEY)
        provenance = None if noted is None else parse_provenance(noted, str(path))
        if provenance is not None:
            name = f"{provenance.cell}/{provenance.mobility}/{provenance.run}"
        recording = cls(path, name or path.stem, provenance, columns, metadata.num_rows)
        return replace(recording, bearers=recording._origins())

    def pieces(self, bearer: Bearer, rows: int) -> Iterator[BearerSeries]:
        """The reports of a bearer in order of time, `rows` at a time.

        The file is read in batches, so that memory does not grow with its length.

        Raises:
            DatasetError: Names file, column and row of a null, a value out of range, or a time
                that is not after that of the bearer's row before.
        """
        held: list[BearerSeries] = []
        for first, batch in self._batches(tuple(self.columns)):
            keys = self._checked(batch, ("rnti", "drb"), range(first, first + batch.num_rows))
            mine = np.flatnonzero((keys["rnti"] == bearer.ue) & (keys["drb"] == bearer.drb))
            if not len(mine):
                continue
            # Of the others nothing is converted: each bearer reads the whole file.
            there = first + mine
            values = self._checked(batch.take(pa.array(mine)), tuple(self.columns), there)
            part = _reports(bearer, values)
            self._check_times(part, int(held[-1].at_us[-1]) if held else -1, there)
            held.append(part)
            while sum(len(one.at_us) for one in held) > rows:
                whole = join_reports(held)
                yield cut_reports(whole, 0, rows)
                held = [cut_reports(whole, rows, len(whole.at_us))]
        if held:
            yield join_reports(held)

    def _check_times(self, part: BearerSeries, last_us: int, rows: NDArray[np.intp]) -> None:
        late = np.diff(part.at_us, prepend=last_us) <= 0
        if late.any():
            at = int(np.argmax(late))
            raise DatasetError(
                f"{part.at_us[at]} is not after the report before of UE {part.bearer.ue}"
                f" DRB {part.bearer.drb}; expected increasing times",
                file=str(self.path),
                column=self.columns["time_us"],
                row=int(rows[at]),
            )

    def _origins(self) -> dict[Bearer, SeriesOrigin]:
        wanted = [name for name in ("rnti", "drb", "pacer_limit_bytes") if name in self.columns]
        is_limited: dict[int, bool] = {}
        for first, read in self._batches(wanted):
            batch = self._checked(read, wanted, range(first, first + read.num_rows))
            keys = batch["rnti"].astype(np.int64) << 8 | batch["drb"].astype(np.int64)
            limited = ~np.isnan(batch.get("pacer_limit_bytes", np.full(len(keys), np.nan)))
            for key in np.unique(keys).tolist():
                is_limited[key] = is_limited.get(key, False) or bool(limited[keys == key].any())
        radio = self.name if self.provenance is None else self.provenance.cell
        found = {}
        for key in sorted(is_limited):
            bearer = Bearer(key >> 8, key & 255)
            found[bearer] = series_origin(
                self.provenance, bearer.ue, bearer.drb, radio=radio, is_limited=is_limited[key]
            )
        return found

    def _batches(self, names: Sequence[str]) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The first row and the columns of each batch."""
        first = 0
        try:
            with pq.ParquetFile(self.path) as file:
                there = [self.columns[name] for name in names]
                for batch in file.iter_batches(BATCH_ROWS, columns=there):
                    yield first, batch
                    first += batch.num_rows
        except DAMAGED as error:
            raise DatasetError(first_line(error), file=str(self.path)) from error

    def _checked(
        self, batch: pa.RecordBatch, names: Sequence[str], rows: range | NDArray[np.intp]
    ) -> Columns:
        """The values of rows, checked; unknown ones are NaN."""
        file = str(self.path)
        return {
            name: checked_values(batch.column(column), name, column, file, rows)
            for name, column in ((name, self.columns[name]) for name in names)
        }


def find_recordings(path: Path) -> list[Recording]:
    """The recording of a Parquet file, or all below a folder, in order of their paths.

    A folder may be a data set, a run or a sweep of the lab (files ``bearers.parquet`` at any
    depth), or have any Parquet files.

    Raises:
        DatasetError: There is none, or one lacks a column.
    """
    if path.is_file():
        return [Recording.open(path)]
    found = sorted(path.rglob(FILE)) or sorted(path.glob("*.parquet"))
    if not found:
        expected = f"a data set, a folder of gnb-lab run, or a Parquet file with {FILE}'s columns"
        raise DatasetError(f"has no recording; expected {expected}", file=str(path))
    names = [one.relative_to(path) for one in found]
    return [
        Recording.open(
            one,
            (
                name.parent if name.name == FILE and name.parent.parts else name.with_suffix("")
            ).as_posix(),
        )
        for one, name in zip(found, names, strict=True)
    ]


def _reports(bearer: Bearer, columns: Columns) -> BearerSeries:
    at_us = columns["time_us"].astype(np.int64)
    report = np.zeros(len(at_us), REPORT)
    for name, field_name in RLC_FIELDS.items():
        report[field_name] = columns[name]
    unknown = np.full(len(at_us), np.nan)
    mcs, tbs = columns.get("mcs", unknown), columns.get("tbs_bytes", unknown)
    both = ~(np.isnan(mcs) | np.isnan(tbs))
    return BearerSeries(
        bearer,
        at_us,
        report,
        columns.get("pacer_limit_bytes", unknown),
        np.where(both, mcs, np.nan),
        np.where(both, tbs, np.nan),
    )


def join_reports(parts: list[BearerSeries]) -> BearerSeries:
    if len(parts) == 1:
        return parts[0]
    return BearerSeries(
        parts[0].bearer,
        *(
            np.concatenate([getattr(one, name) for one in parts])
            for name in ("at_us", "report", "limit_bytes", "mcs", "tbs_bytes")
        ),
    )


def cut_reports(one: BearerSeries, start: int, stop: int) -> BearerSeries:
    return BearerSeries(
        one.bearer,
        *(
            getattr(one, name)[start:stop]
            for name in ("at_us", "report", "limit_bytes", "mcs", "tbs_bytes")
        ),
    )
