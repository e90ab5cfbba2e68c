"""Losses, confidence intervals and conformal corrections."""

from __future__ import annotations

import numpy as np
import pytest
import rlc_native
from rlc_train import conformal
from rlc_train.errors import TrainError
from rlc_train.metrics import (
    Calibration,
    in_order,
    least_excesses,
    skill_interval,
    worst_intervals,
)
from sklearn.metrics import mean_pinball_loss

LEVELS = np.array([0.1, 0.5, 0.9], np.float32)


def test_sums_of_losses_are_those_of_scikit_learn_and_of_counts_by_block() -> None:
    rng = np.random.default_rng(8)
    actual = rng.gamma(2.0, size=(500, 2, 3)).round().astype(np.float32)
    actual[rng.random(actual.shape) < 0.1] = np.nan
    forecast = np.sort(rng.gamma(2.0, size=(500, 2, 3, 3)).round(), axis=-1).astype(np.float32)
    blocks = np.repeat(np.arange(5), 100)
    found = rlc_native.loss_sums(actual, forecast, blocks, LEVELS, 0.5)
    pinball, absolute, below, up_to, count = found
    assert pinball.shape == absolute.shape == count.shape == (5, 2, 3)
    for block, quantity, point in np.ndindex(pinball.shape):
        values = actual[blocks == block, quantity, point]
        known, at = ~np.isnan(values), (block, quantity, point)
        quantiles = forecast[blocks == block, quantity, point][known]
        losses = [
            mean_pinball_loss(values[known], column, alpha=level)
            for level, column in zip(LEVELS.tolist(), quantiles.T, strict=True)
        ]
        assert pinball[at] == pytest.approx(np.mean(losses) * known.sum(), rel=1e-6)
        assert absolute[at] == np.abs(values[known] - quantiles[:, 1]).sum()
        assert count[at] == known.sum()
        assert below[at].tolist() == (values[known, None] < quantiles).sum(0).tolist()
        assert up_to[at].tolist() == (values[known, None] <= quantiles).sum(0).tolist()


def test_served_quantiles_are_sorted_and_not_negative() -> None:
    served = in_order(np.array([[3.0, -1.0, 2.0]], np.float32))
    assert served.tolist() == [[0.0, 2.0, 3.0]]


def test_ties_are_not_a_miscalibration() -> None:
    empty = Calibration(LEVELS, np.zeros(3), np.ones(3))
    assert empty.deviation().tolist() == [0, 0, 0]
    assert float(empty.interval_deviation()) == 0
    narrow = Calibration(LEVELS, np.array([0.3, 0.5, 0.7]), np.array([0.3, 0.5, 0.7]))
    np.testing.assert_allclose(narrow.deviation(), [0.2, 0, 0.2], atol=1e-6)
    assert float(narrow.interval_deviation()) == pytest.approx(0.4)


def test_the_interval_of_a_distance_has_the_distance_of_longer_data() -> None:
    """A model off by three points at 0.9; seconds differ, as its errors last."""
    rng = np.random.default_rng(6)
    share = np.array([0.1, 0.5, 0.93])

    def interval(seconds: int, seed: int) -> tuple[float, float, float]:
        each = np.clip(share + 0.05 * rng.standard_normal((seconds, 1)), 0, 1)
        below = 100 * each[:, None]
        shares = below, below, np.full((seconds, 1), 100.0)
        value, low, high = worst_intervals(shares, LEVELS, seed=seed, draws=500)[:, 0]
        return float(value), float(low), float(high)

    found = [interval(60, seed) for seed in range(60)]
    assert sum(low <= 0.03 <= high for _, low, high in found) >= 50
    value, low, high = interval(6_000, 1)
    assert low < value < high < low + 0.005
    assert value == pytest.approx(0.03, abs=0.003)


def test_blocks_of_time_widen_the_interval() -> None:
    """A thousand equal samples are one observation."""
    rng = np.random.default_rng(2)
    per_block = rng.gamma(2.0, size=40)
    reference = np.ones(40)
    blocks = skill_interval(per_block * 0.5, reference, seed=1)
    repeated = skill_interval(
        np.repeat(per_block * 0.5, 1_000), np.repeat(reference, 1_000), seed=1, draws=200
    )
    assert blocks.high - blocks.low > 10 * (repeated.high - repeated.low)
    assert blocks.low < blocks.value < blocks.high


def test_the_interval_has_its_nominal_coverage() -> None:
    rng = np.random.default_rng(3)
    truth, covered = 1 - 0.8, 0
    for trial in range(300):
        size = rng.gamma(4.0, size=60)
        found = skill_interval(size * rng.gamma(8.0, 0.8 / 8, 60), size, seed=trial, draws=300)
        covered += found.low <= truth <= found.high
    assert 0.90 <= covered / 300 <= 0.98


def test_hardly_one_of_many_radios_that_are_no_worse_is_judged_worse() -> None:
    """Separate intervals would put one of forty above 0 in most trials."""
    rng = np.random.default_rng(4)
    together, alone = 0, 0
    trials = 60
    for trial in range(trials):
        groups = [
            (size * rng.gamma(8.0, 1 / 8, (30, 2)), size * rng.gamma(8.0, 1 / 8, (30, 2)))
            for size in (rng.gamma(4.0, size=(30, 1)) for _ in range(20))
        ]
        together += any((one > 0).any() for one in least_excesses(groups, seed=trial, draws=500))
        alone += any(
            skill_interval(loss[:, n], reference[:, n], seed=trial, draws=200).high < 0
            for loss, reference in groups
            for n in range(2)
        )
    assert together <= 6
    assert alone >= 20


def test_the_radio_that_is_worse_is_found_among_many_by_paired_blocks() -> None:
    """Worse by a tenth, where one second has ten times the loss of another."""
    rng = np.random.default_rng(5)
    groups = []
    for number in range(20):
        size = rng.gamma(0.5, size=(40, 1))
        groups.append((size * (1.1 if number == 7 else 1) * rng.gamma(400, 1 / 400, (40, 1)), size))
    found = [bool(one[0] > 0) for one in least_excesses(groups, seed=1)]
    assert found == [number == 7 for number in range(20)]
    loss, reference = groups[7]
    rng.shuffle(reference)
    assert least_excesses([(loss, reference)], seed=1)[0][0] < 0


def test_one_bad_second_is_no_worse_radio() -> None:
    loss = np.ones((30, 1))
    loss[3] = 100
    assert least_excesses([(loss, np.ones((30, 1)))], seed=1)[0][0] < 0


def test_skill_is_nan_without_reference_loss() -> None:
    assert np.isnan(skill_interval(np.ones(3), np.zeros(3), seed=1).value)
    with pytest.raises(TrainError, match="1 blocks; expected 2 or more"):
        skill_interval(np.ones(1), np.ones(1), seed=1)


def test_conformal_correction_calibrates_a_biased_model_on_new_data() -> None:
    rng = np.random.default_rng(4)
    size = rng.uniform(1, 50, 8_000)
    actual = (size * rng.standard_normal(8_000))[:, None, None].astype(np.float32)
    # Too narrow and off to one side.
    wrong = (size[:, None] * np.array([-0.4, 0.3, 0.9]))[:, None, None].astype(np.float32)
    half = 4_000
    correction = conformal.fit(actual[:half], wrong[:half], LEVELS)
    right = correction.apply(wrong[half:])
    shares = (actual[half:, ..., None] < right).mean(axis=(0, 1, 2))
    np.testing.assert_allclose(shares, LEVELS, atol=0.02)


def test_the_correction_equals_its_matrix() -> None:
    rng = np.random.default_rng(5)
    correction = conformal.Correction(rng.normal(size=(2, 3, 3)).astype(np.float32))
    forecast = rng.normal(size=(7, 2, 3, 3)).astype(np.float32)
    mixed = np.einsum("qpkj,nqpj->nqpk", correction.mixing(), forecast)
    np.testing.assert_allclose(mixed, correction.apply(forecast), atol=1e-5)


def test_too_few_values_are_refused() -> None:
    with pytest.raises(TrainError, match="50 values at point 0; expected 100 or more"):
        conformal.fit(np.zeros((50, 1, 1), np.float32), np.zeros((50, 1, 1, 3), np.float32), LEVELS)
