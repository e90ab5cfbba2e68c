"""Forecasts of the queue limit are judged by the limit of their time, which a report tells late."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from doubles import Floats, Oracle, Reports, served
from numpy.typing import NDArray
from rlc_forecaster.core import Batch, Forecaster, Layout
from rlc_forecaster.core.history import ROWS_A_REPORT
from rlc_model import Quantity

PERIOD_US = 1_000
STATUS_EVERY = 20
SETTLED = 6_000
POINTS_US = (11_000, 12_000, 13_000, 14_000)
LAYOUT = Layout((Quantity.OCCUPANCY, Quantity.QUEUE_LIMIT), POINTS_US, (0.1, 0.5, 0.9))


def walk(steps: int) -> NDArray[np.int64]:
    """A limit that changes every millisecond."""
    rng = np.random.default_rng(2)
    return (100_000 + 500 * np.cumsum(rng.standard_normal(steps))).astype(np.int64)


def run(
    forecaster: Forecaster, report: Reports, limit: NDArray[np.int64], late_status: bool = False
) -> Iterator[tuple[int, Batch]]:
    """Reports every millisecond, a limit every 20 ms, before or after the report of its time."""
    bearer = np.array([17]), np.array([1])
    for k, bytes_ in enumerate(limit.tolist()):
        has_status = k % STATUS_EVERY == 0
        if has_status and not late_status:
            forecaster.update_limits(*bearer, [bytes_], k * PERIOD_US)
        batch = served(forecaster, report({17: (5_000, 0)}), k * PERIOD_US)
        if has_status and (late_status or k == 0):
            forecaster.update_limits(*bearer, [bytes_], k * PERIOD_US)
        yield k, batch


@pytest.mark.parametrize("late_status", [False, True])
def test_intervals_cover_the_limit_of_their_time(report: Reports, late_status: bool) -> None:
    """Between two reports the last one is not the truth: intervals that cover 80 % of what was
    reported last cover fewer of the limits."""
    limit = walk(16_000)
    forecaster = Forecaster("gnb", layout=LAYOUT)
    coverage, inside = forecaster.run.coverage, []
    for k, batch in run(forecaster, report, limit, late_status):
        if k == SETTLED:
            checked, covered = coverage.checked[1].copy(), coverage.covered[1].copy()
        for point in range(LAYOUT.points):
            at = k + LAYOUT.points_us[point] // PERIOD_US
            if k >= SETTLED and at < len(limit):
                low, _, high = batch.values[0, 1, point]
                inside.append(low <= limit[at] <= high)
    assert np.mean(inside) == pytest.approx(0.8, abs=0.03)
    checked, covered = coverage.checked[1] - checked, coverage.covered[1] - covered
    # Each point once per status, none with the value held in between.
    assert checked.tolist() == pytest.approx([(len(limit) - SETTLED) / STATUS_EVERY] * 4, abs=2)
    assert covered.sum() / checked.sum() == pytest.approx(0.8, abs=0.03)


def test_a_model_that_knows_the_limit_has_skill(report: Reports) -> None:
    limit = walk(6_000)

    class Exact(Oracle):
        layout = LAYOUT

    now = 0

    def foresee(values: Floats, state: Floats, features: Floats) -> None:
        for point in range(LAYOUT.points):
            at = min(now + LAYOUT.points_us[point] // PERIOD_US, len(limit) - 1)
            values[:, 1, point] = limit[at]

    forecaster = Forecaster("gnb", Exact(0.0, change=foresee))
    for k, _ in run(forecaster, report, limit):
        now = k + 1
    skill = forecaster.skill()
    assert (skill[1] > 0.9).all()


def test_of_many_bearers_all_are_learned_from_in_turn(report: Reports) -> None:
    bearers = 2 * ROWS_A_REPORT + 7
    rng = np.random.default_rng(4)
    forecaster = Forecaster("gnb", layout=LAYOUT)
    rnti, drb = np.arange(bearers), np.ones(bearers, np.int64)
    for k in range(1_200):
        if k % STATUS_EVERY == 0:
            forecaster.update_limits(rnti, drb, rng.integers(10_000, 90_000, bearers), k * 1_000)
        batch = served(forecaster, report(dict.fromkeys(range(bearers), (5000, 0))), k * 1_000)
    width = batch.values[:, 1, :, 2] - batch.values[:, 1, :, 0]
    assert (width > 1_000).all()


def test_a_limit_of_a_bearer_that_was_replaced_teaches_nothing(report: Reports) -> None:
    forecaster = Forecaster("gnb", layout=LAYOUT)
    for k in range(3_000):
        # Bearers of 40 ms, the first limit of each 20 ms after it began.
        rnti = np.array([k // 40])
        served(forecaster, report({int(rnti[0]): (5_000, 0)}), k * PERIOD_US)
        if k % 40 == 20:
            forecaster.update_limits(rnti, np.ones(1), [k % 1_000 + 1.0], k * PERIOD_US)
    assert forecaster.run.coverage.checked[1].sum() == 0
