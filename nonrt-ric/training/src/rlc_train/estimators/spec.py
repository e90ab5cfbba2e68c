"""Estimators in settings, and those that come with a name."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from rlc_train import imports

Points = Literal["auto", "outputs", "input", "each"]
"""How an estimator gets the points of a forecast; see :attr:`EstimatorSpec.points`."""


class EstimatorSpec(BaseModel):
    """An estimator and how it is used."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    estimator: Annotated[
        str,
        Field(
            pattern=imports.PATTERN,
            description="Import path MODULE:ATTRIBUTE of a class, a function that returns an"
            " estimator, or an estimator, which is cloned.",
        ),
    ]
    parameters: Annotated[
        dict[str, Any],
        Field(description="Arguments of the class or function; of an estimator set_params."),
    ] = {}
    points: Annotated[
        Points,
        Field(
            description="outputs: an estimator of all points of a quantity at once. input: one for"
            " a quantity, with the distance of the point in samples as the last column. each: one"
            " for each point. auto: outputs where the estimator takes several and has no quantile"
            " of its own, else input."
        ),
    ] = "auto"
    origins: Annotated[int, Field(ge=50, description="Rows of training, about.")] = 20_000
    judged_origins: Annotated[
        int | None,
        Field(ge=1, description="Most origins in a back-test; null: those of the settings."),
    ] = None
    export: Annotated[
        bool,
        Field(description="Whether it becomes a candidate: an ONNX step, judged as it is served."),
    ] = True


_SKLEARN: Final = "sklearn"
READY: Final[dict[str, EstimatorSpec]] = {
    "linear-quantile": EstimatorSpec(
        estimator="rlc_train.estimators.ready:linear_quantile", points="input", origins=800
    ),
    "hist-gradient-boosting": EstimatorSpec(
        estimator=f"{_SKLEARN}.ensemble:HistGradientBoostingRegressor",
        parameters={"loss": "quantile", "max_iter": 100, "min_samples_leaf": 50},
        judged_origins=20_000,
        export=False,
    ),
    "random-forest": EstimatorSpec(
        estimator=f"{_SKLEARN}.ensemble:RandomForestRegressor",
        parameters={"n_estimators": 50, "min_samples_leaf": 20, "max_features": "sqrt"},
        judged_origins=20_000,
        export=False,
    ),
    "lightgbm": EstimatorSpec(
        estimator="lightgbm:LGBMRegressor",
        parameters={
            "objective": "quantile",
            "n_estimators": 200,
            "learning_rate": 0.05,
            "min_child_samples": 50,
            "n_jobs": 1,
            "deterministic": True,
            "verbosity": -1,
        },
        origins=40_000,
        judged_origins=20_000,
        export=False,
    ),
}
"""Estimators by name, with parameters."""
