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
BLOCK: Final = 128
"""Samples of a moving mean computed at once."""

STATE_SIZE: Final = len(FEATURES) * (len(WEIGHTS) + 1)
SIZE: Final = len(FEATURES) + STATE_SIZE
"""Numbers per sample: the sample itself, then the state."""


def summarise(
    features: NDArray[np.float32], scaler: MinMaxScaler, rows: NDArray[np.intp]
) -> NDArray[np.float32]:
    """``(N, SIZE)`` summaries at some growing rows of ``(T, F)`` samples, from zero state."""
    scaled = scaler.transform(features[: int(rows[-1]) + 1 if len(rows) else 0])
    means = [_moving_mean(scaled, weight) for weight in WEIGHTS]
    deviation = _moving_mean(np.abs(scaled - means[DEVIATION_MEAN]), DEVIATION_WEIGHT)
    return np.concatenate([part[rows] for part in (scaled, *means, deviation)], axis=1)


def _moving_mean(values: NDArray[np.float32], weight: float) -> NDArray[np.float32]:
    """``m ← m + w·(x − m)`` from zero over ``(T, F)``, a block of samples at a time.

    Within a block it is a product with falling powers of 1 − w: sample by sample a back-test spent
    minutes here.
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
