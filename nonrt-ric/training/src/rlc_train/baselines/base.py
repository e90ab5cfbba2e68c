"""Interface of all forecasters: fit on parts, predict from origins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rlc_train.errors import TrainError
from rlc_train.horizon import Layout
from rlc_train.series import labels
from rlc_train.splits import Part

PATTERNS: Final = 30
"""Periods of TDD patterns in samples of 1 ms (0.5 to 10 ms, 38.331
dl-UL-TransmissionPeriodicity) divide this or its double."""


class Forecaster(Protocol):
    """Constructors take hyper-parameters only; `fit` may be called once per object."""

    @property
    def name(self) -> str:
        """Name in tables."""

    @property
    def most_origins(self) -> int | None:
        """Maximum number of origins in a back-test; None for no limit."""

    def fit(self, parts: Sequence[Part], layout: Layout, seed: int) -> None:
        """Learns from the training part.

        Raises:
            TrainError: The part has no sample with a label.
        """

    def predict(self, part: Part, origins: NDArray[np.intp]) -> NDArray[np.float32]:
        """``(N, quantity, M, K)`` forecasts from ``(N,)`` increasing rows of the part's series.

        A forecast uses only samples up to its origin.
        """


@runtime_checkable
class BatchForecaster(Protocol):
    """A forecaster that processes many series in parallel faster than one by one."""

    def predict_all(
        self, chosen: Sequence[tuple[Part, NDArray[np.intp]]]
    ) -> list[NDArray[np.float32]]:
        """:meth:`Forecaster.predict` for each of `chosen`."""


def spread_origins(part: Part, layout: Layout, count: int) -> NDArray[np.intp]:
    """Choose up to `count` evenly spread rows of a part whose labels are all within the part.

    The stride has no divisor in common with TDD patterns: all rows would be of the same slots.
    """
    last = part.stop - int(layout.ahead[-1])
    if last <= part.start:
        return np.zeros(0, np.intp)
    stride = max(1, -(-(last - part.start) // max(count, 1)))
    while math.gcd(stride, PATTERNS) > 1:
        stride += 1
    return np.arange(part.start, last, stride, dtype=np.intp)


TrainingRows = tuple[Part, NDArray[np.intp], NDArray[np.float32]]
"""A part, ``(N,)`` origins in it and their ``(N, Q, M)`` labels."""


def training_rows(parts: Sequence[Part], layout: Layout, count: int) -> list[TrainingRows]:
    """About `count` origins over all parts, by length, with ``(N, Q, M)`` labels.

    Raises:
        TrainError: There is no origin with a label.
    """
    total = sum(len(part) for part in parts)
    found = []
    for part in parts:
        origins = spread_origins(part, layout, max(1, round(count * len(part) / max(total, 1))))
        values = labels(part.series, layout, origins, part.stop)
        keep = ~np.isnan(values).all(axis=(1, 2)) & part.series.fresh[origins]
        if keep.any():
            found.append((part, origins[keep], values[keep]))
    if not found:
        raise TrainError("split.train", "has no sample with a label")
    return found


def residual_quantiles(
    residual: NDArray[np.float32], levels: NDArray[np.float32]
) -> NDArray[np.float32]:
    """``(Q, M, K)`` quantiles of ``(N, Q, M)`` residuals; 0 for a quantity that is never known."""
    never = np.isnan(residual).all(axis=0)
    filled = np.where(never, np.float32(0), residual)
    quantiles: NDArray[np.float32] = np.nanquantile(filled, levels, axis=0).transpose(1, 2, 0)
    return quantiles.astype(np.float32)
