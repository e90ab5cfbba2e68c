"""Estimators of others are forecasters by name or import path; those with a graph are served."""

from __future__ import annotations

import numpy as np
import pytest
from made_corpus import corpus, layout, series
from rlc_train import backtest, pipeline
from rlc_train.baselines import BASELINES
from rlc_train.errors import TrainError
from rlc_train.estimators.make import forecaster
from rlc_train.estimators.regressor import Regressor, quantile_parameter
from rlc_train.estimators.spec import READY, EstimatorSpec
from rlc_train.estimators.univariate import Univariate
from rlc_train.export.linear import as_linear
from rlc_train.settings import Settings
from rlc_train.splits import Part, split
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import QuantileRegressor, Ridge
from test_baselines import with_changed_future

AXES = layout(points=3)
FEW = {"origins": 1_500}

pytestmark = [
    pytest.mark.usefixtures("baselines_extra", "estimators_extra"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning"),
]


def spec(path: str, **changes: object) -> EstimatorSpec:
    return EstimatorSpec.model_validate({"estimator": path, **FEW, **changes})


def made(path: str, **changes: object) -> Regressor:
    found = forecaster("mine", {"mine": spec(path, **changes)})
    assert isinstance(found, Regressor)
    return found


@pytest.mark.parametrize("name", ["boosted", "ridge", "forest", "lightgbm", "online"])
def test_an_estimator_of_a_users_file_forecasts_without_future_samples(name: str) -> None:
    model = made(f"user_models:{name}", origins=400 if name == "online" else 1_500)
    parts = split(corpus(1_500), AXES)
    model.fit(parts.train, AXES, 1)
    part = Part(series("new", 1_500, seed=9), 1_000, 1_500)
    origins = np.array([1_100, 1_200], np.intp)
    forecast = model.predict(part, origins)
    assert forecast.shape == (2, *AXES.shape)
    assert np.isfinite(forecast).all()
    assert (np.diff(np.sort(forecast, axis=-1).mean(axis=(0, 1, 2))) > 0).all()
    unaware = model.predict(with_changed_future(part, 1_200), origins)
    np.testing.assert_array_equal(unaware, forecast)


@pytest.mark.parametrize("name", ["boosted", "ridge"])
def test_an_estimator_learns_what_persistence_cannot(name: str) -> None:
    parts = split(corpus(4_000), AXES, held_out_cells=["c"])
    model = made(f"user_models:{name}", origins=4_000)
    model.fit(parts.train, AXES, 1)
    plain = BASELINES["persistence"]()
    plain.fit(parts.train, AXES, 1)
    chosen = backtest.origins_of(parts.unseen, AXES, 1_000)
    losses, reference = (backtest.run(one, chosen, AXES) for one in (model, plain))
    assert backtest.Versus(losses, reference).skill(0, None, 1).low > 0.1
    # Quantiles of a value's errors cover their share of bearers that were not seen.
    assert losses.calibration(AXES.levels).worst().max() < 0.1


@pytest.mark.parametrize(
    ("name", "changes", "is_linear"),
    [
        ("boosted", {}, False),
        ("forest", {}, False),
        ("lightgbm", {"points": "each"}, False),
        ("ridge", {}, True),
        ("ridge", {"points": "input"}, True),
    ],
)
def test_the_exported_step_is_the_estimator(
    name: str, changes: dict[str, object], is_linear: bool
) -> None:
    parts = split(corpus(3_000), AXES)
    model = made(f"user_models:{name}", **changes)
    model.fit(parts.train, AXES, 1)
    assert (as_linear(model) is not None) == is_linear
    candidate = pipeline.export_estimator(model, parts, AXES)
    assert candidate.comparison.holds, candidate.comparison
    assert candidate.comparison.steps == 10_000
    part = parts.test[0]
    origins = np.arange(part.start, part.start + 40, dtype=np.intp)
    served, plain = candidate.forecaster().predict(part, origins), model.predict(part, origins)
    # The conformal correction and calibration move the median by less than the interval's width.
    width = np.abs(plain[..., -1] - plain[..., 0])
    assert (np.abs(served[..., 1] - plain[..., 1]) < width + 1).mean() > 0.95


def test_a_model_of_one_series_forecasts_with_intervals() -> None:
    model = forecaster("mine", {"mine": spec("statsforecast.models:RandomWalkWithDrift")})
    assert isinstance(model, Univariate)
    model.fit([], AXES, 1)
    part = Part(series("new", 900, seed=9), 500, 900)
    origins = np.array([600, 700], np.intp)
    forecast = model.predict(part, origins)
    assert (np.diff(forecast, axis=-1) > 0).all()
    last = part.series.features[origins][:, AXES.columns]
    middle = forecast[..., 1]
    assert (np.abs(middle - last[..., None]) < forecast[..., 2] - forecast[..., 0]).all()
    np.testing.assert_array_equal(model.predict(with_changed_future(part, 700), origins), forecast)


def test_the_level_is_found_where_an_estimator_has_a_quantile_loss() -> None:
    assert quantile_parameter(QuantileRegressor()) == "quantile"
    assert quantile_parameter(GradientBoostingRegressor(loss="quantile")) == "alpha"
    assert quantile_parameter(GradientBoostingRegressor()) is None
    inside = TransformedTargetRegressor(GradientBoostingRegressor(loss="quantile"))
    assert quantile_parameter(inside) == "regressor__alpha"
    assert quantile_parameter(Ridge()) is None
    assert quantile_parameter(RandomForestRegressor()) is None


@pytest.mark.parametrize("name", [name for name in READY if name != "linear-quantile"])
def test_those_that_come_with_a_name_are_made(name: str) -> None:
    assert isinstance(forecaster(name, {}), Regressor)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"baselines": ["oracle"]}, r"baselines\[0\]: oracle: is no forecaster; expected of"),
        ({"estimators": {"lstm": {"estimator": "a:b"}}}, "estimators.lstm: is the name of another"),
        ({"estimators": {"a": {"estimator": "a.b"}}}, "String should match pattern"),
        ({"model": "random-forest"}, "model: random-forest is not exported; expected network"),
    ],
)
def test_settings_that_name_no_estimator_are_refused(
    settings: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Settings.model_validate(settings)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere:model", "nowhere:model cannot be imported: ModuleNotFoundError"),
        ("user_models:absent", "user_models:absent: module 'user_models' has no attribute"),
        ("user_models:not_an_estimator", "is int; expected fit"),
        ("sklearn.linear_model:Ridge", "Ridge fails: TypeError"),
    ],
)
def test_an_import_path_that_is_wrong_names_the_estimator(path: str, message: str) -> None:
    parameters = {"gamma": 1} if path.endswith("Ridge") else {}
    with pytest.raises(TrainError, match=f"mine: .*{message}"):
        forecaster("mine", {"mine": spec(path, parameters=parameters)})


def test_an_estimator_that_fails_is_named_with_its_error() -> None:
    with pytest.raises(TrainError, match="mine: fit fails: InvalidParameterError: "):
        made("user_models:broken").fit(split(corpus(1_500), AXES).train, AXES, 1)
