"""The matrix of FlexRIC versions that `make test-flexric` prints."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from matrix import BUILDS, SOURCES, Row, installations, table, the_installation, write


def name(monkeypatch: pytest.MonkeyPatch, sources: list[Path], builds: list[Path]) -> None:
    for variable, paths in ((SOURCES, sources), (BUILDS, builds)):
        monkeypatch.setenv(variable, os.pathsep.join(map(str, paths)))


def test_source_and_build_trees_are_paired(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trees = [tmp_path / each for each in ("a", "a-build", "b", "b-build")]
    for tree in trees:
        tree.mkdir()
    name(monkeypatch, trees[::2], trees[1::2])
    found = installations()
    assert [(each.source.name, each.build.name) for each in found] == [
        ("a", "a-build"),
        ("b", "b-build"),
    ]
    assert found[1].environment()[SOURCES] == str(trees[2])
    with pytest.raises(ValueError, match="name 2 FlexRICs; expected one"):
        the_installation()
    name(monkeypatch, trees[::2], trees[1:2])
    with pytest.raises(ValueError, match="lists 2 trees and FLEXRIC_BUILD 1; expected pairs"):
        installations()
    name(monkeypatch, [tmp_path / "absent"], trees[:1])
    with pytest.raises(ValueError, match=r"FLEXRIC_SRC: .*absent is no directory"):
        installations()


def test_without_flexric_there_is_nothing_to_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SOURCES, raising=False)
    monkeypatch.delenv(BUILDS, raising=False)
    assert installations() == []


def test_a_row_has_the_runs_and_their_outcomes(tmp_path: Path) -> None:
    row = Row("340c36bc of 2026-03-03")
    row.outcomes["build"]["passed"] += 1
    (tmp_path / "results.json").write_text(
        json.dumps({"RLC": {"passed": 3}, "KPM": {"passed": 1, "failed": 1}, "TC": {"skipped": 2}})
    )
    row.take(tmp_path / "results.json")
    assert not row.good
    shown = table([row]).splitlines()[-1]
    assert shown == (
        "| 340c36bc of 2026-03-03 | yes | yes (3) | not run | 1 failed, 1 passed | 2 skipped"
        " | not run | not run | not run | not run |"
    )
    other = Row("f5")
    other.tests_passed = False
    assert not other.good
    assert "| f5: other tests failed |" in table([other])
    write([row], tmp_path / "out/matrix.json")
    (entry,) = json.loads((tmp_path / "out/matrix.json").read_text())
    assert Counter(entry["outcomes"]["KPM"]) == {"passed": 1, "failed": 1}
