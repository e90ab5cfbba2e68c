"""Summary of a bearer's past (moving means and a mean deviation), and forecasters based on it.

The summary is a recurrence with constant coefficients, which an ONNX step can compute as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rlc_model import FEATURES, MinMaxScaler

from rlc_train.baselines.base import TrainingRows
from rlc_train.errors import TrainError
from rlc_train.horizon import Layout
from rlc_train.splits import Part, fit_scaler

WEIGHTS: Final = (1 / 4, 1 / 32, 1 / 256)
"""Weights of the newest sample in the moving means: memories of 4, 32 and 256 samples."""
DEVIATION_MEAN: Final = 1
"""Index of the mean from which deviations are measured."""
DEVIATION_WEIGHT: Final = 1 / 64
"""Weight of the newest deviation in the mean deviation."""
BLOCK: Final = 128
"""Samples of a moving mean computed at once."""

STATE_SIZE: Final = len(FEATURES) * (len(WEIGHTS) + 1)
SIZE: Final = len(FEATURES) + STATE_SIZE
"""Numbers per sample: the sample itself, then the state."""
DEVIATIONS: Final = slice(SIZE - len(FEATURES), SIZE)
"""Columns of the mean deviations."""
WARM_UP: Final = round(5 / min(WEIGHTS))
"""Samples until the slowest mean retains below 1 % of its initial zero: five time constants."""


class SummaryForecaster(ABC):
    """Forecasts the residual to the last value from the summary."""

    name = ""

    def __init__(self) -> None:
        self._layout: Layout | None = None
        self._scaler: MinMaxScaler | None = None

    @property
    def scaler(self) -> MinMaxScaler:
        """The scaler of samples, after `fit`."""
        if self._scaler is None:
            raise TrainError(self.name, "is not fitted")
        return self._scaler

    def training_data(
        self, parts: Sequence[Part], layout: Layout, chosen: Sequence[TrainingRows]
    ) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """Fits the scaler to the parts; yields ``(N, SIZE)`` summaries and ``(N, Q, M)`` scaled
        residuals of each of `chosen`, NaN if unknown."""
        self._layout, self._scaler = layout, fit_scaler(parts)
        span = self._scaler.span[layout.columns][:, None]
        for part, origins, values in chosen:
            features = part.series.features
            last = features[origins][:, layout.columns][:, :, None]
            yield summarise(features, self._scaler, origins), (values - last) / span

    def predict(self, part: Part, origins: NDArray[np.intp]) -> NDArray[np.float32]:
        """The last value plus the forecast residual."""
        if self._layout is None:
            raise TrainError(self.name, "is not fitted")
        features, columns = part.series.features, self._layout.columns
        residual = self.residual(summarise(features, self.scaler, origins), self._layout)
        last = features[origins][:, columns][:, :, None, None]
        forecast: NDArray[np.float32] = last + residual * self.scaler.span[columns][:, None, None]
        return forecast

    @abstractmethod
    def residual(self, x: NDArray[np.float32], layout: Layout) -> NDArray[np.float32]:
        """``(N, Q, M, K)`` scaled residuals from ``(N, SIZE)`` summaries."""


def summarise(
    features: NDArray[np.float32], scaler: MinMaxScaler, rows: NDArray[np.intp]
) -> NDArray[np.float32]:
    """``(N, SIZE)`` summaries at increasing rows of ``(T, F)`` samples, from zero state."""
    scaled = scaler.transform(features[: int(rows[-1]) + 1 if len(rows) else 0])
    means = [moving_mean(scaled, weight) for weight in WEIGHTS]
    deviation = moving_mean(np.abs(scaled - means[DEVIATION_MEAN]), DEVIATION_WEIGHT)
    return np.concatenate([part[rows] for part in (scaled, *means, deviation)], axis=1)


def moving_mean(values: NDArray[np.float32], weight: float) -> NDArray[np.float32]:
    """``m ← m + w·(x − m)`` from zero over ``(T, F)``, a block of samples at a time.

    Within a block it is a product with powers of 1 − w; a loop over samples takes minutes per
    back-test.
    """
    distance = np.subtract.outer(np.arange(BLOCK), np.arange(BLOCK))
    within = np.where(distance >= 0, weight * (1 - weight) ** np.maximum(distance, 0), 0.0)
    left = (1 - weight) ** np.arange(1.0, BLOCK + 1)[:, None]
    means = np.empty_like(values)
    last = np.zeros(values.shape[1])
    for at in range(0, len(values), BLOCK):
        block = values[at : at + BLOCK]
        n = len(block)
        mean = within[:n, :n] @ block + left[:n] * last
        means[at : at + n] = mean
        last = mean[-1]
    return means
