"""The benchmark of a change of the pipeline, on the default cell."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_download_goes_on_while_each_pipeline_takes_over_its_backlog(tmp_path: Path) -> None:
    command = [sys.executable, "benchmarks/transient.py", "--at", "10", "--out", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    measured = json.loads((tmp_path / "transient.json").read_text())
    summary = measured["summary"]
    assert len(summary) == 3
    for pipeline, row in summary.items():
        assert row["seconds"] == 3, pipeline
        assert row["below"] == 0, (pipeline, row["least"])
    without, *controlled = measured["takeovers"]
    assert without["queued_bytes"] > 8_000_000
    assert min(without["own_delay_ms"]) > 1_500, "the backlog stays"
    for takeover in controlled:
        name, means_ms = takeover["pipeline"], takeover["means_ms"]
        assert min(takeover["goodput_mbps"]) >= 0.7 * min(without["goodput_mbps"]), name
        assert max(takeover["own_delay_ms"][5:]) < 100, name
        assert means_ms["sparse"] < 0.01 * without["means_ms"]["sparse"], name
        assert means_ms["bulk"] < 50, name
        assert means_ms["inherited"] > 1_500, name
