"""A model on recordings: sample by sample, each bearer in windows of bounded size."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from rlc_dataset import BearerKind, Recording
from rlc_model import Bearer
from rlc_model.calibration import Offsets

from rlc_train.backtest import losses_of
from rlc_train.baselines.naive import AdaptivePersistence
from rlc_train.errors import TrainError
from rlc_train.horizon import Layout
from rlc_train.judging.model import JudgedModel
from rlc_train.judging.served import Served
from rlc_train.judging.tally import Tally
from rlc_train.judging.windows import Window, windows
from rlc_train.online import Lane
from rlc_train.series import labels
from rlc_train.splits import Part

LANES: Final = 4
"""Bearers that are judged together, about 100 MB each with three quantities, 20 points, three
quantiles."""
OnProgress = Callable[[int, int], None]
"""Called with the samples judged so far, and all."""


@dataclass(slots=True)
class _Stream:
    """The windows of one bearer, and what is carried from one to the next."""

    tally: Tally
    windows: Iterator[Window]
    offsets: dict[str, Offsets]
    served: Served

    @classmethod
    def of(cls, model: JudgedModel, tally: Tally, recording: Recording, bearer: Bearer) -> _Stream:
        layout = model.layout
        context_us = model.context_us
        offsets = {name: _offsets(layout, 1) for name in ("model", "adaptive")}
        served = Served(layout, model.warm_up)
        cuts = windows(recording, bearer, context_us, int(layout.ahead[-1]))
        return cls(tally, cuts, offsets, served)


def judge(
    model: JudgedModel,
    recordings: Sequence[Recording],
    on_progress: OnProgress | None = None,
) -> list[Tally]:
    """Judges a model on every bearer of recordings, sample by sample.

    Raises:
        DatasetError: A recording is damaged.
        TrainError: A forecast is not finite, or no recording has a sample with a label.
    """
    tallies: dict[tuple[int, str, BearerKind], Tally] = {}
    waiting: list[_Stream] = []
    for number, recording in enumerate(recordings):
        for bearer, origin in recording.bearers.items():
            empty = Tally.empty(recording.name, origin, model.layout)
            tally = tallies.setdefault((number, origin.radio, origin.bearer_kind), empty)
            waiting.append(_Stream.of(model, tally, recording, bearer))
    total, done = sum(one.rows for one in recordings), 0
    waiting.reverse()
    active: list[_Stream] = []
    while active or waiting:
        batch: list[tuple[_Stream, Window]] = []
        for stream in active:
            batch += [(stream, window) for window in itertools.islice(stream.windows, 1)]
        while waiting and len(batch) < LANES:
            stream = waiting.pop()
            batch += [(stream, window) for window in itertools.islice(stream.windows, 1)]
        active = [stream for stream, _ in batch]
        if batch:
            _judge(model, batch)
            done += sum(window.stop - window.start for _, window in batch)
        if on_progress is not None:
            on_progress(done if active or waiting else total, total)
    found = [tallies[key] for key in sorted(tallies) if tallies[key].count.any()]
    if not found:
        raise TrainError("--data", "has no sample with a label")
    return found


def _judge(model: JudgedModel, batch: list[tuple[_Stream, Window]]) -> None:
    """Adds the losses of windows to their tallies."""
    layout = model.layout
    batch = sorted(batch, key=lambda pair: -pair[1].stop)
    # An origin in every sample, for what is served follows from all forecasts before.
    lanes = [
        Lane(one.series, np.arange(one.stop, dtype=np.intp), one.start if one.goes_on else 0)
        for _, one in batch
    ]
    adaptive = AdaptivePersistence()
    adaptive.fit([], layout, 0)
    plain = [np.empty((lane.stop, *layout.shape), np.float32) for lane in lanes]
    run_model = partial(model.forecaster.run, plain=plain)
    forecasts = {}
    for name, run in (("model", run_model), ("adaptive", adaptive.run)):
        offsets = _offsets(layout, len(lanes))
        for slot, (stream, _) in enumerate(batch):
            _copy(stream.offsets[name], 0, offsets, slot)
        forecasts[name] = run(lanes, offsets)
        for slot, (stream, _) in enumerate(batch):
            _copy(offsets, slot, stream.offsets[name], 0)
    for at, (stream, window) in enumerate(batch):
        by_name = {name: every[at] for name, every in forecasts.items()}
        if not np.isfinite(by_name["model"]).all():
            raise TrainError(model.name, f"forecasts NaN on {window.series.name}")
        served, simple = stream.served.forecasts(lanes[at], plain[at])
        by_name |= {"served": served, "simple": simple}
        part = Part(window.series, window.start, window.stop)
        origins = np.arange(window.start, window.stop, dtype=np.intp)
        actual = labels(window.series, layout, origins)
        stream.tally.add(
            {
                name: losses_of(part, origins, actual, values[window.start :], layout)
                for name, values in by_name.items()
            }
        )


def _offsets(layout: Layout, slots: int) -> Offsets:
    return Offsets(layout.levels, slots, *layout.shape[:2])


def _copy(source: Offsets, slot: int, target: Offsets, into: int) -> None:
    for name in ("theta", "size", "offset", "begun"):
        getattr(target, name)[into] = getattr(source, name)[slot]
