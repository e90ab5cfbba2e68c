"""ONNX graphs are checked before a runtime loads them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from rlc_model.errors import ContractError
from rlc_model.graph import MAX_NODES, check_graph


def model(*nodes: Any, weights: list[TensorProto] | None = None, **options: Any) -> bytes:
    graph = helper.make_graph(
        list(nodes) or [helper.make_node("Tanh", ["sample"], ["forecast"])],
        "step",
        [helper.make_tensor_value_info("sample", TensorProto.FLOAT, ["batch", 9])],
        [helper.make_tensor_value_info("forecast", TensorProto.FLOAT, None)],
        weights or [],
    )
    data: bytes = helper.make_model(graph, **options).SerializeToString()
    return data


def weight(values: list[float], name: str = "w", dtype: Any = np.float32) -> TensorProto:
    return numpy_helper.from_array(np.array(values, dtype), name)


def test_a_plain_graph_passes() -> None:
    typed = helper.make_tensor("t", TensorProto.FLOAT, [2], [1.0, 2.0])
    scalar = weight([], "none")
    shape = numpy_helper.from_array(np.array([-1, 2], np.int64), "shape")
    check_graph(model(weights=[weight([1.0, -2.0]), typed, scalar, shape]))
    trees = helper.make_node(
        "TreeEnsembleRegressor", ["sample"], ["x"], domain="ai.onnx.ml", nodes_values=[0.5, 1.5]
    )
    check_graph(model(trees))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_non_finite_weight_is_named(bad: float, dtype: Any) -> None:
    data = model(weights=[weight([1.0], "fine"), weight([0.0, bad, 1.0], "kernel", dtype)])
    with pytest.raises(
        ContractError, match=r"model.onnx: weight kernel: is NaN or infinite at element 1"
    ):
        check_graph(data)


@pytest.mark.parametrize(
    ("place", "part"),
    [
        ("typed", helper.make_tensor("typed", TensorProto.FLOAT, [2], [1.0, np.nan])),
        ("Constant.value", helper.make_node("Constant", [], ["c"], value=weight([np.inf], ""))),
        (
            "TreeEnsembleRegressor.nodes_values",
            helper.make_node(
                "TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", nodes_values=[np.nan]
            ),
        ),
        ("Elu.alpha", helper.make_node("Elu", ["x"], ["y"], alpha=float("nan"))),
    ],
)
def test_non_finite_values_are_found_in_tensors_and_attributes(place: str, part: Any) -> None:
    data = model(weights=[part]) if isinstance(part, TensorProto) else model(part)
    with pytest.raises(ContractError, match=f"weight {re.escape(place)}"):
        check_graph(data)


@pytest.mark.parametrize("operator", ["Loop", "ConstantOfShape", "Expand", "RandomNormal", "Tile"])
def test_a_refused_operator_is_named(operator: str) -> None:
    with pytest.raises(ContractError, match=f"operator {operator}: is not allowed in a step"):
        check_graph(model(helper.make_node(operator, ["a"], ["b"])))


def test_a_subgraph_is_refused() -> None:
    inner = onnx.parser.parse_graph("inner (float[1] x) => (float[1] y) { y = Tanh(x) }")
    with pytest.raises(ContractError, match="operator Map: contains a subgraph"):
        check_graph(model(helper.make_node("Map", ["a"], ["b"], body=inner)))


def test_an_operator_of_another_domain_is_refused() -> None:
    with pytest.raises(ContractError, match=r"operator Exec: is of domain 'com\.example'"):
        check_graph(model(helper.make_node("Exec", ["a"], ["b"], domain="com.example")))


def test_weights_in_another_file_are_refused() -> None:
    external = weight([1.0])
    external.data_location = TensorProto.EXTERNAL
    external.external_data.add(key="location", value="/etc/passwd")
    with pytest.raises(ContractError, match="weight w: refers to another file"):
        check_graph(model(weights=[external]))


def test_a_weight_shorter_than_its_shape_is_refused() -> None:
    huge = weight([1.0, 2.0])
    huge.dims[:] = [2**40, 2**20]
    with pytest.raises(ContractError, match=r"weight w: has 8 bytes for shape"):
        check_graph(model(weights=[huge]))


def test_a_huge_graph_is_refused() -> None:
    nodes = [helper.make_node("Tanh", [f"{k}"], [f"{k + 1}"]) for k in range(MAX_NODES + 1)]
    with pytest.raises(ContractError, match="has 10001 nodes; expected at most 10000"):
        check_graph(model(*nodes))


def test_functions_are_refused() -> None:
    function = helper.make_function(
        "own", "F", ["x"], ["y"], [helper.make_node("Tanh", ["x"], ["y"])], []
    )
    with pytest.raises(ContractError, match="defines functions"):
        check_graph(model(functions=[function]))


@settings(max_examples=300)
@given(st.binary(max_size=60), st.integers(0, 400))
def test_arbitrary_bytes_raise_only_contract_errors(noise: bytes, at: int) -> None:
    whole = model(weights=[weight([1.0, 2.0])])
    for data in (noise, whole[:at], whole[:at] + noise + whole[at:]):
        try:
            check_graph(data)
        except ContractError as error:
            assert str(error).startswith("model.onnx")
