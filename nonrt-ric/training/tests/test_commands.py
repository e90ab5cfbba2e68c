"""The commands from a data set to a verdict."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from rlc_model import FEATURES, read_contract
from rlc_train.cli import main
from rlc_train.conformal import identity
from rlc_train.export.check import compare
from rlc_train.export.runner import StepRunner
from rlc_train.export.steps import network_step
from rlc_train.lstm.backend import keras, layers
from rlc_train.lstm.network import layer_weights, reference
from rlc_train.rundir import RunDirectory

SETTINGS = """
quantities: [occupancy_bytes, drained_bytes_per_ms]
network: {units: 8}
fit: {epochs: 6, lanes: 8, steps: 32, piece_samples: 1024, warm_up_samples: 64, xla: false}
split: {held_out_cells: [c]}
origins: 1500
baselines: [persistence, best-simple, mix, mean-of-5, linear-quantile]
"""


@pytest.fixture(scope="module")
def run_directory(keras: None, dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained and evaluated run."""
    del keras
    root = tmp_path_factory.mktemp("run")
    (root / "settings.yaml").write_text(SETTINGS)
    words = ["--data", str(dataset), "--run", str(root / "run")]
    assert main(["train", *words, "--settings", str(root / "settings.yaml")]) == 0
    assert main(["evaluate", "--run", str(root / "run")]) == 0
    return root / "run"


def test_promotion_writes_a_model_directory_or_the_unmet_conditions(
    run_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["promote", "--run", str(run_directory)])
    output = capsys.readouterr()
    verdict = json.loads((run_directory / "verdict.json").read_text())
    assert status == (0 if verdict["promoted"] else 1)
    if verdict["promoted"]:
        contract = read_contract(run_directory / "model")
        StepRunner(contract.onnx, contract.manifest.state_size)
        assert contract.manifest.metrics
    else:
        failed = [f for f in verdict["findings"] if not f["holds"]]
        assert all(f["what"] in output.err for f in failed)
        assert not (run_directory / "model").exists()


def test_both_candidates_are_exported_and_compared(run_directory: Path) -> None:
    directory = RunDirectory(run_directory)
    assert directory.candidates() == ["linear-quantile", "lstm"]
    for kind in directory.candidates():
        assert directory.candidate(kind).comparison.holds, kind
    losses = directory.losses()
    assert set(losses) == {"test", "unseen"}
    assert set(losses["unseen"]["lstm"].scenario) == {"waves"}


def test_the_file_of_keras_beside_the_graph_is_the_trained_network(run_directory: Path) -> None:
    layers()
    directory = RunDirectory(run_directory)
    candidate, same = (
        directory.candidate("lstm"),
        identity(directory.candidate("lstm").layout.shape),
    )
    loaded = keras().models.load_model(run_directory / "candidates" / "lstm" / "model.keras")
    weights, shape = layer_weights(loaded), directory.settings().network
    graph = network_step(weights, shape, candidate.layout, candidate.scaler, same)
    samples = np.random.default_rng(1).random((300, len(FEATURES)), np.float32)
    runner = StepRunner(graph, candidate.state_size)
    assert compare(runner, reference(loaded, same), samples, steps=600).holds
    # What is served has the same state; its outputs have the conformal correction.
    served = StepRunner(candidate.graph, candidate.state_size)
    state = np.zeros((1, candidate.state_size), np.float32)
    plain, corrected = [], []
    for row in range(300):
        output, after = runner.step(samples[row : row + 1], state)
        plain.append(output[0])
        output, state = served.step(samples[row : row + 1], state)
        corrected.append(output[0])
        np.testing.assert_allclose(after, state, atol=1e-5)
    # The correction moves each quantile and leaves how it follows the samples.
    median = plain[0].shape[-1] // 2
    before, after = (np.array(one)[..., median].reshape(300, -1).T for one in (plain, corrected))
    follows = [np.corrcoef(one, other)[0, 1] for one, other in zip(before, after, strict=True)]
    assert min(follows) > 0.95, follows


def test_a_new_export_must_be_evaluated_before_promotion(
    run_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    again = tmp_path / "run"
    shutil.copytree(run_directory, again)
    graph = again / "candidates" / "lstm" / "model.onnx"
    model = onnx.load(graph)
    model.doc_string = "another one"
    onnx.save(model, graph)
    for command in ("promote", "report"):
        assert main([command, "--run", str(again)]) == 2
        err = capsys.readouterr().err
        assert "losses/test/lstm.npz: is missing, damaged, or of another model" in err
    assert main(["evaluate", "--run", str(again)]) == 0
    err = capsys.readouterr().err
    assert "unseen: evaluated lstm on" in err
    assert "evaluated persistence" not in err
    assert main(["promote", "--run", str(again)]) in (0, 1)
    evaluated = (again / "evaluation.json").read_text()
    assert main(["evaluate", "--run", str(again), "--again", "--stream"]) == 0
    assert "unseen: evaluated persistence on" in capsys.readouterr().err
    assert (again / "spool").is_dir()
    assert (again / "evaluation.json").read_text() == evaluated


def test_the_model_card_shows_the_results(run_directory: Path) -> None:
    assert main(["promote", "--run", str(run_directory)]) in (0, 1)
    assert main(["report", "--run", str(run_directory), "--candidate", "lstm"]) == 0
    report = run_directory / "report"
    card = (report / "model-card.md").read_text()
    named = re.findall(r"!\[[^]]*\]\(([^)]+)\)", card)
    assert {"skill-test.png", "reliability-unseen.png", "curve.png", "example-0.png"} <= set(named)
    for name in named:
        assert (report / name).read_bytes().startswith(b"\x89PNG")
        assert (report / name).with_suffix(".svg").read_text().startswith("<svg")
    assert "| waves |" in card
    assert "| linear-quantile |" in card
    skills = json.loads((run_directory / "evaluation.json").read_text())["unseen"]["lstm"]["skill"]
    assert len(skills) == 2
    assert len(skills[0]) == 20


def test_training_again_continues_from_the_checkpoint(
    run_directory: Path, dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = json.loads((run_directory / "curve.json").read_text())["curve"]
    settings = str(run_directory.parent / "settings.yaml")
    words = ["--data", str(dataset), "--run", str(run_directory), "--settings", settings]
    assert main(["train", *words]) == 0
    assert json.loads((run_directory / "curve.json").read_text())["curve"] == before


def test_other_settings_need_another_directory(
    run_directory: Path, dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--data", str(dataset), "--run", str(run_directory)]
    assert main(["train", *words]) == 2
    assert "has a run with other settings" in capsys.readouterr().err


def test_commands_out_of_order_are_refused_with_the_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["promote", "--run", str(tmp_path)]) == 2
    assert "run the commands in the order train, evaluate, promote" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("network: {units: 0}", "network.units: Input should be greater than or equal to 1"),
        ("network: {dropout: 0.9}", "network.dropout: Input should be less than or equal to 0.5"),
        ("epochs: 3", "epochs: Extra inputs are not permitted"),
        ("baselines: [oracle]", "baselines[0]: oracle: is no forecaster; expected of"),
        ("[1, 2]", "is list; expected a mapping"),
        ("a: [", "not YAML"),
    ],
)
def test_invalid_settings_name_the_field(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    (tmp_path / "s.yaml").write_text(text)
    words = ["--data", str(tmp_path), "--run", str(tmp_path / "run")]
    assert main(["train", *words, "--settings", str(tmp_path / "s.yaml")]) == 2
    assert message in capsys.readouterr().err
