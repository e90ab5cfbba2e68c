"""Sweeps from Python: on a cluster to the same bytes as on one machine, and resumed by either."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gnb_lab
import pytest
from gnb_lab.__main__ import main
from gnb_lab.cluster import make_run
from gnb_lab.program import call
from gnb_lab.sweeps import on_cluster

SCENARIO = Path(__file__).resolve().parents[2] / "scenarios" / "default.yaml"


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
        .replace("channel: { fixed_mcs: 10 }", recorded)
        .replace("duration_s: 30", "duration_s: 1")
    )
    return file


@pytest.fixture
def arguments(scenario: Path) -> list[str]:
    """Arguments of a sweep of two pipelines and two seeds, but for its folder."""
    over = ["--over", "ues[*].drbs[*].pipeline=fq_codel,low_latency"]
    return [str(scenario), *over, "--seeds", "2", "--format", "parquet,csv"]


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


def files(folder: Path) -> dict[str, bytes]:
    """All files below a folder by path."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(found)}


def missing(arguments: list[str], out: Path) -> list[str]:
    return call("sweep", *arguments, "--out", str(out), "--missing").splitlines()


def inputs(line: str) -> tuple[list[str], list[bytes]]:
    found = json.loads(line)["inputs"]
    return [each["name"] for each in found], [Path(each["source"]).read_bytes() for each in found]


def test_a_run_elsewhere_has_the_files_of_the_run_here(
    arguments: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "sweep"
    lines = missing(arguments, out)
    assert len(lines) == 4
    call("sweep", *arguments, "--out", str(out))
    assert missing(arguments, out) == []
    for line in (lines[0], lines[-1]):
        made = make_run(line, *inputs(line))
        assert made == files(Path(json.loads(line)["folder"]))


def test_another_build_and_other_input_files_are_refused(
    arguments: list[str], tmp_path: Path
) -> None:
    line = missing(arguments, tmp_path / "sweep")[0]
    names, contents = inputs(line)
    other = json.dumps(json.loads(line) | {"program": "0" * 64})
    with pytest.raises(gnb_lab.SweepError, match=r"worker on .*: this gnb-lab is another build"):
        make_run(other, names, contents)
    with pytest.raises(gnb_lab.SweepError, match="its digest is not that of its scenario and"):
        make_run(line, names, [b"1\n2\n"])
    with pytest.raises(gnb_lab.SweepError, match="order of a run: EOF while parsing a list"):
        make_run("[", [], [])


def test_a_sweep_returns_its_table(scenario: Path, tmp_path: Path) -> None:
    table = gnb_lab.sweep(
        scenario,
        tmp_path / "sweep",
        over={"cell.n_prb": "51..106..55", "description": ['a "b", c', "it's"]},
        overrides={"duration_s": 0.1},
    )
    of_cell = [row for row in table.to_pylist() if row["scope"] == "cell"]
    points = [(row["cell.n_prb"], row["description"]) for row in of_cell]
    assert points == [(n, text) for n in (51, 106) for text in ('a "b", c', "it's")]
    with pytest.raises(gnb_lab.SweepError, match="other axes") as raised:
        gnb_lab.sweep(scenario, tmp_path / "sweep")
    assert raised.value.is_input


def test_a_cluster_makes_the_same_bytes_and_either_resumes_the_other(
    arguments: list[str], tmp_path: Path, dask: str
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    call("sweep", *arguments, "--out", str(here))
    seen: list[tuple[int, int]] = []
    afresh = [*arguments, "--out", str(there), "--restart"]
    said = on_cluster(afresh, dask, lambda *at: seen.append(at))
    assert said.startswith("4 runs, 4 of them finished before"), "no run was made again here"
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert files(there) == files(here)

    more = [*arguments[:-4], "--seeds", "3", *arguments[-2:]]
    seen.clear()
    on_cluster([*more, "--out", str(here)], dask, lambda *at: seen.append(at))
    assert seen == [(1, 2), (2, 2)], "begun by the program, finished by the cluster"
    said = call("sweep", *more, "--out", str(there))
    assert said.startswith("6 runs, 4 of them finished before"), "and the other way round"
    assert files(there) == files(here)


def test_an_interrupt_keeps_what_is_finished(
    arguments: list[str], tmp_path: Path, dask: str
) -> None:
    out = tmp_path / "sweep"

    def interrupt(finished: int, total: int) -> None:
        if finished == 2:
            raise KeyboardInterrupt

    with pytest.raises(gnb_lab.SweepError, match="interrupted with 2 of 4 missing runs finished"):
        on_cluster([*arguments, "--out", str(out)], dask, interrupt)
    assert len(missing(arguments, out)) == 2
    assert call("sweep", *arguments, "--out", str(out)).startswith("4 runs, 2 of them finished")


def test_a_scenario_that_cannot_run_is_in_the_table(
    scenario: Path, tmp_path: Path, dask: str, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = scenario.with_name("empty")
    empty.touch()
    out, over = tmp_path / "sweep", "ues[0].channel.mahimahi.path=traces/lte,empty"
    status = main(
        ["sweep", str(scenario), "--over", over, "--out", str(out), "--restart", "--dask", dask]
    )
    assert status == 1
    assert "gnb-lab: 1 of 2 runs failed" in capsys.readouterr().err
    errors = {row["error"] for row in gnb_lab.read(out).to_pylist()}
    assert {None} < errors
    assert any(error and "empty" in error for error in errors)


@pytest.mark.usefixtures("dask")
def test_an_unreachable_cluster_gives_one_line(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("gnb_lab.cluster.TIMEOUT_S", 0.2)
    out = ["--out", str(tmp_path / "sweep")]
    assert main(["sweep", *arguments, *out, "--dask", "tcp://127.0.0.1:9"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("gnb-lab: --dask: no scheduler answers at tcp://127.0.0.1:9")


@pytest.mark.usefixtures("dask")
def test_a_cluster_without_workers_and_a_lost_scheduler_are_reported(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gnb_lab.cluster.TIMEOUT_S", 0.5)
    complete = [*arguments, "--out", str(tmp_path / "sweep")]
    with (
        cluster(workers=0) as empty,
        pytest.raises(gnb_lab.SweepError, match=r"has no workers; expected at least one"),
    ):
        on_cluster(complete, empty.scheduler_address, lambda *at: None)
    with (
        cluster(workers=1) as lost,
        pytest.raises(gnb_lab.SweepError, match=r"the same command resumes"),
    ):
        on_cluster(complete, lost.scheduler_address, lambda *at: lost.close())
    assert len(missing(arguments, tmp_path / "sweep")) == 3


def test_without_dask_the_extra_is_named(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("gnb_lab.cluster.importlib.import_module", absent)
    out = ["--out", str(tmp_path / "sweep")]
    assert main(["sweep", *arguments, *out, "--dask", "tcp://127.0.0.1:9"]) == 2
    assert capsys.readouterr().err.endswith("are not installed; expected gnb-lab[dask]\n")


def test_the_error_of_the_program_is_handed_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = ["sweep", str(SCENARIO), "--over", "cell.msc=1", "--out", str(tmp_path / "out")]
    assert main([*scenario, "--dask", "tcp://127.0.0.1:9"]) == 2
    assert capsys.readouterr().err.startswith("gnb-lab: --over: cell.msc: unknown key 'msc'")
