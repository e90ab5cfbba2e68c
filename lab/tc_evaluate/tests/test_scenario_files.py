"""Files of situations: a base, and by name what each situation changes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gnb_lab
import pytest
from tc_controller.cli import main
from tc_evaluate import scenario_files
from tc_evaluate.errors import EvaluationError
from tc_evaluate.run import UNCONTROLLED, world_of
from tc_evaluate.scenario_files import expanded, read_scenarios, write_scenarios
from tc_evaluate.situation import find_situations

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
BASE: dict[str, Any] = {
    "duration_s": 4,
    "cell": {"rat": "nr", "n_prb": 24, "scs_khz": 30, "tdd": {"pattern": "DDDDDDDMUU"}},
    "ues": [{"rnti": 1, "channel": {"fixed_mcs": 10}, "drbs": [{"id": 1}]}],
    "flows": [{"name": "bulk", "kind": "tcp"}, {"name": "ping", "kind": "ping"}],
}


def of(**changes: Any) -> dict[str, Any]:
    """The scenario of one situation."""
    return expanded({"base": BASE, "situations": {"one": changes}})["one"]


def file_of(folder: Path, situations: dict[str, Any]) -> Path:
    path = folder / "set.yaml"
    path.write_text(json.dumps({"base": BASE, "situations": situations}))
    return path


def test_a_situation_is_the_base_with_its_changes_and_its_name() -> None:
    assert of() == {"name": "one", **BASE}
    changed = of(**{"cell.n_prb": 51, "cell.tdd": None, "split.f1.loss": 0.1, "ues[0].count": 2})
    assert changed["cell"] == {"rat": "nr", "n_prb": 51, "scs_khz": 30}
    assert changed["split"] == {"f1": {"loss": 0.1}}
    assert changed["ues"][0]["count"] == 2
    assert [flow["rnti"] for flow in of(**{"flows[*].rnti": "each"})["flows"]] == ["each"] * 2
    assert of(flows=[])["flows"] == []


def test_situations_share_nothing_with_each_other_or_their_base() -> None:
    value = {"fixed_mcs": 1}
    changes = {"ues": [{"rnti": 1}, {"rnti": 2}], "ues[*].channel": value}
    changes["ues[0].channel.fixed_mcs"] = 9  # type: ignore[assignment]
    assert [ue["channel"]["fixed_mcs"] for ue in of(**changes)["ues"]] == [9, 1]
    assert value == {"fixed_mcs": 1}
    assert BASE["ues"][0]["channel"] == {"fixed_mcs": 10}


def test_a_path_means_what_it_means_to_the_lab() -> None:
    changes = {"cell.n_prb": 51, "ues[0].drbs[*].priority": 3, "flows[1].interval_ms": 20}
    ours, theirs = gnb_lab.World(of(**changes)), gnb_lab.World(of(), overrides=changes)
    ours.step_until(500_000)
    theirs.step_until(500_000)
    assert ours.summary() == theirs.summary()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"flows[2].rate": 1}, "one.flows[2].rate: [2] is not there; the list has 2"),
        ({"cell[0]": 1}, "one.cell[0]: [0] is not within a list"),
        ({"cell[*].x": 1}, "one.cell[*].x: [*] is not within a list"),
        ({"seed.x": 1, "seed": 3}, None),
        ({"duration_s.x": 1}, "one.duration_s.x: 'x' is not within a mapping"),
        ({"ues[*].drbs[0].rlc": {}, "flows[0]x": 1}, "one.flows[0]x: expected a path such as"),
        ({".cell": 1}, "one..cell: expected a path such as"),
        ({"[0]": 1}, "one.[0]: expected a path such as"),
        ({"": 1}, "one.: expected a path such as"),
    ],
)
def test_a_change_of_what_is_not_there_is_named(
    changes: dict[str, Any], problem: str | None, tmp_path: Path
) -> None:
    path = file_of(tmp_path, {"one": changes})
    if problem is None:
        read_scenarios([path])
        return
    with pytest.raises(EvaluationError) as error:
        read_scenarios([path])
    assert str(error.value).startswith(f"{path}: {problem}")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("situations: {}", "situations: empty"),
        ("situations: [a]", "situations: expected a mapping"),
        ("base: 3\nsituations: {a: {}}", "base: expected a mapping"),
        ("situations: {a: 3}", "a: expected a mapping of changes"),
        ("situations: {a/b: {}}", "situations: 'a/b': expected letters"),
        ("others: {}\nsituations: {a: {}}", "others: unknown key; expected base and situations"),
        ("situations: {a: {}}", "a.duration_s: not given"),
        ("situations: {a: {duration_s: x}}", "a.duration_s: 'x'; expected a number"),
        ("situations: {a: {duration_s: 3}}", "a.flows: no flow of kind ping"),
    ],
)
def test_what_is_no_file_of_situations_is_named(content: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "set.yaml"
    path.write_text(content)
    with pytest.raises(EvaluationError) as error:
        find_situations([path], None)
    assert str(error.value).startswith(f"{path}: {problem}")


def test_what_the_lab_refuses_is_named_with_its_situation(tmp_path: Path) -> None:
    path = file_of(tmp_path, {"one": {"flows[1].rate": 3}})
    (situation,), _ = find_situations([path], None)
    with pytest.raises(EvaluationError) as error:
        world_of(situation, UNCONTROLLED, 1)
    assert str(error.value).startswith(f"{path}: one.flows[1].rate: unknown key 'rate'")


def test_situations_that_would_take_too_much_memory_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scenario_files, "_MAX_NODES", 100)
    path = file_of(tmp_path, {f"s{number}": {} for number in range(10)})
    with pytest.raises(EvaluationError, match="situations: more than 100 nodes in all"):
        read_scenarios([path])


def test_a_recording_is_found_beside_the_file_or_among_the_traces(tmp_path: Path) -> None:
    channel = {"mahimahi": {"path": "radio.down"}}
    path = file_of(tmp_path, {"still": {}, "moving": {"ues[0].channel": channel}})
    situations, (skipped,) = find_situations([path], None)
    assert [each.name for each in situations] == ["still"]
    assert skipped.startswith(f"{path}: moving: skipped: radio.down is not there")
    traces = tmp_path / "traces"
    for folder in (traces, tmp_path):
        folder.mkdir(exist_ok=True)
        recording = folder / "radio.down"
        recording.write_text("1\n2\n3\n")
        (_, found), _ = find_situations([path], traces)
        assert found.overrides == {"ues[0].channel.mahimahi.path": str(recording)}
        world_of(found, UNCONTROLLED, 1).step_until(10_000)


def test_each_public_situation_is_written_as_the_same_scenario(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, count in (("situations", 117), ("parameters", 29)):
        out, path = tmp_path / name, BENCHMARKS / f"{name}.yaml"
        assert main(["evaluate", str(path), "--write", str(out)]) == 0
        assert capsys.readouterr().out == f"{count} scenarios in {out}\n"
        written = {each.name: each.content for each in read_scenarios([out])}
        assert written == {each.name: each.content for each in read_scenarios([path])}
        digests = [
            {each.name: each.digest for each in find_situations([place], None)[0]}
            for place in (path, out)
        ]
        assert digests[0] == digests[1]


def test_a_scenario_that_exists_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("mine")
    scenarios = read_scenarios([file_of(tmp_path, {"one": {}})])
    with pytest.raises(EvaluationError, match=r"one\.yaml: cannot be written: .*; expected a new"):
        write_scenarios(scenarios, tmp_path)
    assert (tmp_path / "one.yaml").read_text() == "mine"
