"""MinMax scaling, fitted on the training part alone (stolidis2024 §IV-C)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rlc_model import FEATURES, MinMaxScaler

from rlc_train.errors import TrainError
from rlc_train.splits import Part


def fit_scaler(parts: Sequence[Part]) -> MinMaxScaler:
    """Bounds of each feature over the rows that the parts own.

    A feature that never changes gets a span of one unit: it says nothing, and must not divide by
    zero. Levels of queues start at zero whatever the smallest seen, so that an empty queue never
    leaves the range.

    Raises:
        TrainError: The parts hold no row.
    """
    low = np.full(len(FEATURES), np.inf)
    high = np.full(len(FEATURES), -np.inf)
    for part in parts:
        rows = part.series.features[part.start : part.stop]
        if len(rows):
            low = np.minimum(low, rows.min(axis=0))
            high = np.maximum(high, rows.max(axis=0))
    if not np.isfinite(low).all():
        raise TrainError("split.train", "holds no sample to fit a scaler on")
    low = np.minimum(low, 0)
    high = np.where(high > low, high, low + 1)
    return MinMaxScaler.of(low.tolist(), high.tolist())
