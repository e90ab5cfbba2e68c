"""The bound of an interval's coverage on values that are often equal."""

from __future__ import annotations

import numpy as np
import pytest
from interval_bound import best, of_quantiles
from numpy.typing import NDArray


def with_zeros(share: float, count: int = 10_000) -> NDArray[np.float64]:
    """Values of which a share is 0 and the others are distinct."""
    zeros = round(share * count)
    return np.concatenate([np.zeros(zeros), 10.0 + 5 * np.arange(count - zeros)])


def test_without_ties_both_shares_are_the_same() -> None:
    for found in (of_quantiles(with_zeros(0.0)), best(with_zeros(0.0))):
        assert 0.78 <= found.closed <= 0.82
        assert found.untied == pytest.approx(found.closed, abs=1e-3)


@pytest.mark.parametrize("zeros", [0.3, 0.5, 0.6, 0.7])
def test_quantiles_cover_more_than_their_share_and_leave_less_untied(zeros: float) -> None:
    found = of_quantiles(with_zeros(zeros))
    assert found.closed == pytest.approx(0.9, abs=1e-3)
    assert found.untied == pytest.approx((0.9 - zeros) / (1 - zeros), abs=2e-3)


@pytest.mark.parametrize("zeros", [0.1, 0.2, 0.3, 0.39, 0.41, 0.5, 0.75])
def test_more_than_two_fifths_zeros_leave_no_interval_with_both(zeros: float) -> None:
    found = best(with_zeros(zeros))
    assert 0.78 <= found.closed <= 0.82
    assert (found.untied >= 0.7) == (zeros < 0.4)


def test_a_value_of_nearly_all_is_in_no_interval_of_80_percent() -> None:
    assert np.isnan(best(with_zeros(0.95)).closed)
    assert np.isnan(best(np.zeros(9)).untied)
    assert np.isnan(of_quantiles(np.zeros(0)).closed)


def test_no_interval_reaches_more() -> None:
    """Every pair of ends on a value or between two, on values of few kinds."""
    rng = np.random.default_rng(3)
    for _ in range(30):
        values = rng.choice(2.0 * np.arange(9), size=100, p=rng.dirichlet(np.ones(9)))
        ends = np.arange(0, 19.0)
        most = -1.0
        for low in ends:
            for high in ends[ends >= low]:
                closed = ((values >= low) & (values <= high)).mean()
                tied = ((values == low) | (values == high)).mean()
                if closed + 1e-12 >= 0.78 and closed <= 0.82 + 1e-12 and tied < 1:
                    most = max(most, (closed - tied) / (1 - tied))
        found = best(values)
        assert (most < 0) == np.isnan(found.untied)
        if most >= 0:
            assert found.untied == pytest.approx(most)
