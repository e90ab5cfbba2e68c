"""What a user brings: estimators and networks in a file of their own."""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

ridge = make_pipeline(StandardScaler(), Ridge(alpha=1.0))
"""A value, of all points at once, in a pipeline that is linear."""


def boosted(max_iter: int = 8) -> Pipeline:
    """Quantiles of boosted trees."""
    trees = HistGradientBoostingRegressor(
        loss="quantile", quantile=0.5, max_iter=max_iter, min_samples_leaf=30, random_state=1
    )
    return make_pipeline(StandardScaler(), trees)


def forest() -> RandomForestRegressor:
    """A value, of all points at once."""
    return RandomForestRegressor(4, min_samples_leaf=30, max_features="sqrt")


def lightgbm() -> Any:
    """Quantiles of LightGBM."""
    from lightgbm import LGBMRegressor  # noqa: PLC0415 - not everywhere

    return LGBMRegressor(
        objective="quantile", n_estimators=8, min_child_samples=30, n_jobs=1, verbosity=-1
    )


def online() -> Any:
    """A regressor of river, which learns row by row."""
    from river import linear_model, preprocessing  # noqa: PLC0415 - not everywhere

    return preprocessing.StandardScaler() | linear_model.LinearRegression()


def broken() -> Ridge:
    """Refuses its data."""
    return Ridge(alpha="much")


not_an_estimator = 7


def keras_layer(units: int = 8) -> Any:
    """A cell of Keras with a layer and an average of the user's."""
    import keras  # noqa: PLC0415 - not everywhere

    class Averaged(keras.layers.Layer):  # type: ignore[misc]
        """A GRU, and a slow mean of its output."""

        def __init__(self) -> None:
            super().__init__()
            self.gru = keras.layers.GRUCell(units)
            self.dense = keras.layers.Dense(units, activation="swish")
            self.state_size = [units, units]
            self.output_size = 2 * units

        def build(self, shape: Any) -> None:
            self.dense.build(shape)
            self.gru.build((None, units))

        def call(self, inputs: Any, states: Any, training: bool = False) -> Any:
            hidden, mean = states
            output, (hidden,) = self.gru(self.dense(inputs), [hidden], training=training)
            mean = mean + 0.05 * (output - mean)
            return keras.ops.concatenate([output, mean], axis=-1), [hidden, mean]

    return Averaged()


def stacked(units: int = 6) -> Any:
    """Two LSTM cells."""
    import keras  # noqa: PLC0415 - not everywhere

    return keras.layers.StackedRNNCells([keras.layers.LSTMCell(units) for _ in range(2)])


def perceptron(units: int = 16) -> Any:
    """Layers without state."""
    import keras  # noqa: PLC0415 - not everywhere

    return keras.Sequential([keras.layers.Dense(units, "tanh"), keras.layers.Dense(units, "relu")])
