"""The decision log: bounded, whole lines, and a story anyone can read."""

from __future__ import annotations

import errno
import json
import os
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from ric.errors import SettingsError
from ric.health import Condition
from ric.sm import tc
from tc_controller import cli
from tc_controller.actuator import RecordWriter
from tc_controller.core.controller import Controller
from tc_controller.decision_log import DecisionLog, read_log, rotated
from tc_controller.latency import LoopLatencies
from tc_controller.policy_file import parse_policy
from tc_world import World, bulk, ping

LADDER = (
    "[{template: fq_l4s}, {template: flow_slicing, greedy_rate_kbps: 2000}, {template: fq_codel}]"
)


def test_rotation_bounds_the_log_and_keeps_the_newest(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with DecisionLog(path, max_bytes=4096, keep=2) as log:
        for number in range(1_000):
            log.write({"event": "x", "number": number})
    files = [rotated(path, number) for number in range(4)]
    assert [file.exists() for file in files] == [True, True, True, False]
    assert all(file.stat().st_size <= 4096 for file in files[:3])
    numbers = [record["number"] for record in read_log(path)]
    assert numbers == list(range(numbers[0], 1_000))


def test_a_truncated_last_line_does_not_affect_later_records(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"event":"a"}\n{"event":"b","x"')
    with DecisionLog(path) as log:
        log.write({"event": "c"})
    assert [record["event"] for record in read_log(path)] == ["a", "c"]


def test_a_rotation_that_fails_loses_no_record(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    (tmp_path / "log.jsonl.1").mkdir()
    (tmp_path / "log.jsonl.1" / "x").touch()
    with DecisionLog(path, max_bytes=40, keep=1) as log:
        for number in range(5):
            log.write({"event": "x", "number": number})
    assert log.lost == 0
    lines = path.read_text().splitlines()
    assert [json.loads(line)["number"] for line in lines] == list(range(5))


def test_a_failed_rotation_is_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    in_the_way = tmp_path / "log.jsonl.1"
    in_the_way.mkdir()
    (in_the_way / "x").touch()
    path.with_name("log.jsonl.2").write_text('{"event":"old"}\n')
    with DecisionLog(path, max_bytes=60, keep=1) as log:
        for number in range(5):
            log.write({"event": "x", "number": number})
        _wait(lambda: path.exists() and path.read_text().count("\n") == 5)
        (in_the_way / "x").unlink()
        in_the_way.rmdir()
        log.write({"event": "x", "number": 5})
    assert (log.lost, log.problem) == (0, "")
    assert in_the_way.read_text().count("\n") == 5
    assert json.loads(path.read_text())["number"] == 5
    assert path.with_name("log.jsonl.2").read_text() == '{"event":"old"}\n'


def test_the_log_goes_on_when_there_is_room_again(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    text = "x" * 100_000
    with DecisionLog(path) as log:
        with file_size_limit(1 << 20):
            for number in range(15):
                log.write({"event": "x", "number": number, "text": text})
            _wait(lambda: log.lost == 5)
            assert log.problem == "No space left on device" or "too large" in log.problem
            assert path.read_bytes().endswith(b"\n")
        log.write({"event": "x", "number": 15})
    assert (log.lost, log.problem) == (5, "")
    lines = path.read_text().splitlines()
    assert [json.loads(line)["number"] for line in lines] == [*range(10), 15]


def test_records_are_lost_while_the_folder_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "log.jsonl"
    with DecisionLog(path) as log:
        writer = RecordWriter(log, LoopLatencies(), lambda _: None)
        writer.write({"event": "a"})
        assert writer.condition() == Condition(True, "written; 0 records lost")
        _wait(lambda: path.exists() and path.read_text() != "")
        path.unlink()
        path.parent.rmdir()
        path.parent.write_text("a file in place of the folder")
        log.write({"event": "b"})
        _wait(lambda: log.lost == 1)
        assert writer.condition().ok
        assert writer.condition().degraded
        path.parent.unlink()
        log.write({"event": "c"})
    assert [record["event"] for record in read_log(path)] == ["c"]


def test_a_program_starts_with_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.jsonl"
    opened = os.open

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tc_controller.decision_log.os.open", full)
    with DecisionLog(path) as log:
        log.write({"event": "a"})
        _wait(lambda: log.lost == 1)
        assert log.problem == "No space left on device"
        monkeypatch.setattr("tc_controller.decision_log.os.open", opened)
        log.write({"event": "b"})
    assert [record["event"] for record in read_log(path)] == ["b"]


@contextmanager
def file_size_limit(limit: int) -> Iterator[None]:
    """Writes beyond `limit` fail with EFBIG, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _wait(done: Callable[[], bool]) -> None:
    """Wait for the thread that writes."""
    for _ in range(2_000):
        if done():
            return
        time.sleep(0.005)
    pytest.fail("the log was not written")


def test_records_that_cannot_be_written_are_counted() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("/dev/full is not here")
    with DecisionLog(full) as log:
        log.write({"event": "a"})
    assert log.lost == 1


def test_a_disk_that_hangs_bounds_the_queue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tc_controller.decision_log._MAX_QUEUED", 10)
    log = DecisionLog(tmp_path / "log.jsonl")
    for number in range(12):
        log.write({"event": "x", "number": number})
    assert log.lost == 2


@pytest.fixture(name="log")
def _log(tmp_path: Path) -> Path:
    """A bad rung, its rollback, and the rung after it."""
    policy = parse_policy(
        f"version: 1\nrules: [{{name: r, ladder: {LADDER}, enforce: {{cool_down_ms: 500}}}}]"
    )
    stream = replace(bulk(), inelastic="over_part")
    world = World(Controller(policy, id_prefix="t"), stream, ping(), start_us=1_700_000_000_000_000)
    world.run(6_000)
    path = tmp_path / "decisions.jsonl"
    with DecisionLog(path) as log:
        for record in world.records:
            log.write(record)
    return path


def test_list_has_one_line_per_decision(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "--list", "--log", str(log)]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.split() == [
        "t-1", "2023-11-14", "22:13:20.035Z", "gnb-1/0x4601/drb1", "flow_slicing", "rolled", "back",
    ]  # fmt: skip
    assert second.split()[0] == "t-2"
    assert second.split()[4:] == ["fq_codel", "satisfied"]


def test_explain_shows_inputs_decision_control_answer_and_verdict(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["explain", "t-1", "--log", str(log)]) == 0
    story = capsys.readouterr().out
    for part in (
        "Decision t-1 on gnb-1/0x4601/drb1 at 2023-11-14 22:13:20.035Z",
        "Rule r: p95 of the sojourn within 10 ms over 100 ms",
        "Reason: sojourn 11.0 ms, above 10 ms for 3 ms",
        "tcp 10.0.0.1:443 > 10.1.0.2:5000  60000 kbit/s  greedy"
        "  inelastic, refused: exceeds the part of the bearer for such flows",
        "Skipped: fq_l4s, no ECT(1) traffic seen",
        "Ladder 2: flow_slicing (pacer bdp5g), lease 6000 ms, expected revision 1",
        "Accepted after 0.50 ms: revision 2",
        ": worse",
        "PRB use fell to",
        "Rolled back to safe (accepted); no decision for the next 500 ms",
    ):
        assert part in story


def test_explain_names_a_missing_decision(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["explain", "t-99", "--log", str(log)]) == 1
    assert "no decision t-99; --list shows those it has" in capsys.readouterr().err
    assert cli.main(["explain", "--log", str(log)]) == 2
    assert "expected the id of a decision, --list or --state" in capsys.readouterr().err
    assert cli.main(["explain", "x", "--log", str(tmp_path / "none")]) == 2
    assert "no such decision log" in capsys.readouterr().err


@pytest.mark.parametrize("flags", [["--list"], ["--state"], ["t-1"]])
def test_a_folder_is_no_decision_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str]
) -> None:
    assert cli.main(["explain", *flags, "--log", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"tc-controller: {tmp_path}: Is a directory; expected a decision log\n"
    )


def test_a_list_without_decisions_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "decisions.jsonl"
    log.write_text('no record\n{"event": "compliance"}\n')
    assert cli.main(["explain", "--list", "--log", str(log)]) == 0
    assert capsys.readouterr().err == f"tc-controller: {log}: has no decision\n"


def test_a_device_is_written_to_and_never_renamed(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    path.symlink_to(os.devnull)
    with DecisionLog(path, max_bytes=10) as log:
        for number in range(3):
            log.write({"event": "x", "number": number})
    assert log.lost == 0
    assert path.is_symlink()
    assert [one.name for one in tmp_path.iterdir()] == ["decisions.jsonl"]


def test_a_log_that_cannot_be_opened_is_a_wrong_setting(tmp_path: Path) -> None:
    expected = "Is a directory; expected a file that can be written"
    with pytest.raises(SettingsError, match=rf"decision_log\.path: {tmp_path}: {expected}"):
        DecisionLog(tmp_path).__enter__()


def test_check_and_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    ladder = "[{template: fq_codel, queues: 64}, {template: transparent}]"
    good.write_text(f"version: 1\nrules: [{{name: a, ladder: {ladder}}}]")
    bad.write_text("version: 1\nrules: [{name: a, ladder: [], objective: {bound_ms: 0}}]")
    assert cli.main(["check", str(good)]) == 0
    rule, fair, plain = capsys.readouterr().out.splitlines()
    assert rule == "a: within 10 ms"
    assert fair.startswith("  ladder 1. fq_codel: buffer.bytes 33554432, ")
    assert "pacer bdp5g, quantum_bytes 1514, queues 64 (default 1024), " in fair
    assert plain == "  ladder 2. transparent: no parameters"
    assert cli.main(["check", str(bad)]) == 2
    assert capsys.readouterr().err.startswith(
        f"tc-controller: {bad}: rules[0].objective.bound_ms: 0 "
    )
    assert cli.main(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["title"] == "Policy"
    rungs = {each["title"]: each["properties"] for each in schema["$defs"]["Rung"]["oneOf"]}
    assert rungs.keys() == set(tc.templates())
    assert rungs["fq_codel"]["queues"]["maximum"] == 4096
    assert "greedy_share" in rungs["flow_slicing"]
    assert "slices" not in rungs["flow_slicing"]


def test_a_bad_policy_or_setting_stops_the_start_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("version: 1\n")
    assert cli.main(["--policy", str(bad)]) == 2
    assert "bad.yaml: rules: missing" in capsys.readouterr().err
    assert cli.main(["run", "--observe-for-s", "-3"]) == 2
    assert "--observe-for-s" in capsys.readouterr().err
    assert cli.main(["run", "--forecasts", "example.org:1"]) == 2
    assert "--forecasts: plain text to example.org:1" in capsys.readouterr().err
