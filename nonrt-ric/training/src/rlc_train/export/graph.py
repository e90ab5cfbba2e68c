"""Builds the ONNX graph of a step.

Names and order of the nodes are set here, so that the graph has the contract's signature and does
not depend on the version of a framework.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, checker, helper, numpy_helper
from rlc_model import FEATURES
from rlc_model.contract import SCALE

from rlc_train.errors import TrainError
from rlc_train.horizon import Layout

OPSET: Final = 17
ML_OPSET: Final = 3
"""Version of the domain ``ai.onnx.ml``, which has trees."""
IR_VERSION: Final = 9
_ML: Final = "ai.onnx.ml"


class StepGraph:
    """Builder of a graph with the inputs and outputs of the model contract."""

    def __init__(self, layout: Layout, state_size: int) -> None:
        self._layout = layout
        self._state_size = state_size
        self._nodes: list[Any] = []
        self._constants: dict[str, NDArray[Any]] = {}
        self._scaled = False
        self._has_ml = False

    def constant(self, name: str, values: Any, kind: type = np.float32) -> str:
        """Adds a constant tensor."""
        self._constants[name] = np.asarray(values, kind)
        return name

    def add(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        """Adds a node with one output."""
        self._nodes.append(helper.make_node(operator, inputs, [output], name=output, **attributes))
        return output

    def include(
        self, model: Any, prefix: str, sources: Sequence[str], outputs: Sequence[str]
    ) -> Sequence[str]:
        """Adds the nodes of another model.

        Args:
            model: An ``onnx.ModelProto`` of :data:`OPSET`, without functions.
            prefix: Of the names of its nodes and tensors.
            sources: Tensors in place of its inputs, in order.
            outputs: Names of its outputs, in order.

        Raises:
            TrainError: It has other numbers of inputs or outputs, or functions.
        """
        inside = model.graph
        counts = len(inside.input), len(inside.output)
        if counts != (len(sources), len(outputs)) or model.functions:
            raise TrainError(
                prefix,
                f"is a graph with {counts[0]} inputs, {counts[1]} outputs and"
                f" {len(model.functions)} functions; expected {len(sources)} inputs and"
                f" {len(outputs)} outputs",
            )
        given = zip(inside.input, sources, strict=True)
        names = {"": "", **{tensor.name: source for tensor, source in given}}

        def renamed(name: str) -> str:
            return names.setdefault(name, f"{prefix}/{name}")

        for weight in inside.initializer:
            self._constants[renamed(weight.name)] = numpy_helper.to_array(weight)
        for number, node in enumerate(inside.node):
            own = type(node)()
            own.CopyFrom(node)
            own.name = f"{prefix}/{number}"
            own.input[:] = [renamed(name) for name in node.input]
            own.output[:] = [renamed(name) for name in node.output]
            self._has_ml |= node.domain == _ML
            self._nodes.append(own)
        for tensor, output in zip(inside.output, outputs, strict=True):
            # An output may be an input, or one that another output has as well.
            self.add("Identity", [renamed(tensor.name)], output)
        return outputs

    def split(self, source: str, sizes: list[int], names: list[str]) -> list[str]:
        """Splits the columns of a ``(B, …)`` tensor."""
        self.constant(f"{source}_sizes", sizes, np.int64)
        self._nodes.append(
            helper.make_node(
                "Split", [source, f"{source}_sizes"], names, name=f"{source}_split", axis=1
            )
        )
        return names

    def reshaped(self, source: str, output: str) -> str:
        """``(B, Q·M·K)`` as ``(B, Q, M, K)``."""
        shape = self.constant(f"{output}_shape", [-1, *self._layout.shape], np.int64)
        return self.add("Reshape", [source, shape], output)

    def scale(self, source: str) -> str:
        """``(B, Q·M)`` as the output that the forecaster multiplies the forecasts by."""
        self._scaled = True
        shape = self.constant("scale_shape", [-1, *self._layout.shape[:-1]], np.int64)
        return self.add("Reshape", [source, shape], SCALE)

    def to_bytes(self) -> bytes:
        """The model.

        Raises:
            onnx.checker.ValidationError: The graph is invalid, due to a bug.
        """
        real, shape = TensorProto.FLOAT, self._layout.shape
        scale = helper.make_tensor_value_info(SCALE, real, ["batch", *shape[:-1]])
        graph = helper.make_graph(
            self._nodes,
            "step",
            [
                helper.make_tensor_value_info("sample", real, ["batch", len(FEATURES)]),
                helper.make_tensor_value_info("state", real, ["batch", self._state_size]),
            ],
            [
                helper.make_tensor_value_info("forecast", real, ["batch", *shape]),
                *([scale] if self._scaled else []),
                helper.make_tensor_value_info("next_state", real, ["batch", self._state_size]),
            ],
            [numpy_helper.from_array(value, name) for name, value in self._constants.items()],
        )
        model = helper.make_model(
            graph,
            opset_imports=[
                helper.make_opsetid("", OPSET),
                *([helper.make_opsetid(_ML, ML_OPSET)] if self._has_ml else []),
            ],
            ir_version=IR_VERSION,
            producer_name="rlc-train",
        )
        checker.check_model(model, full_check=True)
        return model.SerializeToString()


def moving_mean(graph: StepGraph, name: str, value: str, before: str, weight: str) -> str:
    """``before + weight · (value − before)``."""
    graph.add("Sub", [value, before], f"{name}_off")
    graph.add("Mul", [f"{name}_off", weight], f"{name}_move")
    return graph.add("Add", [before, f"{name}_move"], name)
