"""Recurrent layers of the network: LSTM, and a gated diagonal state space.

LSTM: Hochreiter and Schmidhuber 1997, with forget gate. State space: one selective state per unit
with the gated discretisation of Gu and Dao 2023 (Theorem 1; Feng et al. 2024 call it minGRU), and
an output gate. Its gates do not depend on the state, so that a chunk is one parallel prefix scan
rather than a loop, and a step needs no product with the state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rlc_train.lstm.backend import keras, layers
from rlc_train.lstm.shape import NetworkShape


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """How layers with weights compute.

    Attributes:
        precision: ``float32``, or the type of products and gates beside float32 weights.
        fused: Whether an LSTM may use cuDNN's fused kernel, which is float32 and which XLA on
            TensorFlow cannot compile.
    """

    precision: str = "float32"
    fused: bool = False

    @property
    def policy(self) -> str:
        """Keras's name of it."""
        return "float32" if self.precision == "float32" else f"mixed_{self.precision}"


def layer(
    shape: NetworkShape, name: str, inputs: Any, state: Any, how: Arithmetic
) -> tuple[Any, list[Any]]:
    """``(B, L, U)`` outputs of a recurrent layer, and what it carries, float32, in the order of
    :data:`rlc_train.lstm.shape.CARRIED`; `state` has the same before the chunk."""
    k = keras()
    if shape.kind == "ssm":
        output, memory = layers().StateSpace(shape.units, name=name, dtype=how.policy)(
            inputs, state
        )
        return output, [k.ops.cast(memory, "float32")]
    lstm = k.layers.LSTM(
        shape.units,
        return_sequences=True,
        return_state=True,
        name=name,
        dtype=how.policy,
        use_cudnn="auto" if how.fused and how.precision == "float32" else False,
    )
    initial = [state[:, : shape.units], state[:, shape.units :]]
    output, hidden, cell = lstm(inputs, initial_state=initial)
    return output, [k.ops.cast(hidden, "float32"), k.ops.cast(cell, "float32")]
