"""Conformal correction: shifts each quantile to its nominal coverage on the validation part.

The asymmetric form of conformalised quantile regression (Romano, Patterson and Candès 2019, §4
Theorem 2), with scores in widths of the forecast's interval, so that one correction applies to busy
and quiet bearers. It is linear in the quantiles and can be folded into a linear head.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlc_train.errors import TrainError

LEAST_SCORES = 100
"""Least scores of a correction: with fewer, a quantile at 0.1 or 0.9 rests on under ten values."""


@dataclass(frozen=True, slots=True)
class Correction:
    """``q_k + shift_k · (q_last − q_first)``.

    Attributes:
        shift: ``(quantity, M, K)`` in widths of the interval.
    """

    shift: NDArray[np.float32]

    def apply(self, forecast: NDArray[np.float32]) -> NDArray[np.float32]:
        """Corrects ``(N, quantity, M, K)`` forecasts."""
        width = forecast[..., -1:] - forecast[..., :1]
        corrected: NDArray[np.float32] = forecast + self.shift * width
        return corrected

    def mixing(self) -> NDArray[np.float32]:
        """``(quantity, M, K, K)`` matrices A with ``corrected = A · forecast``."""
        count = self.shift.shape[-1]
        matrix = np.zeros((*self.shift.shape, count), np.float32)
        matrix[..., np.arange(count), np.arange(count)] = 1
        matrix[..., -1] += self.shift
        matrix[..., 0] -= self.shift
        return matrix


def identity(shape: tuple[int, int, int]) -> Correction:
    """The correction without effect."""
    return Correction(np.zeros(shape, np.float32))


def fit(
    actual: NDArray[np.float32],
    forecast: NDArray[np.float32],
    levels: NDArray[np.float32],
) -> Correction:
    """Fits the correction on data not used for training.

    Args:
        actual: ``(N, quantity, M)``, NaN if unknown.
        forecast: ``(N, quantity, M, K)``.
        levels: ``(K,)``.

    Raises:
        TrainError: Too few values, or a single quantile.
    """
    if len(levels) < 2:
        raise TrainError("conformal", "a single quantile has no width; expected two or more")
    _, quantities, points, count = forecast.shape
    shift = np.zeros((quantities, points, count), np.float32)
    for point in range(points):
        for quantity in range(quantities):
            rows = ~np.isnan(actual[:, quantity, point])
            if 0 < int(rows.sum()) < LEAST_SCORES:
                raise TrainError(
                    "conformal",
                    f"{int(rows.sum())} values at point {point}; expected {LEAST_SCORES} or more",
                )
            q = forecast[rows, quantity, point].astype(np.float64)
            y = actual[rows, quantity, point].astype(np.float64)
            width = q[:, -1] - q[:, 0]
            # A forecast of zero width cannot be shifted by a multiple of it.
            wide = width > 1e-9 * max(1.0, float(np.abs(q).max(initial=0)))
            if int(wide.sum()) < LEAST_SCORES:
                continue
            for k, level in enumerate(levels):
                scores = (y[wide] - q[wide, k]) / width[wide]
                # The rank of a new score among n is uniform on 1…n+1.
                rank = min(float(level) * (1 + 1 / len(scores)), 1.0)
                shift[quantity, point, k] = np.quantile(scores, rank, method="inverted_cdf")
    return Correction(shift)
