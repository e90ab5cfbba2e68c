"""A graph is looked through before a runtime is given it."""

from __future__ import annotations

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
def test_a_weight_that_is_no_number_is_named(bad: float, dtype: Any) -> None:
    data = model(weights=[weight([1.0], "fine"), weight([0.0, bad, 1.0], "kernel", dtype)])
    with pytest.raises(
        ContractError, match=r"model.onnx: weight kernel: is NaN or infinite at element 1"
    ):
        check_graph(data)


def test_numbers_that_are_none_are_found_wherever_they_hide() -> None:
    typed = helper.make_tensor("typed", TensorProto.FLOAT, [2], [1.0, np.nan])
    with pytest.raises(ContractError, match="weight typed"):
        check_graph(model(weights=[typed]))
    constant = helper.make_node("Constant", [], ["c"], value=weight([np.inf], ""))
    with pytest.raises(ContractError, match=r"weight Constant\.value"):
        check_graph(model(constant))
    trees = helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", nodes_values=[0.5, np.nan]
    )
    with pytest.raises(ContractError, match=r"weight TreeEnsembleRegressor\.nodes_values"):
        check_graph(model(trees))
    alpha = helper.make_node("Elu", ["x"], ["y"], alpha=float("nan"))
    with pytest.raises(ContractError, match=r"weight Elu\.alpha"):
        check_graph(model(alpha))


@pytest.mark.parametrize("operator", ["Loop", "ConstantOfShape", "Expand", "RandomNormal", "Tile"])
def test_what_a_step_may_not_have_is_named(operator: str) -> None:
    with pytest.raises(ContractError, match=f"operator {operator}: is not one that a step"):
        check_graph(model(helper.make_node(operator, ["a"], ["b"])))


def test_a_graph_within_the_graph_is_refused() -> None:
    inner = onnx.parser.parse_graph("inner (float[1] x) => (float[1] y) { y = Tanh(x) }")
    with pytest.raises(ContractError, match="operator Map: holds a graph of its own"):
        check_graph(model(helper.make_node("Map", ["a"], ["b"], body=inner)))


def test_an_operator_of_somebody_elses_is_refused() -> None:
    with pytest.raises(ContractError, match=r"operator Exec: is of 'com\.example', not of ONNX"):
        check_graph(model(helper.make_node("Exec", ["a"], ["b"], domain="com.example")))


def test_weights_in_another_file_are_refused() -> None:
    outside = weight([1.0])
    outside.data_location = TensorProto.EXTERNAL
    outside.external_data.add(key="location", value="/etc/passwd")
    with pytest.raises(ContractError, match="weight w: lies in another file"):
        check_graph(model(weights=[outside]))


def test_a_weight_that_claims_more_than_it_has_is_refused() -> None:
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
    with pytest.raises(ContractError, match="defines functions of its own"):
        check_graph(model(functions=[function]))


@settings(max_examples=300)
@given(st.binary(max_size=60), st.integers(0, 400))
def test_whatever_the_bytes_are_it_is_a_contract_error(noise: bytes, at: int) -> None:
    whole = model(weights=[weight([1.0, 2.0])])
    for data in (noise, whole[:at], whole[:at] + noise + whole[at:]):
        try:
            check_graph(data)
        except ContractError as error:
            assert str(error).startswith("model.onnx")
