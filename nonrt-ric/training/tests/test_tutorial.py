"""Runs the tutorial from data set to served model."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "tutorial-forecaster.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
OUT = ROOT / "out" / "tutorial"


@pytest.mark.timeout(1_500)
@pytest.mark.usefixtures("keras", "mlflow_extra")
def test_the_tutorial_ends_with_a_promoted_model_that_serves() -> None:
    shutil.rmtree(OUT, ignore_errors=True)
    script = "set -em\n" + "".join(BLOCK.findall(PAGE.read_text()))
    # Tests of chief and workers may have set these.
    clean = {name: value for name, value in os.environ.items() if "KERASTUNER" not in name}
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=ROOT,
        env=clean,
        capture_output=True,
        text=True,
        timeout=1_400,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-4_000:]
    assert "promoted: tutorial:1" in done.stdout
    assert 'sojourn_forecaster_model_info{model="tutorial:1"} 1.0' in done.stdout
    skills = re.findall(r"skill_ratio\{.*quantity=\"drained_bytes_per_ms\".*\} (\S+)", done.stdout)
    assert skills
    assert (OUT / "run" / "report" / "model-card.md").stat().st_size > 1_000
