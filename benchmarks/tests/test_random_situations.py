"""Scenarios drawn at random for `tc-controller evaluate`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import gnb_lab
from tc_evaluate.situation import find_situations

ROOT = Path(__file__).parents[2]


def _draw(out: Path) -> dict[str, str]:
    command = [sys.executable, "benchmarks/random_situations.py", "--seed", "1", "--count", "40"]
    subprocess.run([*command, "--out", str(out)], cwd=ROOT, check=True, timeout=60)
    return {path.name: path.read_text() for path in out.iterdir()}


def test_each_drawn_scenario_runs_and_a_seed_draws_the_same_again(tmp_path: Path) -> None:
    drawn = _draw(tmp_path / "first")
    assert len(drawn) == 40
    assert drawn == _draw(tmp_path / "second")
    situations, skipped = find_situations([tmp_path / "first"], None)
    assert len(situations) == 40
    assert not skipped
    for situation in situations:
        world = gnb_lab.World(situation.scenario.path)
        world.step_until(200_000)
        assert world.now_us >= 200_000, situation.name
