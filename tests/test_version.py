"""One version: in the workspace of Cargo, the distributions, the programs and the chart."""

import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
PROGRAMS = (
    *("gnb-lab", "e2sm-tc"),
    *("tc-controller", "rlc-forecaster", "flexric-bridge", "ric", "ric-sm"),
    *("rlc-model", "rlc-train", "sojourn-demo"),
)
PARTS = (
    *("dashboards", "datasets", "demo", "e2sm-tc-spec", "gateway", "interfaces", "lab"),
    *("nonrt-ric", "xapps"),
)
DISTRIBUTIONS = sorted(path for part in PARTS for path in (ROOT / part).rglob("pyproject.toml"))


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_prints_the_version(program: str) -> None:
    command = [str(Path(sys.executable).parent / program), "--version"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout == f"{program} {VERSION}\n"


@pytest.mark.parametrize("path", DISTRIBUTIONS, ids=lambda path: path.parent.name)
def test_a_distribution_takes_the_version_of_the_workspace(path: Path) -> None:
    document = tomllib.loads(path.read_text())
    project = document["project"]
    assert project["dynamic"] == ["version"]
    if document["build-system"]["build-backend"] == "hatchling.build":
        source = path.parent / document["tool"]["hatch"]["version"]["path"]
        assert source.resolve() == ROOT / "Cargo.toml"
    assert version(project["name"]) == VERSION


def test_the_chart_has_the_version() -> None:
    path = ROOT / "helm" / "sojourn" / "Chart.yaml"
    if not path.exists():
        pytest.skip("the chart is not in this checkout")
    chart = yaml.safe_load(path.read_text())
    assert (chart["version"], chart["appVersion"]) == (VERSION, VERSION)
