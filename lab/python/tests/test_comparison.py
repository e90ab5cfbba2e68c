"""Measures of runs, and their comparison with statistics over seeds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gnb_lab
import numpy as np
import pytest
from gnb_lab.comparison import text
from gnb_lab.comparison.estimate import Estimate, difference
from gnb_lab.comparison.page import add, page
from gnb_lab.comparison.sides import Comparison, Row
from gnb_lab.measures import CELL, Distribution, Subject, read_run

SCENARIO = Path(__file__).resolve().parents[2] / "scenarios" / "default.yaml"
PING: Subject = ("flow", "ping")
DRB: Subject = ("drb", "17921/1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of two pipelines and three seeds."""
    out = tmp_path_factory.mktemp("sweep")
    over = {"ues[*].drbs[*].pipeline": ["transparent", "low_latency"]}
    gnb_lab.sweep(SCENARIO, out, over=over, seeds=3, overrides={"duration_s": 1.2})
    return out


def row(comparison: Comparison, side: int, subject: Subject, measure: str) -> Row:
    (found,) = (
        row
        for row in comparison.rows
        if row.side is comparison.sides[side] and (row.subject, row.measure) == (subject, measure)
    )
    return found


@pytest.mark.parametrize(
    ("n", "t"), [(2, 12.706205), (3, 4.302653), (5, 2.776445), (10, 2.262157), (101, 1.983972)]
)
def test_t_is_that_of_the_tables(n: int, t: float) -> None:
    # Zeros and a one have the deviation 1 / √n.
    half = Estimate.of([1.0] + [0.0] * (n - 1)).half_width
    assert half is not None
    assert half * n == pytest.approx(t, rel=1e-6)


def test_a_mean_has_an_interval_from_two_values_on() -> None:
    assert Estimate.of([3.0]) == Estimate(1, 3.0, None)
    assert Estimate.of([3.0]).interval == (None, None)
    assert Estimate.of([7.0, 7.0]).interval == (7.0, 7.0)


def test_equal_seeds_are_pairs_and_others_independent_samples() -> None:
    reference = {1: 10.0, 2: 20.0, 3: 30.0}
    # The seeds differ much, the pairs little.
    paired = difference({1: 11.0, 2: 21.1, 3: 30.9}, reference)
    assert paired.mean == pytest.approx(1.0)
    assert paired.half_width == pytest.approx(0.2484, rel=1e-3)
    # Equal variances of 100: 4 degrees of freedom, 2.7764 · √(200 / 3).
    welch = difference({4: 11.0, 5: 21.0, 6: 31.0}, reference)
    assert welch.half_width == pytest.approx(22.669, rel=1e-4)
    # 2.3 degrees of freedom are two: 4.3027 · √(100 / 3 + 1 / 300).
    uneven = difference({4: 1.0, 5: 1.1, 6: 1.2}, reference)
    assert uneven.half_width == pytest.approx(4.30265 * (100 / 3 + 0.01 / 3) ** 0.5, rel=1e-4)
    assert difference({9: 1.0}, reference) == Estimate(1, -19.0, None)


def test_merged_distributions_count_all_packets() -> None:
    packets = Distribution({0: 50, 1_000: 45})
    packets.update({1_000: 4, 9_000: 1})
    quantiles = [packets.quantile_us(each) for each in (0.0, 0.5, 0.51, 0.99, 1.0)]
    assert quantiles == [0, 0, 1_000, 1_000, 9_000]
    assert packets.mean_us() == pytest.approx(580.0)
    assert packets.cdf() == [(0.0, 0.5), (1.0, 0.99), (9.0, 1.0)]
    assert (Distribution().quantile_us(0.5), Distribution().cdf()) == (0, [])
    many = Distribution(dict.fromkeys(range(50_000), 1)).cdf()
    assert len(many) <= 402
    assert many[-1][1] == 1.0


def test_series_with_wider_bins_are_added_at_their_width() -> None:
    narrow, wide = (100, np.array([1.0, 3.0, 5.0])), (200, np.array([10.0]))
    for series in ([narrow, wide], [wide, narrow]):
        bin_us, values = add(series)
        assert (bin_us, values.tolist()) == (200, [12.0, 2.5])


def test_the_measures_of_a_run_are_those_of_its_summary(folder: Path) -> None:
    run = next((folder / "runs").iterdir())
    summary = json.loads((run / "summary.json").read_text())
    measures = read_run(run).measures
    for measure, key in (("sojourn_mean_ms", "mean"), ("sojourn_p95_ms", "p95")):
        expected = summary["bearers"][0]["sojourn_ms"][key]
        assert measures[DRB][measure] == pytest.approx(expected, rel=0.002)
    bulk = measures["flow", "bulk"]
    assert bulk["goodput_mbps"] == summary["flows"][0]["goodput_mbps"]
    assert measures[DRB]["queued_peak_bytes"] > 0
    assert measures["flow", "voip"]["in_time_pct"] <= 100
    assert [scope for scope, _ in measures] == ["cell", "ue", "drb", "flow", "flow", "flow"]
    alone = Comparison.read([run])
    assert all(row.estimate.half_width is None for row in alone.rows)
    assert "mean of up to" not in text.text(alone)


def test_the_cell_and_a_ue_have_the_delay_of_their_worst_bearer(tmp_path: Path) -> None:
    scenario = tmp_path / "two.yaml"
    scenario.write_text("""
name: two
duration_s: 1
cell: { rat: nr, n_prb: 106, scs_khz: 30, tdd: { pattern: DDDDDDDMUU } }
ues:
  - rnti: 1
    channel: { fixed_mcs: 10 }
    drbs: [{ id: 1, priority: 1 }, { id: 2, priority: 2 }]
flows:
  - { name: many, kind: udp_cbr, rate_kbps: 20000, packet_bytes: 200, drb: 1 }
  - { name: starved, kind: udp_cbr, rate_kbps: 60000, drb: 2 }
""")
    rows = gnb_lab.sweep(scenario, tmp_path / "out").to_pylist()
    p95 = {(each["scope"], each["name"]): each["sojourn_p95_ms"] for each in rows}
    assert p95["drb", "1/1"] < 10
    assert p95["drb", "1/2"] > 100
    assert p95["ue", "1"] == p95[CELL] == p95["drb", "1/2"]


def test_a_comparison_has_intervals_over_seeds_and_differences_to_the_first(folder: Path) -> None:
    comparison = Comparison.read([folder])
    labels = [side.label for side in comparison.sides]
    assert labels == ["pipeline=transparent", "pipeline=low_latency"]
    first, second = (row(comparison, side, PING, "rtt_p95_ms") for side in (0, 1))
    assert (first.estimate.n, first.difference) == (3, None)
    assert first.estimate.half_width is not None
    assert second.difference is not None
    change = second.estimate.mean - first.estimate.mean
    assert second.difference.mean == pytest.approx(change)
    assert change < 0, "the pipeline shortens the queue"

    shown = text.text(comparison)
    for said in ("cell", "flow ping", "drb 17921/1", "  difference", " ± ", "in time %", "RPM"):
        assert said in shown
    assert shown.endswith("(Student's t); differences to pipeline=transparent")
    rows: list[dict[str, Any]] = json.loads(text.json(comparison))
    assert len(rows) == len(comparison.rows)
    assert rows[0]["axes"] == {"ues[*].drbs[*].pipeline": "transparent"}
    assert (rows[0]["seeds"], rows[0]["difference"], rows[0]["difference_ci95"]) == (3, None, None)
    assert rows[1]["difference_ci95"][0] <= rows[1]["difference"] <= rows[1]["difference_ci95"][1]


def test_the_page_has_plots_and_fetches_nothing(folder: Path) -> None:
    comparison = Comparison.read([folder])
    made = page(comparison)
    assert made.count("<svg") == 4 + 3, "cell and three flows, three over time"
    assert made.count("<h2>") == 2 + 6
    assert made.count("<details><summary>All measures") == 6
    for word in ("<script", "<img", "<link", "@import"):
        assert word not in made
    assert page(comparison) == made, "the same bytes"


def test_folders_of_runs_and_sweeps_are_sides_of_one_comparison(folder: Path) -> None:
    run = next((folder / "runs").iterdir())
    comparison = Comparison.read([run, folder])
    labels = [side.label for side in comparison.sides]
    assert labels == [
        str(run),
        f"{folder}: pipeline=transparent",
        f"{folder}: pipeline=low_latency",
    ]


def test_what_is_no_result_is_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(gnb_lab.SweepError, match=r"has neither summary\.json nor sweep\.json"):
        Comparison.read([folder / "runs"])
    (tmp_path / "summary.json").write_text('{"seed": 1}')
    with pytest.raises(gnb_lab.SweepError, match=r"curves\.json: cannot be read"):
        Comparison.read([tmp_path])
    (tmp_path / "curves.json").write_text('{"sojourn": []}')
    with pytest.raises(gnb_lab.SweepError, match="are not those of a run: KeyError"):
        Comparison.read([tmp_path])
    (tmp_path / "sweep.json").write_text('{"axes": [], "runs": [{"folder": "../x"}]}')
    with pytest.raises(gnb_lab.SweepError, match="not the description of a sweep"):
        Comparison.read([tmp_path])
    (tmp_path / "sweep.json").write_text('{"axes": [], "runs": []}')
    with pytest.raises(gnb_lab.SweepError, match="has no finished run"):
        Comparison.read([tmp_path])
