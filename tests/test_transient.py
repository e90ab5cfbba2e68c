"""The benchmark of a change of the pipeline, on the default cell."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_a_download_goes_on_while_each_pipeline_takes_over_its_backlog(tmp_path: Path) -> None:
    command = [sys.executable, "benchmarks/transient.py", "--at", "10", "--out", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    summary = json.loads((tmp_path / "transient.json").read_text())["summary"]
    assert len(summary) == 3
    for pipeline, row in summary.items():
        assert row["seconds"] == 3, pipeline
        assert row["below"] == 0, (pipeline, row["least"])
