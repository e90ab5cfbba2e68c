"""Outcomes: the truth that forecasts are compared with, in training, back-tests and the forecaster.

Occupancy and drain of an instant are in the RLC report of that instant. The drain of a point is the
mean of the reports in its span (:func:`~rlc_model.horizon.spans_us`), unknown if one is. The queue
limit of an instant is in a TC status collected then; the older limit that a sample holds as a
feature is no outcome. The forecaster gets a limit once per period of the TC status, when it can
learn from it: :data:`~rlc_model.series.RunArrays.limit_reported` marks these for back-tests.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import rlc_native
from numpy.typing import ArrayLike, NDArray

from rlc_model.features import FEATURES
from rlc_model.manifest import Quantity


def outcomes(
    quantities: Sequence[Quantity],
    features: NDArray[np.float32],
    fresh: NDArray[np.bool_],
    limit_bytes: ArrayLike = np.nan,
    *,
    drain: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """``(N, quantity)`` values at the time of N reports; NaN if unknown.

    Args:
        quantities: The quantities.
        features: ``(N, F)`` of the reports.
        fresh: ``(N,)`` whether rates are known, as in :class:`~rlc_model.features.Samples`.
        limit_bytes: ``(N,)`` queue limits at the time of the reports, NaN if unknown; one value
            for all.
        drain: ``(N,)`` means over a span, NaN if unknown; None for the drain of the reports alone.
    """
    values = np.empty((len(features), len(quantities)), np.float32)
    for column, quantity in enumerate(quantities):
        match quantity:
            case Quantity.OCCUPANCY:
                values[:, column] = features[:, FEATURES.index(quantity.value)]
            case Quantity.DRAIN:
                values[:, column] = known_drain(features, fresh) if drain is None else drain
            case Quantity.QUEUE_LIMIT:
                values[:, column] = limit_bytes
    return values


def known_drain(features: NDArray[np.float32], fresh: NDArray[np.bool_]) -> NDArray[np.float32]:
    """``(N,)`` drain of N reports; NaN if unknown. Arguments are as of :func:`outcomes`."""
    drained = features[:, FEATURES.index(Quantity.DRAIN.value)]
    return np.where(fresh, drained, np.float32(np.nan))


def recent_drain(longest: int) -> rlc_native.RecentDrain:
    """The drain of the last `longest` reports, yet of no slot: :func:`span_mean` by report."""
    return rlc_native.RecentDrain(longest, FEATURES.index(Quantity.DRAIN.value))


def span_mean(values: NDArray[np.float32], reports: int) -> NDArray[np.float32]:
    """``(T, …)`` mean of each value and the ones before it, `reports` in all; NaN if one is.

    Of the drain of T successive report periods it is the outcome at a point with such a span.
    """
    if reports == 1:
        return values
    unknown = np.isnan(values)
    sums = np.zeros((2, len(values) + 1, *values.shape[1:]))
    np.cumsum(np.where(unknown, 0, values), axis=0, dtype=np.float64, out=sums[0, 1:])
    np.cumsum(unknown, axis=0, dtype=np.float64, out=sums[1, 1:])
    total, missing = sums[:, reports:] - sums[:, : max(len(values) + 1 - reports, 0)]
    means = np.full_like(values, np.nan)
    means[reports - 1 :] = np.where(missing > 0, np.nan, total / reports)
    return means


def limit_outcomes(
    quantities: Sequence[Quantity], limit_bytes: NDArray[np.floating]
) -> NDArray[np.float32]:
    """``(N, quantity)`` outcomes of N limits alone: all other quantities are unknown."""
    values = np.full((len(limit_bytes), len(quantities)), np.nan, np.float32)
    if Quantity.QUEUE_LIMIT in quantities:
        values[:, quantities.index(Quantity.QUEUE_LIMIT)] = limit_bytes
    return values
