"""A user's estimator and a user's network of Keras: trained, judged, served by the forecaster."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from made_corpus import waves
from ric.sm import rlc
from rlc_forecaster.core import Forecaster
from rlc_forecaster.core.forecast import Source
from rlc_forecaster.onnx_step import OnnxStep
from rlc_model import write_contract
from rlc_model.manifest import TrainingData
from rlc_train.cli import main
from rlc_train.rundir import RunDirectory

SETTINGS = """
quantities: [occupancy_bytes, drained_bytes_per_ms]
horizon: {t_m_us: 20, points_us: [11000, 20000, 30000]}
fit: {epochs: 3, lanes: 8, steps: 32, piece_samples: 1024, warm_up_samples: 64, xla: false}
split: {held_out_cells: [c]}
origins: 1000
"""
ROWS = """
baselines: [persistence, adaptive-persistence, "user_models:ridge", trees]
estimators:
  trees: {estimator: "user_models:boosted", parameters: {max_iter: 4}, origins: 1000}
"""
NETWORK = """
baselines: [persistence, adaptive-persistence]
network: {build: user_models:keras_layer, parameters: {units: 6}}
"""
SERVED_MS = 2_000


def trained_and_judged(data: Path, root: Path, more: str, *words: str) -> RunDirectory:
    (root / "settings.yaml").write_text(SETTINGS + more)
    run = ["--run", str(root / "run")]
    given = ["--data", str(data), "--settings", str(root / "settings.yaml"), *words]
    assert main(["train", *given, *run]) == 0
    assert main(["evaluate", *run]) == 0
    assert main(["promote", *run]) in (0, 1)
    return RunDirectory(root / "run")


def served(directory: RunDirectory, kind: str, out: Path) -> np.ndarray:
    """``(T, quantity, M, K)`` forecasts of the forecaster for a bearer; the last is the model's."""
    candidate = directory.candidate(kind)
    assert candidate.comparison.holds
    training = TrainingData(description="made", sha256="0" * 64)
    write_contract(out, candidate.manifest("mine", "1", training, [], ""), candidate.graph)
    engine = Forecaster("gnb", OnnxStep.load(out))
    values = waves(SERVED_MS, 7)
    batch = None
    record = rlc.zeros(1)
    record["rnti"], record["rbid"] = 17, 1
    sent, found = 0, []
    for at, (occupancy, drained) in enumerate(values):
        sent += int(drained)
        record["txbuf_occ_bytes"], record["txbuf_occ_pkts"] = occupancy, occupancy // 1500
        record["txpdu_bytes"] = sent
        batch = engine.on_report(record, 1_000_000 + 1_000 * at)
        assert batch is not None
        found.append(batch.values[0].copy())
        engine.learn()
    assert batch is not None
    assert batch.model == "mine:1"
    assert batch.source[0] == Source.MODEL
    return np.array(found)


@pytest.mark.usefixtures("baselines_extra", "estimators_extra")
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_a_pipeline_of_scikit_learn_is_trained_judged_and_served(
    dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = trained_and_judged(dataset, tmp_path, ROWS, "--model", "trees")
    assert "trees in 6 estimators" in capsys.readouterr().out
    # Both are rows by name and by import path, and both may be promoted.
    assert directory.candidates() == ["trees", "user_models:ridge"]
    rows = json.loads((directory.path / "evaluation.json").read_text())["unseen"]
    assert {"trees", "user_models:ridge", "persistence"} <= set(rows)
    assert np.mean(rows["trees"]["skill"]) > 0
    found = served(directory, "trees", tmp_path / "model")
    assert np.isfinite(found).all()


@pytest.mark.usefixtures("keras")
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_a_network_of_keras_is_trained_judged_and_served(dataset: Path, tmp_path: Path) -> None:
    directory = trained_and_judged(dataset, tmp_path, NETWORK)
    assert "custom" in directory.candidates()
    rows = json.loads((directory.path / "evaluation.json").read_text())["unseen"]
    assert np.mean(rows["custom"]["skill"]) > 0
    found = served(directory, "custom", tmp_path / "model")
    assert np.isfinite(found).all()
