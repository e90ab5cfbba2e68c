"""The cumulated drain: forecast on request, calibrated, and encoded beside the series."""

from __future__ import annotations

import numpy as np
import pytest
from doubles import Reports, served
from rlc_forecaster.core import Forecaster, Layout
from rlc_forecaster.selection import Encoder, Selection
from rlc_model import Quantity
from rlc_model.cumulated import LEVELS
from sojourn_interfaces import forecast_pb2 as pb

LAYOUT = Layout((Quantity.OCCUPANCY,), (5_000, 21_000, 40_000))
START_US = 1_000_000


def drive(forecaster: Forecaster, report: Reports, drained: list[int], *, occupancy: int) -> None:
    """Reports of one bearer each ms, whose counter of drained bytes grows by these."""
    sums = np.cumsum(drained)
    for k, total in enumerate(sums.tolist()):
        served(forecaster, report({17: (occupancy, total)}), START_US + 1_000 * k)
        forecaster.learn()


def test_it_is_forecast_once_it_is_asked_for(report: Reports) -> None:
    forecaster = Forecaster("gnb", layout=LAYOUT)
    at_us = START_US
    assert served(forecaster, report({17: (9_000, 0)}), at_us).cumulated is None
    forecaster.forecast_cumulated_drain()
    for k in range(1, 200):
        batch = served(forecaster, report({17: (9_000, 500 * k)}), at_us + 1_000 * k)
    assert batch.cumulated is not None
    assert batch.cumulated.shape == (1, 3, len(LEVELS))
    expected = np.broadcast_to(np.array([5, 21, 40])[:, None] * 500.0, (3, len(LEVELS)))
    assert batch.cumulated[0] == pytest.approx(expected)


def test_a_quantile_of_the_sum_is_below_the_sum_of_the_quantiles(report: Reports) -> None:
    """Errors of single reports cancel out, so that 0.9 of each is too much for all together."""
    rng = np.random.default_rng(3)
    drained = rng.exponential(1_000.0, 20_000).astype(int).tolist()
    forecaster = Forecaster("gnb", layout=LAYOUT)
    forecaster.forecast_cumulated_drain()
    drive(forecaster, report, drained, occupancy=9_000)
    assert forecaster.latest is not None
    assert forecaster.latest.cumulated is not None
    high = forecaster.latest.cumulated[0, 1, LEVELS.index(0.9)]
    sums = np.convolve(drained, np.ones(21), "valid")
    assert high == pytest.approx(np.quantile(sums, 0.9), rel=0.08)
    assert high < 0.7 * 21 * np.quantile(drained, 0.9)


def test_a_message_has_it_beside_the_series(report: Reports) -> None:
    forecaster = Forecaster("gnb", layout=LAYOUT)
    forecaster.forecast_cumulated_drain()
    drive(forecaster, report, [700, 0, 1_400] * 400, occupancy=9_000)
    batch = forecaster.latest
    assert batch is not None
    assert batch.cumulated is not None
    quantities = [pb.OCCUPANCY_BYTES, pb.CUMULATED_DRAIN_BYTES]
    selection = Selection.of(pb.ForecastRequest(quantities=quantities), LAYOUT)
    message = pb.ForecastBatch.FromString(Encoder(selection).encode(batch, 7))
    assert list(message.cumulated_quantiles) == pytest.approx(LEVELS)
    (forecast,) = message.forecasts
    assert [series.quantity for series in forecast.series] == [pb.OCCUPANCY_BYTES]
    values = np.array(forecast.cumulated_drain_bytes, np.float32).reshape(3, -1)
    np.testing.assert_array_equal(values, batch.cumulated[0])
    assert (np.diff(values, axis=0) >= 0).all()
    assert (np.diff(values, axis=1) >= 0).all()
    alone = Selection.of(pb.ForecastRequest(quantities=quantities[1:]), LAYOUT)
    message = pb.ForecastBatch.FromString(Encoder(alone).encode(batch, 7))
    assert not message.forecasts[0].series
    np.testing.assert_array_equal(message.forecasts[0].cumulated_drain_bytes, values.ravel())
    plain = Selection.of(pb.ForecastRequest(), LAYOUT)
    message = pb.ForecastBatch.FromString(Encoder(plain).encode(batch, 7))
    assert not message.cumulated_quantiles
    assert not message.forecasts[0].cumulated_drain_bytes


def test_another_clock_begins_anew(report: Reports) -> None:
    forecaster = Forecaster("gnb", layout=LAYOUT)
    forecaster.forecast_cumulated_drain()
    drive(forecaster, report, [500] * 300, occupancy=9_000)
    # Reports of an earlier time, until the clock counts as set back.
    for k in range(300):
        forecaster.on_report(report({17: (9_000, 100 * k)}), 1_000 + 1_000 * k)
    assert forecaster.latest is not None
    assert forecaster.latest.origin_us < START_US
    assert forecaster.latest.cumulated is not None
    assert forecaster.latest.cumulated[0, 0] == pytest.approx(np.full(len(LEVELS), 500.0))
