"""Windows of a recording: each is judged by itself, so that memory does not grow with length."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from rlc_dataset import DatasetError, Recording
from rlc_dataset.recording import cut_reports, join_reports
from rlc_model import Bearer, BearerSeries, ContractError, Quantity, run_arrays

from rlc_train.series import LONGEST_GAP_US, Series
from rlc_train.splits import SETTLING_SAMPLES

WINDOW_SAMPLES: Final = 44 * 460
"""Judged samples of a window; those from which states settle are a seventh more. A multiple of 20,
the usual context period in ms, and of 23, the round of 20 points (:mod:`rlc_model.calibration`):
outcomes are then checked as if there were no windows."""


@dataclass(frozen=True, slots=True)
class Window:
    """Consecutive samples of a bearer.

    Attributes:
        series: The samples: some from which the model's state settles, the judged ones, and those
            up to the farthest label.
        start, stop: Rows ``[start, stop)`` are judged.
        goes_on: Whether the samples before `start` were judged in the window before.
    """

    series: Series
    start: int
    stop: int
    goes_on: bool


def windows(
    recording: Recording, bearer: Bearer, context_us: int, farthest: int
) -> Iterator[Window]:
    """Windows of a bearer of a recording, in order of time.

    Every sample is judged once, except the first ones, from which states settle: at the beginning
    and after a gap that invalidates them :data:`~rlc_train.splits.SETTLING_SAMPLES`, and of a
    short recording a third.

    Args:
        recording: The recording.
        bearer: Of it.
        context_us: Report period of limit, MCS and block size.
        farthest: Samples from an origin to its last label.

    Raises:
        DatasetError: As :meth:`rlc_dataset.Recording.pieces`, or times are not of a grid of 1 ms.
    """
    stretch = _Stretch(farthest)
    for piece in recording.pieces(bearer, WINDOW_SAMPLES):
        for cut in stretch.add(piece):
            yield _window(recording, cut, context_us)
    for cut in stretch.end():
        yield _window(recording, cut, context_us)


class _Cut(NamedTuple):
    """A window as reports; fields as in :class:`Window`."""

    reports: BearerSeries
    start: int
    stop: int
    goes_on: bool


class _Stretch:
    """Reports of a bearer without a long gap that are not all judged."""

    def __init__(self, farthest: int) -> None:
        self._farthest = farthest
        self._held: BearerSeries | None = None
        self._settled = False

    def add(self, piece: BearerSeries) -> Iterator[_Cut]:
        """Windows that are complete with the piece."""
        cuts = np.flatnonzero(np.diff(piece.at_us) > LONGEST_GAP_US) + 1
        edges = [0, *cuts.tolist(), len(piece.at_us)]
        for begin, end in pairwise(edges):
            part = cut_reports(piece, begin, end)
            held = self._held
            if held is not None and part.at_us[0] - held.at_us[-1] > LONGEST_GAP_US:
                yield from self.end()
                held = None
            self._held = part if held is None else join_reports([held, part])
            yield from self._complete()

    def end(self) -> Iterator[_Cut]:
        """The last window."""
        held, self._held = self._held, None
        settled, self._settled = self._settled, False
        if held is None:
            return
        length = len(held.at_us)
        start = SETTLING_SAMPLES if settled else min(SETTLING_SAMPLES, length // 3)
        if length - self._farthest > start:
            yield _Cut(held, start, length - self._farthest, settled)

    def _complete(self) -> Iterator[_Cut]:
        stop = SETTLING_SAMPLES + WINDOW_SAMPLES
        while self._held is not None and len(self._held.at_us) >= stop + self._farthest:
            held, goes_on = self._held, self._settled
            reports = cut_reports(held, 0, stop + self._farthest)
            yield _Cut(reports, SETTLING_SAMPLES, stop, goes_on)
            self._settled = True
            self._held = cut_reports(held, stop - SETTLING_SAMPLES, len(held.at_us))


def _window(recording: Recording, cut: _Cut, context_us: int) -> Window:
    reports = cut.reports
    try:
        arrays = run_arrays([reports], context_us=context_us)
    except ContractError as error:
        raise DatasetError(str(error), file=str(recording.path)) from error
    rows = np.flatnonzero(arrays.present[:, 0])
    targets = np.stack([arrays.targets[quantity][rows, 0] for quantity in Quantity], axis=1)
    series = Series(
        f"{recording.name} UE {reports.bearer.ue} DRB {reports.bearer.drb}",
        recording.name,
        recording.name,
        "",
        reports.at_us,
        arrays.features[rows, 0],
        arrays.fresh[rows, 0],
        targets,
        arrays.limit_reported[rows, 0],
        recording.bearers[reports.bearer].radio,
        recording.bearers[reports.bearer].bearer_kind,
    )
    return Window(series, cut.start, cut.stop, cut.goes_on)
