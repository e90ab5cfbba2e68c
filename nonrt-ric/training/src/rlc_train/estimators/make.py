"""Forecasters by name: those of this package, estimators of settings, import paths."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from sklearn import base

from rlc_train import imports
from rlc_train.baselines import BASELINES
from rlc_train.baselines.base import Forecaster
from rlc_train.errors import TrainError, need
from rlc_train.estimators.regressor import Regressor
from rlc_train.estimators.spec import READY, EstimatorSpec
from rlc_train.estimators.univariate import Univariate

Estimators = Mapping[str, EstimatorSpec]
"""The estimators that settings name."""


def spec_of(name: str, estimators: Estimators) -> EstimatorSpec | None:
    """The estimator of a name; None for a forecaster of :data:`~rlc_train.baselines.BASELINES`.

    Raises:
        TrainError: There is none of this name.
    """
    if name in BASELINES:
        return None
    found = estimators.get(name) or READY.get(name)
    if found is not None:
        return found
    if imports.is_path(name):
        return EstimatorSpec(estimator=name)
    known = ", ".join([*BASELINES, *READY, *(each for each in estimators if each not in READY)])
    raise TrainError(
        name, f"is no forecaster; expected of {known}, or an import path MODULE:ATTRIBUTE"
    )


def most_origins(name: str, estimators: Estimators) -> int | None:
    """Most origins of a forecaster in a back-test; None for no bound."""
    spec = spec_of(name, estimators)
    return BASELINES[name]().most_origins if spec is None else spec.judged_origins


def forecaster(name: str, estimators: Estimators) -> Forecaster:
    """An unfitted forecaster.

    Raises:
        TrainError: There is none of this name, or its object is neither a forecaster nor an
            estimator.
    """
    spec = spec_of(name, estimators)
    if spec is None:
        return BASELINES[name]()
    made = _made(spec, name)
    if hasattr(made, "fit") and hasattr(made, "predict") and hasattr(made, "most_origins"):
        own: Forecaster = made
        return own
    if hasattr(made, "learn_one"):
        made = need("river.compat", "estimators").convert_river_to_sklearn(made)
    if hasattr(made, "fit") and hasattr(made, "predict") and hasattr(made, "get_params"):
        if hasattr(made, "forecast"):
            return Univariate(name, made, spec)
        return Regressor(name, made, spec)
    if hasattr(made, "forecast"):
        return Univariate(name, made, spec)
    raise TrainError(
        name,
        f"{spec.estimator} is {type(made).__name__}; expected fit(X, y), predict(X) and"
        " get_params() of scikit-learn, a regressor of river, or a model of statsforecast",
    )


def _made(spec: EstimatorSpec, place: str) -> Any:
    """The estimator that a specification names, a new one each time."""
    found = imports.load(spec.estimator, place)
    if inspect.isclass(found) or inspect.isroutine(found):
        try:
            return found(**spec.parameters)
        except Exception as error:
            raise TrainError(
                place, f"{spec.estimator} fails: {type(error).__name__}: {error}"
            ) from error
    if not hasattr(found, "get_params"):
        return found
    try:
        return base.clone(found).set_params(**spec.parameters)
    except (TypeError, ValueError) as error:
        raise TrainError(place, f"{spec.estimator}: {error}") from error


def sources_of(names: Iterable[str], estimators: Estimators) -> dict[str, dict[str, Any]]:
    """What the losses of estimators follow from beside the data: settings, and SHA-256 of the
    module that is named."""
    found = {}
    for name in names:
        spec = spec_of(name, estimators)
        if spec is not None:
            sha256 = imports.source_sha256(spec.estimator)
            found[name] = {**spec.model_dump(mode="json"), "sha256": sha256}
    return found
