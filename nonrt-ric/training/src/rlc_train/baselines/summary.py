"""What is kept of a bearer's past in a few numbers: moving means and a mean deviation.

A recurrence with constant coefficients, so that the same numbers come out of an ONNX step.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from rlc_model import FEATURES, MinMaxScaler

WEIGHTS: Final = (1 / 4, 1 / 32, 1 / 256)
"""Weights of the newest sample in the moving means: memories of 4, 32 and 256 samples."""
DEVIATION_MEAN: Final = 1
"""Deviations are from this of the means …"""
DEVIATION_WEIGHT: Final = 1 / 64
"""… and are averaged with this weight."""

STATE_SIZE: Final = len(FEATURES) * (len(WEIGHTS) + 1)
SIZE: Final = len(FEATURES) + STATE_SIZE
"""Numbers per sample: the sample itself, then the state."""


def summarise(
    features: NDArray[np.float32], scaler: MinMaxScaler, rows: NDArray[np.intp]
) -> NDArray[np.float32]:
    """``(N, SIZE)`` summaries at some growing rows of ``(T, F)`` samples, from zero state."""
    scaled = scaler.transform(features[: int(rows[-1]) + 1 if len(rows) else 0])
    columns = scaled.shape[1]
    means = np.zeros((len(WEIGHTS), columns), np.float32)
    deviation = np.zeros(columns, np.float32)
    weights = np.array(WEIGHTS, np.float32)[:, None]
    kept = np.empty((len(rows), SIZE), np.float32)
    position = 0
    for row, sample in enumerate(scaled):
        means += weights * (sample - means)
        deviation += np.float32(DEVIATION_WEIGHT) * (
            np.abs(sample - means[DEVIATION_MEAN]) - deviation
        )
        if position < len(rows) and rows[position] == row:
            kept[position, :columns] = sample
            kept[position, columns : columns + means.size] = means.ravel()
            kept[position, columns + means.size :] = deviation
            position += 1
    return kept
