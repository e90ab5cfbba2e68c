"""A model on recordings: sample by sample, each bearer in windows of bounded size."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Event
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rlc_dataset import BearerKind, Recording
from rlc_model import Bearer

from rlc_train.errors import TrainError
from rlc_train.judging.bearer import JudgedBearer
from rlc_train.judging.model import JudgedModel
from rlc_train.judging.tally import Tally
from rlc_train.judging.windows import Window, windows
from rlc_train.online import Lane, threads

LANES: Final = 32
"""Windows in a step of the model, of one or several bearers. Its forecasts from a window take 17 MB
with three quantities, 20 points and three quantiles. Those of twice as many windows exist at once,
for a batch is judged while the model forecasts the next: 1.1 GB."""
_Forecast = tuple[Window, NDArray[np.float32]]
"""A window and the model's forecasts from its rows, without calibration."""
OnProgress = Callable[[int, int], None]
"""Called with the samples judged so far, and all."""


@dataclass(slots=True)
class _Stream:
    """The windows of one bearer, and its own `tally`."""

    tally: Tally
    windows: Iterator[Window]
    bearer: JudgedBearer

    @classmethod
    def of(cls, model: JudgedModel, tally: Tally, recording: Recording, bearer: Bearer) -> _Stream:
        layout = model.layout
        cuts = windows(recording, bearer, model.context_us, int(layout.ahead[-1]))
        return cls(tally, cuts, JudgedBearer(layout, model.warm_up))

    def judge(self, model: JudgedModel, each: Sequence[_Forecast], stop: Event) -> int:
        """Judges windows in order of time, until `stop`; returns the number of samples."""
        for window, plain in each:
            if not stop.is_set():
                self.tally.add(self.bearer.losses(model.name, window, plain))
        return sum(window.stop - window.start for window, _ in each)


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
    streams: list[tuple[tuple[int, str, BearerKind], _Stream]] = []
    for number, recording in enumerate(recordings):
        for bearer, origin in recording.bearers.items():
            own = Tally.empty(recording.name, origin, model.layout)
            key = (number, origin.radio, origin.bearer_kind)
            streams.append((key, _Stream.of(model, own, recording, bearer)))
    total, done = sum(one.rows for one in recordings), 0
    stop = Event()
    with threads() as pool:
        judging: list[Future[int]] = []
        try:
            for batch in _batches([stream for _, stream in streams]):
                stepped = _stepped(model, batch)
                done += sum(one.result() for one in judging)
                if on_progress is not None:
                    on_progress(done, total)
                judging = [pool.submit(stream.judge, model, each, stop) for stream, each in stepped]
            for one in judging:
                one.result()
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
    if on_progress is not None:
        on_progress(total, total)
    # Bearer by bearer: the blocks of an interval do not depend on what was judged together.
    for key, stream in streams:
        if key in tallies:
            tallies[key].extend(stream.tally)
        else:
            tallies[key] = stream.tally
    found = [tallies[key] for key in sorted(tallies) if tallies[key].count.any()]
    if not found:
        raise TrainError("--data", "has no sample with a label")
    return found


_Batch = list[tuple[_Stream, list[Window]]]
_Stepped = list[tuple[_Stream, list[_Forecast]]]


def _batches(streams: Sequence[_Stream]) -> Iterator[_Batch]:
    """Up to :data:`LANES` windows at a time, of as many bearers as there are; a bearer's windows
    are in order of time."""
    waiting, active = iter(streams), list[_Stream]()
    while True:
        active += itertools.islice(waiting, LANES - len(active))
        batch: dict[int, list[Window]] = {at: [] for at in range(len(active))}
        going = list(batch)
        count = 0
        while going and count < LANES:
            for at in list(going):
                window = next(active[at].windows, None)
                if window is None:
                    going.remove(at)
                    continue
                batch[at].append(window)
                count += 1
                if count == LANES:
                    break
        if count:
            yield [(active[at], found) for at, found in batch.items() if found]
        elif not active:
            return
        active = [active[at] for at in going]


def _stepped(model: JudgedModel, batch: _Batch) -> _Stepped:
    """The model's forecasts from all rows of the windows of a batch."""
    each = [window for _, found in batch for window in found]
    longest_first = sorted(range(len(each)), key=lambda at: -each[at].stop)
    lanes = [Lane(each[at].series, np.array([each[at].stop - 1])) for at in longest_first]
    forecasts = dict(zip(longest_first, model.forecaster.plain(lanes), strict=True))
    numbers = itertools.count()
    return [
        (stream, [(window, forecasts[next(numbers)]) for window in found])
        for stream, found in batch
    ]
