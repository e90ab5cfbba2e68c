"""Data sets of recorded radios and of live runs."""

from __future__ import annotations

import gzip
import json
import shutil
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import made_corpus
import numpy as np
import pytest
import yaml
from rlc_dataset import Dataset
from rlc_dataset.channels import RateColumns
from rlc_train import corpus
from rlc_train.cli import main
from rlc_train.dataset import radios, wide
from rlc_train.dataset.command import planned
from rlc_train.dataset.generate import generate
from rlc_train.dataset.plan import RunPlan
from rlc_train.dataset.simulate import simulate
from rlc_train.dataset.traces import find_radios
from rlc_train.errors import TrainError

UCC = "Timestamp,Speed,SNR,CQI,DL_bitrate,State\n"


def mahimahi(seconds: int, outage: range = range(0)) -> str:
    """Two opportunities a millisecond except in the seconds of an outage."""
    times = [ms for ms in range(1, 1_000 * seconds + 1) if (ms - 1) // 1_000 not in outage]
    return "".join(f"{ms}\n{ms}\n" for ms in times)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings of two sources, compressed and plain, with papers beside them."""
    root = tmp_path_factory.mktemp("traces")
    (root / "lte").mkdir()
    (root / "nr").mkdir()
    (root / "lte/drive.down").write_text(mahimahi(6))
    (root / "lte/taxi.gz").write_bytes(gzip.compress(mahimahi(3).encode(), mtime=0))
    rows = "".join(f"2020.01.16_10.00.{s:02},0,9,{s % 16},5,D\n" for s in range(1, 16))
    (root / "nr/static-2020.csv").write_text(UCC + rows)
    (root / "README.md").write_text("# Radios\n")
    (root / ".cache").write_text("no trace\n")
    return root


def recorded(folder: Path, duration_s: float = 0.5, repeats: int = 1) -> list[RunPlan]:
    return radios.plan(find_radios([folder]), duration_s, 1, repeats)


def test_every_radio_is_replayed_by_paced_and_unpaced_bearers_alike(folder: Path) -> None:
    plans = recorded(folder, repeats=2)
    assert {one.radio for plan in plans for one in plan.series if plan.traces} == {
        "lte/drive.down",
        "lte/taxi",
        "nr/static-2020",
    }
    kinds = [one.bearer_kind for plan in plans for one in plan.series]
    assert kinds.count("paced") == kinds.count("unpaced") > 0
    for paced, unpaced in zip(plans[::2], plans[1::2], strict=True):
        one, other = (yaml.safe_load(plan.scenario) for plan in (paced, unpaced))
        pipelines = [
            [drb.pop("pipeline") for ue in scenario["ues"] for drb in ue["drbs"]]
            for scenario in (one, other)
        ]
        assert "transparent" not in pipelines[0]
        assert set(pipelines[1]) == {"transparent"}
        names = {"paced": one.pop("name"), "unpaced": other.pop("name")}
        assert all(kind in name for kind, name in names.items())
        assert one == other
        assert paced.traces == unpaced.traces
        assert paced.files == unpaced.files
    scenarios = [yaml.safe_load(plan.scenario) for plan in recorded(folder, repeats=8)]
    assert {s["split"]["f1_delay_us"] for s in scenarios} == set(radios.F1_DELAYS_US)
    assert any("tdd" in s["cell"] and len(s["ues"]) > 1 for s in scenarios)


def test_simulated_cells_have_a_run_without_a_pacer_for_each_with_one(folder: Path) -> None:
    plans = planned("wide", 0.5, 1, repeats=1, traces=[folder])
    count = len(wide.places())
    paced, unpaced = plans[:count], plans[count : 2 * count]
    assert paced == planned("wide", 0.5, 1, repeats=1)
    for one, other in zip(paced, unpaced, strict=True):
        flows = [yaml.safe_load(plan.scenario)["flows"] for plan in (one, other)]
        assert flows[0] == flows[1]
        assert {series.bearer_kind for series in other.series} == {"unpaced"}
        assert {series.radio for series in other.series} == {other.cell}


def test_radios_may_have_more_runs_than_simulated_cells(folder: Path) -> None:
    few = planned("wide", 0.5, 1, repeats=1, traces=[folder])
    many = planned("wide", 0.5, 1, repeats=1, traces=[folder], radio_repeats=3)
    added = {plan.name for plan in many} - {plan.name for plan in few}
    assert {name.rpartition("-r")[2] for name in added} == {"01", "02"}
    assert {name.split("/")[1] for name in added} == {"recorded", "jumps"}
    assert {plan.name for plan in few} < {plan.name for plan in many}
    with pytest.raises(TrainError, match=r"--radio-repeats: there are no recorded radios"):
        planned("wide", 0.5, 1, radio_repeats=3)
    with pytest.raises(TrainError, match=r"--radio-repeats: 101; expected 1 to 100"):
        planned("wide", 0.5, 1, traces=[folder], radio_repeats=101)


def test_a_run_depends_on_the_seed_and_its_own_radio_alone(folder: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(folder, tmp_path / "elsewhere")
    (moved / "lte/a-new-one").write_text(mahimahi(2))
    plans = {plan.name: plan for plan in recorded(moved)}
    assert all(plans[plan.name] == plan for plan in recorded(folder))
    assert len(plans) == len(recorded(folder)) + 2
    others = radios.plan(find_radios([folder]), 0.5, 2, 1)
    assert all(
        other.scenario != plan.scenario
        for other, plan in zip(others, recorded(folder), strict=True)
    )


def test_a_run_replays_the_part_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "gap").write_text(mahimahi(8, outage=range(4, 6)))
    plan = next(
        plan
        for plan in recorded(tmp_path, duration_s=3.0, repeats=40)
        if plan.traces
        and 2_000 < plan.traces[0].first_step < 3_000
        and "unpaced" in plan.run
        and any(flow["kind"] == "tcp" for flow in yaml.safe_load(plan.scenario)["flows"])
    )
    start_ms = plan.traces[0].first_step
    assert plan.traces[0].sha256 == sha256((tmp_path / "gap").read_bytes()).hexdigest()
    table = simulate(plan)
    time_ms = (table.column("time_us").to_numpy() - table.column("time_us")[0].as_py()) // 1_000
    drained = np.bincount(time_ms, weights=table.column("drained_delta_bytes").to_numpy())
    busy = np.flatnonzero(drained) + start_ms
    # A report at the end of a slot has what the slot drained.
    assert not ((busy > 4_010) & (busy < 5_990)).any()
    # Two opportunities of 1500 bytes in each ms from the start to the outage.
    assert 0 < drained.sum() <= 3_000 * (4_000 - start_ms + 1)


def test_the_snr_jumps_by_eight_db_at_least(folder: Path) -> None:
    jumping = [plan for plan in recorded(folder, duration_s=20.0) if plan.mobility == radios.JUMPS]
    assert len(jumping) == 2 * len(radios.CELLS)
    for plan in jumping:
        for ue in yaml.safe_load(plan.scenario)["ues"]:
            values = ue["channel"]["snr_series"]["values_db"]
            steps = {abs(b - a) for a, b in pairwise(values)} - {0}
            assert len(values) >= 40
            assert steps and min(steps) >= 8


def test_runs_are_made_again_if_their_trace_changed(folder: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(folder, tmp_path / "traces")
    first = generate(recorded(moved), tmp_path / "out")
    assert all(outcome.made for outcome in first)
    assert not any(outcome.made for outcome in generate(recorded(moved), tmp_path / "out"))
    (moved / "lte/drive.down").write_text(mahimahi(6) + "6001\n")
    again = [o.plan.run for o in generate(recorded(moved), tmp_path / "out") if o.made]
    assert sorted(again) == ["lte-drive.down-paced-r00", "lte-drive.down-unpaced-r00"]


def test_processes_make_the_same_data_and_series_know_their_radio(
    folder: Path, tmp_path: Path
) -> None:
    plans = [plan for plan in recorded(folder) if plan.mobility == radios.RECORDED]
    generate(plans, tmp_path / "one", jobs=1)
    generate(plans, tmp_path / "two", jobs=2)
    assert Dataset.open(tmp_path / "one").sha256() == Dataset.open(tmp_path / "two").sha256()
    series, _ = corpus.load(tmp_path / "one", 20_000)
    assert {(one.radio, one.bearer_kind) for one in series} == {
        (radio, kind)
        for radio in ("lte/drive.down", "lte/taxi", "nr/static-2020")
        for kind in ("paced", "unpaced")
    }


def test_long_and_odd_names_have_places_of_their_own(tmp_path: Path) -> None:
    names = [f"{'x' * 80}{n}" for n in range(2)] + ["été 1", "été 2"]
    for name in names:
        (tmp_path / name).write_text(mahimahi(1))
    plans = [plan for plan in recorded(tmp_path) if plan.mobility == radios.RECORDED]
    runs = {plan.run for plan in plans}
    assert len(runs) == 8
    assert all(len(run) <= 64 and run.isascii() for run in runs)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("bad", "1\n2\nx\n", r"bad, row 3: is 'x'; expected a whole number of ms"),
        ("what", "a,b\n1,2\n", r"what, row 1: is 'a,b'; expected a whole number .* DL_bitrate"),
        ("u.csv", UCC + "2020.01.16_10.00.01,0,9,99,5,D\n", r"u.csv, column CQI, row 2: is '99'"),
        ("u.csv", UCC + "2020.01.16_10.00.01,0,9,-,5,D\n", r"u.csv: has no measured step"),
    ],
)
def test_a_folder_without_a_trace_names_a_file_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, message: str
) -> None:
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / name).write_text(text)
    with pytest.raises(TrainError, match=message):
        recorded(tmp_path / "traces")
    out = tmp_path / "out"
    traces = ["--traces", str(tmp_path / "traces")]
    assert main(["dataset", "wide", "--out", str(out), *traces]) == 2
    error = capsys.readouterr().err
    assert "has no trace in 1 files; the last: " in error
    assert str(tmp_path / "traces" / name) in error
    assert not out.exists()


def test_files_that_are_no_traces_are_skipped_with_a_line_and_a_count(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(folder, tmp_path / "traces")
    good = [radio.name for radio in find_radios([folder])]
    (folder / "nodes.csv").write_text("time,nof_ue\n1,2\n")
    (folder / "back.csv").write_text(
        UCC + "2020.01.16_10.00.01,0,9,9,5,D\n2020.01.16_10.00.00,0,9,9,5,D\n"
    )
    for number in range(30):
        (folder / f"ue{number}.json").write_text('{"a": 1}')
    words = ["dataset", "wide", "--out", "x", "--plan", "--repeats", "1", "--traces", str(folder)]
    assert main(words) == 0
    printed = capsys.readouterr()
    assert [line for line in printed.out.splitlines() if "recorded" in line]
    lines = printed.err.splitlines()
    assert f"skipped: {folder}/back.csv, column Timestamp, row 3: " in lines[0]
    assert f"skipped: {folder}/nodes.csv, row 1: is 'time,nof_ue'" in lines[1]
    assert f"skipped: {folder}/ue0.json: is JSON; expected" in lines[2]
    assert len(lines) == 21
    assert lines[-1] == (
        f"--traces: {len(good)} files read, 32 skipped, of which the first are above"
    )
    assert [radio.name for radio in find_radios([folder])] == good
    assert main([*words, "--pattern", "*.down*"]) == 0
    assert capsys.readouterr().err == ""
    with pytest.raises(TrainError, match=r"has no file named \*\.none; expected recorded radios"):
        find_radios([folder], "*.none")


def test_tables_of_rates_are_replayed_by_their_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{at},{1 + at % 7}\n" for at in range(20))
    (tmp_path / "drive.csv").write_text(f"when,Mbit/s\n{rows}")
    columns = ["--time-column", "when", "--rate-column", "Mbit/s", "--unit", "Mbit/s"]
    words = ["dataset", "wide", "--out", "x", "--plan", "--repeats", "1", "--traces", str(tmp_path)]
    assert main([*words, *columns]) == 0
    assert "recorded/drive-paced-r00" in capsys.readouterr().out
    [radio] = find_radios([tmp_path], columns=RateColumns("when", "Mbit/s", "Mbit/s"))
    [plan, _] = [
        plan for plan in radios.plan([radio], 2.0, 1, 1) if plan.mobility == radios.RECORDED
    ]
    assert simulate(plan).num_rows > 0
    assert main([*words, *columns[:2]]) == 2
    assert "--rate-column, --unit: missing; expected all of" in capsys.readouterr().err


def test_a_table_of_rates_is_a_channel_of_the_lab(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "drive.csv").write_text("t,r\n0,1\n2,3.5\n4,2\n")
    words = ["channel", str(tmp_path / "drive.csv"), "--time-column", "t", "--rate-column", "r"]
    assert main([*words, "--unit", "Mbit/s"]) == 0
    element = json.loads(capsys.readouterr().out)
    assert element == {"rate_series": {"period_ms": 2000, "values_kbps": [1000, 3500, 2000]}}
    assert main([*words, "--unit", "Mbit/s", "--session", "1"]) == 2
    assert "--session: 1; " in capsys.readouterr().err


def test_invalid_folders_are_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(TrainError, match="has no file; expected recorded radios"):
        find_radios([tmp_path])
    with pytest.raises(TrainError, match=r"are both named lte/drive\.down"):
        find_radios([folder, folder])
    assert main(["dataset", "grid", "--out", "x", "--traces", str(folder)]) == 2
    assert "--traces: grid is made without recorded radios" in capsys.readouterr().err


def test_recordings_are_taken_in_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    live = made_corpus.write_dataset(tmp_path / "live", rows=200)
    out = tmp_path / "out"
    command = ["dataset", "grid", "--duration-s", "0.02", "--out", str(out)]
    command += ["--recordings", str(live), "--jobs", "1"]
    assert main(command) == 0
    assert "12 runs made, 0 kept, 3 of 3 recordings copied" in capsys.readouterr().out
    assert Dataset.open(out).cells == ("a", "b", "c", "n78-106prb")
    assert main(command) == 0
    assert "0 runs made, 12 kept, 0 of 3 recordings copied" in capsys.readouterr().out
    assert main([*command, "--recordings", str(live)]) == 2
    assert "cell=a/mobility=static/run=waves-s0 is in " in capsys.readouterr().err
    run = next(live.rglob("*.parquet"))
    run.write_bytes(run.read_bytes()[:-9])
    assert main(command) == 2
    assert str(run) in capsys.readouterr().err
