"""Recurrent layers of the network: LSTM, and a gated diagonal state space.

LSTM: Hochreiter and Schmidhuber 1997, with forget gate. State space: one selective state per unit
with the gated discretisation of Gu and Dao 2023 (Theorem 1; Feng et al. 2024 call it minGRU), and
an output gate. Its gates do not depend on the state, so that a chunk is one parallel prefix scan
rather than a loop, and a step needs no product with the state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from rlc_train.lstm.backend import keras
from rlc_train.lstm.shape import NetworkShape

MEMORIES: Final = (2.0, 512.0)
"""Time constants of the first and the last unit of an untrained state space, in samples: from one
slot's to the mean's of the views."""


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
        output, memory = _state_space()(shape.units, name=name, dtype=how.policy)(inputs, state)
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


def _prefixes(ops: Any, share: Any, added: Any) -> tuple[Any, Any]:
    """The maps ``h → share·h + added`` of ``(B, L, U)`` samples, each after all before it, by
    doubling (Hillis and Steele 1986): a few large operations instead of L small ones."""
    length, distance = share.shape[1], 1
    while distance < length:
        before = ((0, 0), (distance, 0), (0, 0))
        added = added + share * ops.pad(added[:, :-distance], before)
        share = share * ops.pad(share[:, :-distance], before, constant_values=1)
        distance *= 2
    return share, added


def _state_space() -> Any:
    """The layer's class."""
    k = keras()
    ops = k.ops

    @k.saving.register_keras_serializable("rlc_train")
    class StateSpace(k.layers.Layer):  # type: ignore[name-defined, misc]
        """``h' = a·h + (1 − a)·v``, output ``h'·σ(z)``, with ``σ⁻¹(a)``, z and v linear in the
        inputs."""

        def __init__(self, units: int, **named: Any) -> None:
            super().__init__(**named)
            self.units = units

        def build(self, inputs_shape: Any, state_shape: Any) -> None:
            del state_shape
            low, high = MEMORIES
            memories = np.geomspace(low, high, self.units)
            # A share 1 − 1/n is kept of a value at each sample for a time constant of n.
            bias = np.concatenate([np.log(memories - 1), np.zeros(2 * self.units)])
            self.kernel = self.add_weight(
                shape=(inputs_shape[-1], 3 * self.units),
                initializer="glorot_uniform",
                name="kernel",
            )
            self.bias = self.add_weight(
                shape=(3 * self.units,),
                initializer=lambda shape, dtype=None: ops.convert_to_tensor(bias, dtype),
                name="bias",
            )

        def call(self, inputs: Any, state: Any) -> Any:
            linear = ops.matmul(inputs, self.kernel) + self.bias
            kept, shown, value = ops.split(linear, 3, axis=-1)
            kept = ops.sigmoid(kept)

            share, added = _prefixes(ops, kept, (1 - kept) * value)
            memory = share * state[:, None] + added
            return memory * ops.sigmoid(shown), memory[:, -1]

        def compute_output_shape(self, inputs_shape: Any, state_shape: Any) -> Any:
            return (*inputs_shape[:-1], self.units), state_shape

    return StateSpace
