"""The test of responsiveness in the demo: what the scenario gets, what the report shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sojourn_demo import DemoError
from sojourn_demo.cli import main
from sojourn_demo.recording import Counter, Series
from sojourn_demo.responsiveness import Score, add_test, read_score


def scenario(*flows: dict[str, Any]) -> dict[str, Any]:
    return {"ues": [{"rnti": 17921}, {"rnti": 17922}], "flows": list(flows)}


def test_the_test_follows_the_bulk_flows_at_the_first_ue() -> None:
    given = scenario(
        {"name": "bulk", "kind": "tcp", "start_s": 0.5},
        {"name": "short", "kind": "download", "stop_s": 5.0},
        {"name": "ping", "kind": "ping"},
        {"name": "later", "kind": "tcp", "start_s": 33.0, "stop_s": 34.0},
    )
    add_test(given, 32.0, 42.0)
    bulk, short, ping, later, test = given["flows"]
    assert (bulk["stop_s"], short["stop_s"], later["stop_s"]) == (32.0, 5.0, 34.0)
    assert "stop_s" not in ping
    assert (test["kind"], test["rnti"]) == ("responsiveness", 17921)
    assert (test["start_s"], test["stop_s"]) == (32.0, 42.0)


def test_a_scenario_with_a_test_of_its_own_is_left_as_it_is() -> None:
    given = scenario({"name": "bulk", "kind": "tcp"}, {"name": "own", "kind": "responsiveness"})
    add_test(given, 32.0, 42.0)
    assert given == scenario(
        {"name": "bulk", "kind": "tcp"}, {"name": "own", "kind": "responsiveness"}
    )


def write_summary(folder: Path, app: dict[str, float]) -> None:
    flows = [{"kind": "ping", "app": {}}, {"kind": "responsiveness", "app": app}]
    (folder / "summary.json").write_text(json.dumps({"flows": flows}))


def test_a_score_is_that_of_the_gnbs_summary(tmp_path: Path) -> None:
    write_summary(tmp_path, {"rpm": 625.0, "foreign_rpm": 1000.0, "loaded_rpm": 250.0})
    assert read_score(tmp_path) == Score(625.0, 1000.0, 250.0)
    # No interval of the test ended.
    write_summary(tmp_path, {})
    assert read_score(tmp_path) is None


@pytest.mark.parametrize("text", ["", "[]", '{"flows": [{"kind": "responsiveness"}]}'])
def test_a_summary_without_scores_of_flows_gives_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "summary.json").write_text(text)
    with pytest.raises(DemoError, match="expected a summary of gnb-lab"):
        read_score(tmp_path)


def test_a_run_up_to_the_test_has_nothing_of_it() -> None:
    at_s = np.arange(0.0, 10.0)
    assert Series(at_s, at_s).until(4.0).value.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert Counter(at_s, 2 * at_s).until(4.0).rate(3.0, 4.0) == 2.0


@pytest.mark.parametrize("seconds", ["2", "61", "-1", "nan", "long"])
def test_a_test_too_short_for_a_score_is_refused(
    seconds: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([f"--rpm={seconds}"])
    assert f"--rpm: {seconds}; expected 0, or 5 to 60 seconds" in capsys.readouterr().err
