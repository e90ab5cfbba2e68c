"""Baseline forecasters, all with the interface :class:`base.Forecaster`."""

from collections.abc import Callable
from typing import Final

from rlc_train.baselines.base import Forecaster
from rlc_train.baselines.boosting import LightGbm
from rlc_train.baselines.forest import RandomForest
from rlc_train.baselines.linear import LinearQuantile
from rlc_train.baselines.naive import AdaptivePersistence, MeanOfK, Persistence, SeasonalNaive
from rlc_train.baselines.sarima import Sarima

BASELINES: Final[dict[str, Callable[[], Forecaster]]] = {
    "persistence": Persistence,
    "adaptive-persistence": AdaptivePersistence,
    "seasonal-naive": SeasonalNaive,
    "mean-of-5": MeanOfK,
    "linear-quantile": LinearQuantile,
    "sarima": Sarima,
    "random-forest": RandomForest,
    "lightgbm": LightGbm,
}
"""Constructors by name, in order of cost."""

__all__ = ["BASELINES", "Forecaster"]
