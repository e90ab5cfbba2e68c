"""``rlc-train dataset`` makes the planned runs, each once and atomically."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import gnb_lab
import numpy as np
import pytest
import yaml
from rlc_dataset import Dataset
from rlc_model import FEATURES, Quantity
from rlc_train.cli import main
from rlc_train.dataset import grid, wide
from rlc_train.dataset.command import planned
from rlc_train.dataset.generate import finished, generate
from rlc_train.dataset.plan import RunPlan
from rlc_train.dataset.simulate import producer, simulate
from rlc_train.errors import TrainError


def test_the_grid_is_that_of_the_paper() -> None:
    runs = planned("grid", 1.0, 1)
    assert len(runs) == 12
    seen = set()
    for run in runs:
        scenario = yaml.safe_load(run.scenario)
        udp, ping = scenario["flows"]
        seen.add((udp["rate_kbps"] // 1000, ping["interval_ms"]))
        (drb,) = scenario["ues"][0]["drbs"]
        assert drb["rlc"]["mode"] == "am"
        assert "drql" in drb["pipeline"]["pacer"]
        assert scenario["split"].get("f1_delay_us", 0) == 0
        assert scenario["seed"] == run.seed
    assert seen == {(udp, icmp) for udp in (1, 10, 40, 100) for icmp in (1, 10, 100)}


def test_the_wide_set_has_varied_networks() -> None:
    runs = planned("wide", 1.0, 1, repeats=2)
    assert len(runs) == 2 * len(wide.places())
    scenarios = [yaml.safe_load(run.scenario) for run in runs]
    drbs = [drb for s in scenarios for ue in s["ues"] for drb in ue["drbs"]]
    flows = [flow for s in scenarios for flow in s["flows"]]
    assert {drb["rlc"]["mode"] for drb in drbs} == {"am", "um"}
    assert any(len(s["ues"]) > 1 for s in scenarios)
    assert any(len(ue["drbs"]) > 1 for s in scenarios for ue in s["ues"])
    assert {"tcp", "quic", "udp_cbr", "web", "video", "call", "ping"} <= {f["kind"] for f in flows}
    assert any(flow.get("direction") == "up" for flow in flows)
    senders = {f.get("congestion_control") for f in flows if f["kind"] in ("tcp", "quic")}
    assert len(senders - {None}) >= 5
    assert len({json.dumps(s["cell"].get("tdd")) for s in scenarios}) >= 4
    radios = [ue["channel"]["fading"] for s in scenarios for ue in s["ues"]]
    assert {3, 30, 120} <= {radio["speed_kmh"] for radio in radios}
    assert len({radio["mean_snr_db"] for radio in radios if "mean_snr_db" in radio}) > 20
    sleeping = [ue for s in scenarios for ue in s["ues"] if "drx" in ue]
    assert 0 < len(sleeping) < len(radios) / 2
    for run in runs:
        gnb_lab.World(run.scenario)


def test_a_tenth_of_the_blocks_of_a_simulated_cell_fail_at_first() -> None:
    run = wide.run_plan(("n78-51prb-3-1", "car", "00"), 5.0, 1, most_ues=1)
    world = gnb_lab.World(run.scenario)
    world.step_until(5_000_000)
    errors = world.summary()["cell"]["downlink_first_errors_pct"]
    assert 4 < errors < 16


def test_a_ue_of_a_street_goes_on_as_another_series() -> None:
    """A handover gives a UE another C-RNTI: its rows before and after are of one length in all."""
    runs = [run for run in planned("wide", 20.0, 1, repeats=1) if run.mobility == wide.STREET]
    for run in runs:
        table = simulate(run)
        scenario = yaml.safe_load(run.scenario)
        seen = set(table.column("rnti").to_pylist())
        if len(seen) > len(scenario["ues"]):
            break
    else:
        raise AssertionError("nobody was handed over")
    assert table.num_rows <= 20_000 * sum(len(ue["drbs"]) for ue in scenario["ues"])


def test_a_plan_depends_only_on_its_seed() -> None:
    assert planned("wide", 1.0, 1) == planned("wide", 1.0, 1)
    assert planned("wide", 1.0, 1)[0].scenario != planned("wide", 1.0, 2)[0].scenario
    few = {run.name: run for run in planned("wide", 1.0, 1, repeats=1)}
    many = {run.name: run for run in planned("wide", 1.0, 1, repeats=3)}
    assert all(many[name] == run for name, run in few.items())


def test_a_run_equals_the_state_of_the_simulated_bearer() -> None:
    (run,) = [run for run in grid.plan(2.0, 1) if run.run == "udp100-icmp10"]
    table = simulate(run)
    assert table.num_rows == 2000
    world = gnb_lab.World(run.scenario)
    total = 0
    for row in table.slice(0, 400).to_pylist():
        world.step_until(row["time_us"] - world.epoch_us)
        (bearer,) = world.bearers()
        assert row["rlc_occupancy_bytes"] == bearer["rlc_occupancy_bytes"]
        assert row["pacer_limit_bytes"] == bearer["pacer_limit_bytes"]
        assert row["mcs"] == bearer["mcs"] == 8
        total += row["drained_delta_bytes"]
    assert bearer["drained_bytes"] > 500_000
    # PDUs have headers, and the first row has no difference.
    assert total == pytest.approx(bearer["drained_bytes"], rel=0.02)


def test_existing_runs_are_kept(tmp_path: Path) -> None:
    plans = grid.plan(0.05, 1)[:3]
    first = generate(plans, tmp_path)
    files = {run.path: run.path.stat().st_mtime_ns for run in Dataset.open(tmp_path)}
    assert len(files) == 3
    again = generate(plans, tmp_path)
    assert [o.made for o in first] == [True] * 3
    assert [o.made for o in again] == [False] * 3
    assert {path: path.stat().st_mtime_ns for path in files} == files


def test_runs_of_other_scenarios_or_versions_are_replaced(tmp_path: Path) -> None:
    (plan,) = grid.plan(0.05, 1)[:1]
    generate([plan], tmp_path)
    assert finished(plan, tmp_path, producer()) is not None
    assert finished(plan, tmp_path, "gnb-lab 0.0.0") is None
    (longer,) = grid.plan(0.06, 1)[:1]
    assert finished(longer, tmp_path, producer()) is None
    (run,) = Dataset.open(tmp_path)
    run.path.write_bytes(run.path.read_bytes()[:100])
    assert finished(plan, tmp_path, producer()) is None
    (outcome,) = generate([plan], tmp_path)
    assert outcome.made
    (run,) = Dataset.open(tmp_path)
    assert run.table().num_rows == 50


def test_a_killed_command_leaves_whole_runs_and_can_continue(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rlc_train.cli", "dataset", "grid", "--duration-s", "0.5"]
    command += ["--jobs", "1", "--out", str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("made ")
        process.kill()
    existing = Dataset.open(tmp_path)
    assert 1 <= len(existing) <= 12
    for run in existing:
        assert run.table().num_rows == 500
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert f"{12 - len(existing)} runs made, {len(existing)} kept" in done.stdout
    assert len(Dataset.open(tmp_path)) == 12


def test_processes_make_the_same_data(tmp_path: Path) -> None:
    plans = grid.plan(0.05, 1)[:4]
    generate(plans, tmp_path / "one", jobs=1)
    generate(plans, tmp_path / "two", jobs=2)
    assert Dataset.open(tmp_path / "one").sha256() == Dataset.open(tmp_path / "two").sha256()


def test_a_dask_cluster_makes_the_same_data(tmp_path: Path, dask_extra: None) -> None:
    del dask_extra
    import distributed  # noqa: PLC0415

    plans = grid.plan(0.05, 1)[:2]
    generate(plans, tmp_path / "one")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        generate(plans, tmp_path / "two", dask=cluster.scheduler_address)
    assert Dataset.open(tmp_path / "one").sha256() == Dataset.open(tmp_path / "two").sha256()


def test_an_unreachable_cluster_gives_one_line(
    tmp_path: Path,
    dask_extra: None,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    del dask_extra
    monkeypatch.setattr("rlc_train.dataset.generate.DASK_TIMEOUT_S", 0.2)
    arguments = ["dataset", "grid", "--duration-s", "0.05", "--out", str(tmp_path)]
    assert main([*arguments, "--dask", "tcp://127.0.0.1:9"]) == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in capsys.readouterr().err


def test_a_run_is_readable_as_training_arrays(tmp_path: Path) -> None:
    plans = [p for p in grid.plan(1.0, 1) if p.run == "udp100-icmp100"]
    generate(plans, tmp_path)
    (run,) = Dataset.open(tmp_path)
    arrays = run.arrays()
    assert arrays.features.shape == (1000, 1, len(FEATURES))
    assert arrays.fresh[1:].all()
    assert np.isfinite(arrays.features).all()
    assert not np.isnan(arrays.targets[Quantity.QUEUE_LIMIT]).any()
    limit = FEATURES.index("queue_limit_bytes")
    # A sample has the limit of the previous millisecond.
    assert (arrays.features[1:, 0, limit] == arrays.targets[Quantity.QUEUE_LIMIT][:-1, 0]).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--duration-s", "0"], "--duration-s: 0; expected 0.001 to 86400"),
        (["--duration-s", "nan"], "--duration-s: nan; expected"),
        (["--seed", "-1"], "--seed: -1; expected 0 or more"),
        (["--repeats", "0"], "--repeats: 0; expected 1 to 100"),
        (["--jobs", "0"], "--jobs: 0; expected at least 1"),
    ],
)
def test_invalid_arguments_give_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["dataset", "wide", "--out", str(tmp_path / "x"), *arguments]) == 2
    assert f"rlc-train dataset: {message}" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    "command",
    [
        ("dataset", "sample", "--out"),
        ("import", "FILE", "--cell", "a", "--out"),
        ("collect", "--duration-s", "1", "--out"),
        ("promote", "--run", "RUN", "--out"),
        ("retrain", "--data", "DATA", "--model", "MODEL", "--work"),
        ("retrain", "--data", "DATA", "--work", "WORK", "--model"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("below", ["", "/below"])
def test_a_file_in_the_place_of_a_folder_to_write_is_refused_at_once(
    command: tuple[str, ...], below: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(SystemExit) as ended:
        main([*command, f"{file}{below}"])
    assert ended.value.code == 2
    problem = f"argument {command[-1]}: '{file}' is no folder; expected one\n"
    assert capsys.readouterr().err.endswith(problem)
    assert file.read_text() == "mine"


@pytest.mark.parametrize("command", [("compare", "A", "B"), ("evaluate", "--model", "MODEL")])
def test_a_folder_in_the_place_of_a_file_to_write_is_refused_at_once(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command, "--json", str(tmp_path)])
    assert ended.value.code == 2
    problem = f"argument --json: '{tmp_path}' is no regular file; expected one, or none\n"
    assert capsys.readouterr().err.endswith(problem)


def test_a_plan_can_be_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "x"
    assert main(["dataset", "grid", "--out", str(out), "--plan"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 12
    assert lines[0].startswith("n78-106prb/static/udp1-icmp1\tseed ")
    assert not out.exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("kind: ping", "kind: pong"), "unknown value"),
        (lambda text: text.replace("n_prb: 106", "n_prb: 999"), "n_prb"),
    ],
)
def test_an_invalid_scenario_names_the_run(
    tmp_path: Path, change: Callable[[str], str], message: str
) -> None:
    (plan,) = grid.plan(0.05, 1)[:1]
    wrong = RunPlan("a", "b", "c", change(plan.scenario), 1, 50_000)
    with pytest.raises(TrainError, match=rf"a/b/c: .*{message}"):
        generate([wrong], tmp_path)
    assert not list(tmp_path.rglob("*.parquet"))


def test_the_committed_sample_has_the_planned_scenarios() -> None:
    data = Dataset.open(Path(__file__).parents[3] / "datasets" / "sample")
    planned_now = {(p.cell, p.mobility, p.run): p.scenario for p in planned("sample", None, 1)}
    found = {
        (r.provenance.cell, r.provenance.mobility, r.provenance.run): r.provenance.scenario
        for r in data
    }
    assert found == planned_now
    assert sum(run.path.stat().st_size for run in data) < 1_000_000
    for run in data:
        arrays = run.arrays()
        assert arrays.steps == 10_000
        assert arrays.known[2:].any()


def test_two_runs_with_one_place_are_refused(tmp_path: Path) -> None:
    (plan,) = grid.plan(0.05, 1)[:1]
    with pytest.raises(TrainError, match="occurs twice in the plan"):
        generate([plan, plan], tmp_path)
