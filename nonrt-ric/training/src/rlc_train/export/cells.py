"""ONNX nodes of the recurrent layers, from the weights of :mod:`rlc_train.lstm.cells`.

``lstm``: kernel (in, 4U), recurrent kernel (U, 4U) and bias (4U,), gates in Keras' order i, f, c,
o.
``ssm``: kernel (in, 3U) and bias (3U,) of kept share, shown share and value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rlc_train.export.graph import StepGraph


def cell(
    graph: StepGraph,
    kind: str,
    layer: int,
    inputs: list[str],
    *,
    weights: list[NDArray[np.float32]],
    extra: NDArray[np.float32] | None,
) -> tuple[str, list[str]]:
    """One recurrent layer: its output and its next state.

    Args:
        graph: The graph.
        kind: ``lstm`` or ``ssm``.
        layer: Index of the layer.
        inputs: Input tensors, concatenated.
        weights: Of the layer.
        extra: ``(in, R)`` kernel whose product with the inputs is the output ``narrow_seen``.
    """
    return (_lstm if kind == "lstm" else _state_space)(graph, layer, inputs, weights, extra)


def _lstm(
    graph: StepGraph,
    layer: int,
    inputs: list[str],
    weights: list[NDArray[np.float32]],
    extra: NDArray[np.float32] | None,
) -> tuple[str, list[str]]:
    """``c' = σ(f)·c + σ(i)·tanh(g)``, ``h' = σ(o)·tanh(c')``."""
    name = f"lstm_{layer}"
    kernel, recurrent, bias = weights
    units = len(recurrent)
    sizes, parts = [units] * 4, [f"{name}_{gate}" for gate in ("i", "f", "g", "o")]
    if extra is not None:
        rank = extra.shape[1]
        kernel = np.concatenate([kernel, extra], axis=1)
        recurrent = np.pad(recurrent, ((0, 0), (0, rank)))
        bias = np.pad(bias, (0, rank))
        sizes, parts = [*sizes, rank], [*parts, "narrow_seen"]
    graph.constant(f"{name}_weights", np.concatenate([kernel, recurrent]))
    graph.constant(f"{name}_bias", bias)
    graph.add("Concat", [*inputs, f"hidden_{layer}_before"], f"{name}_in", axis=1)
    graph.add("Gemm", [f"{name}_in", f"{name}_weights", f"{name}_bias"], f"{name}_gates")
    graph.split(f"{name}_gates", sizes, parts)
    for gate in ("i", "f", "o"):
        graph.add("Sigmoid", [f"{name}_{gate}"], f"{name}_{gate}_open")
    graph.add("Tanh", [f"{name}_g"], f"{name}_new")
    graph.add("Mul", [f"{name}_f_open", f"cell_{layer}_before"], f"{name}_kept")
    graph.add("Mul", [f"{name}_i_open", f"{name}_new"], f"{name}_added")
    kept = graph.add("Add", [f"{name}_kept", f"{name}_added"], f"cell_{layer}")
    graph.add("Tanh", [kept], f"{name}_squashed")
    hidden = graph.add("Mul", [f"{name}_o_open", f"{name}_squashed"], f"hidden_{layer}")
    return hidden, [hidden, kept]


def _state_space(
    graph: StepGraph,
    layer: int,
    inputs: list[str],
    weights: list[NDArray[np.float32]],
    extra: NDArray[np.float32] | None,
) -> tuple[str, list[str]]:
    """``h' = v + σ(k)·(h − v)``, output ``h'·σ(z)``."""
    name = f"ssm_{layer}"
    kernel, bias = weights
    units = len(bias) // 3
    sizes, parts = [2 * units, units], [f"{name}_gates", f"{name}_value"]
    if extra is not None:
        kernel = np.concatenate([kernel, extra], axis=1)
        bias = np.pad(bias, (0, extra.shape[1]))
        sizes, parts = [*sizes, extra.shape[1]], [*parts, "narrow_seen"]
    graph.constant(f"{name}_weights", kernel)
    graph.constant(f"{name}_bias", bias)
    if len(inputs) > 1:
        inputs = [graph.add("Concat", inputs, f"{name}_in", axis=1)]
    graph.add("Gemm", [*inputs, f"{name}_weights", f"{name}_bias"], f"{name}_linear")
    graph.split(f"{name}_linear", sizes, parts)
    graph.add("Sigmoid", [f"{name}_gates"], f"{name}_open")
    graph.split(f"{name}_open", [units, units], [f"{name}_share", f"{name}_shown"])
    graph.add("Sub", [f"memory_{layer}_before", f"{name}_value"], f"{name}_off")
    graph.add("Mul", [f"{name}_off", f"{name}_share"], f"{name}_kept")
    memory = graph.add("Add", [f"{name}_value", f"{name}_kept"], f"memory_{layer}")
    output = graph.add("Mul", [memory, f"{name}_shown"], f"{name}_output")
    return output, [memory]
