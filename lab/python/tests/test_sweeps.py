"""Sweeps: planned, made, interrupted and resumed, on this machine and on a cluster."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gnb_lab
import pytest
from gnb_lab.__main__ import main
from gnb_lab.sweeps.axis import Axis
from gnb_lab.sweeps.cluster import make_run
from gnb_lab.sweeps.order import Order
from gnb_lab.sweeps.plan import Plan, plan
from gnb_lab.sweeps.run import prepare
from gnb_lab.sweeps.sweep import run

SCENARIO = Path(__file__).resolve().parents[2] / "scenarios" / "default.yaml"
PIPELINES = "ues[*].drbs[*].pipeline=fq_codel,low_latency"


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A scenario beside a trace that it reads, a second long."""
    folder = tmp_path / "scenario"
    (folder / "traces").mkdir(parents=True)
    (folder / "traces" / "lte").write_text("".join(f"{ms}\n" for ms in range(1, 900, 2)))
    file = folder / "scenario.yaml"
    recorded = "channel: { mahimahi: { path: traces/lte } }"
    file.write_text(
        SCENARIO.read_text()
        .replace("channel: { fading: { mean_snr_db: 14, speed_kmh: 3 } }", recorded)
        .replace("duration_s: 30", "duration_s: 1")
    )
    return file


@pytest.fixture(scope="module")
def dask() -> Iterator[str]:
    """Address of a scheduler with a worker of two threads."""
    if find_spec("distributed") is None:
        pytest.skip("distributed is not installed: make setup-training")
    with cluster(workers=1) as own:
        yield own.scheduler_address


def cluster(workers: int) -> Any:
    """Start a Dask cluster in this process, with two threads a worker."""
    distributed: Any = import_module("distributed")
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=2,
        processes=False,
        protocol="tcp://",
        dashboard_address=":0",
    )


def planned(scenario: Path, *axes: str, seeds: int = 1, **overrides: Any) -> Plan:
    return plan(
        scenario, list(map(Axis.parse, axes)), seeds=seeds, overrides=overrides, max_runs=100
    )


def files(folder: Path) -> dict[str, bytes]:
    """All files below a folder by path."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(found)}


def missing(planned: Plan, out: Path) -> list[Order]:
    return prepare(planned, out, ["parquet"], packets=False, restart=False).missing()


def contents(order: Order) -> tuple[list[str], list[bytes]]:
    """Names and contents of the input files of an order."""
    return (
        [each.name for each in order.inputs],
        [Path(each.source).read_bytes() for each in order.inputs],
    )


def table(out: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((out / "runs.json").read_text())
    return rows


def interrupted_after(runs: int) -> Any:
    def interrupt(finished: int, total: int) -> None:
        if finished == runs:
            raise KeyboardInterrupt

    return interrupt


def test_runs_are_the_product_of_axes_and_seeds() -> None:
    made = planned(SCENARIO, "cell.n_prb=51,106", PIPELINES, seeds=2)
    assert len({each.name for each in made.runs}) == len(made.runs) == 8
    assert made.runs[2].name.startswith("n_prb=51,pipeline=low_latency,seed=1-")
    tree = made.runs[3].scenario().tree
    assert (tree["cell"]["n_prb"], tree["seed"]) == (51, 2)
    assert tree["ues"][0]["drbs"][0]["pipeline"] == "low_latency"
    assert len(planned(SCENARIO, seeds=3).runs) == 3, "seeds alone"


@pytest.mark.parametrize(
    ("axes", "said"),
    [
        (["cell.msc=4,8"], "--over: cell.msc: unknown key 'msc'; expected one of"),
        (
            ["ues[*].channel.fading.mean_snr_db=4,99"],
            "--over: ues[0].channel.fading.mean_snr_db: 99 is outside",
        ),
        (["ues[7].rnti=1"], "--over: ues[7].rnti: [7] is not there; the list has 1"),
        (
            ["cell.n_prb=20..50", "ues[0].channel.fading.mean_snr_db=1..9"],
            "--over: 31 × 9 values and 1 seeds are 279 runs; at most 100 (--max-runs)",
        ),
        (["a=1", "a=2"], "--over: a: is given twice"),
        (["seed=1,2"], "--over: seed: use --seeds N, and --seed S for the first"),
    ],
)
def test_impossible_products_are_refused_before_the_first_run(axes: list[str], said: str) -> None:
    with pytest.raises(gnb_lab.SweepError) as raised:
        planned(SCENARIO, *axes)
    assert str(raised.value).startswith(said)
    assert raised.value.is_input


def test_an_interrupted_sweep_resumes_to_the_same_bytes(scenario: Path, tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    plans = planned(scenario, PIPELINES, "cell.n_prb=51,106", seeds=2)
    assert run(plans, whole).resumed == 0
    with pytest.raises(
        gnb_lab.SweepError, match=r"interrupted with . of 8 runs finished"
    ) as raised:
        run(plans, parts, jobs=1, on_progress=interrupted_after(3))
    assert not raised.value.is_input
    assert not list(parts.rglob("*.part"))
    kept = len(list((parts / "runs").iterdir()))
    assert 3 <= kept < 8
    seen: list[tuple[int, int]] = []
    done = run(plans, parts, on_progress=lambda *at: seen.append(at))
    assert (done.runs, done.resumed, done.failed) == (8, kept, {})
    assert seen == [(finished, 8) for finished in range(1, 9)]
    assert files(parts) == files(whole)


def test_more_seeds_and_values_run_what_is_missing(tmp_path: Path) -> None:
    run(planned(SCENARIO, "cell.n_prb=51", duration_s=1), tmp_path)
    more = planned(SCENARIO, "cell.n_prb=51,106", seeds=2, duration_s=1)
    done = run(more, tmp_path)
    assert (done.runs, done.resumed) == (4, 1)
    rows = table(tmp_path)
    cells = [row for row in rows if row["scope"] == "cell"]
    points = [(row["cell.n_prb"], row["seed"]) for row in cells]
    assert points == [(51, 1), (51, 2), (106, 1), (106, 2)]
    assert all(row["goodput_mbps"] > 1 for row in cells)
    with (tmp_path / "runs.csv").open(newline="") as file:
        head, *lines = csv.reader(file)
    assert head[:7] == ["cell.n_prb", "seed", "run", "error", "scope", "name", "goodput_mbps"]
    assert len(lines) == len(rows)
    assert gnb_lab.read(tmp_path).to_pylist() == rows


def test_a_changed_scenario_is_named_and_not_mixed(tmp_path: Path) -> None:
    axis, short = "cell.n_prb=51", {"duration_s": 0.1}
    run(planned(SCENARIO, axis, **short), tmp_path)
    changed = planned(SCENARIO, axis, **short, **{"split.core_delay_us": 9000})
    with pytest.raises(
        gnb_lab.SweepError, match=r"split\.core_delay_us: 2000 there, 9000"
    ) as raised:
        run(changed, tmp_path)
    assert "--restart" in str(raised.value)
    with pytest.raises(gnb_lab.SweepError, match=r"other axes \(cell\.n_prb\)"):
        run(planned(SCENARIO, "cell.layers=1", **short), tmp_path)
    with pytest.raises(gnb_lab.SweepError, match=r"other --format or --packets"):
        run(planned(SCENARIO, axis, **short), tmp_path, packets=True)
    done = run(changed, tmp_path, restart=True)
    assert (done.runs, done.resumed) == (1, 0)


def test_a_failing_run_is_recorded_and_a_damaged_one_made_again(tmp_path: Path) -> None:
    trace, out = tmp_path / "trace", tmp_path / "out"
    trace.write_text("1\n2\n3\n")
    axis = f"ues[0].channel={{mahimahi: {{path: {trace}}}}},{{mahimahi: {{path: /no/such/trace}}}}"
    plans = planned(SCENARIO, axis, duration_s=0.1)
    done = run(plans, out)
    assert (done.runs, len(done.failed)) == (2, 1)
    rows = table(out)
    assert "/no/such/trace" in rows[-1]["error"]
    assert (rows[-1]["scope"], rows[-1]["goodput_mbps"], rows[0]["error"]) == (None, None, None)

    (out / "runs" / rows[0]["run"] / "summary.json").write_text("{")
    done = run(plans, out)
    assert (done.resumed, len(done.failed)) == (0, 1)
    assert table(out) == rows
    trace.write_text("1\n2\n3\n4\n")
    with pytest.raises(gnb_lab.SweepError, match=r"run\.json: the files that its scenario reads"):
        run(plans, out)


def test_a_sweep_returns_its_table(scenario: Path, tmp_path: Path) -> None:
    made = gnb_lab.sweep(
        scenario,
        tmp_path / "sweep",
        over={"cell.n_prb": "51..106..55", "description": ['a "b", c', "it's"]},
        overrides={"duration_s": 0.1},
    )
    of_cell = [row for row in made.to_pylist() if row["scope"] == "cell"]
    points = [(row["cell.n_prb"], row["description"]) for row in of_cell]
    assert points == [(n, text) for n in (51, 106) for text in ('a "b", c', "it's")]
    with pytest.raises(gnb_lab.SweepError, match="other axes") as raised:
        gnb_lab.sweep(scenario, tmp_path / "sweep")
    assert raised.value.is_input
    with pytest.raises(gnb_lab.SweepError, match="'xlsx': no such format; expected one of parquet"):
        gnb_lab.sweep(scenario, tmp_path / "sweep", formats=["xlsx"])


def test_goodput_of_the_uplink_is_a_measure_of_its_own(tmp_path: Path) -> None:
    cbr = {"kind": "udp_cbr", "packet_bytes": 500}
    up = cbr | {"name": "up", "direction": "up", "rate_kbps": 800}
    down = cbr | {"name": "down", "rate_kbps": 400}
    made = gnb_lab.sweep(
        SCENARIO,
        tmp_path / "sweep",
        over={"flows": [[up, down], [down]]},
        overrides={"duration_s": 4},
    )
    both, only_down = (row for row in made.to_pylist() if row["scope"] == "cell")
    payload = 472 / 500
    assert both["goodput_mbps"] == pytest.approx(0.4 * payload, rel=0.02)
    assert both["uplink_goodput_mbps"] == pytest.approx(0.8 * payload, rel=0.02)
    assert only_down["uplink_goodput_mbps"] is None
    of_flow = [row for row in made.to_pylist() if row["scope"] == "flow"]
    assert [row["name"] for row in of_flow] == ["up", "down", "down"]
    assert of_flow[0]["goodput_mbps"] == pytest.approx(0.8 * payload, rel=0.02)


def test_a_run_elsewhere_has_the_files_of_the_run_here(scenario: Path, tmp_path: Path) -> None:
    plans = planned(scenario, PIPELINES, seeds=2)
    orders = missing(plans, tmp_path / "sweep")
    assert len(orders) == 4
    run(plans, tmp_path / "sweep")
    assert missing(plans, tmp_path / "sweep") == []
    for order in (orders[0], orders[-1]):
        assert Order.parse(order.line()) == order
        assert make_run(order.line(), *contents(order)) == files(order.folder)


def test_another_build_and_other_input_files_are_refused(scenario: Path, tmp_path: Path) -> None:
    order = missing(planned(scenario, PIPELINES), tmp_path / "sweep")[0]
    names, inputs = contents(order)
    whole = json.loads(order.line())
    for change, said in (
        ({"program": "0" * 64}, r"worker on .*: this gnb-lab is another build"),
        ({"packets": 1}, "order of a run: packets: expected a bool, found 1"),
        ({"inputs": [{}]}, "order of a run: inputs: expected path, source and name"),
        ({"formats": ["xlsx"]}, "order of a run: formats: 'xlsx' is unknown"),
    ):
        with pytest.raises(gnb_lab.SweepError, match=said):
            make_run(json.dumps(whole | change), names, inputs)
    with pytest.raises(gnb_lab.SweepError, match="its digest is not that of its scenario and"):
        make_run(order.line(), names, [b"1\n2\n"])
    with pytest.raises(gnb_lab.SweepError, match="order of a run: not JSON"):
        make_run("[", [], [])


def test_the_commands_make_resume_and_compare(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, page = tmp_path / "sweep", tmp_path / "compare.html"
    sweep = ["sweep", str(SCENARIO), "--over", PIPELINES, "--duration", "0.5", "--out", str(out)]
    assert main([*sweep, "--seeds", "1"]) == 0
    assert capsys.readouterr() == (f"2 runs; written to {out}\n", "")
    assert main([*sweep, "--seeds", "2", "--set", "cell.n_prb=106"]) == 0
    said = capsys.readouterr().out
    assert said == f"4 runs, 2 of them finished before; written to {out}\n"
    assert main(["compare", str(out), "--json", str(tmp_path / "c.json"), "--html", str(page)]) == 0
    said = capsys.readouterr().out
    for word in ("flow bulk", "pipeline=low_latency", "difference", "mean of up to 2 seeds"):
        assert word in said
    rows = json.loads((tmp_path / "c.json").read_text())
    assert any(row["measure"] == "sojourn_p95_ms" and row["seeds"] == 2 for row in rows)
    assert "<svg" in page.read_text()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--over", "cell.msc=1"], "--over: cell.msc: unknown key 'msc'"),
        (
            ["--over", "cell.n_prb=1..275", "--seeds", "50"],
            "275 values and 50 seeds are 13750 runs",
        ),
        (["--over", "cell.n_prb=9..1"], "--over: cell.n_prb: '9..1': it ends before it begins"),
        (["--set", "cell"], "--set: 'cell': expected PATH=VALUE such as"),
        (["--set", "ues[3].rnti=1"], "--set: ues[3].rnti: [3] is not there"),
        (["--format", "csv,xlsx"], "--format: 'xlsx': no such format"),
        (["--set", "\x1b[2J=1"], "--set: '\\x1b[2J': expected a path"),
    ],
)
def test_bad_input_is_one_line_and_exit_status_2(
    more: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["sweep", str(SCENARIO), "--out", str(out), *more]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert printed.err.startswith("gnb-lab: ")
    assert said in printed.err
    assert not out.exists(), "nothing is written for bad input"


@pytest.mark.parametrize("command", ["sweep", "sweep-run", "compare"])
def test_every_command_has_an_example_and_a_log_level_in_its_help(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as done:
        main([command, "--help"])
    assert done.value.code == 0
    shown = capsys.readouterr().out
    for expected in ("Example:\n  ", "Logging:", "--log-level"):
        assert expected in shown


def test_failed_runs_make_the_exit_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    over = "ues[0].channel={fixed_mcs: 9},{mahimahi: {path: no-such-trace}}"
    arguments = ["sweep", str(SCENARIO), "--over", over, "--duration", "0.1", "--out", out]
    assert main(arguments) == 1
    printed = capsys.readouterr()
    assert printed.out.startswith("2 runs; written to ")
    assert "1 of 2 runs failed" in printed.err
    assert "no-such-trace" in printed.err
    assert main(["compare", out]) == 0, "those that succeeded"


def test_a_signal_keeps_what_is_finished(tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "gnb_lab", "sweep", str(SCENARIO), "--seeds", "1000"]
    # Without a terminal nothing is shown; the first finished run is the sign to go on.
    with subprocess.Popen(
        [*command, "--out", str(out)], stderr=subprocess.PIPE, text=True
    ) as sweep:
        while not any((out / "runs").glob("*/run.json")) and sweep.poll() is None:
            pass
        sweep.send_signal(signal.SIGTERM)
        _, said = sweep.communicate()
    assert sweep.returncode == 1
    assert said.startswith("gnb-lab: interrupted with ")
    assert said.endswith(f" of 1000 runs finished; the same command resumes from {out}\n")
    assert not list(out.rglob("*.part"))


def test_a_line_of_missing_is_made_and_resumed(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, inputs = tmp_path / "sweep", tmp_path / "inputs"
    sweep = ["sweep", str(scenario), "--seeds", "2", "--out", str(out)]
    assert main([*sweep, "--missing"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    order = json.loads(lines[0])
    inputs.mkdir()
    (inputs / order["inputs"][0]["name"]).write_bytes(
        Path(order["inputs"][0]["source"]).read_bytes()
    )
    made = subprocess.run(
        [
            *(sys.executable, "-m", "gnb_lab", "sweep-run"),
            "--inputs",
            inputs,
            "--out",
            order["folder"],
        ],
        input=lines[0],
        capture_output=True,
        text=True,
        check=True,
    )
    assert made.stdout == f"1 run; written to {order['folder']}\n"
    assert main(sweep) == 0
    assert capsys.readouterr().out.startswith("2 runs, 1 of them finished before")


def test_a_cluster_makes_the_same_bytes_and_either_resumes_the_other(
    scenario: Path, tmp_path: Path, dask: str
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    plans = planned(scenario, PIPELINES, seeds=2)
    run(plans, here)
    seen: list[tuple[int, int]] = []
    done = run(plans, there, restart=True, dask=dask, on_progress=lambda *at: seen.append(at))
    assert (done.runs, done.resumed) == (4, 4), "no run was made again here"
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert files(there) == files(here)

    more = planned(scenario, PIPELINES, seeds=3)
    seen.clear()
    run(more, here, dask=dask, on_progress=lambda *at: seen.append(at))
    assert seen == [(1, 2), (2, 2)], "begun here, finished by the cluster"
    assert run(more, there).resumed == 4, "and the other way round"
    assert files(there) == files(here)


def test_an_interrupt_keeps_what_the_cluster_finished(
    scenario: Path, tmp_path: Path, dask: str
) -> None:
    plans = planned(scenario, PIPELINES, seeds=2)
    with pytest.raises(gnb_lab.SweepError, match="interrupted with 2 of 4 missing runs finished"):
        run(plans, tmp_path, dask=dask, on_progress=interrupted_after(2))
    assert len(missing(plans, tmp_path)) == 2
    assert run(plans, tmp_path).resumed == 2


def test_a_scenario_that_cannot_run_is_in_the_table(
    scenario: Path, tmp_path: Path, dask: str, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario.with_name("empty").touch()
    out, over = tmp_path / "sweep", "ues[0].channel.mahimahi.path=traces/lte,empty"
    arguments = ["sweep", str(scenario), "--over", over, "--out", str(out), "--restart"]
    assert main([*arguments, "--dask", dask]) == 1
    assert "gnb-lab: 1 of 2 runs failed" in capsys.readouterr().err
    errors = {row["error"] for row in gnb_lab.read(out).to_pylist()}
    assert {None} < errors
    assert any(error and "empty" in error for error in errors)


@pytest.mark.usefixtures("dask")
def test_an_unreachable_cluster_gives_one_line(
    scenario: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("gnb_lab.sweeps.cluster.TIMEOUT_S", 0.2)
    arguments = ["sweep", str(scenario), "--out", str(tmp_path / "sweep")]
    assert main([*arguments, "--dask", "tcp://127.0.0.1:9"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("gnb-lab: --dask: no scheduler answers at tcp://127.0.0.1:9")


@pytest.mark.usefixtures("dask")
def test_a_cluster_without_workers_and_a_lost_scheduler_are_reported(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gnb_lab.sweeps.cluster.TIMEOUT_S", 0.5)
    plans = planned(scenario, PIPELINES, seeds=2)
    with (
        cluster(workers=0) as empty,
        pytest.raises(gnb_lab.SweepError, match=r"has no workers; expected at least one"),
    ):
        run(plans, tmp_path, dask=empty.scheduler_address)
    with (
        cluster(workers=1) as lost,
        pytest.raises(gnb_lab.SweepError, match=r"the same command resumes"),
    ):
        address = lost.scheduler_address
        run(plans, tmp_path, dask=address, on_progress=lambda *at: lost.close())
    assert len(missing(plans, tmp_path)) == 3


def test_without_dask_the_extra_is_named(
    scenario: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("gnb_lab.sweeps.cluster.importlib.import_module", absent)
    arguments = ["sweep", str(scenario), "--out", str(tmp_path / "sweep")]
    assert main([*arguments, "--dask", "tcp://127.0.0.1:9"]) == 2
    assert capsys.readouterr().err.endswith("are not installed; expected gnb-lab[dask]\n")
