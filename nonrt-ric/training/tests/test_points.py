"""Points of forecasts, and the outcomes at them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_corpus import series
from rlc_model import Quantity
from rlc_train.baselines.naive import AdaptivePersistence, Persistence, SeasonalNaive
from rlc_train.errors import TrainError
from rlc_train.horizon import DEFAULT_POINTS_US, Layout, graded_points
from rlc_train.series import labels
from rlc_train.settings import Settings
from rlc_train.splits import Part

BOTH = (Quantity.OCCUPANCY, Quantity.DRAIN)
COARSE = Layout(BOTH, (11_000, 12_000, 15_000, 20_000, 30_000))
PATTERN = np.array([4_000, 4_000, 4_000, 0, 0], np.float32)
"""Drain of a TDD pattern of 5 ms: three downlink milliseconds, two without."""


def _tdd(rows: int = 400) -> np.ndarray:
    drain = np.tile(PATTERN, -(-rows // len(PATTERN)))[:rows]
    return np.stack([np.arange(rows, dtype=np.float32), drain], axis=1)


def test_points_are_dense_at_first_and_reach_100_ms() -> None:
    dense = [*range(11, 17), 18, 20, 22, *range(25, 50, 5), *range(50, 101, 10)]
    assert [point / 1_000 for point in DEFAULT_POINTS_US] == dense
    assert len(DEFAULT_POINTS_US) == 20
    assert graded_points(41_000, 181_000)[-2:] == (180_000, 200_000)


def _points(**horizon: object) -> tuple[int, ...]:
    settings = Settings.model_validate({"horizon": horizon, "gate_horizons_us": []})
    return settings.layout(t_m_us=90.0).points_us


def test_points_begin_when_a_forecast_arrives_and_reach_what_a_cu_sends_by_it() -> None:
    assert _points() == DEFAULT_POINTS_US
    far = _points(t_rd_us=40_000, t_c_us=80_000)
    assert far[0] == 41_000
    # 2 T_c + T_m is farther than the arrival, 41 ms + 80 ms.
    assert far[-2] < 160_090 <= far[-1]
    assert _points(points_us=[20_000, 50_000]) == (20_000, 50_000)


def test_given_points_that_are_too_early_or_end_too_early_are_refused() -> None:
    with pytest.raises(TrainError, match=r"points_us: begins 11000 µs .* expected 41000 µs"):
        _points(t_rd_us=40_000, points_us=[11_000, 90_000])
    with pytest.raises(TrainError, match=r"points_us: ends 60000 µs .* 81000 µs after it"):
        _points(t_rd_us=40_000, t_c_us=40_000, points_us=[41_000, 60_000])
    assert _points(t_rd_us=40_000, t_c_us=19_000, points_us=[41_000, 60_000])[-1] == 60_000
    with pytest.raises(TrainError, match=r"layout.points_us: 20000 after 20000"):
        _points(points_us=[20_000, 20_000])
    with pytest.raises(TrainError, match=r"20500 µs; expected a multiple of the sample period"):
        _points(points_us=[20_500])
    with pytest.raises(TrainError, match=r"12000 µs is not a point; expected of 11000, 13"):
        Layout(points_us=(11_000, 13_000)).point_at(12_000)


def test_a_drain_is_the_mean_of_its_span_and_an_occupancy_of_its_instant() -> None:
    one = series(levels=_tdd())
    assert COARSE.spans == (1, 1, 3, 5, 10)
    found = labels(one, COARSE, np.array([100, 101], np.intp))
    drain = one.targets[:, list(Quantity).index(Quantity.DRAIN)]
    for n, origin in enumerate((100, 101)):
        for m, (ahead, span) in enumerate(zip(COARSE.ahead, COARSE.spans, strict=True)):
            end = origin + int(ahead) + 1
            assert found[n, 0, m] == end - 1
            assert found[n, 1, m] == pytest.approx(drain[end - span : end].mean())
    # Instants 5 ms apart would all be of one slot of the pattern: full rate or none.
    np.testing.assert_allclose(found[:, 1, 3:], PATTERN.mean())


def test_a_missing_report_makes_only_the_drains_over_it_unknown() -> None:
    whole = series(levels=_tdd())
    kept = np.delete(np.arange(400), 117)
    arrays = ("at_us", "features", "fresh", "targets", "limit_reported")
    gappy = replace(whole, **{name: getattr(whole, name)[kept] for name in arrays})
    before, after = (labels(one, COARSE, np.array([100], np.intp))[0] for one in (whole, gappy))
    np.testing.assert_array_equal(np.isnan(after[1]), [False, False, False, True, False])
    np.testing.assert_array_equal(after[0], before[0])
    assert after[1, 2] == before[1, 2]


def test_a_season_ago_has_a_span_as_well() -> None:
    one = series(levels=_tdd(2_000))
    naive = SeasonalNaive()
    naive.fit([Part(one, 0, 1_500)], COARSE, 0)
    origins = np.arange(1_600, 1_610, dtype=np.intp)
    found = naive.point(Part(one, 1_500, 2_000), COARSE, origins)[:, 1]
    np.testing.assert_allclose(found, labels(one, COARSE, origins)[:, 1], rtol=1e-6)


def test_persistence_of_a_span_is_the_mean_of_the_last_one() -> None:
    part = Part(series(levels=_tdd(2_000)), 500, 2_000)
    origins = np.arange(1_600, 1_610, dtype=np.intp)
    for forecaster in (Persistence(), AdaptivePersistence()):
        forecaster.fit([part], COARSE, 0)
        drain = forecaster.predict(part, origins)[:, 1, :, 1]
        # Spans of 5 and 10 ms are whole patterns: their means never change.
        np.testing.assert_allclose(drain[:, 3:], PATTERN.mean(), rtol=1e-6)
