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
from rlc_model.calibration import Checks
from rlc_train.judging import judge
from rlc_train.judging.model import JudgedModel
from rlc_train.judging.served import Served
from rlc_train.online import Lane

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

    class Spy(Served):
        def forecasts(
            self, lane: Lane, model: NDArray[np.float32] | None, checks: Checks | None = None
        ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
            served, simple = super().forecasts(lane, model, checks)
            kept.append((lane.origins, served))
            return served, simple

    monkeypatch.setattr(judge, "Served", Spy)
    judge.judge(JudgedModel.load(DEFAULT_MODEL), find_recordings(RECORDING))
    # One entry a block of samples.
    origins, ours = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    theirs = engine_serves()[origins]
    off = np.abs(ours - theirs).mean(axis=(0, 2, 3))
    # The engine's first report of a limit comes a sample later, and limits are checked then.
    assert (off < 0.02 * theirs.mean(axis=(0, 2, 3))).all()
