"""Naive forecasts with the quantiles of their errors: last value, season, mean.

`AdaptivePersistence` is an expert of the forecaster's mix.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rlc_train.baselines.base import residual_quantiles, training_rows
from rlc_train.errors import TrainError
from rlc_train.horizon import Layout
from rlc_train.online import Lane, OnlineForecaster, track_all
from rlc_train.series import Series, held
from rlc_train.splits import Part

TRAINING_ORIGINS = 50_000


class PointForecaster(ABC):
    """A point forecast plus the quantiles of its errors in the training part."""

    name = ""
    most_origins: int | None = None

    def __init__(self) -> None:
        self._layout: Layout | None = None
        self._offset: NDArray[np.float32] | None = None

    @abstractmethod
    def point(self, part: Part, layout: Layout, origins: NDArray[np.intp]) -> NDArray[np.float32]:
        """``(N, quantity, M)`` point forecasts."""

    def prepare(self, parts: Sequence[Part], layout: Layout) -> None:
        """Fits the point forecast; most have no parameters."""
        del parts, layout

    def fit(self, parts: Sequence[Part], layout: Layout, seed: int) -> None:
        """Fits the point forecast and the quantiles of its errors."""
        del seed
        self.prepare(parts, layout)
        residual = [
            values - self.point(part, layout, origins)
            for part, origins, values in training_rows(parts, layout, TRAINING_ORIGINS)
        ]
        self._layout = layout
        self._offset = residual_quantiles(np.concatenate(residual), layout.levels)

    def predict(self, part: Part, origins: NDArray[np.intp]) -> NDArray[np.float32]:
        """Point forecast plus the quantiles of its errors."""
        if self._layout is None or self._offset is None:
            raise TrainError(self.name, "is not fitted")
        forecast: NDArray[np.float32] = (
            self.point(part, self._layout, origins)[..., None] + self._offset
        )
        return forecast


class Persistence(PointForecaster):
    """The last value, for the drain of a span the mean of the last such span."""

    name = "persistence"

    def point(self, part: Part, layout: Layout, origins: NDArray[np.intp]) -> NDArray[np.float32]:
        """The same at points with spans of one length."""
        return held(part.series, layout)[origins[:, None, None], layout.outcome_columns]


class MeanOfK(PointForecaster):
    """The mean of the last `k` values."""

    def __init__(self, k: int = 5) -> None:
        super().__init__()
        if k < 1:
            raise TrainError("mean_of_k.k", f"is {k}; expected 1 or more")
        self._k = k
        self.name = f"mean-of-{k}"

    def point(self, part: Part, layout: Layout, origins: NDArray[np.intp]) -> NDArray[np.float32]:
        """The mean at every point."""
        levels = part.series.features[:, layout.columns].astype(np.float64)
        sums = np.concatenate([np.zeros((1, levels.shape[1])), np.cumsum(levels, axis=0)])
        first = np.maximum(origins + 1 - self._k, 0)
        mean = (sums[origins + 1] - sums[first]) / (origins + 1 - first)[:, None]
        return np.repeat(mean.astype(np.float32)[:, :, None], layout.points, axis=2)


class SeasonalNaive(PointForecaster):
    """The newest known value a whole number of seasons before the forecast instant, or the mean of
    its span then.

    The season of each quantity is the lag with the strongest autocorrelation of its differences in
    the training part, due to a TDD pattern or video frames.
    """

    name = "seasonal-naive"

    def __init__(self, longest: int = 100) -> None:
        super().__init__()
        self._longest = longest
        self.seasons: tuple[int, ...] = ()

    def prepare(self, parts: Sequence[Part], layout: Layout) -> None:
        """Finds the seasons, in samples."""
        total = np.zeros((len(layout.columns), self._longest + 1))
        for part in parts:
            levels = part.series.features[part.start : part.stop, layout.columns]
            total += _autocorrelation(np.diff(levels, axis=0), self._longest)
        # Lags 0 and 1 are not seasons.
        self.seasons = tuple(int(lag) + 2 for lag in np.argmax(total[:, 2:], axis=1))

    def point(self, part: Part, layout: Layout, origins: NDArray[np.intp]) -> NDArray[np.float32]:
        """The value a season ago."""
        result = np.empty((len(origins), len(layout.columns), layout.points), np.float32)
        before = held(part.series, layout)
        for q, season in enumerate(self.seasons):
            back = season * (-(-layout.ahead // season)) - layout.ahead
            rows = np.maximum(origins[:, None] - back, 0)
            result[:, q] = before[rows, layout.outcome_columns[q]]
        return result


def _autocorrelation(values: NDArray[np.float32], longest: int) -> NDArray[np.float64]:
    """``(C, longest + 1)`` autocorrelation of each column, weighted by the number of rows."""
    rows, columns = values.shape
    if rows <= longest:
        return np.zeros((columns, longest + 1))
    centred = values.astype(np.float64) - values.mean(axis=0)
    size = 1 << (2 * rows - 1).bit_length()
    spectrum = np.fft.rfft(centred, size, axis=0)
    full = np.fft.irfft(np.abs(spectrum) ** 2, size, axis=0)[: longest + 1]
    variance = np.where(full[0] > 0, full[0], 1.0)
    scaled: NDArray[np.float64] = (full / variance).T * rows
    return scaled


class AdaptivePersistence(OnlineForecaster):
    """:class:`Persistence` plus online quantiles of the bearer's errors."""

    name = "adaptive-persistence"

    def run(self, lanes: Sequence[Lane]) -> list[NDArray[np.float32]]:
        """The forecasts of lanes, longest first."""
        layout = self.axes
        last = [held_at_points(lane.series.cut(0, lane.stop), layout) for lane in lanes]

        def forecast_rows(first: int, stop: int, count: int) -> NDArray[np.float32]:
            return np.stack([one[first:stop] for one in last[:count]])[..., None]

        return track_all(lanes, layout, forecast_rows)


def held_at_points(series: Series, layout: Layout) -> NDArray[np.float32]:
    """``(T, quantity, M)`` what persistence forecasts from each sample."""
    values: NDArray[np.float32] = held(series, layout).take(layout.outcome_columns, axis=1)
    return values
