"""Losses of the mix are of the forecasts that are served, and noting them changes nothing."""

from __future__ import annotations

import forecast_mix
import numpy as np
import pytest
from rlc_dataset.recording import cut_reports
from rlc_forecaster.onnx_step import OnnxStep
from rlc_forecaster.settings import DEFAULT_MODEL
from rlc_model.mix import LOSSES


def test_losses_are_noted_beside_what_the_forecaster_learns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = OnnxStep.load(DEFAULT_MODEL)
    _, kind, one = next(forecast_mix.recordings(None, 0))
    assert kind == "paced"
    one = cut_reports(one, 0, 1_500)
    monkeypatch.setattr(forecast_mix, "SETTLED", 1_000)
    noted, engine = forecast_mix.replay(model, one)
    monkeypatch.setattr(forecast_mix, "Losses", lambda engine: engine)
    _, plain = forecast_mix.replay(model, one)
    of_noted, of_plain = (each.run.skill.scores.by_point() for each in (engine, plain))
    assert of_noted == pytest.approx(of_plain)
    assert (noted.checked[:2] >= 20).all()
    assert (noted.covered <= noted.checked).all()
    assert (noted.within <= noted.covered).all()
    # The mix's own are those by its weights when an outcome is known, not when it was forecast.
    mixed = noted.losses[..., LOSSES.index("mix")].sum(1)
    assert noted.served.sum(1) == pytest.approx(mixed, rel=0.25)
    assert [len(each) for each in noted.outcomes(0)] == noted.checked[0].astype(int).tolist()
    assert np.isfinite(noted.losses).all()
