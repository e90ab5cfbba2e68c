"""Baseline forecasters, all with the interface :class:`base.Forecaster`."""

from collections.abc import Callable
from typing import Final

from rlc_train.baselines.base import Forecaster
from rlc_train.baselines.mix import FALLBACK, MIX, BestSimple, SimpleMix
from rlc_train.baselines.naive import AdaptivePersistence, MeanOfK, Persistence, SeasonalNaive
from rlc_train.baselines.sarima import Sarima

BASELINES: Final[dict[str, Callable[[], Forecaster]]] = {
    "persistence": Persistence,
    "adaptive-persistence": AdaptivePersistence,
    FALLBACK: BestSimple,
    MIX: SimpleMix,
    "seasonal-naive": SeasonalNaive,
    "mean-of-5": MeanOfK,
    "sarima": Sarima,
}
"""Constructors by name, in order of cost; estimators are in :mod:`rlc_train.estimators`."""

__all__ = ["BASELINES", "Forecaster"]
