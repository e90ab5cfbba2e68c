"""What any pacer far from its DU leaves in the RLC of a radio."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import gnb_lab
import numpy as np
import pyarrow.parquet as pq
import pytest
from pacing_bound import adaptive, drained, left_ms, marginal, windows

ROOT = Path(__file__).parents[2]


def test_a_constant_radio_needs_no_backlog() -> None:
    known = windows(np.full(5_000, 1_500.0), 21)
    assert known.carried == pytest.approx(21 * 1_500.0)
    assert (marginal(known, 0.02), adaptive(known, 0.02)) == (0.0, 0.0)


def test_what_the_last_milliseconds_tell_is_no_backlog() -> None:
    # Half a second of 1000 bytes per ms, half of 5000.
    radio = np.repeat(np.tile([1_000.0, 5_000.0], 20), 500).astype(np.float64)
    known = windows(radio, 21)
    blind, adapting = marginal(known, 0.02), adaptive(known, 0.02)
    # 5000 · 21 less what may be lost is held where 1000 · 21 is taken, half of the time.
    assert blind == pytest.approx(0.5 * (4_000 - 2 * 0.02 * 3_000) / 3_000 * 21, rel=0.05)
    assert adapting < 0.3 * blind


def test_more_that_may_be_lost_is_less_that_is_left() -> None:
    drawn = (1_500.0 * np.random.default_rng(1).poisson(2.0, 20_000)).astype(np.float64)
    known = windows(drawn, 81)
    lefts = [marginal(known, share) for share in (0.0, 0.01, 0.02, 0.05, 0.5)]
    assert lefts == sorted(lefts, reverse=True)
    # Nothing in independent milliseconds can be foreseen, and nothing is lost to a stock of all.
    assert adaptive(known, 0.02) > 0.95 * marginal(known, 0.02)
    most = np.full_like(known.carried, known.carried.max())
    assert lefts[0] == pytest.approx(left_ms(known, lambda _: most, 0.0))


def test_the_program_leaves_out_what_is_no_radio(tmp_path: Path) -> None:
    radio = np.random.default_rng(1).integers(0, 3, 6_000)
    lines = [str(ms) for ms, count in enumerate(radio, start=1) for _ in range(count)]
    (tmp_path / "radio.down").write_text("\n".join(lines))
    (tmp_path / "short.down").write_text("1\n2\n")
    (tmp_path / "README.md").write_text("# Radios")
    out = tmp_path / "bounds.json"
    command = [sys.executable, "benchmarks/pacing_bound.py", str(tmp_path), "--json", str(out)]
    done = subprocess.run(
        command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())
    assert [(each["radio"], each["t_c_ms"]) for each in found] == [
        ("radio.down", 10),
        ("radio.down", 40),
    ]
    for each in found:
        assert 0 < each["adaptive"] < 1.5 * each["marginal"]
        assert f"{each['marginal']:.1f} ms" in done.stdout
    assert "short.down: 2 ms; expected" in done.stderr
    assert "README.md, row 1" in done.stderr


def test_what_drains_from_a_full_bearer_of_the_lab_is_a_radio(tmp_path: Path) -> None:
    def recorded(name: str, rate_kbps: int) -> Path:
        world = gnb_lab.World(
            {
                "duration_s": 2,
                "cell": {"rat": "nr", "n_prb": 52, "scs_khz": 15},
                "ues": [{"rnti": 17921, "channel": {"fixed_mcs": 10}, "drbs": [{"id": 1}]}],
                "flows": [{"name": "load", "kind": "udp_cbr", "rate_kbps": rate_kbps}],
            }
        )
        world.record()
        world.step_until(2_000_000)
        (tmp_path / name).mkdir()
        pq.write_table(world.frame(), tmp_path / name / "bearers.parquet")
        return tmp_path / name

    [(_, radio)] = drained(recorded("full", 100_000))
    # A slot of 1 ms with MCS 10 and 52 PRBs.
    assert len(radio) >= 990
    assert 1_000 < radio.mean() < 2_500
    with pytest.raises(ValueError, match="the RLC is empty at times"):
        list(drained(recorded("idle", 100)))
