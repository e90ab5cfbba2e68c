"""The forecaster of one node; pure: no clock, socket or log."""

from rlc_forecaster.core.engine import Counters, Forecaster, SwapResult
from rlc_forecaster.core.forecast import Batch, Fallback, Layout, Source
from rlc_forecaster.core.model import StepModel

__all__ = [
    "Batch",
    "Counters",
    "Fallback",
    "Forecaster",
    "Layout",
    "Source",
    "StepModel",
    "SwapResult",
]
