"""Learning from outcomes is what plain NumPy says it is, and its doors refuse what does not fit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import rlc_native
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from rlc_model.calibration import Offsets, Slots

F32 = NDArray[np.float32]
WEIGHT, LOSE_BELOW, REGAIN_ABOVE, LEAST_OUTCOMES = 0.1, -0.05, 0.0, 3
RULE = rlc_native.Rule(
    weight=WEIGHT,
    lose_below=LOSE_BELOW,
    regain_above=REGAIN_ABOVE,
    least_outcomes=LEAST_OUTCOMES,
)


class Case:
    """Slots of some axes, and rounds of outcomes drawn for them."""

    def __init__(self, seed: int, quantiles: int, *, in_a_row: bool, rows: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.slots, self.quantities, self.points = rows + 3, int(self.rng.integers(1, 4)), 4
        self.rows, self.in_a_row = rows, in_a_row
        self.levels = np.linspace(0.05, 0.95, quantiles + 2, dtype=np.float32)[1:-1]

    def index(self) -> Slots:
        """Slots of a round, as a slice or each by its number."""
        if self.in_a_row:
            first = int(self.rng.integers(0, self.slots - self.rows + 1))
            return slice(first, first + self.rows)
        return self.rng.permutation(self.slots)[: self.rows]

    def forecasts(self) -> F32:
        """``(N, quantity, Q)`` values, few different ones so that ties come about."""
        shape = (self.rows, self.quantities, len(self.levels))
        return self.rng.integers(0, 6, shape).astype(np.float32)

    def actual(self) -> F32:
        """``(N, quantity)``, some not known."""
        actual = self.rng.integers(0, 6, (self.rows, self.quantities)).astype(np.float32)
        actual[self.rng.random(actual.shape) < 0.2] = np.nan
        return actual

    def counts(self) -> NDArray[np.bool_] | None:
        """``(N,)``, or None for all."""
        return None if self.rng.random() < 0.3 else self.rng.random(self.rows) < 0.7


def cases() -> Callable[[Callable[[Case], None]], Callable[[], None]]:
    """Cases of all kinds, the empty one too."""

    def decorate(test: Callable[[Case], None]) -> Callable[[], None]:
        @settings(deadline=None)
        @given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.booleans(), st.integers(0, 9))
        def checked(seed: int, quantiles: int, in_a_row: bool, rows: int) -> None:
            test(Case(seed, quantiles, in_a_row=in_a_row, rows=rows))

        return checked

    return decorate


def tracked(
    levels: F32, error: F32, plain: F32, *, theta: F32, size: F32, begun: NDArray[np.bool_]
) -> tuple[F32, F32, NDArray[np.bool_]]:
    """θ, mean errors and whether there are any, after outcomes: the rule as it is written down."""
    known = ~np.isnan(plain)
    weight = np.where(begun, np.float32(0.02), np.float32(1))
    size = np.where(known, size + weight * (np.abs(plain) - size), size)
    moved = theta + 0.05 * (levels * (error > 0) - (1 - levels) * (error < 0))
    return np.clip(moved, -20, 20), size, begun | known


@cases()
def test_offsets_go_by_the_rule(case: Case) -> None:
    offsets = Offsets(case.levels, case.slots, case.quantities, case.points)
    expected = Offsets(case.levels, case.slots, case.quantities, case.points)
    # Near the bound, so that it is met.
    expected.theta[:] = case.rng.choice([-19.98, 0, 19.98], expected.theta.shape)
    offsets.theta[:] = expected.theta
    for _ in range(12):
        slots, actual, plain, counts = case.index(), case.actual(), case.forecasts(), case.counts()
        each = not case.in_a_row and case.rng.random() < 0.5
        points = case.rng.integers(0, case.points, case.rows) if each else 2
        one = case.rng.random() < 0.3
        if one:
            plain = plain[..., :1]
        told = plain[..., 0] if one else plain
        offsets.learn(slots, points, actual, told, counts=counts)
        rows = np.arange(case.rows) if counts is None else np.flatnonzero(counts)
        numbers = np.arange(case.slots)[slots][rows]
        at = (numbers, slice(None), points[rows] if isinstance(points, np.ndarray) else points)
        off = (actual[..., None] - np.broadcast_to(plain, (*actual.shape, len(case.levels))))[rows]
        expected.theta[at], expected.size[at], expected.begun[at] = tracked(
            case.levels,
            off - expected.offset[at],
            off[..., len(case.levels) // 2],
            theta=expected.theta[at],
            size=expected.size[at],
            begun=expected.begun[at],
        )
        expected.offset[at] = expected.theta[at] * expected.size[at][..., None]
        for name in ("theta", "size", "offset", "begun"):
            np.testing.assert_array_equal(getattr(offsets, name), getattr(expected, name), name)


@cases()
def test_what_is_said_at_a_point_is_in_order_and_not_below_zero(case: Case) -> None:
    shape = (case.slots, case.quantities, case.points, len(case.levels))
    offset = case.rng.normal(0, 10, shape).astype(np.float32)
    plain, slots = case.forecasts()[..., 0], case.index()
    expected = np.maximum(np.sort(plain[..., None] + offset[slots][:, :, 1], axis=-1), 0)
    np.testing.assert_array_equal(rlc_native.said_at(slots, 1, plain, offset), expected)


class Scores:
    """What is remembered of losses."""

    def __init__(self, case: Case) -> None:
        self.bearer = np.zeros((case.slots, 2), np.float32)
        self.outcomes = np.zeros(case.slots, np.int64)
        self.set_aside = np.zeros(case.slots, np.bool_)
        self.by_point = np.zeros((case.quantities, case.points, 2))


def scored(
    scores: Scores,
    levels: F32,
    slots: NDArray[np.intp],
    actual: F32,
    said: tuple[F32, F32],
) -> tuple[list[float], int, int]:
    """Losses remembered and who is set aside, after outcomes at point 1 that all count."""
    losses = []
    for forecast in said:
        difference = actual[..., None] - forecast
        loss = np.maximum(levels * difference, (levels - 1) * difference).mean(axis=-1)
        losses.append(loss.astype(np.float32))
    both, known = np.stack(losses, axis=-1), ~np.isnan(actual)
    count = known.sum(axis=0)
    mean = np.where(known[..., None], both, 0).sum(axis=0) / np.maximum(count, 1)[:, None]
    weight = np.where(count > 0, WEIGHT, 0.0)[:, None]
    scores.by_point[:, 1] += weight * (mean - scores.by_point[:, 1])
    first, slots = both[known[:, 0], 0], slots[known[:, 0]]
    scores.bearer[slots] += np.float32(WEIGHT) * (first - scores.bearer[slots])
    scores.outcomes[slots] += 1
    model, persistence = scores.bearer[slots].T
    was, settled = scores.set_aside[slots], scores.outcomes[slots] >= LEAST_OUTCOMES
    lost = settled & ~was & (model > np.float32(1 - LOSE_BELOW) * persistence)
    back = settled & was & (model < np.float32(1 - REGAIN_ABOVE) * persistence)
    scores.set_aside[slots[lost | back]] ^= True
    scores.outcomes[slots[lost | back]] = 0
    return list(mean[0]), int(lost.sum()), int(back.sum())


@cases()
def test_losses_are_remembered_and_decide(case: Case) -> None:
    found, expected = Scores(case), Scores(case)
    for _ in range(20):
        slots, actual, counts = case.index(), case.actual(), case.counts()
        # Far apart, so that rounding decides nothing.
        model = case.forecasts() + (40 if case.rng.random() < 0.5 else 0)
        persistence = case.forecasts() + (40 if case.rng.random() < 0.5 else 0)
        rows, *means, lost, back = rlc_native.score(
            RULE,
            slots,
            1,
            actual,
            model,
            persistence,
            counts,
            levels=case.levels,
            bearer=found.bearer,
            outcomes=found.outcomes,
            set_aside=found.set_aside,
            by_point=found.by_point,
        )
        counting = np.arange(case.rows) if counts is None else np.flatnonzero(counts)
        numbers = np.arange(case.slots)[slots][counting]
        said = (model[counting], persistence[counting])
        told = scored(expected, case.levels, numbers, actual[counting], said)
        assert rows == len(counting)
        np.testing.assert_allclose(means, told[0], rtol=1e-5)
        assert (lost, back) == told[1:]
        np.testing.assert_allclose(found.bearer, expected.bearer, rtol=1e-5)
        np.testing.assert_allclose(found.by_point, expected.by_point, rtol=1e-5)
        np.testing.assert_array_equal(found.outcomes, expected.outcomes)
        np.testing.assert_array_equal(found.set_aside, expected.set_aside)


@cases()
def test_covered_is_what_lies_within_what_was_served(case: Case) -> None:
    checked = np.zeros((case.quantities, case.points), np.int64)
    covered, checked_too, covered_too = checked.copy(), checked.copy(), checked.copy()
    for point in (0, 3, 0):
        actual = case.actual()
        model, persistence = (np.sort(case.forecasts(), axis=-1) for _ in range(2))
        served = None if case.rng.random() < 0.3 else case.rng.random(case.rows) < 0.5
        rlc_native.cover(
            point, actual, persistence, model, served, checked=checked, covered=covered
        )
        mine = np.zeros(case.rows, np.bool_) if served is None else served
        said = np.where(mine[:, None, None], model, persistence)
        checked_too[:, point] += (~np.isnan(actual)).sum(axis=0)
        inside = (actual >= said[..., 0]) & (actual <= said[..., -1])
        covered_too[:, point] += inside.sum(axis=0)
    np.testing.assert_array_equal(checked, checked_too)
    np.testing.assert_array_equal(covered, covered_too)


@cases()
def test_the_share_outside_the_range_follows_the_samples(case: Case) -> None:
    features = case.rng.integers(0, 6, (case.rows, 5)).astype(np.float32)
    if case.rows:
        features[0, 0] = np.nan
    low: F32 = case.rng.integers(0, 3, 5).astype(np.float32)
    high: F32 = low + 2
    outside: NDArray[np.float64] = case.rng.random(5)
    share = ((features < low) | (features > high)).sum(axis=0) / max(case.rows, 1)
    expected = outside + (0.1 * (share - outside) if case.rows else 0)
    rlc_native.note_outside(features, low, high, 0.1, outside)
    np.testing.assert_allclose(outside, expected, rtol=1e-12)


@cases()
def test_rates_and_limits_nobody_told_are_not_known(case: Case) -> None:
    shape = (case.rows, case.quantities)
    levels = case.rng.random(shape, np.float32)
    # One column of several, as the forecaster has it.
    fresh, limited = case.rng.random((case.rows, 2)).T > 0.5
    rates, limits = case.rng.random((2, case.quantities)) > 0.5
    unknown = (rates & ~fresh[:, None]) | (limits & ~limited[:, None])
    found = rlc_native.outcomes(levels, fresh, limited, rates, limits)
    np.testing.assert_array_equal(found, np.where(unknown, np.float32(np.nan), levels))


def test_an_array_that_lies_otherwise_is_read_as_it_is_meant() -> None:
    """What was said at one point of many is a view into it."""
    said = np.arange(2 * 2 * 4 * 3, dtype=np.float32).reshape(2, 2, 4, 3)
    actual = np.asfortranarray([[50, 7], [3, 90]], np.float32)
    straight, viewed = (Offsets(np.array([0.1, 0.5, 0.9], np.float32), 2, 2, 4) for _ in range(2))
    straight.learn(slice(0, 2), 3, actual.copy("C"), said[:, :, 2].copy())
    viewed.learn(slice(0, 2), 3, actual, said[:, :, 2])
    assert straight.offset.any()
    np.testing.assert_array_equal(viewed.offset, straight.offset)


def offsets() -> Offsets:
    return Offsets(np.array([0.1, 0.5, 0.9], np.float32), 4, 2, 5)


def one(*shape: int) -> F32:
    return np.ones(shape, np.float32)


@pytest.mark.parametrize(
    ("slots", "point", "actual", "plain", "said"),
    [
        (slice(3, 5), 0, one(2, 2), one(2, 2, 3), "slots of row 1 is 4, of 4"),
        (slice(0, 2, 2), 0, one(1, 2), one(1, 2, 3), "slots: expected a slice of step 1"),
        (slice(None), 0, one(2, 2), one(2, 2, 3), "slots has length .* for 2 rows"),
        (slice(-2, None), 0, one(2, 2), one(2, 2, 3), "slots"),
        (np.array([0, -1]), 0, one(2, 2), one(2, 2, 3), "slots of row 1 is -1, of 4"),
        (np.array([0, 4]), 0, one(2, 2), one(2, 2, 3), "slots of row 1 is 4, of 4"),
        (np.array([0, 1, 2]), 0, one(2, 2), one(2, 2, 3), "slots has length 3, for 2 rows"),
        (np.arange(4)[::2], 0, one(2, 2), one(2, 2, 3), "slots: expected C-contiguous"),
        (slice(0, 2), 5, one(2, 2), one(2, 2, 3), "point of row 0 is 5, of 5"),
        (slice(0, 2), -1, one(2, 2), one(2, 2, 3), "point of row 0 is -1, of 5"),
        (slice(0, 2), np.array([0, 5]), one(2, 2), one(2, 2, 3), "point of row 1 is 5, of 5"),
        (slice(0, 2), 0, one(2, 3), one(2, 2, 3), r"actual has shape \[2, 3\], expected \[2, 2\]"),
        (slice(0, 2), 0, one(2, 2), one(2, 3, 2), r"plain has shape \[2, 3, 2\]"),
        (slice(0, 2), 0, one(2, 2), one(2, 2, 1), r"plain has shape \[2, 2, 1\]"),
        (slice(0, 2), 0, one(2, 2), one(3, 2), r"plain has shape \[3, 2\], expected \[2, 2\]"),
        (slice(0, 2), 0, one(2, 2), one(12), r"plain has shape \[12\]"),
    ],
)
def test_outcomes_that_do_not_fit_are_named_and_change_nothing(
    slots: Slots, point: int, actual: F32, plain: F32, said: str
) -> None:
    refusing = offsets()
    with pytest.raises(ValueError, match=said):
        refusing.learn(slots, point, actual, plain)
    assert not refusing.begun.any()
    assert not refusing.theta.any()


def test_arrays_that_cannot_be_updated_are_named() -> None:
    learned = (slice(0, 2), 0, one(2, 2), one(2, 2, 3))
    for name, shape in (("size", "4, 2, 4"), ("begun", "4, 2, 4"), ("offset", "4, 2, 4, 3")):
        other = offsets()
        setattr(other, name, getattr(offsets(), name)[:, :, 1:])
        with pytest.raises(ValueError, match=rf"^{name} has shape \[{shape}\], expected"):
            other.learn(*learned)
    other = offsets()
    other.levels = other.levels[1:]
    with pytest.raises(ValueError, match=r"^levels has shape \[2\], expected \[3\]"):
        other.learn(*learned)
    other = offsets()
    other.size.flags.writeable = False
    with pytest.raises(ValueError, match=r"^size: .*not writeable"):
        other.learn(*learned)
    other = offsets()
    other.offset = other.theta
    with pytest.raises(ValueError, match=r"^offset: .*already borrowed"):
        other.learn(*learned)
    other = offsets()
    other.theta = np.asfortranarray(other.theta)
    with pytest.raises(ValueError, match=r"^theta: expected C-contiguous"):
        other.learn(*learned)
    with pytest.raises(ValueError, match=r"^counts has length 3, for 2 rows"):
        offsets().learn(*learned, counts=np.ones(3, np.bool_))
    with pytest.raises(TypeError, match="slots: expected an int, a slice or an array of intp"):
        offsets().learn(np.array([0.0, 1.0]), *learned[1:])
    with pytest.raises(TypeError, match="actual"):
        offsets().learn(*learned[:2], np.ones((2, 2)), learned[3])  # type: ignore[arg-type]


def test_scores_that_do_not_fit_are_named() -> None:
    scores = Scores(Case(1, 3, in_a_row=True, rows=1))
    quantities = len(scores.by_point)
    actual, said = one(2, quantities), one(2, quantities, 3)

    def score(**other: object) -> None:
        arguments = {
            "slots": slice(0, 2),
            "point": 0,
            "actual": actual,
            "model": said,
            "persistence": said,
            "levels": one(3),
            **vars(scores),
            **other,
        }
        rlc_native.score(RULE, **arguments)  # type: ignore[arg-type]

    score()
    for name, wrong, message in (
        ("slots", np.array([0, 4]), "slots of row 1 is 4, of 4"),
        ("point", 4, "point of row 0 is 4, of 4"),
        ("actual", one(2, quantities + 1), "actual has shape"),
        ("model", said[:1], "model has shape"),
        ("persistence", said[..., 1:], "persistence has shape"),
        ("levels", one(0), "model has shape"),
        ("bearer", one(4, 3), "bearer has shape"),
        ("outcomes", np.zeros(3, np.int64), "outcomes has length 3, for 4 rows"),
        ("set_aside", np.zeros(5, np.bool_), "set_aside has length 5, for 4 rows"),
        ("by_point", np.zeros((quantities, 4, 3)), "by_point has shape"),
    ):
        with pytest.raises(ValueError, match=rf"^{message}"):
            score(**{name: wrong})
    none = one(2, quantities, 0)
    with pytest.raises(ValueError, match=r"^levels has length 0"):
        score(levels=one(0), model=none, persistence=none)


def test_what_else_does_not_fit_is_named() -> None:
    checked, actual, said = np.zeros((2, 3), np.int64), one(1, 2), one(1, 2, 3)

    def cover(point: int = 0, actual: F32 = actual, said: F32 = said, **other: object) -> None:
        arguments = {"checked": checked, "covered": checked.copy(), **other}
        rlc_native.cover(point, actual, said, **arguments)  # type: ignore[arg-type]

    with pytest.raises(ValueError, match=r"^point of row 0 is 3, of 3"):
        cover(3)
    with pytest.raises(ValueError, match=r"^actual has shape \[2, 2\], expected \[1, 2\]"):
        cover(actual=one(2, 2))
    with pytest.raises(ValueError, match=r"^persistence has length 0"):
        cover(said=one(1, 2, 0))
    with pytest.raises(ValueError, match=r"^model has shape"):
        cover(model=one(1, 2, 4), served=np.ones(1, np.bool_))
    with pytest.raises(ValueError, match=r"^model has length 0"):
        cover(served=np.ones(1, np.bool_))
    with pytest.raises(ValueError, match=r"^served has length 2"):
        cover(model=said, served=np.ones(2, np.bool_))
    with pytest.raises(ValueError, match=r"^covered has shape"):
        cover(covered=np.zeros((2, 4), np.int64))
    with pytest.raises(ValueError, match=r"^features has shape"):
        rlc_native.note_outside(one(2, 3), one(2), one(2), 0.1, np.zeros(2))
    with pytest.raises(ValueError, match=r"^low has length 3"):
        rlc_native.note_outside(one(2, 2), one(3), one(2), 0.1, np.zeros(2))
    two, three = np.ones(2, np.bool_), np.ones(3, np.bool_)
    with pytest.raises(ValueError, match=r"^levels has shape \[2, 2\], expected \[2, 3\]"):
        rlc_native.outcomes(one(2, 2), two, two, three, three)
    with pytest.raises(ValueError, match=r"^limited has length 3, for 2 rows"):
        rlc_native.outcomes(one(2, 3), two, three, three, three)
    with pytest.raises(ValueError, match=r"^limits has length 2, for 3 rows"):
        rlc_native.outcomes(one(2, 3), two, two, three, two)
    with pytest.raises(ValueError, match=r"^plain has shape"):
        rlc_native.said_at(slice(0, 2), 0, one(2, 3), one(4, 2, 5, 3))
    with pytest.raises(ValueError, match=r"^slots of row 1 is 4"):
        rlc_native.said_at(slice(3, 5), 0, one(2, 2), one(4, 2, 5, 3))
    with pytest.raises(ValueError, match=r"^point of row 0 is -1"):
        rlc_native.said_at(slice(0, 2), -1, one(2, 2), one(4, 2, 5, 3))
