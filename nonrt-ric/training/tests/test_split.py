"""A split leaks nothing: no part is trained on a level by which another is judged."""

from __future__ import annotations

import made_corpus
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_corpus import corpus, layout, series
from rlc_train.errors import TrainError
from rlc_train.horizon import Layout, first_point_us
from rlc_train.series import label_rows, labels, split_at_gaps
from rlc_train.splits import Part, Shares, split


def rows_used(part: Part, axes: Layout) -> set[int]:
    """Rows whose levels are labels of a part."""
    origins = np.arange(part.start, part.stop, dtype=np.intp)
    rows, known = label_rows(part.series, axes, origins, part.stop)
    return set(rows[known].tolist())


@given(
    rows=st.integers(200, 3_000),
    train=st.floats(0.3, 0.8),
    validation=st.floats(0.05, 0.15),
    points=st.integers(1, 30),
)
def test_no_label_is_shared_and_time_goes_forward(
    rows: int, train: float, validation: float, points: int
) -> None:
    axes = layout(points)
    parts = split([series(rows=rows)], axes, shares=Shares(train, validation))
    used: list[set[int]] = []
    for part in (*parts.train, *parts.validation, *parts.test):
        rows_of_part = rows_used(part, axes)
        own = set(range(part.start, part.stop))
        assert rows_of_part <= own
        for earlier in used:
            assert not earlier & (rows_of_part | own)
            assert max(earlier, default=-1) < part.start
        used.append(rows_of_part | own)


def test_what_is_held_out_is_nowhere_else() -> None:
    parts = split(corpus(), layout(), held_out_cells=["c"], held_out_mobility=["walk"])
    seen = [part.series for part in (*parts.train, *parts.validation, *parts.test)]
    assert {one.cell for one in seen} == {"a", "b"}
    assert {one.mobility for one in seen} == {"static"}
    held = {part.series.name for part in parts.unseen}
    assert held == {one.name for one in corpus() if one.cell == "c" or one.mobility == "walk"}
    assert not held & {one.name for one in seen}


def test_shares_are_those_asked_for() -> None:
    parts = split([series(rows=10_000)], layout())
    assert (parts.train[0].start, parts.train[0].stop) == (0, 7_000)
    assert (parts.validation[0].start, parts.validation[0].stop) == (7_030, 9_000)
    assert (parts.test[0].start, parts.test[0].stop) == (9_030, 10_000)


def test_unknown_names_and_empty_parts_are_refused() -> None:
    with pytest.raises(TrainError, match=r"held_out_cells: x is not there; expected of \['a'"):
        split(corpus(), layout(), held_out_cells=["x"])
    with pytest.raises(TrainError, match=r"split.train: has no series longer than 30 samples"):
        split([series(rows=40)], layout())
    with pytest.raises(TrainError, match="series 'r1' is there twice"):
        split([series(), series()], layout())
    with pytest.raises(TrainError, match=r"train 0\.9, validation 0\.2"):
        Shares(0.9, 0.2)


def test_labels_are_found_by_time_not_by_row() -> None:
    whole = series(rows=200)
    kept = np.delete(np.arange(200), [50, 51, 52])
    gappy = made_corpus.Series(
        "g",
        "s",
        "a",
        "static",
        *(getattr(whole, n)[kept] for n in ("at_us", "features")),
        whole.fresh[kept],
        whole.targets[kept],
    )
    axes = layout(points=1)
    origins = np.array([38, 39, 40, 41, 42], np.intp)
    values = labels(gappy, axes, origins)[:, 0, 0]
    assert np.isnan(values[1:4]).all()
    assert values[0] == whole.features[49, 0]
    assert values[4] == whole.features[53, 0]


def test_a_long_gap_cuts_a_series() -> None:
    whole = series(rows=100)
    at_us = whole.at_us.copy()
    at_us[60:] += 150_000
    cut = made_corpus.Series(
        "g", "s", "a", "static", at_us, whole.features, whole.fresh, whole.targets
    )
    assert [len(part) for part in split_at_gaps(cut)] == [60, 40]


def test_bad_series_name_the_place() -> None:
    good = series(rows=10)
    times = good.at_us.copy()
    times[4] = times[3]
    with pytest.raises(TrainError, match=r"g.at_us\[4\]: 3000 µs does not come after 3000 µs"):
        made_corpus.Series("g", "s", "a", "m", times, good.features, good.fresh, good.targets)
    features = good.features.copy()
    features[7, 1] = np.nan
    with pytest.raises(TrainError, match=r"g.drained_bytes_per_ms\[7\]: is nan"):
        made_corpus.Series("g", "s", "a", "m", good.at_us, features, good.fresh, good.targets)


def test_the_first_point_waits_for_the_measured_inference() -> None:
    assert first_point_us(10_000, 13.5, 0, 1_000) == 11_000
    assert first_point_us(10_000, 400_000, 0, 1_000) == 410_000
    assert first_point_us(10_000, 0, 0, 1_000) == 10_000
    with pytest.raises(TrainError, match=r"horizon.t_m_us: is nan"):
        first_point_us(10_000, float("nan"), 0, 1_000)
