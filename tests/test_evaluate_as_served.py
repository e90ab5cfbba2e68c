"""`rlc-train evaluate --model` judges what the forecaster's engine serves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from ric.sm import rlc
from rlc_dataset import Run, find_recordings
from rlc_forecaster.core import Forecaster
from rlc_forecaster.onnx_step import OnnxStep
from rlc_forecaster.settings import DEFAULT_MODEL
from rlc_train.backtest import losses_of
from rlc_train.judging import judge
from rlc_train.judging.bearer import JudgedBearer
from rlc_train.judging.model import JudgedModel
from rlc_train.judging.served import Served
from rlc_train.judging.tally import WindowLosses
from rlc_train.judging.windows import Window
from rlc_train.online import Lane, checks_of
from rlc_train.series import labels
from rlc_train.splits import Part

ROOT = Path(__file__).parent.parent
RECORDING = ROOT / "datasets/sample/cell=n1-52prb-fdd/mobility=car/run=00/bearers.parquet"
CONTEXT_EVERY = 20


def engine_serves() -> np.ndarray:
    """``(T, quantity, M, Q)`` forecasts of the engine, report by report."""
    [bearer] = Run.open(RECORDING).series()
    engine = Forecaster("gnb", OnnxStep.load(DEFAULT_MODEL))
    record = rlc.zeros(1)
    record["rnti"], record["rbid"] = 1, 1
    rnti, drb = np.array([1]), np.array([1])
    found = []
    for k, at_us in enumerate(bearer.at_us.tolist()):
        for name in bearer.report.dtype.names or ():
            record[name] = bearer.report[name][k]
        batch = engine.on_report(record, at_us)
        assert batch is not None
        found.append(batch.values[0].copy())
        if k % CONTEXT_EVERY == 0:
            engine.update_limits(rnti, drb, bearer.limit_bytes[k : k + 1], at_us)
            if not np.isnan(bearer.mcs[k]):
                engine.update_mac(rnti, bearer.mcs[k : k + 1], bearer.tbs_bytes[k : k + 1], at_us)
        engine.learn()
    return np.array(found)


def test_what_is_judged_as_served_is_what_the_engine_serves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = []
    model = JudgedModel.load(DEFAULT_MODEL)
    layout = model.layout

    class Spy(JudgedBearer):
        def losses(self, name: str, window: Window, plain: NDArray[np.float32]) -> WindowLosses:
            origins = np.arange(window.start, window.stop)
            lane = Lane(window.series.cut(0, window.stop), origins)
            checks = checks_of(Lane(window.series, origins), layout)
            served, _ = Served(layout, model.warm_up).forecasts(lane, plain, checks)
            judged = super().losses(name, window, plain)
            kept.append((window, served, judged))
            return judged

    monkeypatch.setattr(judge, "JudgedBearer", Spy)
    judge.judge(model, find_recordings(RECORDING))
    [(window, ours, judged)] = kept
    origins = np.arange(window.start, window.stop)
    part = Part(window.series, window.start, window.stop)
    found = losses_of(part, origins, labels(window.series, layout, origins), ours, layout)
    np.testing.assert_array_equal(judged.pinball["served"], found.pinball)
    theirs = engine_serves()[origins]
    off = np.abs(ours - theirs).mean(axis=(0, 2, 3))
    # The engine's first report of a limit comes a sample later, and limits are checked then.
    assert (off < 0.02 * theirs.mean(axis=(0, 2, 3))).all()
