"""Tables and results of benchmarks."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from measuring import show, write


@dataclass(frozen=True, slots=True)
class Row:
    pacer: str
    p95_ms: float | None
    share: dict[str, float]


ROWS = [Row("drql", 12.3456, {"cpu": 0.5}), Row("none", None, {})]


def test_a_table_has_a_column_for_each_field(capsys: pytest.CaptureFixture[str]) -> None:
    show(ROWS)
    assert capsys.readouterr().out.splitlines() == [
        "| pacer | p95 ms |   share |",
        "| ----- | ------ | ------- |",
        "|  drql |  12.35 | cpu 0.5 |",
        "|  none |      – |         |",
    ]


def test_rows_of_a_table_may_be_mappings(capsys: pytest.CaptureFixture[str]) -> None:
    show([{"bytes": 1234567, "seconds": [0.1, 20000.4]}])
    assert capsys.readouterr().out.splitlines()[-1] == "| 1234567 | 0.1, 20000 |"
    show([])
    assert capsys.readouterr().out == ""


def test_a_result_is_written_with_the_fields_of_its_rows(tmp_path: Path) -> None:
    write(None, "nothing.json", ROWS)
    write(tmp_path / "out", "rows.json", {"rows": ROWS})
    assert json.loads((tmp_path / "out" / "rows.json").read_text())["rows"][0] == {
        "pacer": "drql",
        "p95_ms": 12.3456,
        "share": {"cpu": 0.5},
    }
