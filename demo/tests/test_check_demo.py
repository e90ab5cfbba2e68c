"""The check of the demo's summary tells what it breaks."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CHECK = Path(__file__).with_name("check_demo.py")
KEPT: dict[str, Any] = {
    "through": "lab",
    "phases": [{"ping_rtt_ms": {"p95": 1688.0}}, {"ping_rtt_ms": {"p95": 12.9}}],
    "ratios": {
        "goodput_after_over_before": 1.0,
        "goodput_with_over_without_control": 1.0,
        "goodput_with_over_without_control_each_second": [1.0, 0.8, 1.0],
    },
    "decisions": [{}],
    "responsiveness": {
        "with_control": {"rpm": 2800.0, "foreign_rpm": 4700.0, "loaded_rpm": 900.0},
        "without_control": {"rpm": 100.0, "foreign_rpm": 120.0, "loaded_rpm": 80.0},
    },
    "loop": {"indication_latency_us": {}, "detect_to_ack_ms": {}},
}


def checked(summary: dict[str, Any], folder: Path) -> tuple[int, str]:
    path = folder / "summary.json"
    path.write_text(json.dumps(summary))
    command = [sys.executable, str(CHECK), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_summary_that_meets_every_claim_passes(tmp_path: Path) -> None:
    status, said = checked(KEPT, tmp_path)
    assert (status, "BROKEN" in said) == (0, False), said


@pytest.mark.parametrize(
    ("side", "key", "value", "named"),
    [
        ("with_control", "rpm", 400.0, "BROKEN controlled RPM: 400.0 >= 500.0"),
        ("with_control", "loaded_rpm", 230.0, "BROKEN controlled loaded RPM: 230.0 >= 400.0"),
        ("without_control", "rpm", 2700.0, "BROKEN uncontrolled RPM: 2700.0 <= 300.0"),
    ],
)
def test_responsiveness_beyond_its_bound_is_broken(
    tmp_path: Path, side: str, key: str, value: float, named: str
) -> None:
    summary = copy.deepcopy(KEPT)
    summary["responsiveness"][side][key] = value
    status, said = checked(summary, tmp_path)
    assert status == 1
    assert named in said


def test_a_demo_without_its_test_of_responsiveness_does_not_pass(tmp_path: Path) -> None:
    summary = {name: value for name, value in KEPT.items() if name != "responsiveness"}
    status, said = checked(summary, tmp_path)
    assert status == 1
    assert "BROKEN controlled RPM: None" in said
    status, said = checked({**summary, "through": "flexric"}, tmp_path)
    assert status == 0, said
