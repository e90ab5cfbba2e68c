"""The notebooks of the documentation run from first to last cell; they are committed bare."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import nbformat
import pytest
from rlc_model import read_contract

ROOT = Path(__file__).resolve().parents[3]
LISTED = subprocess.run(
    ["git", "ls-files", "-co", "--exclude-standard", "*.ipynb"],
    cwd=ROOT,
    capture_output=True,
    text=True,
    check=True,
)
NOTEBOOKS = LISTED.stdout.split()


def notebook(path: str) -> Any:
    return nbformat.read(ROOT / path, as_version=4)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_a_notebook_is_valid_and_without_results(path: str) -> None:
    found = notebook(path)
    nbformat.validate(found)
    for cell in found.cells:
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None), cell.source


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the cells of a notebook in an empty folder; returns its variables."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    plt.switch_backend("agg")

    def cells(path: str) -> dict[str, Any]:
        variables: dict[str, Any] = {"__name__": "__main__"}
        for number, cell in enumerate(notebook(path).cells):
            if cell.cell_type == "code":
                exec(compile(cell.source, f"{path}, cell {number}", "exec"), variables)
        return variables

    yield cells
    plt.close("all")


def test_the_notebook_of_the_world_shows_what_sojourn_does(run: Any) -> None:
    variables = run("docs/notebooks/world.ipynb")
    compared = variables["compared"]
    for place in ("far", "near"):
        before, after = (compared[name, place] for name in ("without control", "low_latency"))
        assert after["ping p95 ms"] < before["ping p95 ms"] / 5, compared
        assert after["download Mbit/s"] > 0.9 * before["download Mbit/s"], compared
    assert variables["runs"].num_rows > 0
    assert all(axes.lines for axes in variables["axes"].flat)


def test_the_notebook_of_forecasts_judges_the_default_model_on_its_recording(run: Any) -> None:
    variables = run("docs/notebooks/forecasts.ipynb")
    rows = variables["rows"].to_pylist()
    assert {row["bearer_kind"] for row in rows} == {"paced", "unpaced"}
    default = ROOT / "xapps/rlc_forecaster/src/rlc_forecaster/models/default"
    points_us = read_contract(default).manifest.horizon.points_us
    assert {row["horizon_us"] for row in rows} == set(points_us)
    paced = [row for row in rows if row["bearer_kind"] == "paced"]
    occupancy = [row for row in paced if row["quantity"] == "occupancy_bytes"]
    # Of what is served, and of the network alone but for the farthest points.
    served = [
        row["served_ratio"] * row["pinball_simple"] / row["pinball"] * row["adaptive_ratio"]
        for row in occupancy
    ]
    assert max(served) < 1, served
    assert all(row["adaptive_ratio"] < 1 for row in occupancy if row["horizon_us"] <= 30_000)
    assert all(len(panel.lines) == 5 for panel in variables["axes"])


def test_the_notebook_of_estimators_ends_in_a_graph_that_is_the_estimator(run: Any) -> None:
    variables = run("docs/notebooks/own-model.ipynb")
    assert variables["candidate"].comparison.holds
    assert all(skill.mean() > 0 for skill in variables["skills"].values()), variables["skills"]
    assert all(len(panel.lines) == 3 for panel in variables["axes"])


def test_every_notebook_is_run_by_a_test_of_its_own() -> None:
    names = ("forecasts", "own-model", "world")
    assert sorted(NOTEBOOKS) == [f"docs/notebooks/{name}.ipynb" for name in names]
