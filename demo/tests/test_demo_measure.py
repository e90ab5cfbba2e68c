"""The summary has the figures of each phase of a recording."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from sojourn_demo import DemoError, colours, picture, report, responsiveness
from sojourn_demo.lead import lead
from sojourn_demo.live import Trend, read_decisions
from sojourn_demo.measure import summarise
from sojourn_demo.recording import read_recording
from sojourn_demo.responsiveness import Score
from sojourn_demo.tables import UNANSWERED, cells, first_cells, tables

EPOCH_US = 1_700_000_000_000_000
SWITCHED_S = 10.2
"""When the pipeline changed by the gNB's clock."""
CONTROLLER_LATE_S = 0.3
"""How far the controller's clock is ahead, as after a gNB that fell behind."""
STARVED_S = 0.5
"""How long the change stops the bulk flow."""
FOOTNOTE = report.Footnote("another run", "those of transport blocks", "Times are of the radio")


def record(folder: Path, *, switched_s: float | None) -> Path:
    """A synthetic run of 40 s at 40 Mbit/s.

    Round trips take 800 ms until `switched_s`, 12 ms after it; goodput stops for `STARVED_S` then.
    Without a change, pings sent in the last 800 ms are not answered.
    """
    folder.mkdir()
    time_us = np.arange(0, 40_000_001, 1_000)
    count = len(time_us)
    at_s = 1e9 if switched_s is None else switched_s
    after = time_us >= at_s * 1e6
    table = {
        "time_us": time_us,
        "rnti": np.full(count, 17),
        "drb": np.ones(count, int),
        "rlc_hol_us": np.where(after, 2_000, 700_000),
        "rlc_occupancy_bytes": np.where(after, 5_000, 3_500_000),
        "tc_backlog_bytes": np.where(after, 90_000, 0),
        "drained_bytes": time_us * 5 + time_us // 10,
        "cell_used_prb": np.arange(count) * 95,
        "cell_available_prb": np.arange(count) * 100,
        "tc_revision": np.where(after, 2, 1),
    }
    pq.write_table(pa.table(table), folder / "bearers.parquet")
    rows: list[tuple[int, str, str, str, float]] = []
    for sent_ms in range(0, 40_000, 100):
        rtt_us = 12_000 if sent_ms / 1e3 >= at_s else 800_000
        if sent_ms * 1_000 + rtt_us <= 40_000_000:
            rows.append((sent_ms * 1_000 + rtt_us, "ping", "ping", "rtt", rtt_us))
        rows.append((sent_ms * 1_000 + 9_000, "call", "voip", "one_way", 9_000))
        own_us = 240_000 if sent_ms / 1e3 >= at_s else 790_000
        rows.append((sent_ms * 1_000 + own_us, "bulk", "tcp", "one_way", own_us))
    for at_ms in range(0, 40_001, 100):
        starved_s = min(max(at_ms / 1e3 - at_s, 0), STARVED_S)
        rows.append(
            (at_ms * 1_000, "bulk", "tcp", "goodput_bytes", (at_ms / 1e3 - starved_s) * 5e6)
        )
    names = ("time_us", "flow", "kind", "quantity", "value")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(columns), folder / "flows.parquet")
    (folder / "summary.json").write_text(json.dumps({"epoch_us": EPOCH_US, "duration_s": 40.0}))
    return folder


def decision(event: str, at_s: float, **fields: Any) -> dict[str, Any]:
    return {"event": event, "id": "d-1", "at_us": EPOCH_US + int(at_s * 1e6), **fields}


DECIDED_S = SWITCHED_S + CONTROLLER_LATE_S
RECORDS = [
    decision(
        "decided",
        DECIDED_S,
        bearer={"node": "gnb", "rnti": 17, "drb": 1},
        trigger="base",
        rung={"template": "low_latency"},
        reasons=["the base pipeline of the rule is not in force"],
    ),
    decision("answered", DECIDED_S, detect_to_ack_us=1_500, outcome={"accepted": {"revision": 2}}),
    decision("verified", DECIDED_S + 2, verdict="kept"),
]
SCORES = (Score(2813.9, 4693.7, 934.2), Score(101.7, 116.0, 87.4))
"""Scores with control and without."""
STATS = {
    "indication_latency_us": {"p50": 210.0, "p99": 900.0},
    "detect_to_ack_us": {"p50": 1_500.0, "p99": 1_500.0},
}


@pytest.fixture
def summary(tmp_path: Path) -> dict[str, Any]:
    recording = read_recording(record(tmp_path / "with", switched_s=SWITCHED_S))
    without = read_recording(record(tmp_path / "without", switched_s=None))
    summary = summarise(recording, without, RECORDS, STATS, control_from_s=10.0)
    report.write_report(tmp_path / "report.html", "A & B", (recording, without), summary, FOOTNOTE)
    return summary


def test_the_delay_of_a_bulk_flow_is_its_own_and_not_that_of_the_ping_beside_it(
    summary: dict[str, Any],
) -> None:
    before, after = summary["phases"]
    assert before["own_one_way_ms"]["bulk"]["p95"] == 790.0
    assert after["own_one_way_ms"]["bulk"]["p95"] == 240.0
    assert after["ping_rtt_ms"]["p95"] == 12.0
    rows = {row[0]: row[1:] for row in cells(summary)}
    assert rows["bulk one-way p95, its own packets"] == ("ms", "790.0", "240.0", "790.0")


def test_phases_meet_where_the_gnb_changed_the_pipeline(summary: dict[str, Any]) -> None:
    before, after = summary["phases"]
    assert (before["name"], after["name"]) == ("uncontrolled", "controlled")
    assert (before["from_s"], before["to_s"]) == (2.0, SWITCHED_S)
    assert (after["from_s"], after["to_s"]) == (SWITCHED_S, 40.0)
    assert before["ping_rtt_ms"]["p95"] == 800
    assert after["ping_rtt_ms"]["p95"] == 12
    assert after["used_rb_pct"] == pytest.approx(95)
    assert after["rlc_hol_ms"]["p99"] == 2
    assert summary["without_control"]["ping_rtt_ms"]["p50"] == 800
    (decision,) = summary["decisions"]
    assert decision["at_s"] == SWITCHED_S


def test_goodput_includes_the_seconds_right_after_the_change(summary: dict[str, Any]) -> None:
    _, after = summary["phases"]
    kept = 1 - STARVED_S / (40.0 - SWITCHED_S)
    assert after["goodput_mbps"] == pytest.approx(40 * kept, abs=0.01)
    assert after["drained_mbps"] == pytest.approx(40.8, abs=0.01)
    assert summary["ratios"]["goodput_with_over_without_control"] == pytest.approx(kept, abs=1e-3)


def test_each_half_second_after_the_change_is_reported(summary: dict[str, Any]) -> None:
    steps = summary["first_seconds"]
    assert [step["after_s"] for step in steps] == [[n / 2, (n + 1) / 2] for n in range(6)]
    assert [s["with_control"]["goodput_mbps"] for s in steps] == pytest.approx(
        [0, 40, 40, 40, 40, 40], abs=0.01
    )
    assert [s["without_control"]["goodput_mbps"] for s in steps] == pytest.approx([40] * 6)
    assert steps[0]["with_control"]["drained_mbps"] == pytest.approx(40.8, abs=0.01)
    assert steps[0]["with_control"]["ping_rtt_max_ms"] == 12
    each = summary["ratios"]["goodput_with_over_without_control_each_second"]
    assert each == pytest.approx([0.5, 1, 1], abs=1e-3)


def test_pings_without_an_answer_are_counted(summary: dict[str, Any]) -> None:
    (row,) = (row for row in cells(summary) if row[0] == UNANSWERED)
    assert row[2:] == ("0 of 82", "0 of 298", "7 of 298")


def test_a_run_that_ends_within_the_first_seconds_has_the_whole_steps(tmp_path: Path) -> None:
    recording = read_recording(record(tmp_path / "with", switched_s=38.8))
    summary = summarise(recording, recording, [], {}, control_from_s=10.0)
    assert [step["after_s"] for step in summary["first_seconds"]] == [[0, 0.5], [0.5, 1]]
    assert len(summary["ratios"]["goodput_with_over_without_control_each_second"]) == 1


def test_the_summary_has_loop_latency_and_decisions(summary: dict[str, Any]) -> None:
    assert summary["loop"]["indication_latency_us"] == {"p50": 210.0, "p99": 900.0}
    assert summary["loop"]["detect_to_ack_ms"] == {"p50": 1.5, "p99": 1.5}
    (decision,) = summary["decisions"]
    assert (decision["template"], decision["trigger"]) == ("low_latency", "base")
    assert decision["detect_to_ack_ms"] == 1.5
    assert decision["verdict"] == "kept"


def test_foreign_revisions_do_not_place_a_decision(tmp_path: Path) -> None:
    recording = read_recording(record(tmp_path / "with", switched_s=SWITCHED_S))
    summary = summarise(recording, recording, RECORDS, {}, control_from_s=10.0, own_revisions=False)
    assert summary["decisions"][0]["at_s"] == pytest.approx(DECIDED_S)
    assert summary["phases"][1]["from_s"] == SWITCHED_S


def test_tables_and_page_show_the_same_numbers(summary: dict[str, Any], tmp_path: Path) -> None:
    page = (tmp_path / "report.html").read_text()
    assert "A &amp; B" in page
    for row in (*(row[2:] for row in cells(summary)), *first_cells(summary)):
        assert all(f">{cell}<" in page for cell in row)
    console = Console(width=120, record=True, file=io.StringIO())
    for table in tables(summary):
        console.print(table)
    shown = console.export_text()
    for row in first_cells(summary):
        assert all(f" {cell} " in shown for cell in row)
    # No external resources.
    assert not re.search(r"""(src|href)=["']?https?:""", page)


def test_report_terminal_and_lead_have_both_scores(summary: dict[str, Any]) -> None:
    summary.update(responsiveness.figures(*SCORES, test="The last 10 s."))
    assert summary["responsiveness"]["with_control"] == {
        "rpm": 2813.9,
        "foreign_rpm": 4693.7,
        "loaded_rpm": 934.2,
    }
    assert lead(summary).endswith(
        "Responsiveness under load was <b>2,814 RPM</b>; without control it was <b>102 RPM</b>."
    )
    console = Console(record=True, width=100)
    for table in tables(summary):
        console.print(table)
    assert "RPM in a loading connection (loaded) │          934 │      87" in console.export_text()
    (plot,) = responsiveness.plots(summary)
    for shown in ("4,694", "116", "934", "87"):
        assert f">{shown}<" in plot.svg


def test_without_a_score_nothing_is_said(summary: dict[str, Any]) -> None:
    assert responsiveness.figures(None, None, test="") == {}
    assert list(responsiveness.plots(summary)) == []
    assert "RPM" not in lead(summary)
    assert len(list(tables(summary))) == 2


def test_no_two_quantities_share_a_colour() -> None:
    quantities = [name for name in vars(colours) if name.isupper()]
    assert len({getattr(colours, name) for name in quantities}) == len(quantities)


def test_the_picture_shows_both_runs_in_both_colour_schemes(
    summary: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "with").rename(tmp_path / "with_control")
    (tmp_path / "without").rename(tmp_path / "without_control")
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    picture.draw(tmp_path, tmp_path / "picture.svg")
    svg = (tmp_path / "picture.svg").read_text()
    ElementTree.fromstring(svg)
    assert "prefers-color-scheme:dark" in svg
    assert "the controller applies low_latency" in svg


def test_bars_have_a_scale() -> None:
    trend = Trend("ping round trip", "ms", "#0b6fa4")
    trend.values.extend((400.0, 1600.0, 12.5))
    name, value, bars, scale = trend.row()
    assert (name, value, scale) == ("ping round trip", "12.5 ms", "0–1,600")
    assert bars.plain == "▂█ "


def test_a_run_without_a_decision_has_a_summary(tmp_path: Path) -> None:
    recording = read_recording(record(tmp_path / "with", switched_s=None))
    summary = summarise(recording, recording, [], {}, control_from_s=10.0)
    assert summary["decisions"] == []
    assert summary["switched_s"] is None
    assert summary["loop"]["detect_to_ack_ms"] == {"p50": None, "p99": None}
    report.write_report(tmp_path / "report.html", "none", (recording, recording), summary, FOOTNOTE)
    page = (tmp_path / "report.html").read_text()
    assert "made no decision" in page
    assert "no pipeline changed" in page


def test_an_invalid_recording_gives_one_line(tmp_path: Path) -> None:
    with pytest.raises(DemoError, match=r"cannot be read as a recording"):
        read_recording(tmp_path)


def test_an_incomplete_line_of_the_log_is_ignored(tmp_path: Path) -> None:
    log = tmp_path / "decisions.jsonl"
    log.write_text(json.dumps(RECORDS[0]) + "\n" + json.dumps(RECORDS[1])[:20])
    assert [r["event"] for r in read_decisions(log)] == ["decided"]
    assert read_decisions(tmp_path / "none") == []
