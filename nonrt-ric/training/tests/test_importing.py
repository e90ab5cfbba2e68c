"""Recordings of others become a data set: the same reports, in files and names of others."""

from __future__ import annotations

import gzip
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from rlc_dataset import Dataset
from rlc_train import cli, corpus

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "datasets/sample/cell=n78-51prb-3-1/mobility=car/run=00/bearers.parquet"
FLEXRIC = {
    "time_us": "tstamp",
    "rnti": "rnti",
    "drb": "rbid",
    "rlc_occupancy_bytes": "txbuf_occ_bytes",
    "rlc_occupancy_packets": "txbuf_occ_pkts",
    "rlc_pdu_bytes": "txpdu_bytes",
    "rlc_hol_us": "txsdu_wt_us",
    "rlc_mean_sojourn_us": "txsdu_avg_time_to_tx",
}


@pytest.fixture(scope="module")
def recorded() -> pa.Table:
    """A run of the sample, as recorded: in order of time, without differences."""
    table = (
        pq.ParquetFile(SAMPLE).read().drop_columns(["arrived_delta_bytes", "drained_delta_bytes"])
    )
    return table.sort_by([("time_us", "ascending"), ("rnti", "ascending"), ("drb", "ascending")])


def of_flexric(table: pa.Table) -> pa.Table:
    return table.select([*FLEXRIC]).rename_columns([*FLEXRIC.values()])


def write_sqlite(table: pa.Table, path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE MAC_UE(tstamp INT)")
        names = ", ".join(table.column_names)
        database.execute(f"CREATE TABLE RLC_bearer({names})")
        marks = ", ".join("?" * table.num_columns)
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        database.executemany(f"INSERT INTO RLC_bearer VALUES ({marks})", rows)
        database.commit()


def imported(path: Path, out: Path, *words: str) -> pa.Table:
    assert cli.main(["import", str(path), "--out", str(out), "--cell", "roof", *words]) == 0
    (run,) = Dataset.open(out)
    assert (run.provenance.source, run.provenance.cell) == ("file", "roof")
    return run.table(allow_gaps=True)


def test_a_recording_in_our_names_is_the_run_again(tmp_path: Path, recorded: pa.Table) -> None:
    pq.write_table(recorded, tmp_path / "own.parquet")
    found = imported(tmp_path / "own.parquet", tmp_path / "data")
    assert found.equals(pq.ParquetFile(SAMPLE).read())


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "db"])
def test_tables_of_flexric_need_no_names(tmp_path: Path, recorded: pa.Table, kind: str) -> None:
    path, table = tmp_path / f"rlc.{kind}", of_flexric(recorded)
    if kind == "db":
        write_sqlite(table, path)
    else:
        pa.csv.write_csv(table, tmp_path / "rlc.csv")
        if kind == "csv.gz":
            path.write_bytes(gzip.compress((tmp_path / "rlc.csv").read_bytes()))
    found, made = imported(path, tmp_path / "data"), pq.ParquetFile(SAMPLE).read()
    for name in ("time_us", "rnti", "drb", "rlc_occupancy_bytes", "drained_delta_bytes"):
        assert found[name].equals(made[name]), name
    assert found["mcs"].null_count == found.num_rows


def test_other_names_and_units_are_given(tmp_path: Path, recorded: pa.Table) -> None:
    at = recorded.column_names.index("time_us")
    seconds = pa.array(recorded["time_us"].to_numpy() / 1e6)
    table = recorded.set_column(at, "when [s]", seconds)
    names = ["queue" if name == "rlc_occupancy_bytes" else name for name in table.column_names]
    pa.csv.write_csv(table.rename_columns(names), tmp_path / "own.csv")
    words = ["--column", "time_us=when [s]", "--column", "rlc_occupancy_bytes=queue"]
    found = imported(tmp_path / "own.csv", tmp_path / "data", *words, "--time-unit", "s")
    made = pq.ParquetFile(SAMPLE).read()
    assert found.drop_columns("time_us").equals(made.drop_columns("time_us"))
    assert np.abs(found["time_us"].to_numpy() - made["time_us"].to_numpy()).max() <= 1


def test_a_long_recording_is_runs_of_a_segment(tmp_path: Path, recorded: pa.Table) -> None:
    pq.write_table(recorded, tmp_path / "own.parquet")
    words = ["--out", str(tmp_path / "data"), "--cell", "roof", "--segment-s", "4"]
    assert cli.main(["import", str(tmp_path / "own.parquet"), *words]) == 0
    runs = [run.provenance.run for run in Dataset.open(tmp_path / "data")]
    assert runs == ["own-0000", "own-0001", "own-0002"]
    series, _ = corpus.load(tmp_path / "data", 20_000)
    assert sum(len(one) for one in series) == recorded.num_rows


@pytest.mark.parametrize(
    "case",
    [
        (
            lambda table: table.drop_columns(["rnti", "rlc_hol_us", "time_us"]),
            [],
            "own.parquet, column time_us or tstamp, rnti, rlc_hol_us or txsdu_wt_us:"
            " are missing; the file has drb, rlc_occupancy_bytes, ",
        ),
        (lambda table: table, ["--column", "rnti=ue"], "own.parquet, column ue: is missing; the"),
        (lambda table: table, ["--column", "ue=rnti"], "column ue: is none of ours; expected of "),
        (lambda table: table, ["--column", "rnti"], "--column rnti: expected ours=theirs, each"),
        (
            lambda table: table,
            ["--time-unit", "ms"],
            "own.parquet, column time_us, row 9999: is 1.76723e+15, too large for the unit",
        ),
        (
            lambda table: table.take(list(range(0, table.num_rows, 10))),
            [],
            "column time_us: has a report of a bearer each 10 ms (median",
        ),
        (lambda table: table, ["--cell", "a/b"], "--cell: 'a/b'; expected letters, digits"),
        (lambda table: table.slice(0, 0), [], "own.parquet: has no row"),
        (
            lambda table: table.set_column(
                table.column_names.index("drb"), "drb", pa.array([300] * table.num_rows)
            ),
            [],
            "own.parquet, column drb, row 0: is 300; expected a number of 0 to below 256",
        ),
    ],
    ids=lambda case: case[2][:40],
)
def test_what_cannot_be_imported_is_said_in_a_line(
    tmp_path: Path,
    recorded: pa.Table,
    capsys: pytest.CaptureFixture[str],
    case: tuple[Callable[[pa.Table], pa.Table], list[str], str],
) -> None:
    change, words, message = case
    pq.write_table(change(recorded), tmp_path / "own.parquet")
    given = ["import", str(tmp_path / "own.parquet"), "--out", str(tmp_path / "data")]
    assert cli.main([*given, "--cell", "roof", *words]) == 2
    printed = capsys.readouterr().err
    assert re.search(re.escape(message), printed), printed
    assert printed.count("\n") == 1
    assert not (tmp_path / "data").exists()


@pytest.mark.usefixtures("keras")
def test_what_was_imported_is_trained_on(tmp_path: Path, recorded: pa.Table) -> None:
    write_sqlite(of_flexric(recorded), tmp_path / "xapp_db")
    imported(tmp_path / "xapp_db", tmp_path / "data")
    words = ["--data", str(tmp_path / "data"), "--preset", "small", "--epochs", "1"]
    assert cli.main(["train", *words, "--run", str(tmp_path / "run")]) == 0
    assert (tmp_path / "run" / "candidates" / "lstm" / "model.onnx").exists()


@pytest.mark.parametrize("content", [b"", b"\0\1\2", b"PAR1 half", b"SQLite format 3\0half"])
def test_a_file_of_another_kind_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    words = ["--out", str(tmp_path / "data"), "--cell", "roof"]
    assert cli.main(["import", str(path), *words]) == 2
    assert capsys.readouterr().err.startswith(f"rlc-train import: {path}")
