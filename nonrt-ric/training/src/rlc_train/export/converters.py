"""Fitted estimators as ONNX graphs: skl2onnx, with what it lacks for boosted trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.preprocessing import StandardScaler

from rlc_train.errors import TrainError, need
from rlc_train.export.graph import ML_OPSET, OPSET

_EXTRA = "estimators"


def to_onnx(estimator: Any, width: int, place: str) -> Any:
    """An ``onnx.ModelProto`` with the predictions of ``(N, width)`` float32 rows.

    Raises:
        TrainError: skl2onnx is not installed, or has no converter for a part of the estimator.
    """
    skl2onnx = need("skl2onnx", _EXTRA)
    _register()
    rows = need("skl2onnx.common.data_types", _EXTRA).FloatTensorType([None, width])
    try:
        return skl2onnx.to_onnx(
            estimator,
            initial_types=[("rows", rows)],
            target_opset={"": OPSET, "ai.onnx.ml": ML_OPSET},
            # A quotient as scikit-learn's: by a product, a value next to a threshold of a tree
            # may end on its other side.
            options={StandardScaler: {"div": "div"}},
        )
    except Exception as error:
        first = (str(error).splitlines() or [""])[0]
        raise TrainError(place, f"has no ONNX graph: {type(error).__name__}: {first}") from error


def _register() -> None:
    """Registers converters with skl2onnx: of LightGBM, if both packages of it are there, and of
    histogram boosting."""
    skl2onnx = need("skl2onnx", _EXTRA)
    shapes = need("skl2onnx.common.shape_calculator", _EXTRA)
    skl2onnx.update_registered_converter(
        HistGradientBoostingRegressor,
        "SojournHistGradientBoostingRegressor",
        shapes.calculate_linear_regressor_output_shapes,
        _hist_gradient_boosting,
        overwrite=True,
    )
    try:
        lightgbm = need("lightgbm", "baselines")
        convert = need("onnxmltools.convert.lightgbm.operator_converters.LightGbm", _EXTRA)
    except TrainError:
        return
    skl2onnx.update_registered_converter(
        lightgbm.LGBMRegressor,
        "SojournLightGbmRegressor",
        shapes.calculate_linear_regressor_output_shapes,
        convert.convert_lightgbm,
        options={"split": None},
        overwrite=True,
    )


def _hist_gradient_boosting(scope: Any, operator: Any, container: Any) -> None:
    """The trees of scikit-learn's histogram boosting, with thresholds for float32.

    Thresholds are doubles; the largest float32 not above one decides alike for every float32.
    """
    model = operator.raw_operator
    nodes: dict[str, list[Any]] = {
        name: []
        for name in (
            *("treeids", "nodeids", "featureids", "values", "modes"),
            *("truenodeids", "falsenodeids", "missing_value_tracks_true"),
        )
    }
    leaves: dict[str, list[Any]] = {name: [] for name in ("treeids", "nodeids", "weights")}
    for number, (tree,) in enumerate(model._predictors):
        for at, node in enumerate(tree.nodes):
            is_leaf = bool(node["is_leaf"])
            if node["is_categorical"]:
                raise TrainError(
                    "HistGradientBoostingRegressor", "splits by categories; expected numbers"
                )
            branch = {
                "treeids": number,
                "nodeids": at,
                "featureids": 0 if is_leaf else int(node["feature_idx"]),
                "values": 0.0 if is_leaf else _below(float(node["num_threshold"])),
                "modes": "LEAF" if is_leaf else "BRANCH_LEQ",
                "truenodeids": 0 if is_leaf else int(node["left"]),
                "falsenodeids": 0 if is_leaf else int(node["right"]),
                "missing_value_tracks_true": 0 if is_leaf else int(node["missing_go_to_left"]),
            }
            for name, value in branch.items():
                nodes[name].append(value)
            if is_leaf:
                for name, value in zip(leaves, (number, at, float(node["value"])), strict=True):
                    leaves[name].append(value)
    container.add_node(
        "TreeEnsembleRegressor",
        [operator.inputs[0].full_name],
        [operator.outputs[0].full_name],
        op_domain="ai.onnx.ml",
        op_version=1,
        name=scope.get_unique_operator_name("TreeEnsembleRegressor"),
        n_targets=1,
        post_transform="NONE",
        aggregate_function="SUM",
        base_values=[float(np.ravel(model._baseline_prediction)[0])],
        target_ids=[0] * len(leaves["weights"]),
        **{f"nodes_{name}": values for name, values in nodes.items()},
        **{f"target_{name}": values for name, values in leaves.items()},
    )


def _below(threshold: float) -> float:
    """The largest float32 not above a threshold."""
    rounded = np.float32(threshold)
    if float(rounded) > threshold:
        rounded = np.nextafter(rounded, np.float32(-np.inf))
    return float(rounded)
