"""Past forecasts compared with outcomes: what is learned is what the parts learn, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
import rlc_native
from numpy.typing import NDArray
from rlc_model import FEATURES, Quantity
from rlc_model.mix import new_mix

QUANTITIES = (Quantity.OCCUPANCY, Quantity.DRAIN, Quantity.QUEUE_LIMIT)
LEVELS = np.array([0.1, 0.5, 0.9], np.float32)
AHEAD = np.array([1, 2, 4], np.int64)
BEARERS = 9
SHAPE = (BEARERS, len(QUANTITIES), len(AHEAD), len(LEVELS))


@dataclass
class Learned:
    """All that learns from the reports of some bearers."""

    mix: rlc_native.Mix = field(default_factory=lambda: new_mix(QUANTITIES, LEVELS, AHEAD, late=4))
    skill: rlc_native.Skill = field(default_factory=lambda: rlc_native.Skill(*SHAPE[1:3]))
    checked: NDArray[np.int64] = field(default_factory=lambda: np.zeros(SHAPE[1:3], np.int64))
    covered: NDArray[np.int64] = field(default_factory=lambda: np.zeros(SHAPE[1:3], np.int64))

    def __post_init__(self) -> None:
        self.mix.grow(BEARERS)
        self.skill.grow(BEARERS)

    def compare(
        self,
        slots: slice | NDArray[np.intp],
        actual: NDArray[np.float32],
        due: list[rlc_native.Due],
        tick: int = 0,
    ) -> rlc_native.SkillUpdate:
        counts = {"checked": self.checked, "covered": self.covered}
        return rlc_native.compare(
            self.mix, self.skill, slots, actual, due, tick, 1_000 * tick, **counts
        )

    def assert_equals(self, other: Learned) -> None:
        for name in ("checked", "covered"):
            np.testing.assert_array_equal(getattr(self, name), getattr(other, name), name)
        np.testing.assert_array_equal(self.skill.by_point(), other.skill.by_point())
        for slot in range(BEARERS):
            np.testing.assert_array_equal(self.mix.weights(slot), other.mix.weights(slot))


def by_parts(
    one: Learned,
    slots: NDArray[np.intp],
    actual: NDArray[np.float32],
    due: list[rlc_native.Due],
    tick: int,
) -> rlc_native.SkillUpdate:
    rows = [np.arange(SHAPE[0])[then] for _, then, *_ in due]
    points = np.concatenate([np.full(len(r), d[0]) for d, r in zip(due, rows, strict=True)])
    at = [(d, r, d[0]) for d, r in zip(due, rows, strict=True)]
    served = np.concatenate([d[2][r, :, point] for d, r, point in at])
    warm = np.concatenate([d[4][r] for d, r, _ in at])
    models = [d[3][r, :, point] for d, r, point in at if d[3] is not None]
    for row, point in enumerate(points.tolist()):
        one.checked[:, point] += ~np.isnan(actual[row])
        inside = (actual[row] >= served[row, :, 0]) & (actual[row] <= served[row, :, -1])
        one.covered[:, point] += inside
    model = np.concatenate(models) if models else None
    losses = one.mix.learn(slots, points, actual, tick, model, warm)
    return one.skill.learn(slots, points, losses, 1_000 * tick)


@pytest.mark.parametrize("with_model", [True, False])
def test_all_learns_as_by_its_parts(*, with_model: bool) -> None:
    rng = np.random.default_rng(11)
    whole, parts = Learned(), Learned()
    for tick in range(120):
        features = rng.integers(0, 5_000, (BEARERS, len(FEATURES))).astype(np.float32)
        for one in (whole, parts):
            one.mix.add(slice(0, BEARERS), tick, features)
        if tick < AHEAD[-1]:
            continue
        # A point of consecutive bearers, as of a report; all points of some, as of a queue limit.
        slots: slice | NDArray[np.intp] = slice(2, 7)
        thens: list[slice | NDArray[np.intp]] = [slice(2, 7)]
        points = [tick % len(AHEAD)]
        if tick % 5 == 0:
            thens = [np.sort(rng.permutation(BEARERS)[:n]) for n in (3, 1, 4)]
            slots, points = np.concatenate([np.arange(BEARERS)[then] for then in thens]), [0, 1, 2]
        due: list[rlc_native.Due] = []
        for point, then in zip(points, thens, strict=True):
            served = np.sort(rng.integers(0, 5_000, SHAPE).astype(np.float32), axis=-1)
            model = served + 10 if with_model else None
            due.append((point, then, served, model, rng.random(BEARERS) < 0.8))
        each = np.arange(BEARERS)[slots]
        actual = rng.integers(0, 5_000, (len(each), SHAPE[1])).astype(np.float32)
        actual[rng.random(actual.shape) < 0.2] = np.nan
        update = whole.compare(slots, actual, due, tick)
        assert update == by_parts(parts, each, actual, due, tick)
    whole.assert_equals(parts)
    assert 0 < whole.covered.sum() < whole.checked.sum()


def due(**changes: object) -> list[rlc_native.Due]:
    names = ("point", "then", "served", "model", "warm")
    forecasts = np.zeros(SHAPE, np.float32)
    valid = (0, slice(0, 2), forecasts, forecasts, np.ones(BEARERS, np.bool_))
    one = {**dict(zip(names, valid, strict=True)), **changes}
    return [tuple(one.values())]  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"point": 3}, r"point of row 0 is 3, of 3"),
        ({"then": slice(8, 10)}, "then of row 1 is 9, of 9"),
        ({"then": slice(0, 3)}, "due has length 3, for 2 rows"),
        ({"served": np.zeros((8, 3, 3, 3), np.float32)}, r"served has shape \[8, 3, 3, 3\]"),
        ({"model": np.zeros((9, 3, 3, 2), np.float32)}, r"model has shape \[9, 3, 3, 2\]"),
        ({"served": np.asfortranarray(np.zeros(SHAPE, np.float32))}, "served: expected C-cont"),
    ],
)
def test_forecasts_that_do_not_match_are_named_and_nothing_is_learned(
    changes: dict[str, object], message: str
) -> None:
    one, actual = Learned(), np.ones((2, 3), np.float32)
    with pytest.raises(ValueError, match=f"^{message}"):
        one.compare(slice(0, 2), actual, due(**changes))
    one.assert_equals(Learned())


def test_outcomes_and_counts_that_do_not_match_are_named() -> None:
    one, actual = Learned(), np.ones((2, 3), np.float32)
    with pytest.raises(ValueError, match=r"^slots of row 1 is 9, of 9"):
        one.compare(slice(8, 10), actual, due())
    with pytest.raises(ValueError, match=r"^actual has shape \[2, 2\], expected \[2, 3\]"):
        one.compare(slice(0, 2), actual[:, :2], due())
    one.covered = np.zeros((3, 4), np.int64)
    with pytest.raises(ValueError, match=r"^covered has shape"):
        one.compare(slice(0, 2), actual, due())
