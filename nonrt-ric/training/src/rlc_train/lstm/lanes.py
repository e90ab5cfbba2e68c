"""Batches for training with carried state: parallel lanes, each in order of time.

A lane is a sequence of pieces of series. Its state starts from zero at the beginning of a piece and
is carried from batch to batch within it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rlc_model import FEATURES, MinMaxScaler

from rlc_train.errors import TrainError
from rlc_train.horizon import Layout
from rlc_train.lstm.shape import LEAST_SCALE, FitSettings
from rlc_train.series import label_rows, outcomes
from rlc_train.splits import Part
from rlc_train.spool import Spool

SCALE_SAMPLES = 256
"""Window of the bearer's scale, which weights the loss."""


class Batch(NamedTuple):
    """One step of training, for L samples of B lanes; N of the samples may have labels.

    Labels are picked where the loss is computed (:mod:`rlc_train.lstm.objective`): they are many
    times the size of the values that they repeat.

    Attributes:
        samples: ``(B, L, F)`` scaled.
        values: ``(B, W, C)`` outcomes of this and following rows, as
            :func:`rlc_train.series.outcomes`; NaN if unknown, as in the last.
        rows: ``(B, N, M)`` int32 rows of `values` with the labels; W − 1 for none.
        last: ``(B, N, Q)`` the quantities at the labelled samples.
        size: ``(B, N, Q)`` the bearer's scale, in mean residuals of the quantity.
        keep: ``(B, 1)`` 0 if the lane's state starts from zero.
    """

    samples: NDArray[np.float32]
    values: NDArray[np.float32]
    rows: NDArray[np.int32]
    last: NDArray[np.float32]
    size: NDArray[np.float32]
    keep: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Piece:
    part: int
    start: int
    stop: int
    cold: int
    """Warm-up rows from `start`."""


Chunks = list[tuple[_Piece, int] | None]
"""The piece of each lane and the row of its next chunk; None for a finished lane."""


class Lanes:
    """The batches of a list of parts."""

    def __init__(
        self,
        parts: Sequence[Part],
        layout: Layout,
        scaler: MinMaxScaler,
        unit: NDArray[np.float32],
        settings: FitSettings,
        *,
        spool: Spool | None = None,
    ) -> None:
        """`unit` is ``(Q, M)``: the mean residual of each quantity and point, in spans. `spool`
        takes what has the length of the parts.

        Raises:
            TrainError: No part is longer than the warm-up.
        """
        self._parts = parts
        self._layout = layout
        self._ahead = layout.ahead.astype(np.intp)
        self._columns = layout.columns
        self._scaler = scaler
        self._unit = unit.mean(axis=1)
        self._settings = settings
        scales = (_scale_of(part, layout, scaler) for part in parts)
        self._scale = [scale if spool is None else spool.keep(scale) for scale in scales]
        ends = (outcomes(part.series, layout)[part.start : part.stop] for part in parts)
        self._outcomes = [ended if spool is None else spool.keep(ended) for ended in ends]
        self._even = [_is_even(part, layout.period_us) for part in parts]
        shortest = settings.warm_up_samples + int(layout.ahead[-1])
        if all(len(part) <= shortest for part in parts):
            raise TrainError(
                "split.train",
                f"has no series longer than warm-up and horizon, {shortest} samples",
            )

    def plan(self, rng: np.random.Generator | None, most: int | None = None) -> list[Chunks]:
        """The chunks of each batch of an epoch, of `most` samples or fewer.

        `rng` shuffles pieces and moves their boundaries, so that with `most` each epoch takes other
        ones. None has a fixed order, and with `most` the same pieces, evenly spread.
        """
        steps = self._settings.steps
        lanes: list[list[_Piece]] = [[] for _ in range(self._settings.lanes)]
        length = np.zeros(len(lanes), np.int64)
        batches = None if most is None else max(1, most // (steps * len(lanes)))
        pieces = self._cut(rng)
        if rng is not None:
            rng.shuffle(pieces)
        elif batches is not None:
            chunks = sum(_chunk_count(piece, steps) for piece in pieces)
            share = min(1.0, batches * len(lanes) / max(chunks, 1))
            pieces = _spread(pieces, share)
        for piece in pieces:
            lane = int(np.argmin(length))
            lanes[lane].append(piece)
            length[lane] += _chunk_count(piece, steps)
        queues = [_chunks(lane, steps) for lane in lanes]
        count = int(length.max(initial=0))
        count = count if batches is None else min(count, batches)
        return [[next(queue, None) for queue in queues] for _ in range(count)]

    def _cut(self, rng: np.random.Generator | None) -> list[_Piece]:
        longest, warm_up = self._settings.piece_samples, self._settings.warm_up_samples
        pieces = []
        for index, part in enumerate(self._parts):
            # Rows before the part may be used for warm-up.
            start = max(part.start - warm_up, 0)
            offset = int(rng.integers(0, longest)) if rng is not None else 0
            ends = [*range(start + longest - offset, part.stop, longest), part.stop]
            begin = start
            for end in ends:
                # Warm-up on the end of the previous piece.
                first = max(begin - warm_up, start)
                if end - first > warm_up:
                    pieces.append(_Piece(index, first, end, warm_up))
                begin = max(begin, end)
        return pieces

    def batch(self, chunks: Chunks) -> Batch:
        """The arrays of a batch."""
        steps, layout = self._settings.steps, self._layout
        quantities, points, _ = layout.shape
        count, stride = len(chunks), self._settings.label_stride
        labelled, wide = -(-steps // stride), steps + int(self._ahead[-1])
        batch = Batch(
            np.zeros((count, steps, len(FEATURES)), np.float32),
            np.full((count, wide + 1, len(layout.outcome_kinds)), np.nan, np.float32),
            np.full((count, labelled, points), wide, np.int32),
            np.zeros((count, labelled, quantities), np.float32),
            np.ones((count, labelled, quantities), np.float32),
            np.ones((count, 1), np.float32),
        )
        for lane, chunk in enumerate(chunks):
            if chunk is None:
                continue
            piece, start = chunk
            part = self._parts[piece.part]
            stop = min(start + steps, piece.stop)
            samples = part.series.features[start:stop]
            batch.samples[lane, : stop - start] = samples
            # Rows before the part are warm-up, without labels.
            cold = min(max(part.start - start, 0), wide)
            values = self._outcomes[piece.part][start + cold - part.start :][: wide - cold]
            batch.values[lane, cold : cold + len(values)] = values
            origins = np.arange(start, stop, stride, dtype=np.intp)
            n = len(origins)
            rows, known = self._label_rows(piece.part, origins)
            known &= (origins >= piece.start + piece.cold)[:, None]
            known &= part.series.fresh[origins][:, None]
            batch.rows[lane, :n] = np.where(known, rows - start, wide)
            batch.last[lane, :n] = samples[::stride, self._columns]
            scale = self._scale[piece.part][np.maximum(origins - part.start, 0)]
            batch.size[lane, :n] = scale / self._unit
            batch.keep[lane, 0] = float(start != piece.start)
        batch.samples[:] = self._scaler.transform(batch.samples)
        return batch

    def _label_rows(
        self, index: int, origins: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """:func:`rlc_train.series.label_rows`, without a search where no report is missing."""
        part = self._parts[index]
        if not self._even[index]:
            return label_rows(part.series, self._layout, origins, part.stop)
        rows = origins[:, None] + self._ahead
        return rows, rows < part.stop


def _chunk_count(piece: _Piece, steps: int) -> int:
    return -(-(piece.stop - piece.start) // steps)


def _spread(pieces: list[_Piece], share: float) -> list[_Piece]:
    """This share of the pieces: one of each of as many equal sections, always the
    same. Equal distances could be those of the bearers, and all pieces of one."""
    count = math.ceil(share * len(pieces))
    bounds = len(pieces) * np.arange(count + 1) // count
    chosen = np.random.default_rng(0).integers(bounds[:-1], bounds[1:])
    return [pieces[index] for index in chosen]


def _chunks(lane: list[_Piece], steps: int) -> Iterator[tuple[_Piece, int]]:
    for piece in lane:
        for start in range(piece.start, piece.stop, steps):
            yield piece, start


def _is_even(part: Part, period_us: int) -> bool:
    """Whether every report is one period after the one before, so that rows tell times."""
    return bool((np.diff(part.series.at_us[: part.stop]) == period_us).all())


def _scale_of(part: Part, layout: Layout, scaler: MinMaxScaler) -> NDArray[np.float32]:
    """``(rows, Q)`` mean absolute change over the first horizon, in spans, around each row.

    Rows before `part.start` are only warm-up; they use the first value.
    """
    rows = part.series.features[part.start : part.stop, layout.columns].astype(np.float64)
    ahead = int(layout.ahead[0])
    change = np.abs(rows[ahead:] - rows[:-ahead]) if ahead and len(rows) > ahead else rows[:0]
    if not len(change):
        return np.full(rows.shape, LEAST_SCALE, np.float32)
    sums = np.concatenate([np.zeros((1, change.shape[1])), np.cumsum(change, axis=0)])
    last = np.minimum(np.arange(len(rows)) + 1, len(change))
    first = np.maximum(last - SCALE_SAMPLES, 0)
    mean = (sums[last] - sums[first]) / np.maximum(last - first, 1)[:, None]
    scale: NDArray[np.float32] = (mean / scaler.span[layout.columns] + LEAST_SCALE).astype(
        np.float32
    )
    return scale


@dataclass(frozen=True, slots=True)
class Epochs:
    """What a model is fitted to: the batches of each epoch.

    Attributes:
        lanes: The parts as lanes.
        zero: ``(B, S)`` state before the first batch.
        seed: The order of an epoch follows from it and the epoch's number; None for one fixed
            order.
        most: Most samples of an epoch; None for all.
    """

    lanes: Lanes
    zero: NDArray[np.float32]
    seed: int | None = None
    most: int | None = None

    def epoch(self, number: int) -> tuple[int, Iterator[Batch]]:
        """Number of batches of an epoch, and the batches."""
        rng = None if self.seed is None else np.random.default_rng([self.seed, number])
        plan = self.lanes.plan(rng, self.most)
        return len(plan), ahead(self.lanes.batch, plan)


def ahead(make: Callable[[Chunks], Batch], plan: Sequence[Chunks]) -> Iterator[Batch]:
    """Batches in the order of the plan; the next one is made while the current one is used."""
    with ThreadPoolExecutor(1) as executor:
        coming = [executor.submit(make, chunks) for chunks in plan[:1]]
        for chunks in [*plan[1:], None]:
            if not coming:
                return
            batch = coming.pop().result()
            if chunks is not None:
                coming.append(executor.submit(make, chunks))
            yield batch
