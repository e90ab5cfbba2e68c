"""Outcomes: the truth that forecasts are compared with, in training, back-tests and the forecaster.

Occupancy and drain of an instant are in the RLC report of that instant. The queue limit of an
instant is in a TC status collected then; the older limit that a sample holds as a feature is no
outcome. The forecaster is told a limit once per period of the TC status, which is when it can learn
from it: :data:`~rlc_model.series.RunArrays.told` marks these instants for back-tests.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlc_model.features import FEATURES
from rlc_model.manifest import Quantity


def outcomes(
    quantities: Sequence[Quantity],
    features: NDArray[np.float32],
    fresh: NDArray[np.bool_],
    limit_bytes: ArrayLike = np.nan,
) -> NDArray[np.float32]:
    """``(N, quantity)`` values at the time of N reports; NaN if unknown.

    Args:
        quantities: The quantities.
        features: ``(N, F)`` of the reports.
        fresh: ``(N,)`` whether rates are known, as in :class:`~rlc_model.features.Samples`.
        limit_bytes: ``(N,)`` queue limits at the time of the reports, NaN if unknown; one value
            for all.
    """
    values = np.empty((len(features), len(quantities)), np.float32)
    for column, quantity in enumerate(quantities):
        match quantity:
            case Quantity.OCCUPANCY:
                values[:, column] = features[:, FEATURES.index(quantity.value)]
            case Quantity.DRAIN:
                drained = features[:, FEATURES.index(quantity.value)]
                values[:, column] = np.where(fresh, drained, np.float32(np.nan))
            case Quantity.QUEUE_LIMIT:
                values[:, column] = limit_bytes
    return values


def limit_outcomes(
    quantities: Sequence[Quantity], limit_bytes: NDArray[np.floating]
) -> NDArray[np.float32]:
    """``(N, quantity)`` outcomes of N limits alone: all other quantities are unknown."""
    values = np.full((len(limit_bytes), len(quantities)), np.nan, np.float32)
    if Quantity.QUEUE_LIMIT in quantities:
        values[:, quantities.index(Quantity.QUEUE_LIMIT)] = limit_bytes
    return values
