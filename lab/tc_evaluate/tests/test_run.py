"""What a run measures, and that an evaluation keeps what it has done."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tc_controller.cli import main
from tc_controller.policy_source import default_policy
from tc_evaluate import campaign, command
from tc_evaluate.axes import FlowMeasures, measures
from tc_evaluate.campaign import read_results, run_all
from tc_evaluate.errors import EvaluationError
from tc_evaluate.regret import compare
from tc_evaluate.run import CONTROLLER, NONE, Result, Task, execute
from tc_evaluate.situation import find_situations

Write = Callable[..., Path]


def task(path: Path, arm: str, policy_digest: str = "p") -> Task:
    (situation,), _ = find_situations([path], None)
    return Task(situation, situation.seed, arm, default_policy(), policy_digest)


def test_a_queue_per_flow_is_better_than_none_in_the_same_seconds(write: Write) -> None:
    path = write("bulk")
    none, template, controlled = (
        execute(task(path, arm)) for arm in (NONE, "fq_codel", CONTROLLER)
    )
    assert none.ping_p95_ms > 300
    assert none.bloat_s > 2
    assert template.ping_p95_ms < 50
    assert template.bloat_s == 0
    assert template.power > 5 * none.power
    assert none.transactions == template.transactions == 0
    assert none.measures is not None
    assert template.measures is not None
    assert none.measures.transient_s >= 2
    # Its own queue, slow start included, which a ping beside it does not show.
    assert template.measures.worst_bulk_flow == "bulk"
    bloated_ms, own_ms = none.measures.bulk_p95_ms, template.measures.bulk_p95_ms
    assert bloated_ms is not None
    assert own_ms is not None
    assert bloated_ms > 3 * own_ms > 3 * template.ping_p95_ms
    assert template.measures.rpm is template.measures.late_pct is None
    assert controlled.transactions > 0


def test_a_ping_without_reply_counts_as_old_as_it_is(write: Write) -> None:
    # The radio is gone from 2 s on: half of the pings are never answered.
    channel = "{ rate_series: { period_ms: 2000, values_kbps: [20000, 0] } }"
    result = execute(task(write("outage", channel), "low_latency"))
    assert 1_800 < result.ping_p95_ms < 2_000
    assert 1.8 < result.bloat_s < 2.0


def test_results_of_a_file_are_not_made_again_unless_their_inputs_changed(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def counted(one: Task) -> Result:
        made.append(one.arm)
        if one.arm == "low_latency":
            raise EvaluationError("broken")
        return execute(one)

    monkeypatch.setattr(campaign, "execute", counted)
    path, file = write("short", duration_s=0.5), tmp_path / "runs.jsonl"
    tasks = [task(path, arm) for arm in (NONE, CONTROLLER, "low_latency")]
    with pytest.raises(EvaluationError):
        run_all(tasks, jobs=1, file=file, done=lambda _: None)
    kept = read_results(file)
    assert [result.arm for result in kept] == [NONE, CONTROLLER]
    assert kept[0].measures is not None
    assert [flow.name for flow in kept[0].measures.flows] == ["bulk", "ping"]

    made.clear()
    other_policy = [replace(one, policy_digest="q") for one in tasks[:2]]
    results = run_all(other_policy, jobs=1, file=file, done=lambda _: None)
    assert made == [CONTROLLER]
    assert {result.arm for result in results} == {NONE, CONTROLLER}


def test_a_file_that_holds_something_else_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    file.write_text('{"situation": "a"}\n')
    with pytest.raises(EvaluationError, match=r"runs\.jsonl: line 1: .*expected a result"):
        read_results(file)


def test_regret_is_against_the_best_template_of_each_seed() -> None:
    def result(seed: int, arm: str, power: float) -> Result:
        return Result("s", seed, arm, 1.0, 1.0, 0.0, power, 0, 0, "")

    (comparison,) = compare(
        [
            result(1, NONE, 9.0),
            result(1, "fq_codel", 1.0),
            result(1, "low_latency", 4.0),
            result(1, CONTROLLER, 1.0),
            result(2, NONE, 9.0),
            result(2, "fq_codel", 4.0),
            result(2, "low_latency", 2.0),
            result(2, CONTROLLER, 8.0),
        ]
    )
    assert comparison.best == "low_latency"
    assert comparison.relative_power[CONTROLLER] == pytest.approx(0.5**0.5)
    assert comparison.relative_power["low_latency"] == pytest.approx(0.5**0.5)


def test_lost_pings_are_those_of_all_ues_and_of_no_other_flow() -> None:
    def flow(kind: str, lost: int) -> FlowMeasures:
        return FlowMeasures(f"{kind}{lost}", kind, 1, 1, 0.0, 0.0, 0.0, 0.0, lost, None)

    measured = measures({"flows": [], "worst": {"bearer": None}}, 0.0, [])
    flows = (flow("ping", 3), flow("tcp", 40), flow("ping", 4))
    found = replace(measured, flows=flows)
    one = Result("s", 1, NONE, 1.0, 20.0, 0.0, 0.05, 0, 0, "", found)
    assert one.lost_pings == 7
    assert math.isnan(replace(one, measures=None).lost_pings)


def test_the_command_prints_a_table_and_writes_runs_and_plot(
    write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, runs, plot = write("one", duration_s=1.0), tmp_path / "r.jsonl", tmp_path / "r.svg"
    arguments = ["evaluate", str(path), "--arms", "none,low_latency,controller", "--jobs", "2"]
    report = tmp_path / "report"
    files = ["--json", str(runs), "--plot", str(plot), "--report", str(report)]
    assert main([*arguments, *files]) == 0
    out = capsys.readouterr().out
    assert "geometric mean" in out
    assert "low_latency" in out
    assert {json.loads(line)["arm"] for line in runs.read_text().splitlines()} == {
        "none",
        "low_latency",
        "controller",
    }
    assert plot.read_text().startswith("<svg")
    assert "regret up to" in out
    text = (report / "report.md").read_text()
    assert "| low_latency * |" in text
    assert "![Axes of each arm](one.svg)" in text
    assert (report / "one.svg").read_text().startswith("<svg")


def test_the_command_names_what_it_cannot_use(
    write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("one")
    assert main(["evaluate", str(path), "--arms", "codel"]) == 2
    assert "--arms: 'codel'; expected some of none, " in capsys.readouterr().err
    assert main(["evaluate", str(tmp_path / "none.yaml")]) == 2
    assert "no such file or folder" in capsys.readouterr().err
    path.write_text(path.read_text().replace("n_prb: 24", "n_prb: 0"))
    assert main(["evaluate", str(path)]) == 2
    assert "cell.n_prb" in capsys.readouterr().err


@pytest.mark.parametrize(
    "case",
    [
        ("--plot", "power.xyz", "/power.xyz: expected a name that ends in one of .svg, .png, .pdf"),
        ("--plot", "none/power.svg", "/none: no such directory; expected one"),
        ("--report", "file", "/file' is no folder; expected one"),
        ("--report", "file/below", "/file' is no folder; expected one"),
        ("--json", "file/runs.jsonl", "/file' is no folder; expected one"),
        ("--json", ".", "' is no regular file; expected one, or none"),
        ("--plot", "folder.svg", "/folder.svg' is no regular file; expected one, or none"),
        ("--traces", "none", "/none: no such directory; expected one"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_runs(
    write: Write,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    case: tuple[str, str, str],
) -> None:
    flag, name, problem = case

    def run_all(*_: object, **__: object) -> None:
        raise AssertionError("nothing may run")

    monkeypatch.setattr(command, "run_all", run_all)
    (tmp_path / "file").touch()
    (tmp_path / "folder.svg").mkdir()
    try:
        status = main(["evaluate", str(write("one")), flag, str(tmp_path / name)])
    except SystemExit as usage:
        status = usage.code
    assert status == 2
    said = capsys.readouterr().err
    assert flag in said
    assert said.endswith(f"{tmp_path}{problem}\n")


def test_a_former_name_of_a_template_is_an_arm(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["evaluate", str(write("one", duration_s=0.1)), "--jobs", "1", "--arms"]
    assert main([*arguments, "sojourn,low_latency"]) == 0
    captured = capsys.readouterr()
    assert captured.err.count("former name") == 1
    notice = "tc-controller: notice: --arms: 'sojourn' is a former name; write low_latency\n"
    assert notice in captured.err
