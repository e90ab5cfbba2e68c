"""Runs the tutorial on a recording of another program, with models of a user."""

from __future__ import annotations

import re
import shutil

import pytest
from tutorial_page import ROOT, run, sections

OWN = ROOT / "out" / "own"


@pytest.mark.timeout(1_500)
@pytest.mark.usefixtures("keras", "baselines_extra", "estimators_extra")
def test_a_recording_of_another_program_ends_in_a_model_that_serves() -> None:
    shutil.rmtree(OWN, ignore_errors=True)
    output = run("".join(sections("tutorial-own-data").values()), 1_400)
    assert "promoted: own:1 (ridge) in out/own/models/current" in output
    assert 'sojourn_forecaster_model_info{model="own:1"} 1.0' in output
    assert "best of" in output
    assert (OWN / "network" / "candidates" / "custom" / "model.keras").is_file()
    assert "drifted" in output
    assert re.search(r"out/own/retrain/round-0001: (promoted|refused)", output)
