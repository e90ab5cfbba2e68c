"""The mix of experts equals its definition and is no worse than the best of them."""

from __future__ import annotations

import numpy as np
import pytest
import rlc_native
from numpy.typing import NDArray
from rlc_model import FEATURES, Quantity
from rlc_model.mix import EXPERTS, LOSSES, SIMPLE, new_mix

F32 = NDArray[np.float32]
LEVELS = np.array([0.1, 0.5, 0.9], np.float32)
AHEAD = np.arange(5, 9, dtype=np.int64)
ONE = np.zeros(1, np.intp)
LEVEL = (Quantity.OCCUPANCY,)


def report(level: float) -> F32:
    """``(1, F)`` features with this occupancy."""
    features = np.zeros((1, len(FEATURES)), np.float32)
    features[0, FEATURES.index(Quantity.OCCUPANCY.value)] = level
    return features


class Replay:
    """A series given to a mix, each point checked once per report, with the experts' losses."""

    def __init__(self, series: F32, model: F32 | None) -> None:
        self.mix = new_mix(LEVEL, LEVELS, AHEAD)
        self.mix.grow(1)
        self.experts, self.losses, self.served = [], [], []
        forecasts: list[F32] = []
        scale, span = np.ones((1, 1, len(AHEAD)), np.float32), np.ones(1, np.float32)
        base = np.zeros((1, 1), np.float32)
        for t, value in enumerate(series):
            features = report(value)
            if model is None:
                self.mix.add(ONE, t, features)
                served = self.mix.naive_forecasts(ONE, t)
            else:
                output = np.repeat(model[t][None, None, :, None], 3, axis=-1)
                _, served, finite = self.mix.forecasts(
                    ONE, t, features, None, None, output, scale, span, base
                )
                assert finite
            forecasts.append(served)
            point = t % len(AHEAD)
            then = t - int(AHEAD[point])
            if then < 0:
                continue
            own = None if model is None else np.full((1, 1, 3), model[then, point], np.float32)
            warm = None if model is None else np.ones(1, np.bool_)
            actual = np.full((1, 1), value, np.float32)
            losses = self.mix.learn(ONE, point, actual, t, own, warm)
            self.experts.append(losses[0, 0, : len(EXPERTS)])
            self.losses.append(losses[0, 0])
            off = value - forecasts[then][0, 0, point]
            self.served.append(np.maximum(LEVELS * off, (LEVELS - 1) * off).mean())


def future(series: F32, noise: float) -> F32:
    """``(T, M)`` forecasts of a model that sees the future through noise."""
    rng = np.random.default_rng(9)
    at = np.minimum(np.arange(len(series))[:, None] + AHEAD, len(series) - 1)
    noisy: F32 = (series[at] + noise * rng.standard_normal(at.shape)).astype(np.float32)
    return noisy


RNG = np.random.default_rng(1)
WALK = (90_000 + 300 * np.cumsum(RNG.standard_normal(12_000))).astype(np.float32)
PERIODIC = (5_000 * (np.arange(12_000) % 12) + 100 * RNG.random(12_000)).astype(np.float32)
REVERTING = np.zeros(12_000, np.float32)
"""Halfway back to its mean within some 14 reports."""
for at in range(1, 12_000):
    REVERTING[at] = 0.95 * REVERTING[at - 1] + 300 * RNG.standard_normal()
REVERTING += 90_000
RAMP = (40.0 * np.arange(12_000) + 200 * RNG.random(12_000)).astype(np.float32)


@pytest.mark.parametrize(
    ("series", "noise", "best"),
    [
        (WALK, 50.0, "model"),
        (WALK, 3_000.0, "persistence"),
        (WALK, 20_000.0, "persistence"),
        (PERIODIC, 500.0, "seasonal"),
        (PERIODIC, 20_000.0, "seasonal"),
        (RAMP, 500.0, "ridge"),
        (RAMP, 20_000.0, "ridge"),
        (REVERTING, 20_000.0, "ridge"),
    ],
)
def test_the_mix_is_no_worse_than_the_best_expert(series: F32, noise: float, best: str) -> None:
    replay = Replay(series, future(series, noise))
    experts = np.mean(replay.experts[2_000:], axis=0)
    assert EXPERTS[int(np.argmin(experts))] == best
    assert np.mean(replay.served[2_000:]) <= 1.02 * experts.min()
    assert replay.mix.weights(0)[0, :, EXPERTS.index(best)].min() > 0.5


@pytest.mark.parametrize("points", [1, 4], ids=["one point", "four points"])
def test_crossed_quantiles_of_a_model_are_calibrated_as_they_are_served(points: int) -> None:
    """Reversed in a tenth of the reports."""
    rng = np.random.default_rng(6)
    rows = 12_000
    level = (90_000 + 1_000 * np.cumsum(rng.standard_normal(rows))).astype(np.float32)
    level += 1_000 * rng.standard_normal(rows).astype(np.float32)
    ahead = AHEAD[:points]
    mix = new_mix(LEVEL, LEVELS, ahead)
    mix.grow(1)
    scale, span = np.ones((1, 1, points), np.float32), np.ones(1, np.float32)
    base = np.zeros((1, 1), np.float32)
    plain, covered = [], []
    served: list[F32] = []
    for t in range(rows):
        at = np.minimum(t + ahead, rows - 1)
        middle = level[at] - 1_000 * rng.standard_normal(points)
        spread = 1_282 * np.array([-1, 0, 1]) * (-1 if rng.random() < 0.1 else 1)
        output = (middle[:, None] + spread).astype(np.float32)[None, None]
        model, forecast, _ = mix.forecasts(
            ONE, t, report(level[t]), None, None, output, scale, span, base
        )
        plain.append(model)
        served.append(forecast)
        then, point = t - int(ahead[t % points]), t % points
        if then >= 0:
            own = plain[then][:, :, point]
            mix.learn(ONE, point, level[None, None, t], t, own, np.ones(1, np.bool_))
            covered.append(level[t] < served[then][0, 0, point])
    assert (np.diff(plain, axis=-1) >= 0).all()
    below = np.mean(covered[4_000:], axis=0)
    assert np.abs(below - LEVELS).max() < 0.02
    assert below[2] - below[0] == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize("levels", [LEVELS, LEVELS[::2]], ids=["three quantiles", "two"])
def test_a_scale_multiplies_the_forecasts_of_its_point(levels: F32) -> None:
    """The scale applies under the prior weights and until the model has all weight."""
    rng = np.random.default_rng(8)
    # Four points at a time, and one more.
    ahead = np.arange(5, 10, dtype=np.int64)
    rows, points = 4_000, len(ahead)
    level = (5_000 * rng.random(rows + int(ahead[-1]))).astype(np.float32)
    scale = np.float32(2) ** np.arange(-2, points - 2)[None, None].astype(np.float32)
    one, span = np.ones_like(scale), np.ones(1, np.float32)
    scaled, plain = new_mix(LEVEL, levels, ahead), new_mix(LEVEL, levels, ahead)
    for mix in (scaled, plain):
        mix.grow(1)
    earlier: list[F32] = []
    for t in range(rows):
        base = level[None, None, t]
        output = np.repeat((level[t + ahead] - level[t])[None, None, :, None], len(levels), axis=-1)
        first, *rest = scaled.forecasts(
            ONE, t, report(level[t]), None, None, output / scale[..., None], scale, span, base
        )
        expected, *others = plain.forecasts(
            ONE, t, report(level[t]), None, None, output, one, span, base
        )
        np.testing.assert_array_equal(first, expected)
        np.testing.assert_array_equal(rest[0], others[0])
        earlier.append(first)
        point, then = t % points, t - int(ahead[t % points])
        if then >= 0:
            own = earlier[then][:, :, point]
            for mix in (scaled, plain):
                mix.learn(ONE, point, base, t, own, np.ones(1, np.bool_))
    assert scaled.weights(0)[0, :, 0].min() > 0.999


def test_weights_move_smoothly() -> None:
    """Persistence and model err alike and independently: no outcome moves a weight by much."""
    rng = np.random.default_rng(5)
    level, model = (90_000 + 300 * rng.standard_normal((2, 6_000))).astype(np.float32)
    mix = Replay(level[:3_000], np.repeat(model[:3_000, None], len(AHEAD), axis=1)).mix
    before = mix.weights(0)
    for t in range(3_000, 6_000):
        mix.add(ONE, t, report(level[t]))
        own = np.full((1, 1, 3), model[t], np.float32)
        mix.learn(ONE, t % 4, level[None, None, t], t, own, np.ones(1, np.bool_))
        now = mix.weights(0)
        assert np.abs(now - before).max() < 0.1
        np.testing.assert_allclose(now.sum(axis=-1), 1, atol=1e-5)
        before = now


def test_without_a_model_naive_forecasts_are_mixed() -> None:
    replay = Replay(PERIODIC, None)
    losses = np.array(replay.experts[2_000:])
    assert np.isnan(losses[:, 0]).all()
    assert np.mean(replay.served[2_000:]) <= 1.02 * np.nanmin(losses[:, 1:].mean(axis=0))


def test_the_first_forecast_is_the_last_value() -> None:
    mix = new_mix(LEVEL, LEVELS, AHEAD)
    mix.grow(2)
    mix.add(np.array([1]), 7, report(4_000))
    assert (mix.naive_forecasts(np.array([1]), 7) == 4_000).all()


def test_a_mix_for_a_new_model_keeps_what_is_known_of_naive_forecasts() -> None:
    replay = Replay(WALK, future(WALK, 50.0))
    other = replay.mix.with_new_model()
    # The window begins anew with the past.
    prior = np.array([0.62, 0.15, 0.05, 0.15, 0.0])
    expected = np.broadcast_to(prior / prior.sum(), (1, 4, 5))
    np.testing.assert_allclose(other.weights(0), expected, atol=1e-6)
    other.add(ONE, 0, report(90_000))
    served = other.naive_forecasts(ONE, 0)
    assert (served[..., 2] - served[..., 0]).min() > 500


def test_a_new_bearer_starts_with_the_offsets_of_the_others() -> None:
    mix = Replay(WALK, None).mix
    mix.grow(2)
    mix.add(np.array([1]), 0, report(90_000))
    served = mix.naive_forecasts(np.array([1]), 0)
    assert (served[..., 2] - served[..., 0]).min() > 500


@pytest.mark.parametrize("quantity", [Quantity.DRAIN, Quantity.QUEUE_LIMIT])
def test_a_quantity_has_a_past_from_its_first_known_value_on(quantity: Quantity) -> None:
    mix = new_mix((quantity,), LEVELS, AHEAD)
    mix.grow(1)
    features = np.zeros((1, len(FEATURES)), np.float32)
    known, unknown = np.ones(1, np.bool_), np.zeros(1, np.bool_)
    flags = (unknown, known) if quantity is Quantity.DRAIN else (known, unknown)
    mix.add(ONE, 1, features, *flags)
    features[0, FEATURES.index(quantity.value)] = 30_000
    mix.add(ONE, 2, features, known, known)
    assert (mix.naive_forecasts(ONE, 2) == 30_000).all()
    # No expert had a forecast at the first report.
    actual = np.full((1, 1), 30_000, np.float32)
    assert np.isnan(mix.learn(ONE, 0, actual, 1 + int(AHEAD[0]))).all()
    experts = mix.learn(ONE, 0, actual, 2 + int(AHEAD[0]))[0, 0, : len(EXPERTS)]
    assert (experts[1:-1] == 0).all()
    assert np.isnan(experts[-1]), "a window is renewed by outcomes"
    features[0] = 0
    mix.add(ONE, 3, features, *flags)
    assert (mix.naive_forecasts(ONE, 3) == 30_000).all()


def test_invalid_arguments_are_named() -> None:
    mix = new_mix(LEVEL, LEVELS, AHEAD)
    mix.grow(1)
    value = np.ones((1, 1), np.float32)
    with pytest.raises(ValueError, match="slots of row 0 is 1, of 1"):
        mix.add(np.array([1]), 0, report(1))
    with pytest.raises(ValueError, match="features has length 0, for 1 rows"):
        mix.add(ONE, 0, np.ones((1, 0), np.float32))
    with pytest.raises(ValueError, match="limited has length 2, for 1 rows"):
        mix.add(ONE, 0, report(1), limited=np.ones(2, np.bool_))
    with pytest.raises(ValueError, match="fresh has length 2, for 1 rows"):
        mix.add(ONE, 0, report(1), fresh=np.ones(2, np.bool_))
    with pytest.raises(ValueError, match="point of row 0 is 4, of 4"):
        mix.learn(ONE, 4, value, 0)
    with pytest.raises(ValueError, match=r"actual has shape \[1, 2\]"):
        mix.learn(ONE, 0, np.ones((1, 2), np.float32), 0)
    with pytest.raises(ValueError, match="warm has length 0"):
        mix.learn(ONE, 0, value, 0, np.ones((1, 1, 3), np.float32))
    with pytest.raises(ValueError, match="slots of row 0 is 7, of 1"):
        mix.naive_forecasts(np.array([7]), 0)
    with pytest.raises(ValueError, match="levels has length 0"):
        new_mix(LEVEL, LEVELS[:0], AHEAD)
    assert isinstance(mix, rlc_native.Mix)


def test_the_mix_is_no_worse_than_the_best_simple_forecaster() -> None:
    for series in (WALK, PERIODIC, REVERTING):
        replay = Replay(series, None)
        losses = np.array(replay.losses[2_000:])
        simple = losses[:, [LOSSES.index(f"simple {name}") for name in SIMPLE]].mean(axis=0)
        best = losses[:, LOSSES.index("best simple")].mean()
        assert simple.min() <= best * 1.001 <= 1.05 * simple.min(), "chosen before, seldom wrong"
        assert np.mean(replay.served[2_000:]) <= 1.02 * best


def test_simple_forecasts_are_what_their_names_say() -> None:
    mix = new_mix((Quantity.OCCUPANCY, Quantity.DRAIN), LEVELS, AHEAD, np.full(4, 2, np.int64))
    mix.grow(1)
    rng = np.random.default_rng(5)
    values = rng.exponential(900.0, (1_500, 2)).astype(np.float32)
    for t, (level, drain) in enumerate(values):
        features = report(level)
        features[0, FEATURES.index(Quantity.DRAIN.value)] = drain
        mix.add(ONE, t, features)
    found, best = mix.simple_forecasts(0, len(values) - 1)
    assert found.shape == (len(SIMPLE), 2, 4, 3)
    assert (best == SIMPLE.index("persistence")).all(), "before any outcome"
    # Nothing was learned yet, so that there are no offsets.
    assert found[SIMPLE.index("persistence"), 0] == pytest.approx(np.full((4, 3), values[-1, 0]))
    drain = found[SIMPLE.index("persistence"), 1]
    assert drain == pytest.approx(np.full((4, 3), values[-20:, 1].mean()), rel=1e-4)
    weights = 0.04 * 0.96 ** np.arange(len(values))
    ewma = found[SIMPLE.index("ewma"), 0, 0, 0]
    assert ewma == pytest.approx(weights @ values[::-1, 0], rel=1e-3)
    pairs = (values[1:, 1] + values[:-1, 1]) / 2
    # Every third and every ninth report is kept of the longer windows.
    for name, stride, count in (
        ("window-100", 1, 100),
        ("window-300", 3, 100),
        ("window-1000", 9, 111),
    ):
        window = found[SIMPLE.index(name)]
        newest = (len(values) - 1) // stride * stride
        for quantity, reported in ((0, values[:, 0]), (1, np.concatenate([[0], pairs]))):
            kept = reported[newest::-stride][:count]
            expected = np.quantile(kept, LEVELS, method="inverted_cdf")
            assert window[quantity, 2] == pytest.approx(expected, rel=1e-5), name
    with pytest.raises(ValueError, match="slot of row 0 is 1, of 1"):
        mix.simple_forecasts(1, 0)
