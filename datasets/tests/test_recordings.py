"""Recordings of any origin are read in pieces of bounded size, with errors that name the place."""

from __future__ import annotations

import re
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_run import provenance, table
from rlc_dataset import DatasetError, Recording, find_recordings, write_run
from rlc_dataset.names import RLC_FIELDS
from rlc_dataset.reader import table_series
from rlc_dataset.schema import COLUMNS, VERSION_KEY
from rlc_model import Bearer

BEARERS = ((17, 1), (17, 2), (18, 1))


def by_time(run: pa.Table) -> pa.Table:
    """The rows as others may have them: by time, with the names of FlexRIC's reports."""
    renamed = run.rename_columns([RLC_FIELDS.get(name, name) for name in run.column_names])
    return renamed.drop_columns(["arrived_delta_bytes", "drained_delta_bytes"]).sort_by("time_us")


@pytest.mark.parametrize("rows", [7, 100, 1_000])
def test_both_namings_and_orders_give_the_reports_of_each_bearer(tmp_path: Path, rows: int) -> None:
    run = table(100, BEARERS)
    write_run(tmp_path / "data", run, provenance())
    pq.write_table(by_time(run), tmp_path / "other.parquet", row_group_size=64)
    expected = {one.bearer: one for one in table_series(run)}
    for recording in (
        *find_recordings(tmp_path / "data"),
        Recording.open(tmp_path / "other.parquet"),
    ):
        assert list(recording.bearers) == [Bearer(*bearer) for bearer in BEARERS]
        assert {origin.bearer_kind for origin in recording.bearers.values()} == {"paced"}
        for bearer, whole in expected.items():
            mine = list(recording.pieces(bearer, rows))
            assert max(len(piece.at_us) for piece in mine) <= rows
            for name in ("at_us", "report", "limit_bytes", "mcs", "tbs_bytes"):
                found = np.concatenate([getattr(piece, name) for piece in mine])
                np.testing.assert_array_equal(found, getattr(whole, name), name)


def kinds(path: Path) -> list[str]:
    return [origin.bearer_kind for origin in Recording.open(path).bearers.values()]


def test_a_bearer_without_a_limit_is_not_paced(tmp_path: Path) -> None:
    run = table(10, BEARERS)
    limit = run.column("pacer_limit_bytes").to_pylist()
    limit[10:20] = [None] * 10
    at = run.column_names.index("pacer_limit_bytes")
    pq.write_table(run.set_column(at, run.field(at).name, [limit]), tmp_path / "a.parquet")
    assert kinds(tmp_path / "a.parquet") == ["paced", "unpaced", "paced"]
    pq.write_table(run.drop_columns("pacer_limit_bytes"), tmp_path / "a.parquet")
    assert kinds(tmp_path / "a.parquet") == ["unpaced"] * 3


def test_what_a_data_set_notes_of_a_bearer_counts(tmp_path: Path) -> None:
    noted = {"ue": 17, "drb": 2, "radio": "drive-7", "bearer_kind": "unpaced"}
    write_run(tmp_path, table(10, BEARERS), {**provenance(), "series": [noted]})
    [recording] = find_recordings(tmp_path)
    assert recording.name == "a/static/r1"
    found = [(origin.radio, origin.bearer_kind) for origin in recording.bearers.values()]
    assert found == [("a", "paced"), ("drive-7", "unpaced"), ("a", "paced")]


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("rlc_occupancy_bytes", None, "column rlc_occupancy_bytes: is missing"),
        ("time_us", None, "column time_us: is missing"),
        ("rnti", None, "column rnti: is missing"),
        ("rlc_hol_us", pa.array([1, None, 3, 4]), "column rlc_hol_us, row 1: is null"),
        (
            "rlc_pdu_bytes",
            pa.array([1, 2, -3, 4]),
            "column rlc_pdu_bytes, row 2: is -3; expected a",
        ),
        ("drb", pa.array([1, 1, 1, 256]), "column drb, row 3: is 256"),
        ("mcs", pa.array(["a"] * 4), "column mcs: has type string; expected numbers"),
        ("time_us", pa.array([0, 1, 1, 2]), "column time_us, row 2: 1 is not after the report"),
    ],
)
def test_a_wrong_column_is_named_with_its_file(
    tmp_path: Path, column: str, value: pa.Array | None, message: str
) -> None:
    path = tmp_path / "a.parquet"
    run = table(4)
    at = run.column_names.index(column)
    wrong = run.drop_columns(column) if value is None else run.set_column(at, column, value)
    pq.write_table(wrong, path)
    with pytest.raises(DatasetError) as error:
        list(Recording.open(path).pieces(Bearer(17, 1), 10))
    found = re.sub(" or (txbuf_occ_bytes|tstamp)", "", str(error.value))
    assert found.startswith(f"{path}, {message}"), found


def test_a_run_of_another_schema_is_to_be_made_again(tmp_path: Path) -> None:
    first = table(4).rename_columns(["ue" if name == "rnti" else name for name in COLUMNS])
    path = tmp_path / "a.parquet"
    pq.write_table(first.replace_schema_metadata({VERSION_KEY: b"1"}), path)
    with pytest.raises(DatasetError) as error:
        Recording.open(path)
    assert str(error.value).startswith(f"{path}: has schema version 1; expected 2: make the data")


def test_a_folder_without_a_recording_is_refused_with_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="has no recording; expected a data set"):
        find_recordings(tmp_path)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(DatasetError, match=r"a\.parquet: "):
        find_recordings(tmp_path)


def test_memory_does_not_grow_with_the_recording(tmp_path: Path) -> None:
    def most_bytes(rows: int) -> int:
        path = tmp_path / f"{rows}.parquet"
        pq.write_table(table(rows), path, row_group_size=1 << 16)
        tracemalloc.start()
        for _ in Recording.open(path).pieces(Bearer(17, 1), 10_000):
            pass
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    assert most_bytes(800_000) < 1.2 * most_bytes(200_000)
