"""Data sets larger than memory: what is kept in files, and that nothing else changes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from made_corpus import layout, write_dataset
from rlc_train import corpus
from rlc_train.errors import TrainError
from rlc_train.lstm.lanes import Batch, Lanes
from rlc_train.lstm.shape import FitSettings
from rlc_train.series import Series
from rlc_train.splits import fit_scaler, split
from rlc_train.spool import Spool

AXES = layout()
SETTINGS = FitSettings(lanes=4, steps=32, piece_samples=1024, warm_up_samples=64)
ROWS = 20_000


def batches(series: list[Series], spool: Spool | None) -> Iterator[Batch]:
    """The batches of an epoch."""
    parts = split(series, AXES)
    unit = np.ones(AXES.shape[:2], np.float32)
    lanes = Lanes(parts.train, AXES, fit_scaler(parts.train), unit, SETTINGS, spool=spool)
    yield from map(lanes.batch, lanes.plan(np.random.default_rng(1)))


def peak_bytes(data: Path, spool: Spool | None) -> tuple[int, int]:
    """Most memory of NumPy while a data set is loaded, and while the batches are made."""
    tracemalloc.start()
    try:
        series, _ = corpus.load(data, 20_000, spool)
        loading = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        for _ in batches(series, spool):
            pass
        return loading, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_number_of_runs(tmp_path: Path) -> None:
    few, many = tmp_path / "few", tmp_path / "many"
    write_dataset(few, ROWS)
    for first in (0, 3, 6, 9):
        write_dataset(many, ROWS, first=first)
    spool = Spool(tmp_path / "spool")
    peak_bytes(few, spool)  # Imports and caches.
    # In memory: 58 bytes a sample, and the scale of the training part.
    whole = 9 * ROWS * (58 + 0.7 * 8)
    for phase in (0, 1):
        assert peak_bytes(many, spool)[phase] - peak_bytes(few, spool)[phase] < 0.05 * whole
        assert peak_bytes(many, None)[phase] - peak_bytes(few, None)[phase] > 0.8 * whole
    assert not list((tmp_path / "spool").iterdir()), "files have no names"


def test_streamed_batches_equal_those_in_memory(dataset: Path, tmp_path: Path) -> None:
    found = []
    for spool in (None, Spool(tmp_path)):
        series, _ = corpus.load(dataset, 20_000, spool)
        found.append(list(batches(series, spool)))
    assert len(found[0]) > 20
    for a, b in zip(*found, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y)


def test_a_spool_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TrainError, match=r"file/spool: cannot be created"):
        Spool(tmp_path / "file" / "spool")
