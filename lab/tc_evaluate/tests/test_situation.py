"""Which scenarios are evaluated, and what is said of those that cannot be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tc_evaluate.errors import EvaluationError
from tc_evaluate.run import UNCONTROLLED, world_of
from tc_evaluate.situation import find_situations

Write = Callable[..., Path]


ROOT = Path(__file__).parents[3]
PUBLIC = ROOT / "benchmarks" / "situations.yaml"
RECORDED = "{ mahimahi: { path: radio.down } }"


def test_a_folder_gives_its_scenarios_in_the_order_of_their_names(
    write: Write, tmp_path: Path
) -> None:
    write("b")
    write("a")
    situations, skipped = find_situations([tmp_path], None)
    assert [item.name for item in situations] == ["a", "b"]
    assert not skipped


def test_a_recording_is_found_beside_the_scenario_or_among_the_traces(
    write: Write, tmp_path: Path
) -> None:
    path = write("recorded", RECORDED)
    traces = tmp_path / "traces"
    traces.mkdir()
    assert find_situations([path], traces) == (
        [],
        [f"{path}: skipped: radio.down is not there; not in {traces} either"],
    )
    recording = traces / "radio.down"
    recording.write_text("1\n2\n3\n")
    (found,), _ = find_situations([path], traces)
    assert found.overrides == {"ues[0].channel.mahimahi.path": str(recording)}
    (tmp_path / "radio.down").write_text("1\n2\n3\n")
    (found,), _ = find_situations([path], traces)
    assert not found.overrides


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[1, 2]", "expected a scenario, a mapping"),
        ("duration_s: 3\nflows: [{kind: tcp}]", "flows: no flow of kind ping"),
        ("flows: [{kind: ping}]", "duration_s: not given"),
        ("a: [", "line 2: not YAML: "),
    ],
)
def test_what_is_no_situation_is_refused_by_name(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(EvaluationError) as error:
        find_situations([path], None)
    assert str(error.value).startswith(f"{path}: ")
    assert complaint in str(error.value)


def test_two_situations_of_one_name_are_refused(write: Write, tmp_path: Path) -> None:
    path = write("same")
    other = tmp_path / "other"
    other.mkdir()
    (other / "same.yaml").write_text(path.read_text())
    with pytest.raises(EvaluationError, match="names must differ"):
        find_situations([path, other], None)


def test_the_public_set_has_forty_situations_that_the_lab_accepts() -> None:
    situations, skipped = find_situations([PUBLIC], None)
    assert len(situations) >= 40
    assert all("--traces names the folder" in sentence for sentence in skipped)
    assert len({item.seed for item in situations}) == len(situations)
    for situation in situations:
        world_of(situation, UNCONTROLLED, situation.seed)
