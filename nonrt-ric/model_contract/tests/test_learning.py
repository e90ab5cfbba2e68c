"""Native calibration and scoring equal NumPy references; invalid arguments are refused."""

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


class Case:
    """Axes, and random outcomes for them."""

    def __init__(self, seed: int, quantiles: int, *, contiguous: bool, rows: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.slots, self.quantities, self.points = rows + 3, int(self.rng.integers(1, 4)), 4
        self.rows, self.contiguous = rows, contiguous
        self.levels = np.linspace(0.05, 0.95, quantiles + 2, dtype=np.float32)[1:-1]

    def index(self) -> Slots:
        """Slots of a round, as a slice or an array."""
        if self.contiguous:
            first = int(self.rng.integers(0, self.slots - self.rows + 1))
            return slice(first, first + self.rows)
        return self.rng.permutation(self.slots)[: self.rows]

    def forecasts(self) -> F32:
        """``(N, quantity, Q)`` values with many ties."""
        shape = (self.rows, self.quantities, len(self.levels))
        return self.rng.integers(0, 6, shape).astype(np.float32)

    def actual(self) -> F32:
        """``(N, quantity)``, some unknown."""
        actual = self.rng.integers(0, 6, (self.rows, self.quantities)).astype(np.float32)
        actual[self.rng.random(actual.shape) < 0.2] = np.nan
        return actual

    def counts(self) -> NDArray[np.bool_] | None:
        """``(N,)``, or None for all."""
        return None if self.rng.random() < 0.3 else self.rng.random(self.rows) < 0.7


def cases() -> Callable[[Callable[[Case], None]], Callable[[], None]]:
    """Cases of all kinds, including empty ones."""

    def decorate(test: Callable[[Case], None]) -> Callable[[], None]:
        @settings(deadline=None)
        @given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.booleans(), st.integers(0, 9))
        def checked(seed: int, quantiles: int, contiguous: bool, rows: int) -> None:
            test(Case(seed, quantiles, contiguous=contiguous, rows=rows))

        return checked

    return decorate


def tracked(
    levels: F32, error: F32, plain: F32, *, theta: F32, size: F32, begun: NDArray[np.bool_]
) -> tuple[F32, F32, NDArray[np.bool_]]:
    """Reference: θ, mean errors and whether there are any, after outcomes."""
    known = ~np.isnan(plain)
    weight = np.where(begun, np.float32(0.02), np.float32(1))
    size = np.where(known, size + weight * (np.abs(plain) - size), size)
    moved = theta + 0.05 * (levels * (error > 0) - (1 - levels) * (error < 0))
    return np.clip(moved, -20, 20), size, begun | known


@cases()
def test_offsets_follow_quantile_tracking(case: Case) -> None:
    offsets = Offsets(case.levels, case.slots, case.quantities, case.points)
    expected = Offsets(case.levels, case.slots, case.quantities, case.points)
    # Near the bound, so that it is reached.
    expected.theta[:] = case.rng.choice([-19.98, 0, 19.98], expected.theta.shape)
    offsets.theta[:] = expected.theta
    for _ in range(12):
        slots, actual, plain, counts = case.index(), case.actual(), case.forecasts(), case.counts()
        each = not case.contiguous and case.rng.random() < 0.5
        points = case.rng.integers(0, case.points, case.rows) if each else 2
        one = case.rng.random() < 0.3
        if one:
            plain = plain[..., :1]
        offsets.learn(slots, points, actual, plain[..., 0] if one else plain, counts=counts)
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
def test_the_share_outside_the_range_follows_the_samples(case: Case) -> None:
    features = case.rng.integers(0, 6, (case.rows, 5)).astype(np.float32)
    if case.rows:
        features[0, 0] = np.nan
    low: F32 = case.rng.integers(0, 3, 5).astype(np.float32)
    high: F32 = low + 2
    outside: NDArray[np.float64] = case.rng.random(5)
    share = ((features < low) | (features > high)).sum(axis=0) / max(case.rows, 1)
    expected = outside + (0.1 * (share - outside) if case.rows else 0)
    rlc_native.update_outside_ratio(features, low, high, 0.1, outside)
    np.testing.assert_allclose(outside, expected, rtol=1e-12)


def test_outcomes_and_forecasts_may_be_non_contiguous() -> None:
    forecasts = np.arange(2 * 2 * 4 * 3, dtype=np.float32).reshape(2, 2, 4, 3)
    actual = np.asfortranarray([[50, 7], [3, 90]], np.float32)
    straight, viewed = (Offsets(np.array([0.1, 0.5, 0.9], np.float32), 2, 2, 4) for _ in range(2))
    straight.learn(slice(0, 2), 3, actual.copy("C"), forecasts[:, :, 2].copy())
    viewed.learn(slice(0, 2), 3, actual, forecasts[:, :, 2])
    assert straight.offset.any()
    np.testing.assert_array_equal(viewed.offset, straight.offset)


def offsets() -> Offsets:
    return Offsets(np.array([0.1, 0.5, 0.9], np.float32), 4, 2, 5)


def one(*shape: int) -> F32:
    return np.ones(shape, np.float32)


@pytest.mark.parametrize(
    ("slots", "point", "actual", "plain", "message"),
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
def test_invalid_outcomes_are_named_and_change_nothing(
    slots: Slots, point: int, actual: F32, plain: F32, message: str
) -> None:
    unchanged = offsets()
    with pytest.raises(ValueError, match=message):
        unchanged.learn(slots, point, actual, plain)
    assert not unchanged.begun.any()
    assert not unchanged.theta.any()


def read_only(array: F32) -> F32:
    array.flags.writeable = False
    return array


LEARNED = (slice(0, 2), 0, one(2, 2), one(2, 2, 3))


@pytest.mark.parametrize(
    ("name", "replace", "message"),
    [
        ("size", lambda o: o.size[:, :, 1:], r"has shape \[4, 2, 4\], expected"),
        ("begun", lambda o: o.begun[:, :, 1:], r"has shape \[4, 2, 4\], expected"),
        ("offset", lambda o: o.offset[:, :, 1:], r"has shape \[4, 2, 4, 3\], expected"),
        ("levels", lambda o: o.levels[1:], r"has shape \[2\], expected \[3\]"),
        ("size", lambda o: read_only(o.size), ".*not writeable"),
        ("offset", lambda o: o.theta, ".*already borrowed"),
        ("theta", lambda o: np.asfortranarray(o.theta), "expected C-contiguous"),
    ],
)
def test_arrays_that_cannot_be_updated_are_named(
    name: str, replace: Callable[[Offsets], F32], message: str
) -> None:
    changed = offsets()
    setattr(changed, name, replace(changed))
    with pytest.raises(ValueError, match=rf"^{name}:? {message}"):
        changed.learn(*LEARNED)


def test_arguments_of_other_types_or_lengths_are_named() -> None:
    with pytest.raises(ValueError, match=r"^counts has length 3, for 2 rows"):
        offsets().learn(*LEARNED, counts=np.ones(3, np.bool_))
    with pytest.raises(TypeError, match="slots: expected an int, a slice or an array of intp"):
        offsets().learn(np.array([0.0, 1.0]), *LEARNED[1:])
    with pytest.raises(TypeError, match="actual"):
        offsets().learn(*LEARNED[:2], np.ones((2, 2)), LEARNED[3])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        ("update_outside_ratio", (one(2, 3), one(2), one(2), 0.1, np.zeros(2)), "features has"),
        ("update_outside_ratio", (one(2, 2), one(3), one(2), 0.1, np.zeros(2)), "low has length 3"),
    ],
)
def test_invalid_arguments_are_named(
    call: str, arguments: tuple[object, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        getattr(rlc_native, call)(*arguments)
