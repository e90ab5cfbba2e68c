"""The model of stolidis2024: shape, labels and loss, at a small size."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from made_corpus import BOTH, corpus
from rlc_train import backtest
from rlc_train.cli import main
from rlc_train.errors import TrainError
from rlc_train.lstm.paper import PaperLstm, PaperShape, build, layout_of
from rlc_train.splits import split

pytestmark = pytest.mark.usefixtures("keras")

SMALL = PaperShape(window=40, points=5, windows=64, epochs=4, learning_rate=0.01)


def test_its_labels_start_after_its_inference() -> None:
    axes = layout_of(
        PaperShape(), quantities=BOTH, quantiles=(0.5,), t_m_us=400_000, t_rd_us=10_000, t_rc_us=0
    )
    assert axes.points_us[0] == 410_000
    assert axes.points == 400


def test_its_layers_are_those_of_the_paper() -> None:
    model = build(SMALL)
    assert [layer.name.split("_")[0] for layer in model.layers] == ["lstm", "dropout", "dense"]
    assert model.layers[0].units == SMALL.window
    assert model.output_shape == (None, SMALL.points)
    assert model.loss == "mse"


def test_it_learns_and_is_evaluated_like_the_others() -> None:
    axes = layout_of(
        SMALL, quantities=BOTH, quantiles=(0.1, 0.5, 0.9), t_m_us=900, t_rd_us=10_000, t_rc_us=0
    )
    parts = split(corpus(2_000), axes, held_out_cells=["c"])
    model = PaperLstm(SMALL)
    model.fit(parts.train, axes, 1)
    assert len(model.curves) == 2
    assert model.curves[0][-1] < model.curves[0][0]
    chosen = backtest.origins_of(parts.unseen, axes, 100)
    losses = backtest.run(model, chosen, axes)
    assert np.isfinite(losses.mean_pinball()).all()


def test_series_that_are_too_short_are_refused() -> None:
    axes = layout_of(
        SMALL, quantities=BOTH, quantiles=(0.5,), t_m_us=900, t_rd_us=10_000, t_rc_us=0
    )
    parts = split(corpus(70), axes)
    with pytest.raises(TrainError, match="no training series has 55 samples"):
        PaperLstm(SMALL).fit(parts.train, axes, 1)


def test_its_time_is_measured(tmp_path: Path) -> None:
    out = tmp_path / "paper.json"
    words = ["--window", "20", "--points", "5", "--time-only"]
    assert main(["paper", "--data", str(tmp_path), "--out", str(out), *words]) == 0
    result = json.loads(out.read_text())
    assert result["shape"]["window"] == 20
    assert 0 < result["t_m"]["median_us"] <= result["t_m"]["p99_us"]
