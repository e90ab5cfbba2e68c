"""The summary has the figures of each phase of a recording."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sojourn_demo import DemoError, report
from sojourn_demo.live import read_decisions
from sojourn_demo.measure import summarise
from sojourn_demo.recording import read_recording
from sojourn_demo.report import cells

EPOCH_US = 1_700_000_000_000_000
DECIDED_S = 10.2


def record(folder: Path, *, improved_s: float) -> Path:
    """A synthetic run of 40 s: 800 ms round trips until `improved_s`, 12 ms after; 40 Mbit/s."""
    folder.mkdir()
    time_us = np.arange(0, 40_000_000, 1_000)
    count = len(time_us)
    after = time_us >= improved_s * 1e6
    table = {
        "time_us": time_us,
        "rnti": np.full(count, 17),
        "drb": np.ones(count, int),
        "rlc_hol_us": np.where(after, 2_000, 700_000),
        "rlc_occupancy_bytes": np.where(after, 5_000, 3_500_000),
        "tc_backlog_bytes": np.where(after, 90_000, 0),
        "cell_used_prb": np.arange(count) * 95,
        "cell_available_prb": np.arange(count) * 100,
    }
    pq.write_table(pa.table(table), folder / "bearers.parquet")
    rows: list[tuple[int, str, str, str, float]] = []
    for sent_ms in range(0, 39_000, 100):
        rtt_us = 12_000 if sent_ms / 1e3 >= improved_s else 800_000
        rows.append((sent_ms * 1_000 + rtt_us, "ping", "ping", "rtt", rtt_us))
        rows.append((sent_ms * 1_000 + 9_000, "call", "voip", "one_way", 9_000))
    rows += [
        (at_ms * 1_000, "bulk", "tcp", "goodput_bytes", at_ms * 5_000)
        for at_ms in range(0, 40_001, 100)
    ]
    names = ("time_us", "flow", "kind", "quantity", "value")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(columns), folder / "flows.parquet")
    (folder / "summary.json").write_text(json.dumps({"epoch_us": EPOCH_US, "duration_s": 40.0}))
    return folder


def decision(event: str, at_s: float, **fields: Any) -> dict[str, Any]:
    return {"event": event, "id": "d-1", "at_us": EPOCH_US + int(at_s * 1e6), **fields}


RECORDS = [
    decision(
        "decided",
        DECIDED_S,
        bearer={"node": "gnb", "rnti": 17, "drb": 1},
        trigger="violation",
        rung={"template": "fq_codel"},
        reasons=["head of line 700 ms above 10 ms"],
    ),
    decision("answered", DECIDED_S, detect_to_ack_us=1_500, outcome={"accepted": {}}),
    decision("verified", DECIDED_S + 2, verdict="kept"),
]
STATS = {
    "indication_latency_us": {"p50": 210.0, "p99": 900.0},
    "detect_to_ack_us": {"p50": 1_500.0, "p99": 1_500.0},
}


@pytest.fixture
def summary(tmp_path: Path) -> dict[str, Any]:
    recording = read_recording(record(tmp_path / "with", improved_s=10.5))
    without = read_recording(record(tmp_path / "without", improved_s=99))
    summary = summarise(recording, without, RECORDS, STATS, control_from_s=10.0)
    report.write_report(tmp_path / "report.html", "A & B", recording, without, summary)
    return summary


def test_phases_are_split_at_the_decision(summary: dict[str, Any]) -> None:
    before, after = summary["phases"]
    assert (before["name"], after["name"]) == ("uncontrolled", "controlled")
    assert (before["from_s"], before["to_s"]) == (2.0, DECIDED_S)
    assert after["from_s"] == pytest.approx(DECIDED_S + 1)
    assert before["ping_rtt_ms"]["p95"] == 800
    assert after["ping_rtt_ms"]["p95"] == 12
    assert after["goodput_mbps"] == pytest.approx(40)
    assert after["used_rb_pct"] == pytest.approx(95)
    assert after["rlc_hol_ms"]["p99"] == 2
    assert summary["without_control"]["ping_rtt_ms"]["p50"] == 800
    assert summary["ratios"]["goodput_with_over_without_control"] == pytest.approx(1)


def test_the_summary_has_loop_latency_and_decisions(summary: dict[str, Any]) -> None:
    assert summary["loop"]["indication_latency_us"] == {"p50": 210.0, "p99": 900.0}
    assert summary["loop"]["detect_to_ack_ms"] == {"p50": 1.5, "p99": 1.5}
    (decision,) = summary["decisions"]
    assert decision["template"] == "fq_codel"
    assert decision["at_s"] == pytest.approx(DECIDED_S)
    assert decision["detect_to_ack_ms"] == 1.5
    assert decision["verdict"] == "kept"


def test_table_and_page_show_the_same_numbers(summary: dict[str, Any], tmp_path: Path) -> None:
    page = (tmp_path / "report.html").read_text()
    assert "A &amp; B" in page
    assert page.count("<svg") == 1
    for row in cells(summary):
        assert all(f">{cell}<" in page for cell in row[2:])
    # No external resources.
    assert not re.search(r"""(src|href)=["']?https?:""", page)


def test_a_run_without_a_decision_has_a_summary(tmp_path: Path) -> None:
    recording = read_recording(record(tmp_path / "with", improved_s=99))
    summary = summarise(recording, recording, [], {}, control_from_s=10.0)
    assert summary["decisions"] == []
    assert summary["loop"]["detect_to_ack_ms"] == {"p50": None, "p99": None}
    report.write_report(tmp_path / "report.html", "none", recording, recording, summary)
    assert "made no decision" in (tmp_path / "report.html").read_text()


def test_an_invalid_recording_gives_one_line(tmp_path: Path) -> None:
    with pytest.raises(DemoError, match=r"cannot be read as a recording"):
        read_recording(tmp_path)


def test_an_incomplete_line_of_the_log_is_ignored(tmp_path: Path) -> None:
    log = tmp_path / "decisions.jsonl"
    log.write_text(json.dumps(RECORDS[0]) + "\n" + json.dumps(RECORDS[1])[:20])
    assert [r["event"] for r in read_decisions(log)] == ["decided"]
    assert read_decisions(tmp_path / "none") == []
