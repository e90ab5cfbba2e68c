"""A round of retraining ends the same if it is killed, and never promotes what is worse."""

from __future__ import annotations

import argparse
import itertools
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import made_corpus
import numpy as np
import pytest
from ric.settings import GatewaySettings
from rlc_dataset import Dataset, write_run
from rlc_model import read_contract, write_contract
from rlc_model.manifest import TrainingData
from rlc_train import backtest, corpus, history, pipeline
from rlc_train.baselines import summary
from rlc_train.baselines.mix import BestSimple, served_with
from rlc_train.candidate import Candidate, metrics_of
from rlc_train.cli import main
from rlc_train.collect.session import RecordingOptions
from rlc_train.conformal import identity
from rlc_train.errors import TrainError
from rlc_train.estimators.ready import linear_quantile
from rlc_train.estimators.regressor import Regressor
from rlc_train.estimators.spec import READY
from rlc_train.export.check import Comparison
from rlc_train.export.linear import as_linear, linear_step
from rlc_train.judging.model import JudgedModel
from rlc_train.retrain import newest, stages
from rlc_train.retrain.round import Options, Round, partitions
from rlc_train.retrain.state import STAGES, Result, Stage, WorkDirectory
from rlc_train.settings import Settings
from rlc_train.splits import Part

SETTINGS = Settings.model_validate(
    {
        "quantities": ["occupancy_bytes", "drained_bytes_per_ms"],
        "horizon": {"t_m_us": 30},
        "split": {"held_out_cells": ["c"]},
        "origins": 600,
    }
)


class Killed(BaseException):
    """Ends a round as a kill does: nothing catches it."""


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set, so noisy that a ridge regression at the bearer knows little more than a model."""
    return made_corpus.write_dataset(tmp_path_factory.mktemp("first"), 5_000, noise=0.3)


@pytest.fixture(scope="module")
def models(first: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two linear models trained on it, of which `bad` has lost nine tenths of its weights."""
    series, sha256 = corpus.load(first, SETTINGS.context_us)
    layout = SETTINGS.layout(30)
    parts = pipeline.split_corpus(series, SETTINGS, layout)
    model = Regressor("linear-quantile", linear_quantile(), READY["linear-quantile"])
    model.fit(parts.train, layout, 1)
    linear = as_linear(model)
    assert linear is not None
    chosen = backtest.origins_of(parts.unseen, layout, SETTINGS.origins)
    simple = BestSimple()
    simple.fit([], layout, 1)
    reference = {"best-simple": backtest.run(simple, chosen, layout)}
    found = {}
    for name, kept in (("good", 1.0), ("bad", 0.1)):
        weights, bias = linear
        graph = linear_step(weights * np.float32(kept), bias, layout, identity(layout.shape))
        made = (summary.STATE_SIZE, 10, model.scaler, layout, Comparison(10_000, 0.0, 0.0), [])
        candidate = Candidate("linear", graph, *made)
        losses = backtest.run(candidate.forecaster(), chosen, layout)
        training = TrainingData(description="made", sha256=sha256)
        metrics = metrics_of(losses, reference, layout)
        found[name] = tmp_path_factory.mktemp(name)
        write_contract(found[name], candidate.manifest("made", name, training, metrics, ""), graph)
    return found


@pytest.fixture(scope="module")
def good(models: dict[str, Path]) -> Path:
    """A model directory."""
    return models["good"]


@pytest.fixture(scope="module")
def bad(models: dict[str, Path]) -> Path:
    """One that forecasts worse."""
    return models["bad"]


def copy(source: Path, target: Path) -> Path:
    contract = read_contract(source)
    write_contract(target, contract.manifest, contract.onnx)
    return target


def round_of(
    tmp_path: Path,
    data: Path,
    *,
    candidate: Path | None = None,
    always: bool = False,
    passes: bool = True,
    recordings: tuple[RecordingOptions, ...] = (),
    on: Callable[[str, Stage], None] = lambda *_: None,
) -> Round:
    """A round whose training ends in `candidate`, with the real stages around it."""

    def train(this: Round) -> None:
        assert candidate is not None
        this.run.mkdir(parents=True, exist_ok=True)
        (this.run / "data.json").write_text('{"t_m_us": 30}')

    def gate(this: Round) -> Result | None:
        assert candidate is not None
        copy(candidate, this.run / "model")
        return None if passes else "refused"

    functions = {
        **stages.STAGE_FUNCTIONS,
        "train": train,
        "evaluate": lambda _: None,
        "gate": gate,
    }

    def watched(stage: Stage) -> Callable[[Round], Result | None]:
        def run(this: Round) -> Result | None:
            on("before", stage)
            result = functions[stage](this)
            on("after", stage)
            return result

        return run

    work = WorkDirectory(tmp_path / "work")
    options = Options(
        data=data,
        model=tmp_path / "current",
        settings=SETTINGS,
        arguments=argparse.Namespace(settings=None, preset="default"),
        recordings=recordings,
        gateway=GatewaySettings(),
        always=always,
        sign_key=None,
        registry="",
    )
    state = work.begin(tuple(partitions(data)))
    return Round(work, state, options, print, {stage: watched(stage) for stage in STAGES})


def served(tmp_path: Path) -> str:
    return read_contract(tmp_path / "current").manifest.model_version


def test_the_served_model_has_not_drifted_on_data_like_its_own(first: Path, good: Path) -> None:
    series, _ = corpus.load(first, SETTINGS.context_us)
    model = JudgedModel.load(good)
    promoted = newest.promoted_ratios(read_contract(good).manifest)
    found = newest.drift_of(model, promoted, series, 600, seed=1)
    assert {one.quantity for one in found} == set(SETTINGS.quantities)
    assert all(one.low < one.ratio < one.high for one in found)
    assert not any(one.drifted for one in found)


def test_drift_is_judged_on_windows_spread_over_all_new_data(
    first: Path, good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series, _ = corpus.load(first, SETTINGS.context_us)
    parts = [Part(one, 100, len(one)) for one in series]
    total = sum(len(part) for part in parts)
    assert newest.spread_windows(parts, total) == parts
    monkeypatch.setattr(newest, "DRIFT_WINDOW_SAMPLES", 500)
    windows = newest.spread_windows(parts, total // 2)
    assert abs(sum(len(one) for one in windows) - total / 2) <= 500 * len(parts)
    assert {one.series.name for one in windows} == {one.name for one in series}
    assert all(
        a.series is not b.series or a.stop <= b.start for a, b in itertools.pairwise(windows)
    )
    monkeypatch.setattr(newest, "DRIFT_SAMPLES", total // 2)
    model = JudgedModel.load(good)
    promoted = newest.promoted_ratios(read_contract(good).manifest)
    found = newest.drift_of(model, promoted, series, 600, seed=1)
    assert {one.quantity for one in found} == set(SETTINGS.quantities)
    assert not any(one.drifted for one in found)


def test_it_has_drifted_on_data_that_it_forecasts_worse(
    tmp_path: Path, good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy(good, tmp_path / "current")
    data = made_corpus.write_dataset(tmp_path / "data", 5_000, first=10, noise=0.05)
    this = round_of(tmp_path, data, candidate=good, passes=False)
    assert this.finish() == "refused"
    drift = json.loads((this.work.folder(this.state) / "drift.json").read_text())
    assert any(one["drifted"] and one["low"] > one["promoted"] for one in drift)
    assert ": drifted" in capsys.readouterr().out


def test_without_drift_nothing_is_trained_and_the_model_is_confirmed(
    tmp_path: Path, first: Path, good: Path
) -> None:
    sums = copy(good, tmp_path / "current") / "SHA256SUMS"
    written = sums.stat().st_mtime_ns
    this = round_of(tmp_path, first)
    assert this.finish() == "no drift"
    assert sums.stat().st_mtime_ns > written
    # Nothing came since.
    assert round_of(tmp_path, first).finish() == "no new data"


def test_a_better_model_is_promoted_and_a_worse_one_is_not(
    tmp_path: Path, first: Path, good: Path, bad: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy(bad, tmp_path / "current")
    assert round_of(tmp_path, first, candidate=good, always=True).finish() == "promoted"
    assert served(tmp_path) == "good"
    data = made_corpus.write_dataset(tmp_path / "more", 5_000, first=3)
    assert round_of(tmp_path, data, candidate=bad, always=True).finish() == "refused"
    assert served(tmp_path) == "good"
    assert "compare: refused: " in capsys.readouterr().out
    history.roll_back(tmp_path / "current")
    assert served(tmp_path) == "bad"


def test_what_the_gate_refuses_is_not_promoted(tmp_path: Path, first: Path, good: Path) -> None:
    assert round_of(tmp_path, first, candidate=good, passes=False).finish() == "refused"
    assert not (tmp_path / "current").exists()


def test_a_round_killed_before_and_after_each_stage_ends_as_one_that_was_not(
    tmp_path: Path, first: Path, good: Path, bad: Path
) -> None:
    copy(bad, tmp_path / "current")
    stage = STAGES[0]
    # One round, each time resumed from what the last kill left: a stage is killed twice, then ends.
    for kill_at in itertools.product(STAGES, ("before", "after")):

        def kill(moment: str, reached: Stage, kill_at: tuple[Stage, str] = kill_at) -> None:
            if (reached, moment) == kill_at:
                raise Killed

        this = round_of(tmp_path, first, candidate=good, always=True, on=kill)
        assert (this.state.number, this.state.stage) == (1, stage)
        with pytest.raises(Killed):
            this.finish()
        assert served(tmp_path) in ("bad", "good")
        stage = kill_at[0]
    again = round_of(tmp_path, first, candidate=good, always=True)
    assert (again.state.number, again.state.stage) == (1, stage)
    assert again.finish() == "promoted"
    assert served(tmp_path) == "good"
    (entry,) = history.entries(tmp_path / "current")
    assert read_contract(entry).manifest.model_version == "bad"


def test_only_the_rest_of_a_recording_is_recorded(
    tmp_path: Path, first: Path, good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy(good, tmp_path / "current")
    data = tmp_path / "data"
    asked: list[float] = []

    def recorded(wanted: RecordingOptions, seconds: int) -> None:
        table = next(iter(Dataset.open(first))).table().slice(0, 1_000 * seconds)
        place = {"cell": wanted.cell or "n", "mobility": "unknown", "run": f"r{len(asked)}"}
        write_run(data, table, {**place, "source": "e2", "producer": "made"})

    async def record(_: GatewaySettings, wanted: RecordingOptions) -> None:
        asked.append(wanted.duration_s)
        recorded(wanted, 2 if len(asked) == 1 else round(wanted.duration_s))
        if len(asked) == 1:
            raise Killed

    monkeypatch.setattr(stages, "record", record)
    one = RecordingOptions(data, "", "unknown", "", 5.0, 60.0, 10.0, "made")
    both = (one, replace(one, cell=stages.HELD_OUT, duration_s=3.0))
    with pytest.raises(Killed):
        round_of(tmp_path, data, recordings=both).finish()
    this = round_of(tmp_path, data, recordings=both)
    this.finish()
    assert asked == [5.0, 3.0, 3.0]
    # The next round records again.
    round_of(tmp_path, data, recordings=both).finish()
    assert asked == [5.0, 3.0, 3.0, 5.0, 3.0]


def test_a_recording_that_was_stopped_is_not_trained_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def record(*_: object) -> None:
        """SIGTERM before the first report."""

    monkeypatch.setattr(stages, "record", record)
    one = RecordingOptions(tmp_path / "data", "", "unknown", "", 5.0, 60.0, 10.0, "made")
    with pytest.raises(TrainError, match="collect: was stopped 5 s before its end"):
        round_of(tmp_path, tmp_path / "data", recordings=(one,)).finish()


def test_a_damaged_state_is_named(tmp_path: Path, first: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    for text, place in (("{", "state.json: "), ('{"stage": "sleep"}', "state.json: stage: ")):
        (work / "state.json").write_text(text)
        with pytest.raises(TrainError, match=place):
            round_of(tmp_path, first)


def test_a_new_model_of_which_nothing_is_known_does_not_replace_the_served_one(
    good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One errs where the served one makes no error, of another there is no interval."""
    model = JudgedModel.load(good)
    held = [Part(made_corpus.series(rows=6_000), 2_000, 6_000)]
    chosen = backtest.origins_of(held, model.layout, 400)
    losses = [backtest.run(model.forecaster, chosen, model.layout)] * 2
    losses[1] = replace(losses[1], pinball=0 * losses[1].pinball)
    given = iter(losses)
    monkeypatch.setattr(newest.backtest, "run", lambda *_: next(given))
    found = newest.compare(model, model, held, horizons_us=[11_000], origins=400, seed=1)
    assert [one.ratio for one in found] == [np.inf, np.inf]
    assert "inf of the served model's loss" in newest.refusals(found)[0]
    unknown = newest.Compared("occupancy_bytes", 11_000, 0.9, np.nan, np.nan)
    assert newest.refusals([unknown]) != []
    assert newest.Drift("occupancy_bytes", 0.9, np.nan, np.nan, 1.0).drifted


def test_a_served_model_of_other_quantities_is_no_comparison(good: Path) -> None:
    model = JudgedModel.load(good)
    lacking = replace(model, layout=replace(model.layout, quantities=model.layout.quantities[:1]))
    with pytest.raises(TrainError, match="the served model: does not forecast drained_bytes"):
        newest.compare(model, lacking, [], horizons_us=[11_000], origins=100, seed=1)
    assert newest.refusals([]) != []


def test_the_command_trains_judges_and_promotes(
    keras: None, tmp_path: Path, first: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del keras
    (tmp_path / "settings.yaml").write_text(
        """
quantities: [drained_bytes_per_ms]
horizon: {t_m_us: 30}
network: {units: 8}
fit: {epochs: 4, lanes: 8, steps: 32, piece_samples: 1024, warm_up_samples: 64, xla: false}
split: {held_out_cells: [c]}
origins: 1000
gate_horizons_us: [11000]
"""
    )
    command = ["retrain", "--data", str(first), "--model", str(tmp_path / "current")]
    command += ["--work", str(tmp_path / "work"), "--settings", str(tmp_path / "settings.yaml")]
    status = main(command)
    out, printed = capsys.readouterr()
    run = tmp_path / "work/round-0001/run"
    verdict = json.loads((run / "verdict.json").read_text())
    # No more baselines than the gate needs, if the settings name none.
    judged = json.loads((run / "evaluation.json").read_text())
    for stage in ("drift", "train", "evaluate", "gate"):
        assert re.search(rf"^{stage}: took \d+ s$", printed, re.MULTILINE)
    exported = {"lstm", "linear-quantile"}
    assert set(judged["unseen"]) == {*exported, *map(served_with, exported), *stages.JUDGED}
    assert status == (0 if verdict["promoted"] else 1)
    assert ("round-0001: promoted" in out) == verdict["promoted"]
    assert (tmp_path / "current").exists() == verdict["promoted"]
    assert main(command) == 0
    assert "round-0002: no new data" in capsys.readouterr().out
    assert main([*command, "--collect-s", "-1"]) == 2
    assert "--collect-s: -1; expected a number, 0 or more" in capsys.readouterr().err
