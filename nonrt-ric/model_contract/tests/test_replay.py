"""A back-test's calls of many samples give what calls of one sample give, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
import rlc_native
from numpy.typing import NDArray
from rlc_model import FEATURES, Quantity
from rlc_model.calibration import Checks, Offsets
from rlc_model.mix import new_mix

QUANTITIES = tuple(Quantity)
LEVELS = np.array([0.1, 0.5, 0.9], np.float32)
AHEAD, SPANS = np.array([11, 12, 20, 30]), np.array([1, 1, 8, 10])
ROWS, WARM_UP, LIMIT_EVERY = 3_000, 200, 20
SHAPE = len(QUANTITIES), len(AHEAD), len(LEVELS)
SLOT = np.zeros(1, np.intp)

Arrays = tuple[
    NDArray[np.int64],
    NDArray[np.float32],
    NDArray[np.bool_],
    NDArray[np.bool_],
    NDArray[np.float32],
]


def mix() -> rlc_native.Mix:
    made = new_mix(QUANTITIES, LEVELS, AHEAD, SPANS)
    made.grow(1)
    return made


def samples() -> Arrays:
    """Ticks with a gap, features in bursts, unknown drains and limits, and forecasts of a model."""
    rng = np.random.default_rng(4)
    ticks = np.arange(ROWS) + np.where(np.arange(ROWS) > 1_400, 60, 0)
    features = np.zeros((ROWS, len(FEATURES)), np.float32)
    levels = np.abs(np.cumsum(rng.standard_normal((ROWS, 3)), axis=0)) * 1_000
    levels[:, 1] *= rng.random(ROWS) < 0.4
    for quantity, column in zip(QUANTITIES, levels.T, strict=True):
        features[:, FEATURES.index(quantity.value)] = column.round()
    fresh, limited = rng.random(ROWS) < 0.98, np.arange(ROWS) % 700 < 600
    last = features[:, [FEATURES.index(quantity.value) for quantity in QUANTITIES]]
    off = np.sort(rng.standard_normal((ROWS, *SHAPE)) * 800, axis=-1)
    return ticks, features, fresh, limited, (last[:, :, None, None] + off).astype(np.float32)


def outcomes() -> Checks:
    """A point of the reports at each sample, and limits at all points each 20 samples."""
    rng = np.random.default_rng(5)
    found = []
    for row in range(AHEAD[-1], ROWS):
        point = row % 23 % len(AHEAD)
        value = np.array([rng.integers(0, 5_000), rng.integers(0, 3) * 900, np.nan])
        found.append((row, True, row - AHEAD[point], point, value))
        if row % LIMIT_EVERY == 0:
            limit = np.array([np.nan, np.nan, rng.integers(1, 90_000)])
            found += [
                (row, at == len(AHEAD) - 1, row - ahead, at, limit)
                for at, ahead in enumerate(AHEAD)
            ]
    rows, last, origins, points, actual = zip(*found, strict=True)
    return Checks(
        np.array(rows),
        np.array(last),
        np.array(origins),
        np.array(points),
        np.array(actual, np.float32),
    )


def groups(checks: Checks, row: int) -> list[NDArray[np.intp]]:
    """The outcomes of each group of a sample."""
    at = np.flatnonzero(checks.rows == row)
    return [part for part in np.split(at, np.flatnonzero(checks.last[at]) + 1) if len(part)]


@pytest.mark.parametrize("with_model", [True, False])
def test_the_mix_of_many_samples_is_that_of_one_after_the_other(with_model: bool) -> None:
    ticks, features, fresh, limited, model = samples()
    checks, one = outcomes(), mix()
    unit, scale = np.ones(SHAPE[0], np.float32), np.ones((1, *SHAPE[:2]), np.float32)
    base = np.zeros((1, SHAPE[0]), np.float32)
    expected: list[NDArray[np.float32]] = []
    for row, tick in enumerate(ticks.tolist()):
        here = slice(row, row + 1)
        newest = features[here], fresh[here], limited[here]
        if with_model and row >= WARM_UP:
            served = one.forecasts(SLOT, tick, *newest, model[here], scale, unit, base)[1][0]
        else:
            one.add(SLOT, tick, *newest)
            served = one.naive_forecasts(SLOT, tick)[0]
        simple, best = one.simple_forecasts(0, tick)
        chosen = np.take_along_axis(simple, best.astype(np.intp)[None, :, :, None], axis=0)[0]
        expected.append(np.stack([served, chosen]))
        for at in groups(checks, row):
            origins, points = checks.origins[at], checks.points[at]
            slots = np.zeros(len(at), np.intp)
            compared = (model[origins, :, points], origins >= WARM_UP) if with_model else ()
            one.learn(slots, points, checks.actual[at], tick, *compared)
    # In two windows, of which the second begins before the end of the first.
    many, cut, back = mix(), 1_800, 100
    found = []
    for start, begin, stop in ((0, 0, cut), (cut - back, back, ROWS)):
        rows = slice(start, stop)
        found.append(
            rlc_native.replay(
                many,
                0,
                ticks[rows],
                features[rows],
                fresh[rows],
                limited[rows],
                model[rows] if with_model else None,
                # A warm-up is of a window.
                warm_up=max(WARM_UP - start, 0),
                begin=begin,
                wanted=np.arange(begin, stop - start),
                checks=checks.between(start + begin, stop, start),
            )
        )
    served, simple = (np.concatenate(each) for each in zip(*found, strict=True))
    np.testing.assert_array_equal(served, np.array(expected)[:, 0])
    np.testing.assert_array_equal(simple, np.array(expected)[:, 1])


def test_a_forecast_is_the_same_whether_others_are_wanted() -> None:
    ticks, features, fresh, limited, model = samples()
    some = np.array([40, 41, 900, ROWS - 1])
    of_all, of_some = (
        rlc_native.replay(
            mix(),
            *(0, ticks, features, fresh, limited, model),
            warm_up=WARM_UP,
            begin=0,
            wanted=wanted,
            checks=outcomes(),
        )
        for wanted in (np.arange(ROWS), some)
    )
    for all_rows, few in zip(of_all, of_some, strict=True):
        np.testing.assert_array_equal(all_rows[some], few)


@pytest.mark.parametrize("single", [True, False])
def test_calibration_of_many_samples_is_that_of_one_after_the_other(single: bool) -> None:
    *_, model = samples()
    plain = np.ascontiguousarray(model[..., :1]) if single else model
    checks, one = outcomes(), Offsets(LEVELS, 1, *SHAPE[:2])
    expected = []
    for row in range(ROWS):
        for at in groups(checks, row):
            compared = plain[checks.origins[at], :, checks.points[at]]
            for part in range(len(at)):
                forecast = compared[part : part + 1, :, 0] if single else compared[part : part + 1]
                one.learn(
                    SLOT,
                    checks.points[at][part : part + 1],
                    checks.actual[at][part : part + 1],
                    forecast,
                )
        expected.append(np.maximum(np.sort(plain[row] + one.offset[0], axis=-1), 0))
    many, found = Offsets(LEVELS, 1, *SHAPE[:2]), []
    for start, begin, stop in ((0, 0, 1_000), (950, 50, ROWS)):
        found.append(
            many.calibrate(
                0,
                plain[start:stop],
                begin=begin,
                wanted=np.arange(begin, stop - start),
                checks=checks.between(start + begin, stop, start),
            )
        )
    np.testing.assert_array_equal(np.concatenate(found), np.array(expected))
    np.testing.assert_array_equal(many.theta, one.theta)


def judged(
    of: rlc_native.Mix, offsets: list[Offsets], start: int, begin: int, stop: int, **changes: object
) -> tuple[list[NDArray[np.float64]], *tuple[NDArray[np.float64], ...], bool]:
    """Losses on samples ``[start + begin, stop)``, by blocks of 100; labels are the features."""
    ticks, features, fresh, limited, model = samples()
    rows, last = slice(start, stop), ROWS - 1
    labels = np.arange(start, stop)[:, None] + AHEAD
    columns = [FEATURES.index(quantity.value) for quantity in QUANTITIES]
    given = {
        "warm_up": max(WARM_UP - start, 0),
        "begin": begin,
        "wanted": np.arange(begin, stop - start),
        "checks": outcomes().between(start + begin, stop, start),
        "labels": (
            *(np.minimum(labels, last), labels <= last),
            *(features, np.repeat(columns, len(AHEAD)).reshape(SHAPE[:2])),
        ),
        "ends": np.append(np.arange(100, stop - start - begin, 100), stop - start - begin),
        "same": 0.5,
        "levels": LEVELS,
        "tracks": [(one.theta, one.size, one.offset, one.begun) for one in offsets],
        **changes,
    }
    held = model[rows, ..., 1].copy()
    arrays = ticks[rows], features[rows], fresh[rows], limited[rows], model[rows], held
    return rlc_native.judge(of, 0, *arrays, **given)  # type: ignore[arg-type,return-value]


def test_losses_are_those_of_the_forecasts() -> None:
    ticks, features, fresh, limited, model = samples()
    columns = [FEATURES.index(quantity.value) for quantity in QUANTITIES]
    at = np.arange(ROWS)[:, None] + AHEAD
    actual = features[np.minimum(at, ROWS - 1)][:, :, columns].swapaxes(1, 2)
    actual = np.where((at < ROWS)[:, None], actual, np.float32(np.nan))
    everything = {"wanted": np.arange(ROWS), "checks": outcomes(), "begin": 0}
    served, simple = rlc_native.replay(
        mix(),
        *(0, ticks, features, fresh, limited, model),
        warm_up=WARM_UP,
        **everything,  # type: ignore[arg-type]
    )
    ours, held = (
        Offsets(LEVELS, 1, *SHAPE[:2]).calibrate(0, plain, **everything)  # type: ignore[arg-type]
        for plain in (model, np.ascontiguousarray(model[..., 1:2]))
    )
    # In two windows, of which the second begins before the end of the first.
    made, offsets = mix(), [Offsets(LEVELS, 1, *SHAPE[:2]) for _ in range(2)]
    cut, back = 1_800, 100
    first, second = (
        judged(made, offsets, start, begin, stop)
        for start, begin, stop in ((0, 0, cut), (cut - back, back, ROWS))
    )
    blocks = np.arange(ROWS) // 100
    each = [
        rlc_native.loss_sums(np.ascontiguousarray(actual), forecast, blocks, LEVELS, 0.5)
        for forecast in (ours, held, served, simple)
    ]
    for found, parts in zip(each, zip(first[0], second[0], strict=True), strict=True):
        np.testing.assert_array_equal(np.concatenate(parts), found[0])
    for expected, *parts in zip(each[0][2:], first[1:4], second[1:4], strict=True):
        np.testing.assert_array_equal(np.sum(parts, axis=0), expected.sum(0))
    assert first[4] and second[4]


def test_what_cannot_be_judged_is_named() -> None:
    offsets = [Offsets(LEVELS, 1, *SHAPE[:2]) for _ in range(2)]
    rows = np.full((ROWS, len(AHEAD)), ROWS)
    known, ended = np.ones(rows.shape, np.bool_), np.zeros((ROWS, 1), np.float32)
    columns = np.zeros(SHAPE[:2], np.intp)
    for changes, message in (
        ({"labels": (rows, known, ended, columns)}, f"labels of row 0 is {ROWS}, of {ROWS}"),
        ({"labels": (rows - 1, known, ended, columns + 1)}, "columns of row 0 is 1, of 1"),
        ({"ends": np.array([5])}, f"ends has length 5, for {ROWS} rows"),
        ({"ends": np.array([5, 4, ROWS])}, "ends of row 1 is out of order"),
        ({"tracks": []}, "expected a sequence of length 2"),
        ({"levels": LEVELS[1:]}, "levels has shape"),
    ):
        with pytest.raises(ValueError, match=message):
            judged(mix(), offsets, 0, 0, ROWS, **changes)


def test_outputs_are_put_in_units_of_each_bearer() -> None:
    rng = np.random.default_rng(6)
    values = rng.standard_normal((5, 4, *SHAPE)).astype(np.float32)
    scale = rng.random((5, 4, *SHAPE[:2]), np.float32)
    span, base = rng.random(SHAPE[0], np.float32), rng.random((5, SHAPE[0]), np.float32)
    out = np.empty((5, *SHAPE), np.float32)
    by = span[:, None, None], base[..., None, None]
    rlc_native.in_units(values, scale, span, base, out, bearer=2)
    np.testing.assert_array_equal(out, values[:, 2] * scale[:, 2, ..., None] * by[0] + by[1])
    rlc_native.in_units(values, None, span, base, out, bearer=3)
    np.testing.assert_array_equal(out, values[:, 3] * by[0] + by[1])
    with pytest.raises(ValueError, match="bearer of row 0 is 4, of 4"):
        rlc_native.in_units(values, None, span, base, out, bearer=4)
    with pytest.raises(ValueError, match="base has shape"):
        rlc_native.in_units(values, None, span, base[1:], out, bearer=0)


def test_arrays_that_do_not_fit_are_named_and_change_nothing() -> None:
    ticks, features, fresh, limited, model = samples()
    checks, made = outcomes(), mix()

    def run(**changes: object) -> rlc_native.Checks:
        given: dict[str, object] = {
            **{"ticks": ticks, "features": features, "fresh": fresh, "limited": limited},
            **{"model": model, "wanted": np.arange(ROWS), "checks": checks},
        }
        arrays = given | changes
        named = {name: arrays.pop(name) for name in ("wanted", "checks")}
        return rlc_native.replay(made, 0, *arrays.values(), warm_up=0, begin=0, **named)  # type: ignore[arg-type,return-value]

    for changes, message in (
        ({"fresh": fresh[1:]}, f"fresh has length {ROWS - 1}, for {ROWS} rows"),
        ({"model": model[1:]}, "model has shape"),
        ({"wanted": np.array([5, 4])}, "wanted of row 1 is out of order"),
        ({"wanted": np.array([ROWS])}, f"wanted of row 0 is {ROWS}, of {ROWS}"),
        ({"checks": checks._replace(points=checks.points + 4)}, "point of row 0 is"),
        (
            {"checks": checks._replace(rows=checks.rows[::-1].copy())},
            "rows of row 1 is out of order",
        ),
        ({"checks": checks._replace(last=~checks.last)}, "last of row 0 is out of order"),
    ):
        with pytest.raises(ValueError, match=message):
            run(**changes)
    first, second = run(), made
    assert np.isfinite(first[0]).all() and second.slots == 1
