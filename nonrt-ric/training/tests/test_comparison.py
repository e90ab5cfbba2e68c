"""``rlc-train compare`` and ``rlc-train list``: runs side by side, without a server."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rlc_train import corpus, pipeline
from rlc_train.cli import main
from rlc_train.estimators.ready import linear_quantile
from rlc_train.estimators.regressor import Regressor
from rlc_train.estimators.spec import READY
from rlc_train.rundir import RunDirectory
from rlc_train.settings import Settings, load

DEFAULT = Path(__file__).parents[3] / "xapps/rlc_forecaster/src/rlc_forecaster/models/default"
SETTINGS: dict[str, Any] = {
    "quantities": ["occupancy_bytes", "drained_bytes_per_ms"],
    "horizon": {"t_m_us": 15.0},
    "split": {"held_out_cells": ["c"]},
    "origins": 600,
    "baselines": ["persistence", "best-simple"],
}


def made_run(path: Path, data: Path, settings: Settings) -> RunDirectory:
    """A run whose model is the linear baseline, which needs no TensorFlow."""
    series, sha256 = corpus.load(data, settings.context_us)
    layout = settings.layout(15.0)
    parts = pipeline.split_corpus(series, settings, layout)
    directory = RunDirectory(path)
    samples = {"train": 1, "validation": 1, "test": 1, "unseen": 1}
    about = {"path": str(data), "sha256": sha256, "t_m_us": 15.0, "samples": samples}
    directory.begin(settings, about)
    linear = Regressor("linear-quantile", linear_quantile(), READY["linear-quantile"])
    linear.fit(parts.train, layout, settings.seed)
    exported = pipeline.export_estimator(linear, parts, layout)
    directory.save_candidate(replace(exported, kind="lstm"))
    return directory


@pytest.fixture(scope="module")
def runs(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An evaluated run that the gate judged, and one of other settings that was only trained."""
    root = tmp_path_factory.mktemp("runs")
    judged = made_run(root / "a" / "judged", dataset, load(None, **SETTINGS))
    made_run(root / "trained", dataset, load(None, **SETTINGS, seed=7, name="other"))
    judged.write("curve.json", {"seconds": 12.5})
    assert main(["evaluate", "--run", str(judged.path)]) == 0
    assert main(["promote", "--run", str(judged.path)]) in (0, 1)
    return root


def test_list_says_when_on_what_and_whether_promoted(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copied = tmp_path / "runs"
    shutil.copytree(runs, copied)
    for each in (copied / "trained").iterdir():
        os.utime(each, (0, 86_400))
    verdict = json.loads((copied / "a/judged/verdict.json").read_text())
    refused = {"what": "unseen: coverage", "found": "off by 3 points", "holds": False}
    changed = verdict | {"promoted": False, "findings": [refused, refused]}
    (copied / "a/judged/verdict.json").write_text(json.dumps(changed))
    capsys.readouterr()
    assert main(["list", str(copied)]) == 0
    words = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "a/judged" in words
    assert "refused: unseen: coverage: off by 3 points (and 1 more)" in words
    assert "trained 1970-01-02 00:00" in words
    sha256 = json.loads((copied / "trained/data.json").read_text())["sha256"]
    assert sha256[:12] in words
    (copied / "a/judged/verdict.json").write_text(json.dumps(verdict | {"promoted": True}))
    assert main(["list", str(copied)]) == 0
    assert "promoted: lstm" in capsys.readouterr().out
    (copied / "a/judged/data.json").write_text("{half")
    assert main(["list", str(copied)]) == 0
    printed = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "unreadable: " in printed
    assert "trained 1970-01-02 00:00" in printed, "the others are listed"


def test_runs_and_models_are_compared_on_the_same_recordings(
    runs: Path, dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "compared.json"
    three = [str(runs / "a/judged"), str(runs / "trained"), str(DEFAULT)]
    recording = next(dataset.rglob("*.parquet"))
    words = ["compare", *three, "--data", str(recording), "--json", str(out)]
    assert main(words) == 0
    judged, trained, default = json.loads(out.read_text())
    assert [one["path"] for one in (judged, trained, default)] == three
    assert (judged["training_s"], trained["training_s"]) == (12.5, None)
    assert judged["verdict"] in ("promoted", "refused")
    assert trained["verdict"] == ""
    # The same data, so the same reference; the models differ by the order of their samples alone.
    for a, b in zip(judged["rows"], trained["rows"], strict=True):
        assert a["pinball_simple"] == b["pinball_simple"]
        assert a["pinball"] == pytest.approx(b["pinball"], rel=0.01)
    assert default["size_bytes"] == (DEFAULT / "model.onnx").stat().st_size
    assert all(one["t_m_us"] > 0 for one in (judged, trained, default))
    shown = capsys.readouterr().out
    lines = {line.split("│")[1].strip(): line for line in shown.splitlines() if "│" in line}
    # What differs is shown, and what does not is not.
    assert lines["seed"].count("7") == 1
    assert "quantities" in lines
    assert "origins" not in lines
    row = next(r for r in judged["rows"] if r["horizon_us"] == 11_000)
    assert f"{row['ratio']:.3f}" in lines["unpaced: occupancy, 11 ms"]


def test_without_data_a_run_shows_its_own_held_out_series(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "compared.json"
    both = [str(runs / "a/judged"), str(DEFAULT)]
    assert main(["compare", *both, "--json", str(out)]) == 0
    judged, default = json.loads(out.read_text())
    assert {row["recording"] for row in judged["rows"]} == {"unseen"}
    assert default["rows"] == []
    assert "note: judged on different data" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["compare", "{runs}/trained"], "is one; expected two or more"),
        (["compare", "{runs}", "{runs}"], "has neither settings.json (a run) nor manifest.json"),
        (["list", "{runs}/none"], "none: is no folder"),
        (["list", "{runs}/trained/candidates"], "has no run; rlc-train train makes one"),
    ],
)
def test_a_mistake_names_its_place(
    runs: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main([word.format(runs=runs) for word in words]) == 2
    assert message in capsys.readouterr().err
