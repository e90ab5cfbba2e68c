"""Pipelines of scikit-learn that come with a name."""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import QuantileRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def linear_quantile() -> Any:
    """Linear quantile regression (Koenker and Bassett 1978), solved as a linear program.

    The penalty keeps columns that say the same, as means of a constant queue do, from weights that
    cancel each other.
    """
    return make_pipeline(StandardScaler(), QuantileRegressor(alpha=0.01, solver="highs"))
