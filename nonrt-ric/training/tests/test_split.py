"""Parts of a split share no levels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_corpus import corpus, layout, series
from rlc_train.errors import TrainError
from rlc_train.horizon import Layout, first_point_us
from rlc_train.series import label_rows, labels, split_at_gaps
from rlc_train.splits import Part, Shares, drawn_radios, split


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


def test_held_out_series_are_in_no_other_part() -> None:
    parts = split(corpus(), layout(), held_out_cells=["c"], held_out_mobility=["walk"])
    used = [part.series for part in (*parts.train, *parts.validation, *parts.test)]
    assert {one.cell for one in used} == {"a", "b"}
    assert {one.mobility for one in used} == {"static"}
    held = {part.series.name for part in parts.unseen}
    assert held == {one.name for one in corpus() if one.cell == "c" or one.mobility == "walk"}
    assert not held & {one.name for one in used}


def test_held_out_radios_are_in_no_other_part_whatever_their_cell() -> None:
    recorded = [replace(one, radio=f"drive/{i % 3}") for i, one in enumerate(corpus())]
    parts = split(recorded, layout(), held_out_radios=["drive/1"])
    assert {part.series.radio for part in parts.unseen} == {"drive/1"}
    used = [part.series for part in (*parts.train, *parts.validation, *parts.test)]
    assert {one.radio for one in used} == {"drive/0", "drive/2"}
    with pytest.raises(TrainError, match="held_out_radios: taxi is unknown; expected of"):
        split(recorded, layout(), held_out_radios=["taxi"])


def test_a_share_of_the_radios_of_each_source_is_drawn_by_the_seed() -> None:
    names = [*(f"lte/{i}" for i in range(8)), "nr/0", "nr/1", "alone/0"]
    recorded = [series(name, 50, radio=name) for name in names]
    cells = [series(f"cell-{cell}", 50, cell=cell) for cell in "abcd"]
    shares = (0.25, 0.0)
    drawn = drawn_radios([*recorded, *cells], shares, seed=1)
    assert [name.partition("/")[0] for name in drawn[0]] == ["lte", "lte", "nr"]
    assert drawn[1] == []
    # More runs of the same radios, in another order: the same ones.
    again = [series(f"{one.name}-2", 50, radio=one.radio) for one in recorded]
    assert drawn_radios([*again[::-1], *recorded], shares, seed=1) == drawn
    assert any(drawn_radios(recorded, shares, seed) != drawn for seed in range(2, 6))
    assert drawn_radios(cells, shares, seed=1) == ([], [])
    assert drawn_radios(recorded, (0.0, 0.0), seed=1) == ([], [])


def test_radios_for_validation_are_others_than_those_held_out_and_leave_one_to_train_on() -> None:
    names = [*(f"lte/{i}" for i in range(8)), "nr/0", "nr/1", "alone/0"]
    recorded = [series(name, 2_000, radio=name) for name in names]
    held_out, validation = drawn_radios(recorded, (0.25, 0.25), seed=1)
    assert held_out == drawn_radios(recorded, (0.25, 0.0), seed=1)[0]
    assert [name.partition("/")[0] for name in validation] == ["lte", "lte"]
    assert not set(held_out) & set(validation)
    parts = split(recorded, layout(), held_out_radios=held_out, validation_radios=validation)
    whole = {part.series.radio for part in parts.validation if len(part) == 2_000}
    assert whole == set(validation)
    assert not whole & {part.series.radio for part in (*parts.train, *parts.test, *parts.unseen)}
    with pytest.raises(TrainError, match="validation_radios: taxi is unknown; expected of"):
        split(recorded, layout(), validation_radios=["taxi"])


def test_parts_have_the_requested_shares() -> None:
    parts = split([series(rows=10_000)], layout())
    assert (parts.train[0].start, parts.train[0].stop) == (0, 7_000)
    assert (parts.validation[0].start, parts.validation[0].stop) == (7_030, 9_000)
    assert (parts.test[0].start, parts.test[0].stop) == (9_030, 10_000)


def test_unknown_names_and_empty_parts_are_refused() -> None:
    with pytest.raises(TrainError, match=r"held_out_cells: x is unknown; expected of \['a'"):
        split(corpus(), layout(), held_out_cells=["x"])
    with pytest.raises(TrainError, match=r"split.train: has no series longer than 30 samples"):
        split([series(rows=40)], layout())
    with pytest.raises(TrainError, match="series 'r1' occurs twice"):
        split([series(), series()], layout())
    with pytest.raises(TrainError, match=r"train 0\.9, validation 0\.2"):
        Shares(0.9, 0.2)


def test_labels_are_found_by_time_not_by_row() -> None:
    whole = series(rows=200)
    kept = np.delete(np.arange(200), [50, 51, 52])
    arrays = ("at_us", "features", "fresh", "targets", "limit_reported")
    gappy = replace(whole, **{name: getattr(whole, name)[kept] for name in arrays})
    axes = layout(points=1)
    origins = np.array([38, 39, 40, 41, 42], np.intp)
    values = labels(gappy, axes, origins)[:, 0, 0]
    assert np.isnan(values[1:4]).all()
    assert values[0] == whole.features[49, 0]
    assert values[4] == whole.features[53, 0]


def test_a_long_gap_splits_a_series() -> None:
    whole = series(rows=100)
    at_us = whole.at_us.copy()
    at_us[60:] += 150_000
    assert [len(part) for part in split_at_gaps(replace(whole, at_us=at_us))] == [60, 40]


def test_invalid_series_name_the_place() -> None:
    good = series(rows=10)
    times = good.at_us.copy()
    times[4] = times[3]
    with pytest.raises(TrainError, match=r"r1.at_us\[4\]: 3000 µs does not come after 3000 µs"):
        replace(good, at_us=times)
    features = good.features.copy()
    features[7, 1] = np.nan
    with pytest.raises(TrainError, match=r"r1.drained_bytes_per_ms\[7\]: is nan"):
        replace(good, features=features)


def test_the_first_point_is_after_the_measured_inference() -> None:
    assert first_point_us(10_000, 13.5, 0, 1_000) == 11_000
    assert first_point_us(10_000, 400_000, 0, 1_000) == 410_000
    assert first_point_us(10_000, 0, 0, 1_000) == 10_000
    with pytest.raises(TrainError, match=r"horizon.t_m_us: is nan"):
        first_point_us(10_000, float("nan"), 0, 1_000)
