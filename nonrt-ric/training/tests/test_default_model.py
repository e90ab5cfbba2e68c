"""The forecaster's default model on the committed sample of a held-out cell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rlc_model import Quantity, read_contract
from rlc_train import backtest, corpus
from rlc_train.baselines.mix import FALLBACK, MIX
from rlc_train.baselines.naive import AdaptivePersistence
from rlc_train.export.runner import ServedForecaster, StepRunner
from rlc_train.horizon import Layout
from rlc_train.settings import load
from rlc_train.splits import SETTLING_SAMPLES, Part

ROOT = Path(__file__).parents[3]
DEFAULT = ROOT / "xapps/rlc_forecaster/src/rlc_forecaster/models/default"


def test_it_is_small_and_has_the_committed_settings() -> None:
    contract = read_contract(DEFAULT)
    manifest = contract.manifest
    assert len(contract.onnx) < 1_000_000
    settings = load(ROOT / "nonrt-ric/training/settings/default-model.yaml")
    assert (manifest.model_name, manifest.model_version) == (settings.name, settings.version)
    assert list(manifest.quantities) == settings.quantities
    assert list(manifest.quantiles) == settings.quantiles
    assert manifest.training_data.context_period_us == settings.context_us
    assert settings.fit.samples_per_epoch is None, "was trained on all samples in each epoch"
    assert settings.fit.validation_samples is None
    baselines = {metric.baseline for metric in manifest.metrics}
    assert {"persistence", FALLBACK, MIX, "linear-quantile"} <= baselines
    # The forecaster serves the best simple forecaster and the mix of all where they are better.
    alone = [m for m in manifest.metrics if m.baseline not in (FALLBACK, MIX)]
    assert all(m.model_value < m.baseline_value for m in alone if m.metric == "pinball")


@pytest.mark.parametrize("horizon_us", [11_000, 30_000])
def test_it_is_better_than_the_fallback(horizon_us: int) -> None:
    contract = read_contract(DEFAULT)
    manifest = contract.manifest
    layout = Layout.of(manifest)
    series, _ = corpus.load(ROOT / "datasets/sample", manifest.training_data.context_period_us)
    unseen = [Part(one, SETTLING_SAMPLES, len(one)) for one in series if one.cell == "n1-52prb-fdd"]
    chosen = backtest.origins_of(unseen, layout, 2_000)
    runner = StepRunner(contract.onnx, manifest.state_size)
    served = ServedForecaster("default", runner, manifest.min_max(), layout, tracked=True)
    reference = AdaptivePersistence()
    reference.fit([], layout, 1)
    versus = backtest.Versus(
        backtest.run(served, chosen, layout), backtest.run(reference, chosen, layout)
    )
    point = layout.point_at(horizon_us)
    skill = {q: versus.skill(i, point, 1).value for i, q in enumerate(layout.quantities)}
    assert set(skill) == set(Quantity)
    assert all(np.isfinite(value) and value > 0 for value in skill.values()), skill
