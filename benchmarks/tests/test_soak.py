"""The soak: its slopes and verdicts, and two short segments of the real programs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trends import ALLOWED, COLUMNS, Sample, overall, read_samples, trends

ROOT = Path(__file__).parents[2]
EVERY_S = 10.0
PATIENCE_S = 60.0


def run_of(
    values: list[float], quantity: str = "memory_mib", segment: int = 0, from_s: float = 0.0
) -> list[Sample]:
    return [
        Sample(segment, from_s + EVERY_S * k, "gnb-lab", quantity, value)
        for k, value in enumerate(values)
    ]


def noise(count: int, size: float, seed: int = 1) -> list[float]:
    return [float(v) for v in np.random.default_rng(seed).normal(0.0, size, count)]


@given(
    slope=st.floats(-1e3, 1e3),
    level=st.floats(0, 1e4),
    count=st.integers(10, 60),
)
def test_the_slope_of_a_line_is_found_exactly(slope: float, level: float, count: int) -> None:
    values = [level + slope * EVERY_S * k / 3600 for k in range(count)]
    (found,) = trends(run_of(values), 0.0)
    assert found.slope == pytest.approx(slope, abs=1e-6)
    assert found.low - 1e-6 <= found.slope <= found.high + 1e-6


def test_outliers_do_not_move_the_slope() -> None:
    values = [100 + v for v in noise(200, 0.1)]
    values[50:60] = [500.0] * 10
    (found,) = trends(run_of(values), 0.0)
    assert found.verdict == "flat"
    assert abs(found.slope) < 0.5


def test_a_leak_under_noise_is_found_and_noise_alone_is_flat() -> None:
    still = [100 + v for v in noise(700, 0.5)]
    leaking = [v + 3.0 * EVERY_S * k / 3600 for k, v in enumerate(still)]
    assert [t.verdict for t in trends(run_of(still), 0.0)] == ["flat"]
    assert [t.verdict for t in trends(run_of(leaking), 0.0)] == ["rising"]


def test_a_short_or_noisy_run_is_undecided() -> None:
    for values in ([100.0, 100.1], [], [100 + v for v in noise(12, 5.0)]):
        found = trends(run_of(values), 0.0)
        assert [t.verdict for t in found] == ["undecided"] * len(found)
        assert overall(found) == "undecided"


def test_one_descriptor_more_each_hour_rises() -> None:
    values = [20.0 + k // 120 for k in range(720)]
    (found,) = trends(run_of(values, "descriptors"), 0.0)
    assert found.verdict == "rising"


def test_the_warm_up_of_each_segment_is_left_out() -> None:
    warm = [50.0 + k for k in range(30)]
    values = warm + [80.0] * 100
    samples = run_of(values) + run_of(values, segment=1, from_s=2000.0)
    (found,) = trends(samples, 300.0)
    assert (found.slope, found.samples, found.verdict) == (0.0, 200, "flat")


def test_a_step_between_segments_is_no_slope() -> None:
    samples = run_of([100.0] * 50) + run_of([900.0] * 50, segment=1, from_s=600.0)
    (found,) = trends(samples, 0.0)
    assert (found.slope, found.verdict) == (0.0, "flat")


def test_a_verdict_over_all_quantities() -> None:
    flat = trends(run_of([1.0] * 50), 0.0)
    rising = trends(run_of([k * 1.0 for k in range(50)]), 0.0)
    assert overall(flat) == "flat"
    assert overall(flat + rising) == "rising"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", ":1: expected the columns segment"),
        ("a,b\n", ":1: expected the columns segment"),
        (",".join(COLUMNS) + "\n0,1,x,threads\n", ":2: 0,1,x,threads; expected segment"),
        (",".join(COLUMNS) + "\n0,1,x,threads,many\n", ":2: 0,1,x,threads,many; expected"),
    ],
)
def test_a_file_of_samples_that_is_none_is_named(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "samples.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"^{path}{problem}"):
        read_samples(path)


def samples_of(out: Path) -> list[Sample]:
    path = out / "samples.csv"
    return read_samples(path) if path.exists() else []


def test_an_interrupted_soak_has_its_result_and_goes_on(tmp_path: Path) -> None:
    command = [sys.executable, "benchmarks/soak.py", "--bearers", "8", "--every-s", "1"]
    command += ["--warm-s", "1", "--out", str(tmp_path)]
    with subprocess.Popen([*command, "--seconds", "600"], cwd=ROOT, stdout=subprocess.PIPE) as soak:
        until_s = time.monotonic() + PATIENCE_S
        while len({s.at_s for s in samples_of(tmp_path)}) < 3 and time.monotonic() < until_s:
            time.sleep(0.1)
        soak.send_signal(signal.SIGINT)
        output, _ = soak.communicate(timeout=PATIENCE_S)
    assert soak.returncode in (0, 1, 3), output
    before, written = samples_of(tmp_path), (tmp_path / "samples.csv").read_text()
    result = json.loads((tmp_path / "soak.json").read_text())
    assert result["failure"] is None
    assert result["segments"] == 1
    assert result["others_cores"]["median"] <= result["others_cores"]["most"]
    assert {t["quantity"] for t in result["trends"]} == set(ALLOWED)

    refused = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "expected --resume" in refused.stderr
    with (tmp_path / "samples.csv").open("a") as file:
        file.write("0,3.5,gnb-lab,thr")
    seconds = str(before[-1].at_s + 2)
    again = subprocess.run(
        [*command, "--resume", "--seconds", seconds], cwd=ROOT, check=False, timeout=120
    )
    assert again.returncode in (0, 1, 3)
    samples = samples_of(tmp_path)
    assert (tmp_path / "samples.csv").read_text().startswith(written)
    assert {s.segment for s in samples} == {0, 1}
    result = json.loads((tmp_path / "soak.json").read_text())
    assert (result["segments"], result["failure"]) == (2, None)
    assert "<svg" in (tmp_path / "soak.svg").read_text()


def test_a_program_that_ends_is_a_failure(tmp_path: Path) -> None:
    command = [sys.executable, "benchmarks/soak.py", "--bearers", "0", "--seconds", "5"]
    ran = subprocess.run(
        [*command, "--out", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    assert "gnb-lab ended with status" in ran.stderr
    assert "ues[0].count" in ran.stderr
    assert json.loads((tmp_path / "soak.json").read_text())["verdict"] == "ended"


def test_a_program_that_is_killed_is_named(tmp_path: Path) -> None:
    command = [sys.executable, "benchmarks/soak.py", "--bearers", "8", "--every-s", "1"]
    command += ["--seconds", "600", "--out", str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as soak:
        until_s = time.monotonic() + PATIENCE_S
        while not samples_of(tmp_path) and time.monotonic() < until_s:
            time.sleep(0.1)
        (forecaster,) = (
            int(child)
            for task in Path(f"/proc/{soak.pid}/task").iterdir()
            for child in (task / "children").read_text().split()
            if b"rlc-forecaster" in Path(f"/proc/{child}/cmdline").read_bytes()
        )
        os.kill(forecaster, signal.SIGKILL)
        _, errors = soak.communicate(timeout=PATIENCE_S)
    assert soak.returncode == 1
    assert "rlc-forecaster ended with status -9" in errors
    assert "Traceback" not in errors
