"""Recordings as tables: those of a world are those of the program, name by name and row by row."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import gnb_lab
import pyarrow.parquet as pq
import pytest
from gnb_lab.tables import RunTable

SCENARIO = Path(__file__).resolve().parents[2] / "scenarios" / "default.yaml"
DURATION_S = 2


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run with all tables."""
    out = tmp_path_factory.mktemp("run")
    program = Path(sys.executable).with_name("gnb-lab")
    flags = ["--duration", str(DURATION_S), "--packets", "--out", out]
    subprocess.run([program, "run", SCENARIO, *flags], check=True, stdout=subprocess.DEVNULL)
    return out


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a sweep of two pipelines and two seeds, and a run that fails."""
    out = tmp_path_factory.mktemp("sweep")
    lost = {"mahimahi": {"path": "no-such-trace"}}
    with pytest.raises(gnb_lab.SweepError, match=r"2 of 4 runs failed"):
        gnb_lab.sweep(
            SCENARIO,
            out,
            over={"ues[*].channel": [{"fixed_mcs": 9}, lost]},
            seeds=2,
            overrides={"duration_s": 1},
        )
    return out


@pytest.mark.parametrize("name", ["bearers", "flows", "packets"])
def test_a_world_records_the_tables_of_a_run(run: Path, name: RunTable) -> None:
    world = gnb_lab.World(SCENARIO)
    world.record(packets=True)
    for until_us in (700_000, 1_300_000, DURATION_S * 1_000_000):
        world.step_until(until_us)
        world.frame(name)
    assert world.frame(name).equals(gnb_lab.read(run, name))
    assert world.frame(name).schema == pq.read_schema(run / f"{name}.parquet")
    assert world.frame(name).num_rows > 1000


def test_a_gap_in_a_column_is_null() -> None:
    world = gnb_lab.World(SCENARIO)
    world.record()
    world.step_until(20_000)
    limits = world.frame().column("pacer_limit_bytes")
    assert (len(limits), limits.null_count) == (21, 21)
    paced = gnb_lab.World(SCENARIO, overrides={"ues[*].drbs[*].pipeline": "bdp_only"})
    paced.record()
    paced.step_until(20_000)
    limits = paced.frame().column("pacer_limit_bytes").to_pylist()
    row = paced.bearers()[0]
    assert limits[-1] > 0
    assert limits[-1] == row["pacer_limit_bytes"]
    assert list(row) == paced.frame().column_names


def test_a_fork_has_its_own_recording() -> None:
    world = gnb_lab.World(SCENARIO)
    world.record()
    world.step_until(10_000)
    fork = world.fork()
    fork.step_until(30_000)
    assert [each.frame().num_rows for each in (world, fork)] == [11, 31], (
        "a row each ms, and at the start"
    )
    assert fork.frame().slice(0, 11).equals(world.frame())


def test_what_is_not_recorded_is_named() -> None:
    world = gnb_lab.World(SCENARIO)
    world.step_until(1_000)
    with pytest.raises(ValueError, match=r"bearers: not recorded; expected World\.record\(\)"):
        world.frame()
    world.record()
    with pytest.raises(ValueError, match=r"packets: not recorded; .*record\(packets=True\)"):
        world.frame("packets")
    with pytest.raises(ValueError, match="'runs': no such table; expected bearers, flows or"):
        world.frame("runs")  # type: ignore[arg-type]


def test_the_table_of_a_sweep_and_those_of_all_its_runs(sweep: Path) -> None:
    runs = gnb_lab.read(sweep)
    assert runs.equals(gnb_lab.read(sweep, "runs"))
    assert runs.column_names[:5] == ["ues[*].channel", "seed", "run", "error", "scope"]
    assert runs.column("error").null_count == runs.num_rows - 2

    table = gnb_lab.read(sweep, "bearers", columns=["rlc_hol_us", "time_us"])
    assert table.column_names == ["ues[*].channel", "seed", "run", "rlc_hol_us", "time_us"]
    assert table.column("seed").to_pylist() == [1] * 1001 + [2] * 1001
    assert set(table.column("ues[*].channel").to_pylist()) == {'{"fixed_mcs":9}'}
    (folder,) = set(table.slice(1001).column("run").to_pylist())
    second = gnb_lab.read(sweep / "runs" / folder, columns=["rlc_hol_us"])
    assert table.slice(1001).column("rlc_hol_us").equals(second.column("rlc_hol_us"))


def test_a_folder_without_the_table_is_named(run: Path, sweep: Path, tmp_path: Path) -> None:
    with pytest.raises(gnb_lab.TableError, match=r"has neither summary\.json nor sweep\.json"):
        gnb_lab.read(tmp_path)
    with pytest.raises(gnb_lab.TableError, match=r"runs\.parquet: is not there; .* bearers, flows"):
        gnb_lab.read(run, "runs")
    with pytest.raises(gnb_lab.TableError, match=r"packets\.parquet: is not there"):
        gnb_lab.read(sweep, "packets")
    with pytest.raises(gnb_lab.TableError, match="has no column 'rtt'; expected time_us, rnti"):
        gnb_lab.read(run, columns=["rtt"])
    (tmp_path / "summary.json").touch()
    (tmp_path / "bearers.parquet").write_bytes(b"PAR1")
    with pytest.raises(gnb_lab.TableError, match=r"bearers\.parquet: cannot be read: "):
        gnb_lab.read(tmp_path)
    for text, said in (
        ("{", "not the description of a sweep"),
        ('{"axes": 1}', "not the description"),
        ("[]", "not the description of a sweep: expected a mapping"),
    ):
        (tmp_path / "sweep.json").write_text(text)
        with pytest.raises(gnb_lab.TableError, match=rf"sweep\.json: {said}"):
            gnb_lab.read(tmp_path, "bearers")
