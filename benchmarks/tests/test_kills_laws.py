"""What `make kills` checks is broken by what should break it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kills_laws import Bearers, BrokenError, StateWatch, check_decisions, check_lines, lines_of

DESIRED = {
    "node": "gnb-1",
    "rnti": 17,
    "drb": 1,
    "rule": "all",
    "rung": -1,
    "template": "low_latency",
    "pipeline": {"name": "low_latency"},
    "revision": 4,
    "as_safe": True,
}


def test_a_state_file_is_whole_and_holds_what_is_in_force(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    watch = StateWatch(file)
    watch.check()
    assert not watch.has("low_latency", {17: 4})
    document = {"version": 1, "desired": [DESIRED], "kept": []}
    file.write_text(json.dumps(document))
    watch.check()
    assert watch.has("low_latency", {17: 4})
    assert not watch.has("low_latency", {17: 5})
    assert not watch.has("fq_codel", {17: 4})
    assert not watch.has("low_latency", {17: 4, 18: 2})
    for text in (json.dumps(document)[:-5], json.dumps({"version": 1, "desired": [{}]})):
        file.write_text(text)
        with pytest.raises(BrokenError, match=r"state\.json"):
            watch.check()


def test_lines_of_rotated_logs_are_read_oldest_first_and_torn_ones_counted(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    for number in range(11):
        name = "log.jsonl" if number == 0 else f"log.jsonl.{number}"
        (tmp_path / name).write_text(json.dumps({"number": number}) + "\n")
    assert [json.loads(line)["number"] for line in lines_of(log)] == list(range(10, -1, -1))
    with log.open("a") as file:
        file.write('{"number": 1\n')
    assert check_lines(log, 1) == (11, 1)
    with pytest.raises(BrokenError, match="1 lines that are no JSON, expected 0"):
        check_lines(log, 0)


def test_a_decision_that_was_logged_and_not_written_is_found(tmp_path: Path) -> None:
    log, program_log = tmp_path / "decisions.jsonl", tmp_path / "first.log"
    log.write_text('{"event":"decided","id":"a-1"}\n')
    logged = [
        {"event": "decided", "id": f"a-{n}", "timestamp": f"2026-01-01T00:00:0{n}Z"} for n in (1, 2)
    ]
    program_log.write_text("".join(json.dumps(record) + "\n" for record in logged) + "Traceback\n")
    with pytest.raises(BrokenError, match="a-2"):
        check_decisions(log, program_log, lambda _: False)
    excused: list[float] = []

    def excuse(at_s: float) -> bool:
        excused.append(at_s)
        return True

    assert check_decisions(log, program_log, excuse) == 2
    assert excused == [1_767_225_602.0]


def test_a_revision_that_goes_back_is_found() -> None:
    bearers = Bearers("127.0.0.1:1")

    def report(revision: int) -> None:
        status = {"bearer": {"ue": {"rnti": 17}, "drb": 1}, "revision": revision, "name": "x"}
        bearers._take({"pipeline_status": [status]})

    report(3)
    assert bearers.have("x", 1)
    assert not bearers.have("x", 2)
    bearers.restarted()
    assert not bearers.have("x", 1)
    report(1)
    assert not bearers.broken
    report(0)
    assert "revision 0 after 1" in bearers.broken
