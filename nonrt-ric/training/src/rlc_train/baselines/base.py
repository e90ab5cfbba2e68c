"""One shape for every forecaster, simple or learned: fit on parts, predict from origins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rlc_train.errors import TrainError
from rlc_train.horizon import Layout
from rlc_train.series import labels
from rlc_train.splits import Part


class Forecaster(Protocol):
    """A constructor takes hyper-parameters only; `fit` may be called once per object."""

    @property
    def name(self) -> str:
        """Its name in tables."""

    @property
    def most_origins(self) -> int | None:
        """How many origins a back-test can afford; None without limit."""

    def fit(self, parts: Sequence[Part], layout: Layout, seed: int) -> None:
        """Learns from the training part.

        Raises:
            TrainError: The part holds nothing to learn from.
        """

    def predict(self, part: Part, origins: NDArray[np.intp]) -> NDArray[np.float32]:
        """``(N, quantity, M, K)`` forecasts from ``(N,)`` growing rows of the part's series.

        What lies after an origin is not looked at for its forecast.
        """


@runtime_checkable
class AtOnce(Protocol):
    """A forecaster that goes through many series side by side much faster than one by one."""

    def predict_all(
        self, chosen: Sequence[tuple[Part, NDArray[np.intp]]]
    ) -> list[NDArray[np.float32]]:
        """:meth:`Forecaster.predict` for each of `chosen`."""


def spread_origins(part: Part, layout: Layout, count: int) -> NDArray[np.intp]:
    """At most `count` rows of a part, evenly spread, with room for every label."""
    last = part.stop - int(layout.ahead[-1])
    if last <= part.start:
        return np.zeros(0, np.intp)
    stride = max(1, -(-(last - part.start) // max(count, 1)))
    return np.arange(part.start, last, stride, dtype=np.intp)


def training_rows(
    parts: Sequence[Part], layout: Layout, count: int
) -> list[tuple[Part, NDArray[np.intp], NDArray[np.float32]]]:
    """About `count` origins over all parts, by length, with ``(N, Q, M)`` labels, NaN if unknown.

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
        raise TrainError("split.train", "holds no sample with a label")
    return found


def residual_quantiles(
    residual: NDArray[np.float32], levels: NDArray[np.float32]
) -> NDArray[np.float32]:
    """``(Q, M, K)`` quantiles of ``(N, Q, M)`` residuals, NaN where unknown.

    A quantity that is never known, as the limit of bearers without one, has quantiles of 0.
    """
    never = np.isnan(residual).all(axis=0)
    filled = np.where(never, np.float32(0), residual)
    quantiles: NDArray[np.float32] = np.nanquantile(filled, levels, axis=0).transpose(1, 2, 0)
    return quantiles.astype(np.float32)
