"""`rlc_train.read`: results of `rlc-train evaluate --json` as a table."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pytest
import rlc_train
from rlc_train.errors import TrainError
from rlc_train.judging.row import Row
from rlc_train.judging.rows import write_rows

ROW = Row(
    *("m:1", "a", "a", "paced", "occupancy_bytes", 11_000, 10, 1.5, 2.0),
    *(0.75, 0.7, 0.8, 0.81, 0.79, None),
)


def test_the_table_has_the_names_and_values_of_the_file(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.json", [ROW, ROW])
    table = rlc_train.read(tmp_path / "rows.json")
    assert table.column_names == [one.name for one in fields(Row)]
    assert table.to_pylist() == [asdict(ROW)] * 2
    write_rows(tmp_path / "none.json", [])
    assert rlc_train.read(str(tmp_path / "none.json")).schema == table.schema


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"a": 1}, "rows.json: is dict; expected an array of rows"),
        ([1], "rows.json: row 0: has int; expected model, recording,"),
        ([{"model": "m"}], "rows.json: row 0: has ['model']; expected model, recording,"),
        ([asdict(ROW), asdict(ROW) | {"samples": 1.5}], "row 1: samples: is 1.5; expected int64"),
        ([asdict(ROW) | {"pinball": None}], "row 0: pinball: is None; expected double"),
        ([asdict(ROW) | {"samples": 1 << 70}], "rows.json: samples: is no column: "),
    ],
)
def test_a_wrong_file_names_row_and_key(tmp_path: Path, document: Any, message: str) -> None:
    (tmp_path / "rows.json").write_text(json.dumps(document))
    with pytest.raises(TrainError) as error:
        rlc_train.read(tmp_path / "rows.json")
    assert message in str(error.value)


def test_a_file_that_is_no_json_or_missing_is_named(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text("[")
    with pytest.raises(TrainError, match=r"rows\.json: .*; expected JSON"):
        rlc_train.read(tmp_path / "rows.json")
    with pytest.raises(TrainError, match=r"none\.json: "):
        rlc_train.read(tmp_path / "none.json")
