"""The forecaster without clock, socket or log."""

from rlc_forecaster.core.engine import Counters, Forecaster, SwapNews
from rlc_forecaster.core.forecast import Batch, Fallback, Layout, Source
from rlc_forecaster.core.skill import Hysteresis
from rlc_forecaster.core.step import StepModel

__all__ = [
    "Batch",
    "Counters",
    "Fallback",
    "Forecaster",
    "Hysteresis",
    "Layout",
    "Source",
    "StepModel",
    "SwapNews",
]
