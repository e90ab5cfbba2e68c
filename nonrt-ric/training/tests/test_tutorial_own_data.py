"""Runs the tutorial on a recording of another program, with models of a user."""

from __future__ import annotations

import json
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
    drift = json.loads((OWN / "retrain" / "round-0001" / "drift.json").read_text())
    assert all(one["drifted"] for one in drift), drift
    state = json.loads((OWN / "retrain" / "state.json").read_text())
    assert state["result"] in ("promoted", "refused")
    assert "retrain/round-0001" in output
