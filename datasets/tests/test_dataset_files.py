"""Runs are read as written, or refused with file, column and row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_run import START_US, provenance, table
from rlc_dataset import (
    SCHEMA,
    Dataset,
    DatasetError,
    Run,
    SeriesOrigin,
    check_table,
    series_origins,
    table_sha256,
    write_run,
)
from rlc_dataset.foreign import read_reports
from rlc_dataset.provenance import parse_provenance
from rlc_dataset.schema import PROVENANCE_KEY


def changed(name: str, change: Callable[[list[object]], None], rows: int = 20) -> pa.Table:
    made = table(rows)
    values = made.column(name).to_pylist()
    change(values)
    index = SCHEMA.get_field_index(name)
    return made.set_column(index, SCHEMA.field(name), pa.array(values, SCHEMA.field(name).type))


def put(row: int, value: object) -> Callable[[list[object]], None]:
    def change(values: list[object]) -> None:
        values[row] = value

    return change


def test_a_run_is_read_as_written(tmp_path: Path) -> None:
    made = table(bearers=[(17, 1), (17, 2), (18, 1)])
    written = write_run(tmp_path, made, provenance())
    (run,) = Dataset.open(tmp_path)
    assert run.path == tmp_path / "cell=a/mobility=static/run=r1/bearers.parquet"
    assert run.provenance == written
    assert run.rows == 60
    assert run.table().equals(made)
    assert run.provenance.scenario == "name: made\nseed: 7\n"


def test_radio_and_kind_of_a_series_are_those_noted_or_follow_from_the_run(tmp_path: Path) -> None:
    limit = SCHEMA.get_field_index("pacer_limit_bytes")
    without = table(bearers=[(18, 1)])
    without = without.set_column(limit, SCHEMA.field(limit), pa.nulls(20, pa.uint32()))
    made = pa.concat_tables([table(bearers=[(17, 1), (17, 2)]), without])
    noted = SeriesOrigin(ue=17, drb=2, radio="drive/1", bearer_kind="unpaced")
    written = write_run(tmp_path, made, {**provenance(), "series": [noted]})
    (run,) = Dataset.open(tmp_path)
    assert run.provenance == written
    found = [(one.radio, one.bearer_kind) for one in series_origins(run.provenance, run.table())]
    assert found == [("a", "paced"), ("drive/1", "unpaced"), ("a", "unpaced")]


def test_the_digest_depends_on_values_and_not_on_the_file_format(tmp_path: Path) -> None:
    first = write_run(tmp_path / "1", table(), provenance())
    path = tmp_path / "2/x.parquet"
    path.parent.mkdir()
    pq.write_table(table(), path, compression="none", row_group_size=3)
    assert table_sha256(pq.read_table(path)) == first.data_sha256
    null, zero = (table_sha256(changed("mcs", put(3, value))) for value in (None, 0))
    assert null != zero
    assert table_sha256(table(seed=2)) != first.data_sha256


def test_the_digest_of_a_data_set_does_not_depend_on_the_order_of_runs(tmp_path: Path) -> None:
    for root, names in ((tmp_path / "1", ["r1", "r2"]), (tmp_path / "2", ["r2", "r1"])):
        for name in names:
            write_run(root, table(seed=int(name[1])), provenance(name))
    one, two = Dataset.open(tmp_path / "1"), Dataset.open(tmp_path / "2")
    assert one.sha256() == two.sha256()
    write_run(tmp_path / "2", table(seed=9), provenance("r2"))
    assert Dataset.open(tmp_path / "2").sha256() != one.sha256()


def test_a_key_that_a_provenance_has_twice_is_refused(tmp_path: Path) -> None:
    written = write_run(tmp_path, table(), provenance())
    twice = written.model_dump_json().replace("{", '{"run": "r2",', 1)
    with pytest.raises(DatasetError, match="provenance: key 'run' given twice; expected it once"):
        parse_provenance(twice.encode(), "a.parquet")


def test_runs_are_selected_by_cell_and_mobility(tmp_path: Path) -> None:
    write_run(tmp_path, table(), provenance("r1", "a", "static"))
    write_run(tmp_path, table(), provenance("r2", "b", "train"))
    data = Dataset.open(tmp_path)
    assert (data.cells, data.mobilities) == (("a", "b"), ("static", "train"))
    assert [r.provenance.run for r in data.select(cells={"b"})] == ["r2"]
    assert [r.provenance.run for r in data.select(mobilities={"static"})] == ["r1"]


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (
            lambda: pa.concat_tables([table().slice(0, 5), table().slice(6)]),
            r"column time_us, row 5: gap of 2000 µs for UE 17 DRB 1",
        ),
        (
            lambda: changed("time_us", put(4, START_US + 3_000)),
            r"column time_us, row 4: 1700000000003000 occurs twice for UE 17 DRB 1",
        ),
        (
            lambda: changed("time_us", put(4, START_US + 2_000)),
            r"column time_us, row 4: .* comes after .* expected increasing times",
        ),
        (
            lambda: changed("time_us", put(19, START_US + 19_300)),
            r"column time_us, row 19: .* is off the grid of 1000 µs",
        ),
        (
            lambda: pa.concat_tables([table(bearers=[(18, 1)]), table(bearers=[(17, 1)])]),
            r"column rnti, row 20: UE 17 DRB 1 comes after UE 18 DRB 1",
        ),
        (
            lambda: changed("rlc_mean_sojourn_us", put(7, float("nan"))),
            r"column rlc_mean_sojourn_us, row 7: is nan; expected a finite number",
        ),
        (
            lambda: changed("rlc_mean_sojourn_us", put(2, -1.0)),
            r"column rlc_mean_sojourn_us, row 2: is -1",
        ),
        (lambda: changed("mcs", put(1, 40)), r"column mcs, row 1: is 40; expected 0 to 31"),
        (lambda: table().drop_columns(["mcs"]), r"column mcs: lacks mcs"),
        (
            lambda: table().append_column("more", pa.array([0] * 20)),
            r"column more: is unknown",
        ),
        (lambda: table().slice(0, 0), r"has no row"),
    ],
)
def test_invalid_runs_are_refused_with_their_place(
    made: Callable[[], pa.Table], message: str
) -> None:
    with pytest.raises(DatasetError, match=rf"^x.parquet.*{message}"):
        check_table(made(), "x.parquet")


def test_other_units_and_types_are_refused() -> None:
    ms = SCHEMA.field("rlc_hol_us").with_metadata({b"unit": b"ms"})
    with pytest.raises(DatasetError, match=r"column rlc_hol_us: has unit 'ms'; expected 'us'"):
        check_table(table().cast(SCHEMA.set(SCHEMA.get_field_index("rlc_hol_us"), ms)))
    bare = SCHEMA.field("drained_delta_bytes").remove_metadata()
    with pytest.raises(
        DatasetError, match=r"column drained_delta_bytes: has unit none; expected 'B'"
    ):
        check_table(table().cast(SCHEMA.set(SCHEMA.get_field_index("drained_delta_bytes"), bare)))
    wide = pa.field("rlc_pdu_bytes", pa.uint64(), False, {b"unit": b"B"})
    with pytest.raises(DatasetError, match=r"rlc_pdu_bytes: has type uint64; expected uint32"):
        check_table(table().cast(SCHEMA.set(SCHEMA.get_field_index("rlc_pdu_bytes"), wide)))


@pytest.mark.parametrize("version", [1, 3])
def test_another_schema_is_refused(version: int) -> None:
    other = SCHEMA.with_metadata({b"sojourn.schema_version": str(version).encode()})
    with pytest.raises(DatasetError, match=rf"has schema version {version}; expected 2: make"):
        check_table(table().cast(other))


def test_gaps_are_accepted_only_if_allowed(tmp_path: Path) -> None:
    gappy = pa.concat_tables([table().slice(0, 5), table().slice(9)])
    with pytest.raises(DatasetError, match="row 5: gap of 5000 µs"):
        write_run(tmp_path, gappy, provenance())
    write_run(tmp_path, gappy, provenance(), allow_gaps=True)
    (run,) = Dataset.open(tmp_path)
    with pytest.raises(DatasetError, match="row 5: gap of 5000 µs"):
        run.table()
    arrays = run.arrays(allow_gaps=True)
    assert arrays.steps == 20
    assert np.flatnonzero(~arrays.present[:, 0]).tolist() == [5, 6, 7, 8]


def test_altered_data_is_found(tmp_path: Path) -> None:
    write_run(tmp_path, table(), provenance())
    (run,) = Dataset.open(tmp_path)
    metadata = pq.read_schema(run.path).metadata
    pq.write_table(table(seed=5).replace_schema_metadata(metadata), run.path)
    with pytest.raises(DatasetError, match=r"bearers.parquet: has data of SHA-256 .*provenance"):
        Run.open(run.path).table()


def test_a_truncated_file_and_one_without_provenance_are_refused(tmp_path: Path) -> None:
    write_run(tmp_path, table(), provenance())
    (run,) = Dataset.open(tmp_path)
    whole = run.path.read_bytes()
    run.path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DatasetError, match=r"bearers.parquet: "):
        Dataset.open(tmp_path)
    pq.write_table(table(), run.path)
    with pytest.raises(DatasetError, match=r"bearers.parquet: has no provenance"):
        Dataset.open(tmp_path)
    metadata = {**SCHEMA.metadata, PROVENANCE_KEY: b'{"cell": "a"}'}
    pq.write_table(table().replace_schema_metadata(metadata), run.path)
    with pytest.raises(DatasetError, match=r"column provenance mobility: Field required"):
        Dataset.open(tmp_path)


def test_a_run_in_another_partition_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path, table(), provenance())
    (tmp_path / "cell=a").rename(tmp_path / "cell=b")
    with pytest.raises(DatasetError, match=r"is a run of cell=a/.*, but is in cell=b/"):
        Dataset.open(tmp_path)


def test_an_empty_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="has no run"):
        Dataset.open(tmp_path)


def test_files_of_a_killed_writer_are_removed(tmp_path: Path) -> None:
    left = tmp_path / "cell=a/mobility=static/run=r1/.bearers.parquet.0123456789abcdef.new"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"PAR1 half")
    with pytest.raises(DatasetError, match="has no run"):
        Dataset.open(tmp_path)
    write_run(tmp_path, table(), provenance())
    assert not left.exists()
    assert len(Dataset.open(tmp_path)) == 1


def test_a_column_whose_name_is_no_text_is_refused_with_the_file(tmp_path: Path) -> None:
    write_run(tmp_path, table(), provenance())
    (run,) = Dataset.open(tmp_path)
    run.path.write_bytes(run.path.read_bytes().replace(b"mcs", b"\xffcs"))
    with pytest.raises(DatasetError, match=f"^{run.path}: "):
        Run.open(run.path)


def test_a_small_file_of_many_rows_is_not_decoded(tmp_path: Path) -> None:
    path = tmp_path / "cell=a/mobility=static/run=r1/bearers.parquet"
    write_run(tmp_path, table(), provenance())
    made = pq.read_schema(path)
    zeros = pa.scalar(0)
    # Twice the rows of the largest run.
    part = pa.table([pa.repeat(zeros, 1 << 22).cast(field.type) for field in made], schema=made)
    with pq.ParquetWriter(path, made, compression="zstd") as writer:
        for _ in range(8):
            writer.write_table(part)
    assert path.stat().st_size < 2 << 20
    message = r"has 33554432 rows; expected at most 16777216 in a run"
    with pytest.raises(DatasetError, match=message):
        Dataset.open(tmp_path)
    with pytest.raises(DatasetError, match=message):
        read_reports(path, {})


def test_a_run_that_nobody_reads_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rlc_dataset.schema.MAX_ROWS", 3)
    with pytest.raises(DatasetError, match=r"has \d+ rows; expected at most 3 in a run"):
        write_run(tmp_path, table(), provenance())
    assert not list(tmp_path.iterdir())
