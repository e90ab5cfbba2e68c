"""A user's recurrent layer: any cell of Keras, in the network and as ONNX.

The function that ``network.build`` names returns one of

- a cell as ``keras.layers.RNN`` takes it (``GRUCell``, ``StackedRNNCells``, a layer of the user
  with ``state_size`` and ``call(inputs, states) → output, states``), with vectors as states;
- a layer without state from ``(B, I)`` to ``(B, O)``, as a ``Sequential`` of ``Dense``.

Its inputs are the views of a sample, its outputs go to the head with them, as those of the LSTM.
A step of the cell alone is exported, so that the graph has no loop.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np

from rlc_train import imports
from rlc_train.errors import TrainError, need
from rlc_train.export.graph import OPSET
from rlc_train.lstm.backend import choose, keras
from rlc_train.lstm.shape import INPUTS, NetworkShape

PLACE: Final = "network.build"
NAME: Final = "custom_0"
"""Name of the layer in the network."""


@dataclass(frozen=True, slots=True)
class CellGraph:
    """A cell as an ONNX model.

    Attributes:
        model: ``onnx.ModelProto`` from ``(B, I)`` inputs and the states to ``(B, O)`` output and
            the next states.
        state_sizes: Floats of each state.
    """

    model: Any
    state_sizes: tuple[int, ...]


def make(shape: NetworkShape) -> Any:
    """The user's cell or layer.

    Raises:
        TrainError: The function is not found or fails, or returns something else.
    """
    function = imports.load(shape.build or "", PLACE)
    try:
        made = function(**shape.parameters)
    except Exception as error:
        raise TrainError(PLACE, f"{shape.build} fails: {type(error).__name__}: {error}") from error
    if not isinstance(made, keras().layers.Layer):
        raise TrainError(
            PLACE,
            f"{shape.build} returns {type(made).__name__}; expected a cell or a layer of Keras",
        )
    return made


def is_cell(layer: Any) -> bool:
    """Whether a layer is a cell of a recurrent layer."""
    return hasattr(layer, "state_size")


def state_sizes(layer: Any) -> list[int]:
    """Floats of each state of a cell; none of a layer without.

    Raises:
        TrainError: A state is no vector.
    """
    if not is_cell(layer):
        return []
    sizes = keras().tree.flatten(layer.state_size)
    for size in sizes:
        if not isinstance(size, int) or size < 1:
            raise TrainError(PLACE, f"state_size {layer.state_size}; expected sizes of vectors")
    return list(sizes)


def add(shape: NetworkShape, inputs: Any, state: Any) -> tuple[Any, list[Any]]:
    """``(B, L, O)`` outputs of the layer on ``(B, L, I)`` inputs, and its states after the chunk;
    `state` is ``(B, ·)`` before it."""
    k = keras()
    layer = make(shape)
    if not is_cell(layer):
        return k.layers.TimeDistributed(layer, name=NAME)(inputs), []
    initial = k.tree.pack_sequence_as(layer.state_size, _split(state, state_sizes(layer)))
    shown, _ = layer(inputs[:, 0], initial)
    declared = getattr(layer, "output_size", state_sizes(layer)[0])
    if shown.shape[-1] != declared:
        raise TrainError(
            PLACE,
            f"{shape.build} has outputs of {shown.shape[-1]}, output_size or the first of"
            f" state_size is {declared}; expected the same",
        )
    run = k.layers.RNN(layer, return_sequences=True, return_state=True, name=NAME)
    output, *after = run(inputs, initial_state=initial)
    return output, [k.ops.cast(one, "float32") for one in k.tree.flatten(after)]


def _split(state: Any, sizes: Sequence[int]) -> list[Any]:
    ends = np.cumsum([0, *sizes]).tolist()
    return [state[:, first:last] for first, last in pairwise(ends)]


def cell_graph(model: Any) -> CellGraph:
    """The trained layer of a network as ONNX, by tf2onnx.

    Raises:
        TrainError: Keras does not run on TensorFlow, tf2onnx is not installed, or an operation has
            no counterpart in ONNX.
    """
    if choose() != "tensorflow":
        raise TrainError(PLACE, "is exported on TensorFlow alone; expected --backend tensorflow")
    tf, convert = need("tensorflow", "tensorflow"), need("tf2onnx", "tensorflow").convert
    with warnings.catch_warnings():
        # Keras asks whether NumPy still has `object`, and NumPy warns.
        warnings.simplefilter("ignore", FutureWarning)
        need("keras.src.export.tf2onnx_lib", "tensorflow").patch_tf2onnx()
    outer = model.get_layer(NAME)
    layer = outer.cell if hasattr(outer, "cell") else outer.layer
    sizes = state_sizes(layer)
    widths = [INPUTS, *sizes]

    def step(*given: Any) -> Any:
        inputs, *states = given
        if not is_cell(layer):
            return [layer(inputs, training=False)]
        before = keras().tree.pack_sequence_as(layer.state_size, states)
        output, after = layer(inputs, before, training=False)
        return [output, *keras().tree.flatten(after)]

    signature = [
        tf.TensorSpec((None, width), tf.float32, name=f"given_{at}")
        for at, width in enumerate(widths)
    ]
    try:
        traced = tf.function(step, input_signature=signature, autograph=False)
        graph, _ = convert.from_function(traced, input_signature=signature, opset=OPSET)
    except Exception as error:
        first = (str(error).splitlines() or [""])[0]
        raise TrainError(PLACE, f"has no ONNX graph: {type(error).__name__}: {first}") from error
    return CellGraph(graph, tuple(sizes))
