"""The forecaster without clock, socket or log."""

from rlc_forecaster.core.engine import Forecaster
from rlc_forecaster.core.forecast import Batch, Layout, Source
from rlc_forecaster.core.step import StepModel

__all__ = ["Batch", "Forecaster", "Layout", "Source", "StepModel"]
