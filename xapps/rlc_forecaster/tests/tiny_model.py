"""A small valid model: a recurrent layer and a linear head."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from rlc_model import FEATURES, Manifest, Quantity, write_contract
from rlc_model.manifest import ExporterCheck, Horizon, Scaler, TrainingData

STATE = 8
QUANTITIES = [Quantity.OCCUPANCY, Quantity.DRAIN]
QUANTILES = [0.1, 0.5, 0.9]
POINTS = 5
MAXIMUM = [1e5, 1e4, 1e4, 1e6, 1e6, 1e3, 1e6, 28.0, 1e5]


def weights(seed: int = 7) -> dict[str, np.ndarray]:
    """Small random weights with non-zero biases."""
    rng = np.random.default_rng(seed)
    outputs = len(QUANTITIES) * POINTS * len(QUANTILES)

    def normal(*shape: int) -> np.ndarray:
        return (0.1 * rng.standard_normal(shape)).astype(np.float32)

    return {
        "w": normal(len(FEATURES), STATE),
        "u": normal(STATE, STATE),
        "b": normal(STATE),
        "v": normal(STATE, outputs),
        "c": normal(outputs),
    }


def graph(
    values: dict[str, np.ndarray],
    *,
    features: int = len(FEATURES),
    scale_out: bool | None = None,
    further: Sequence[onnx.NodeProto] = (),
) -> bytes:
    """The ONNX step: ``h = tanh(x·w + s·u + b)``, ``forecast = reshape(h·v + c)``.

    With a scale ``|h·k|`` per quantity and point: an output if `scale_out`, a factor within the
    graph if it is False. `further` nodes compute `extra` from `sum`, which is added to the next
    state.
    """
    shape = np.array([-1, len(QUANTITIES), POINTS, len(QUANTILES)], np.int64)
    nodes = [
        helper.make_node("Gemm", ["sample", "w", "b"], ["x"]),
        helper.make_node("MatMul", ["state", "u"], ["s"]),
        helper.make_node("Add", ["x", "s"], ["sum"]),
        helper.make_node("Tanh", ["sum"], ["before" if further else "next_state"]),
        helper.make_node("Gemm", ["next_state", "v", "c"], ["flat"]),
        helper.make_node(
            "Reshape", ["flat", "shape"], ["unscaled" if scale_out is False else "forecast"]
        ),
    ]
    if further:
        nodes[4:4] = [*further, helper.make_node("Add", ["before", "extra"], ["next_state"])]
    values = values | {"shape": shape}
    scale = []
    if scale_out is not None:
        wide = np.linspace(-3, 5, STATE * len(QUANTITIES) * POINTS, dtype=np.float32)
        values["k"] = wide.reshape(STATE, -1)
        values["scale_shape"] = shape[:-1]
        nodes.append(helper.make_node("MatMul", ["next_state", "k"], ["signed"]))
        nodes.append(helper.make_node("Abs", ["signed"], ["scale_flat"]))
        nodes.append(helper.make_node("Reshape", ["scale_flat", "scale_shape"], ["scale"]))
    if scale_out:
        scale = [
            helper.make_tensor_value_info(
                "scale", TensorProto.FLOAT, ["batch", *shape[1:-1].tolist()]
            )
        ]
    elif scale_out is False:
        values["axes"] = np.array([3], np.int64)
        nodes.append(helper.make_node("Unsqueeze", ["scale", "axes"], ["factor"]))
        nodes.append(helper.make_node("Mul", ["unscaled", "factor"], ["forecast"]))
    made = helper.make_graph(
        nodes,
        "step",
        [
            helper.make_tensor_value_info("sample", TensorProto.FLOAT, ["batch", features]),
            helper.make_tensor_value_info("state", TensorProto.FLOAT, ["batch", STATE]),
        ],
        [
            helper.make_tensor_value_info(
                "forecast", TensorProto.FLOAT, ["batch", *shape[1:].tolist()]
            ),
            helper.make_tensor_value_info("next_state", TensorProto.FLOAT, ["batch", STATE]),
            *scale,
        ],
        [numpy_helper.from_array(value, name) for name, value in values.items()],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def manifest(version: str = "1", warm_up_steps: int = 3) -> Manifest:
    """The tiny model's manifest."""
    return Manifest(
        model_name="tiny",
        model_version=version,
        features=list(FEATURES),
        scaler=Scaler(minimum=[0.0] * len(FEATURES), maximum=MAXIMUM),
        quantities=QUANTITIES,
        target="residual",
        horizon=Horizon(points_us=tuple(1_000 * (2 + k) for k in range(POINTS))),
        quantiles=QUANTILES,
        state_size=STATE,
        warm_up_steps=warm_up_steps,
        training_data=TrainingData(description="none: random weights", sha256="0" * 64),
        exporter_check=ExporterCheck(steps=1, max_abs_difference=0.0),
    )


def write(
    directory: Path, version: str = "1", *, scale_out: bool | None = None, **options: int
) -> Path:
    """Writes a tiny model directory."""
    made = graph(weights(), scale_out=scale_out)
    write_contract(directory, manifest(version, **options), made)
    return directory
