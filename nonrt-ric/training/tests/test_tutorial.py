"""Runs the tutorial from data set to served model."""

from __future__ import annotations

import re
import shutil

import pytest
from tutorial_page import OUT, SEARCH, run, sections


@pytest.mark.timeout(1_500)
@pytest.mark.usefixtures("keras", "mlflow_extra")
def test_the_tutorial_ends_with_a_promoted_model_that_serves() -> None:
    for made in ("data", "run", "mlartifacts"):
        shutil.rmtree(OUT / made, ignore_errors=True)
    (OUT / "mlflow.db").unlink(missing_ok=True)
    chain = [commands for title, commands in sections().items() if title != SEARCH]
    output = run("".join(chain), 1_400)
    assert "promoted: tutorial:1" in output
    assert 'sojourn_forecaster_model_info{model="tutorial:1"} 1.0' in output
    skills = re.findall(r"skill_ratio\{.*quantity=\"drained_bytes_per_ms\".*\} (\S+)", output)
    assert skills
    assert (OUT / "run" / "report" / "model-card.md").stat().st_size > 1_000
