"""``rlc-train evaluate --model``: any model on any recording, as it is served."""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import gnb_lab
import numpy as np
import onnx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_model import zero_model
from rich.table import Table
from rlc_dataset import Recording, Run, find_recordings
from rlc_model import read_contract, write_contract
from rlc_train import backtest, corpus
from rlc_train.backtest import Versus
from rlc_train.baselines.mix import BestSimple, ModelMix
from rlc_train.cli import main
from rlc_train.errors import TrainError
from rlc_train.horizon import DEFAULT_POINTS_US
from rlc_train.judging import judge, windows
from rlc_train.judging.model import JudgedModel
from rlc_train.judging.row import Row
from rlc_train.judging.rows import rows_of
from rlc_train.judging.table import by_kind, by_recording
from rlc_train.progress import SHORT
from rlc_train.splits import SETTLING_SAMPLES, Part

ROOT = Path(__file__).parents[3]
DEFAULT = ROOT / "xapps/rlc_forecaster/src/rlc_forecaster/models/default"
RUN = "cell=n78-106prb-7-2/mobility=car/run=00"
"""A run of the sample: one bearer is paced, the other is not."""
SAMPLE = ROOT / "datasets/sample" / RUN / "bearers.parquet"
FORGOTTEN = ROOT / "datasets/sample/cell=n78-51prb-3-1/mobility=car/run=00/bearers.parquet"
"""A run of which the default model remembers nothing after 3 s."""


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """5.5 s of both bearers."""
    path = tmp_path_factory.mktemp("short") / "a.parquet"
    table = Run.open(SAMPLE).table()
    parts = [table.slice(0, 5_500), table.slice(10_000, 5_500)]
    pq.write_table(pa.concat_tables(parts), path)
    return path


@pytest.fixture(scope="module")
def model() -> JudgedModel:
    return JudgedModel.load(DEFAULT)


def judged_rows(model: JudgedModel, recordings: list[Recording]) -> list[Row]:
    return rows_of(model.name, model.layout, judge.judge(model, recordings))


def evaluate(data: Path, out: Path) -> list[dict[str, Any]]:
    words = ["--model", str(DEFAULT), "--data", str(data), "--json", str(out)]
    assert main(["evaluate", *words]) == 0
    rows: list[dict[str, Any]] = json.loads(out.read_text())
    return rows


def test_a_row_per_recording_kind_quantity_and_horizon(
    short: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = evaluate(short, tmp_path / "out" / "rows.json")
    assert all(list(row) == [one.name for one in fields(Row)] for row in rows)
    keys = [(row["bearer_kind"], row["quantity"], row["horizon_us"]) for row in rows]
    quantities = ("occupancy_bytes", "drained_bytes_per_ms", "queue_limit_bytes")
    horizons = DEFAULT_POINTS_US
    # The unpaced bearer has no queue limit.
    assert keys == [("paced", q, h) for q in quantities for h in horizons] + [
        ("unpaced", q, h) for q in quantities[:2] for h in horizons
    ]
    for row in rows:
        assert (row["recording"], row["radio"]) == ("n78-106prb-7-2/car/00", "n78-106prb-7-2")
        assert row["model"] == "rlc-lstm:4"
        assert row["samples"] == 5_500 - 5_500 // 3 - 100
        assert row["ratio"] == pytest.approx(row["pinball"] / row["pinball_simple"])
        assert row["ratio_low"] <= row["ratio"] <= row["ratio_high"]
        assert 0 <= row["coverage_80_strict"] <= row["coverage_80"] <= 1
    shown = capsys.readouterr().out
    worst = max(
        (r for r in rows if r["horizon_us"] in (11_000, 30_000, 100_000)), key=lambda r: r["ratio"]
    )
    assert f"worst: n78-106prb-7-2/car/00, {worst['bearer_kind']}, " in shown
    assert f"{worst['ratio']:.3f} ({worst['ratio_low']:.3f}…{worst['ratio_high']:.3f})" in shown


def judged_row(**changes: Any) -> Row:
    values = {
        **{"model": "m:1", "recording": "r", "radio": "r", "bearer_kind": "paced"},
        **{"quantity": "occupancy_bytes", "horizon_us": 11_000, "samples": 1, "pinball": 1.0},
        **{"pinball_simple": 1.0, "ratio": 1.0, "ratio_low": 0.9, "ratio_high": 1.1},
        **{"coverage_80": None, "coverage_80_strict": None, "served_ratio": None},
    }
    return Row(**values | changes)


def cells_of(table: Table, columns: int) -> list[tuple[str, ...]]:
    """The first cells of each line."""
    return list(zip(*(list(column.cells) for column in table.columns[:columns]), strict=True))


def test_the_lines_of_a_table_are_in_the_order_of_their_labels(model: JudgedModel) -> None:
    """Whatever their ratios are."""
    layout, rng = model.layout, np.random.default_rng(2)
    rows = [
        judged_row(
            recording=name, bearer_kind=kind, quantity=q.value, horizon_us=h, ratio=rng.random()
        )
        for name in ("b", "c", "a")
        for kind in ("unpaced", "paced")
        for q in layout.quantities
        for h in layout.judged_us
    ]
    assert cells_of(by_recording(layout, rows), 2) == [
        (f"{name} (r)", kind) for name in "abc" for kind in ("paced", "unpaced")
    ]
    one = [rows[at] for at in rng.permutation(2 * len(layout.quantities) * len(layout.judged_us))]
    assert cells_of(by_kind(layout, one), 3) == [
        (SHORT[q], f"{h / 1000:g} ms", kind)
        for q in layout.quantities
        for h in layout.judged_us
        for kind in ("paced", "unpaced")
    ]


def test_a_ratio_says_what_is_known_of_it() -> None:
    assert judged_row().interval() == "1.000 (0.900…1.100)"
    assert judged_row(ratio_high=None).interval() == "1.000 (0.900…∞)"
    assert judged_row(ratio_low=None, ratio_high=None).interval() == "1.000 (no interval)"
    assert judged_row(ratio=None, ratio_low=None, ratio_high=None).interval() == "unknown"


def test_the_figures_are_those_of_the_gates_back_test(model: JudgedModel) -> None:
    layout = model.layout
    recordings = find_recordings(SAMPLE)
    rows = judged_rows(model, recordings)
    series = corpus.run_series(Run.open(SAMPLE), model.context_us)
    simple = BestSimple()
    simple.fit([], layout, 1)
    mix = ModelMix(model.name, model.forecaster.steps, layout, model.warm_up)
    # Side by side, as they are judged: products of matrices round by the number of rows.
    chosen = [
        (
            Part(one, SETTLING_SAMPLES, len(one)),
            np.arange(SETTLING_SAMPLES, len(one) - int(layout.ahead[-1]), dtype=np.intp),
        )
        for one in series
    ]
    found = [backtest.run(each, chosen, layout) for each in (model.forecaster, simple, mix)]
    for kind in ("unpaced", "paced"):
        ours, theirs, served = (losses.of(bearer_kind=kind) for losses in found)
        of_served = Versus(served, theirs).skill_by_point()
        versus = Versus(ours, theirs)
        for row in (row for row in rows if row.bearer_kind == kind):
            q = [quantity.value for quantity in layout.quantities].index(row.quantity)
            point = layout.point_at(row.horizon_us)
            skill = versus.skill(q, point, 1)
            assert row.pinball == pytest.approx(ours.mean_pinball()[q, point])
            ratios = (row.ratio, row.ratio_high, row.ratio_low)
            assert ratios == pytest.approx((1 - skill.value, 1 - skill.low, 1 - skill.high))
            # Weights multiply what rounding leaves between steps in windows and in one go.
            assert row.served_ratio == pytest.approx(1 - of_served[q, point], rel=1e-4)
            strict, closed = ours.calibration(layout.levels).interval()
            assert row.coverage_80 == pytest.approx(closed[q, point])
            assert row.coverage_80_strict == pytest.approx(strict[q, point])


def hungry(graph: bytes) -> bytes:
    """The graph with a product of 576 MB, which a step adds to the forecast times zero."""
    model = onnx.load_from_string(graph)
    for node in model.graph.node:
        node.output[:] = ["plain" if name == "forecast" else name for name in node.output]
    make = onnx.helper.make_node
    model.graph.node.extend(
        [
            make("ReduceSum", ["sample"], ["sum"], keepdims=1),
            make("MatMul", ["column", "sum"], ["left"]),
            make("MatMul", ["left", "row"], ["matrix"]),
            make("ReduceMax", ["matrix"], ["largest"], keepdims=0),
            make("Mul", ["largest", "zero"], ["nothing"]),
            make("Add", ["plain", "nothing"], ["forecast"]),
        ]
    )
    column = np.zeros((12_000, 1), np.float32)
    for name, value in (("column", column), ("row", column.T), ("zero", np.float32(0))):
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(value), name))
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


@pytest.mark.parametrize("command", ["evaluate --json {out} --model", "compare {good}"])
def test_a_model_is_tried_within_bounds_before_it_is_judged(
    short: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    manifest, graph = zero_model("hungry", "1")
    write_contract(tmp_path / "hungry", manifest, hungry(graph))
    words = command.format(out=tmp_path / "out.json", good=DEFAULT).split()
    assert main([*words, str(tmp_path / "hungry"), "--data", str(short)]) == 2
    shown = " ".join(capsys.readouterr().err.split())
    assert "model.onnx: fails on a step of 1000 bearers" in shown or (
        "model.onnx: ends the process that tries it" in shown
    ), shown


def test_a_trial_without_a_verdict_is_no_fault_of_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_contract(tmp_path, *zero_model("zero", "1"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    with pytest.raises(TrainError, match="the trial of the model has no result: its process does"):
        JudgedModel.load(tmp_path)


def test_a_long_recording_is_judged_in_windows_every_sample_once(
    model: JudgedModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    table = Run.open(SAMPLE).table().slice(0, 10_000)
    write_contract(tmp_path / "zero", *zero_model("zero", "1"))
    # States are carried on, but for the model's own, which settles anew from zero: what is left of
    # its memory after 3 s is a property of its weights and the run. Weights of zero have no memory.
    for judged, run, exact, served in (
        (JudgedModel.load(tmp_path / "zero"), SAMPLE, 1e-9, 1e-9),
        # The mix's weights follow from losses of the model, and multiply what is left.
        (model, FORGOTTEN, 1e-5, 5e-4),
    ):
        whole = judged_rows(judged, find_recordings(run))
        monkeypatch.setattr(windows, "WINDOW_SAMPLES", 4 * 460)
        cut = judged_rows(judged, find_recordings(run))
        monkeypatch.undo()
        assert [row.samples for row in cut] == [row.samples for row in whole]
        for a, b in zip(cut, whole, strict=True):
            assert a.pinball == pytest.approx(b.pinball, rel=exact), a
            assert a.pinball_simple == pytest.approx(b.pinball_simple, rel=1e-9), a
            assert a.served_ratio == pytest.approx(b.served_ratio, rel=served), a
    # A gap of more than 100 ms: states settle anew after it.
    pq.write_table(
        pa.concat_tables([table.slice(0, 4_990), table.slice(5_110)]), tmp_path / "gap.parquet"
    )
    [recording] = find_recordings(tmp_path)
    [bearer] = recording.bearers
    found = list(windows.windows(recording, bearer, 20_000, 30))
    assert [(w.start, w.stop, len(w.series)) for w in found] == [
        (4_990 // 3, 4_960, 4_990),
        (4_890 // 3, 4_860, 4_890),
    ]


def test_a_recording_of_the_lab_is_judged(tmp_path: Path) -> None:
    world = gnb_lab.World(
        {
            "duration_s": 2,
            "cell": {"rat": "nr", "n_prb": 52, "scs_khz": 15},
            "ues": [
                {
                    "rnti": 17921,
                    "channel": {"fixed_mcs": 10},
                    "drbs": [{"id": 1}, {"id": 2, "pipeline": "low_latency"}],
                }
            ],
            "flows": [{"name": f"tcp {drb}", "kind": "tcp", "drb": drb} for drb in (1, 2)],
        }
    )
    world.record()
    world.step_until(2_000_000)
    frame = world.frame()
    pq.write_table(frame, tmp_path / "lab.parquet")
    rows = evaluate(tmp_path / "lab.parquet", tmp_path / "rows.json")
    assert {row["recording"] for row in rows} == {"lab"}
    limited = {
        drb
        for drb, limit in zip(
            frame["drb"].to_pylist(), frame["pacer_limit_bytes"].to_pylist(), strict=True
        )
        if limit is not None
    }
    kinds = {"paced" if drb in limited else "unpaced" for drb in (1, 2)}
    assert {row["bearer_kind"] for row in rows} == kinds


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--data", "{data}"], "one of the arguments --run --model is required"),
        (["--model", "{model}"], "--data: is needed with --model"),
        (["--model", "{model}", "--run", "x"], "not allowed with argument"),
        (["--model", "{tmp}/none", "--data", "{data}"], "none: is no folder; expected a model"),
        (["--model", "{tmp}", "--data", "{data}"], "SHA256SUMS"),
        (["--model", "{tmp}/other", "--data", "{data}"], "other: model.onnx: input state: is"),
        (["--model", "{model}", "--data", "{tmp}/none"], "none: has no recording; expected"),
        (["--model", "{model}", "--data", "{tmp}/lacks.parquet"], "column tbs_bytes"),
        (["--model", "{model}", "--data", "{data}", "--again"], "--again: is for --run"),
        (["--run", "{tmp}", "--json", "x.json"], "--json: is for --model"),
    ],
)
def test_a_mistake_is_one_line_that_names_its_place(
    short: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    _, graph = zero_model("other", "1")
    write_contract(tmp_path / "other", read_contract(DEFAULT).manifest, graph)
    pq.write_table(
        pq.ParquetFile(short).read().drop_columns("rlc_occupancy_packets"),
        tmp_path / "lacks.parquet",
    )
    message = message.replace(
        "column tbs_bytes", "column rlc_occupancy_packets or txbuf_occ_pkts: is missing"
    )
    places = {"data": short, "model": DEFAULT, "tmp": tmp_path}
    try:
        status = main(["evaluate", *(word.format(**places) for word in words)])
    except SystemExit as left:
        status = int(left.code or 0)
    assert status == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_an_interrupt_leaves_no_half_written_result(
    short: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(judge.JudgedBearer, "losses", stopped)
    out = tmp_path / "rows.json"
    assert (
        main(["evaluate", "--model", str(DEFAULT), "--data", str(short), "--json", str(out)]) == 1
    )
    assert "stopped" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
