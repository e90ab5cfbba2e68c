"""Whatever has ``fit(X, y)`` and ``predict(X)`` as a forecaster with quantiles.

X has a row for each origin: the summary of the bearer's past
(:mod:`rlc_train.baselines.summary`). y is what changes from the last value to a point, in mean
changes of quantity and point, so that all targets are of one size.

An estimator with a quantile of its own is fitted once for each level. Any other one forecasts a
value, and its quantiles are those of a conformal predictive system (Vovk et al. 2019; crepes) of
its errors on the end of each training series, in units of the bearer's mean deviation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn import base
from sklearn.model_selection import TimeSeriesSplit
from sklearn.utils import get_tags

from rlc_train.baselines.base import training_rows
from rlc_train.baselines.summary import DEVIATIONS, SummaryForecaster
from rlc_train.errors import TrainError, need
from rlc_train.estimators.spec import EstimatorSpec
from rlc_train.horizon import Layout
from rlc_train.splits import Part

POINTS_PER_ORIGIN: Final = 4
"""Random points of an origin that are rows of training, where the point is an input."""
LEAST_DEVIATION: Final = 2e-5
"""Added to a deviation, in spans of the feature, that errors are divided by."""
LEAST_ERRORS: Final = 30
"""Errors of a point that quantiles may rest on."""
FOLDS: Final = 4
"""The last of as many folds in time has the errors that quantiles are of."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A fitted estimator and the forecasts it is for.

    Attributes:
        estimator: The estimator.
        quantity: Index of the quantity.
        level: Index of the quantile; None for a value, to which quantiles of errors are added.
        point: Index of the point; None for all of them.
    """

    estimator: Any
    quantity: int
    level: int | None
    point: int | None


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of training.

    Attributes:
        x: ``(N, SIZE)``.
        y: ``(N, Q, M)`` changes in spans; NaN if unknown.
        is_learnt: ``(N,)`` those that an estimator is fitted to.
        is_held: ``(N,)`` those whose errors its quantiles are of.
    """

    x: NDArray[np.float32]
    y: NDArray[np.float32]
    is_learnt: NDArray[np.bool_]
    is_held: NDArray[np.bool_]


class Regressor(SummaryForecaster):
    """An estimator in a back-test.

    Attributes:
        fitted: The fitted estimators; none for a quantity that is never known.
        offset: ``(Q, M, K)`` quantiles of errors in deviations; 0 where levels are estimated.
        unit: ``(Q, M)`` mean changes in spans, the unit of what is estimated.
        point_is_input: Whether X has the distance of the point, in samples, as its last column.
    """

    def __init__(self, name: str, estimator: Any, spec: EstimatorSpec) -> None:
        super().__init__()
        self.name = name
        self.most_origins = spec.judged_origins
        self._estimator, self._spec = estimator, spec
        self._parameter = quantile_parameter(estimator)
        points = spec.points
        if points == "auto":
            several = self._parameter is None and takes_several(estimator)
            points = "outputs" if several else "input"
        self._points = points
        self.fitted: list[Fitted] = []
        self.offset = np.zeros((0, 0, 0), np.float32)
        self.unit = np.zeros((0, 0), np.float32)

    @property
    def point_is_input(self) -> bool:
        """Whether X has the distance of the point as its last column."""
        return self._points == "input"

    @property
    def layout(self) -> Layout:
        """The axes, after `fit`."""
        if self._layout is None:
            raise TrainError(self.name, "is not fitted")
        return self._layout

    def fit(self, parts: Sequence[Part], layout: Layout, seed: int) -> None:
        """Fits the estimators.

        Raises:
            TrainError: One of them fails, or the parts have no sample with a label.
        """
        rows = self._rows(parts, layout)
        self.unit = _unit(rows.y)
        y = rows.y / self.unit
        # The same rows for every seed. In turn, a point would always meet the same slot of a TDD
        # pattern.
        rng = np.random.default_rng(0)
        self.fitted = []
        self.offset = np.zeros(layout.shape, np.float32)
        for quantity in range(len(layout.quantities)):
            known = ~np.isnan(y[:, quantity]).any(axis=1)
            learnt = known & rows.is_learnt
            if not learnt.any():
                continue
            x, target = rows.x[learnt], y[learnt, quantity]
            self.fitted += self._fit_quantity(
                quantity, x, target, layout=layout, rng=rng, seed=seed
            )
            if self._parameter is None:
                held = known & rows.is_held
                self._errors(quantity, rows.x[held], y[held, quantity], layout)

    def residual(self, x: NDArray[np.float32], layout: Layout) -> NDArray[np.float32]:
        """What the estimators predict; 0 for a quantity that is never known."""
        result = np.zeros((len(x), *layout.shape), np.float32)
        if not len(x):
            return result
        for one in self.fitted:
            levels = slice(None) if one.level is None else slice(one.level, one.level + 1)
            points = slice(None) if one.point is None else slice(one.point, one.point + 1)
            result[:, one.quantity, points, levels] = self._values(one, x, layout)[..., None]
        quantities = np.array(sorted({one.quantity for one in self.fitted}), np.intp)
        deviation = deviations(x, layout)[:, quantities, None, None]
        result[:, quantities] += self.offset[quantities] * deviation
        return result * self.unit[..., None]

    def _rows(self, parts: Sequence[Part], layout: Layout) -> _Rows:
        """Rows of training; the last ones of each part are held where quantiles need errors."""
        chosen = training_rows(parts, layout, self._spec.origins)
        x, y = zip(*self.training_data(parts, layout, chosen), strict=True)
        if self._parameter is None:
            uses = [_uses(origins, layout) for _, origins, _ in chosen]
        else:
            uses = [(np.ones(len(one), np.bool_), np.zeros(len(one), np.bool_)) for one in y]
        learnt, held = zip(*uses, strict=True)
        return _Rows(*(np.concatenate(arrays) for arrays in (x, y, learnt, held)))

    def _fit_quantity(
        self,
        quantity: int,
        x: NDArray[np.float32],
        y: NDArray[np.float32],
        *,
        layout: Layout,
        rng: np.random.Generator,
        seed: int,
    ) -> Iterator[Fitted]:
        """The estimators of a quantity from its ``(N, SIZE)`` and ``(N, M)`` rows."""
        levels = [None] if self._parameter is None else list(range(len(layout.quantiles)))
        jobs: list[tuple[int | None, NDArray[np.float32], NDArray[np.float32]]]
        if self._points == "each":
            jobs = [(point, x, y[:, point]) for point in range(layout.points)]
        elif self._points == "outputs":
            jobs = [(None, x, y)]
        else:
            taken = min(POINTS_PER_ORIGIN, layout.points)
            points = rng.integers(0, layout.points, (len(x), taken))
            rows = with_distance(np.repeat(x, taken, axis=0), layout.ahead[points.ravel()])
            jobs = [(None, rows, np.take_along_axis(y, points, axis=1).ravel())]
        for level in levels:
            for point, rows, target in jobs:
                yield Fitted(
                    self._fit_one(rows, target, level, layout, seed), quantity, level, point
                )

    def _fit_one(
        self,
        x: NDArray[np.float32],
        y: NDArray[np.float32],
        level: int | None,
        layout: Layout,
        seed: int,
    ) -> Any:
        estimator = base.clone(self._estimator)
        given = estimator.get_params()
        changes: dict[str, Any] = {
            name: seed
            for name, value in given.items()
            if value is None and name.rpartition("__")[2] == "random_state"
        }
        if level is not None and self._parameter is not None:
            changes[self._parameter] = layout.quantiles[level]
        try:
            return estimator.set_params(**changes).fit(x, y)
        except Exception as error:
            raise TrainError(self.name, f"fit fails: {type(error).__name__}: {error}") from error

    def _values(self, one: Fitted, x: NDArray[np.float32], layout: Layout) -> NDArray[np.float32]:
        """``(N, M)`` predictions of an estimator, or ``(N, 1)`` of one for a point."""
        points = layout.points if one.point is None else 1
        rows = x
        if self.point_is_input:
            rows = with_distance(np.repeat(x, points, axis=0), np.tile(layout.ahead, len(x)))
        try:
            found = np.asarray(one.estimator.predict(rows), np.float32)
        except Exception as error:
            raise TrainError(
                self.name, f"predict fails: {type(error).__name__}: {error}"
            ) from error
        if found.size != len(x) * points:
            raise TrainError(
                self.name,
                f"predicts {found.shape} for {rows.shape} rows; expected {(len(rows),)}"
                if self.point_is_input or points == 1
                else f"predicts {found.shape} for {len(x)} rows; expected {(len(x), points)}",
            )
        return found.reshape(len(x), points)

    def _errors(
        self, quantity: int, x: NDArray[np.float32], y: NDArray[np.float32], layout: Layout
    ) -> None:
        """Quantiles of the errors on held rows, in deviations."""
        if len(x) < LEAST_ERRORS:
            raise TrainError(
                self.name,
                f"has {len(x)} rows of {layout.quantities[quantity].value} for the quantiles of its"
                f" errors; expected {LEAST_ERRORS} or more",
            )
        system = need("crepes", "baselines").ConformalPredictiveSystem
        value = np.empty(y.shape, np.float32)
        for one in (one for one in self.fitted if one.quantity == quantity):
            points = slice(None) if one.point is None else slice(one.point, one.point + 1)
            value[:, points] = self._values(one, x, layout)
        sigma = deviations(x, layout)[:, quantity].astype(np.float64)
        for point in range(layout.points):
            errors = (y[:, point] - value[:, point]).astype(np.float64)
            fitted = system().fit(errors, sigmas=sigma)
            self.offset[quantity, point] = [
                _percentile(fitted, level) for level in layout.quantiles
            ]


def quantile_parameter(estimator: Any) -> str | None:
    """The parameter that has the level of an estimator's quantile loss; None without such a loss.

    Of ``QuantileRegressor``, of what has ``loss`` or ``objective`` ``quantile`` (scikit-learn's
    boosting, LightGBM) or XGBoost's ``reg:quantileerror``, and of pipelines with them.
    """
    given: dict[str, Any] = estimator.get_params()
    for name, value in given.items():
        prefix, separator, leaf = name.rpartition("__")
        inside = prefix + separator
        if leaf in ("loss", "objective") and value == "quantile":
            return inside + ("quantile" if f"{inside}quantile" in given else "alpha")
        if leaf == "objective" and value == "reg:quantileerror":
            return f"{inside}quantile_alpha"
        if leaf == "quantile" and f"{inside}loss" not in given:
            return name
    return None


def takes_several(estimator: Any) -> bool:
    """Whether an estimator takes several targets at once."""
    return bool(get_tags(_last(estimator)).target_tags.multi_output)


def _last(estimator: Any) -> Any:
    """The last step of a pipeline, which has the tags of its target."""
    return _last(estimator.steps[-1][1]) if hasattr(estimator, "steps") else estimator


def with_distance(x: NDArray[np.float32], ahead: NDArray[np.int64]) -> NDArray[np.float32]:
    """Rows with the distance of a point, in samples, as the last column."""
    return np.concatenate([x, ahead[:, None].astype(np.float32)], axis=1)


def deviations(x: NDArray[np.float32], layout: Layout) -> NDArray[np.float32]:
    """``(N, Q)`` mean deviations of the quantities in summaries, not below the least."""
    found: NDArray[np.float32] = x[:, DEVIATIONS][:, layout.columns] + np.float32(LEAST_DEVIATION)
    return found


def _uses(origins: NDArray[np.intp], layout: Layout) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which rows of a part are learnt, and which are held; none where labels of the former reach.

    All rows of a part that is too short for that are learnt.
    """
    learnt, held = np.ones(len(origins), np.bool_), np.zeros(len(origins), np.bool_)
    stride = int(np.diff(origins).min()) if len(origins) > 1 else 1
    gap = -(-int(layout.ahead[-1]) // stride)
    if len(origins) < FOLDS * (gap + 2):
        return learnt, held
    *_, (first, last) = TimeSeriesSplit(FOLDS, gap=gap).split(origins)
    learnt[:], learnt[first], held[last] = False, True, True
    return learnt, held


def _percentile(fitted: Any, level: float) -> float:
    """The error at a level for a deviation of 1."""
    side = "lower_percentiles" if level < 0.5 else "higher_percentiles"
    found = fitted.predict_percentiles(np.zeros(1), sigmas=np.ones(1), **{side: [100 * level]})
    return float(np.clip(found, -1e9, 1e9).item())


def _unit(y: NDArray[np.float32]) -> NDArray[np.float32]:
    """``(Q, M)`` mean absolute changes; 1 where nothing changes or is known."""
    sizes = np.abs(y)
    count = np.maximum((~np.isnan(sizes)).sum(axis=0), 1)
    mean = np.nansum(sizes, axis=0) / count
    return np.where(mean > 0, mean, 1).astype(np.float32)
