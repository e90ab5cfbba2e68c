"""`rlc-train evaluate --model` judges what the forecaster's engine serves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ric.sm import rlc
from rlc_dataset import Run, find_recordings
from rlc_forecaster.core import Forecaster, Source
from rlc_forecaster.onnx_step import OnnxStep
from rlc_forecaster.settings import DEFAULT_MODEL
from rlc_train.judging import judge, served
from rlc_train.judging.model import JudgedModel

ROOT = Path(__file__).parent.parent
RECORDING = ROOT / "datasets/sample/cell=n1-52prb-fdd/mobility=car/run=00/bearers.parquet"
"""Of a bearer whose model is set aside at times."""
CONTEXT_EVERY = 20


@pytest.fixture(scope="module")
def engine_serves_model() -> np.ndarray:
    """``(T,)`` whether the engine serves the model's forecast, report by report."""
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
        found.append(batch.source[0] == Source.MODEL)
        if k % CONTEXT_EVERY == 0:
            engine.update_limits(rnti, drb, bearer.limit_bytes[k : k + 1], at_us)
            if not np.isnan(bearer.mcs[k]):
                engine.update_mac(rnti, bearer.mcs[k : k + 1], bearer.tbs_bytes[k : k + 1], at_us)
        engine.learn()
    return np.array(found)


def test_the_model_is_set_aside_when_the_engine_sets_it_aside(
    engine_serves_model: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = []

    def spy(lane: object, layout: object, model: np.ndarray, other: np.ndarray, **rest: object):  # type: ignore[no-untyped-def]
        found = served.served(lane, layout, model, other, **rest)  # type: ignore[arg-type]
        differ = (model != other).any(axis=(1, 2, 3))
        kept.append(np.where(differ, (found == model).all(axis=(1, 2, 3)), np.nan))
        return found

    monkeypatch.setattr(judge, "served", spy)
    judge.judge(JudgedModel.load(DEFAULT_MODEL), find_recordings(RECORDING))
    [ours] = kept
    known = ~np.isnan(ours)
    assert known.mean() > 0.9
    theirs = engine_serves_model[: len(ours)]
    assert not theirs.all()
    assert np.mean(ours[known] == theirs[known]) > 0.95
