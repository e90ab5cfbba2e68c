"""Keras classes of the network: its layers, and the model that trains with carried state.

Importing this module loads Keras on the backend of the process and registers the classes, so that
``keras.models.load_model`` reads ``model.keras`` of a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from rlc_model import FEATURES

from rlc_train.errors import TrainError
from rlc_train.lstm.backend import choose, keras, tensorflow
from rlc_train.lstm.engine import Engine, JaxEngine, StepEngine
from rlc_train.lstm.lanes import Batch, Epochs
from rlc_train.lstm.objective import Objective
from rlc_train.lstm.shape import FAST_WEIGHT, MEAN_WEIGHT, SLOW_AT_FIRST

k: Any = keras()
ops: Any = k.ops

MEMORIES: Final = (2.0, 512.0)
"""Time constants of the first and the last unit of an untrained state space, in samples: from one
slot's to the mean's of the views."""
_registered = k.saving.register_keras_serializable("rlc_train")


def _prefixes(share: Any, added: Any) -> tuple[Any, Any]:
    """The maps ``h → share·h + added`` of ``(B, L, U)`` samples, each after all before it, by
    doubling (Hillis and Steele 1986): a few large operations instead of L small ones."""
    length, distance = share.shape[1], 1
    while distance < length:
        before = ((0, 0), (distance, 0), (0, 0))
        added = added + share * ops.pad(added[:, :-distance], before)
        share = share * ops.pad(share[:, :-distance], before, constant_values=1)
        distance *= 2
    return share, added


@_registered
class StateSpace(k.layers.Layer):  # type: ignore[misc]
    """``h' = a·h + (1 − a)·v``, output ``h'·σ(z)``, with ``σ⁻¹(a)``, z and v linear in the
    inputs."""

    def __init__(self, units: int, **named: Any) -> None:
        super().__init__(**named)
        self.units = units

    def build(self, inputs_shape: Any, state_shape: Any) -> None:
        """Adds the weights."""
        del state_shape
        low, high = MEMORIES
        memories = np.geomspace(low, high, self.units)
        # A share 1 − 1/n is kept of a value at each sample for a time constant of n.
        bias = np.concatenate([np.log(memories - 1), np.zeros(2 * self.units)])
        self.kernel = self.add_weight(
            shape=(inputs_shape[-1], 3 * self.units), initializer="glorot_uniform", name="kernel"
        )
        self.bias = self.add_weight(
            shape=(3 * self.units,),
            initializer=lambda shape, dtype=None: ops.convert_to_tensor(bias, dtype),
            name="bias",
        )

    def call(self, inputs: Any, state: Any) -> Any:
        """``(B, L, ·)`` and ``(B, U)`` to ``(B, L, U)`` and ``(B, U)``."""
        linear = ops.matmul(inputs, self.kernel) + self.bias
        kept, shown, value = ops.split(linear, 3, axis=-1)
        kept = ops.sigmoid(kept)
        share, added = _prefixes(kept, (1 - kept) * value)
        memory = share * state[:, None] + added
        return memory * ops.sigmoid(shown), memory[:, -1]

    def compute_output_shape(self, inputs_shape: Any, state_shape: Any) -> Any:
        """Shapes of output and state."""
        return (*inputs_shape[:-1], self.units), state_shape


@_registered
class Moments(k.layers.Layer):  # type: ignore[misc]
    """``m ← m + w·(x − m)`` and ``d ← d + v·(|x − m| − d)``, sample by sample, with a slow and
    a fast w: ``(B, L, F)`` to twice ``(B, L, 2F)``.

    A loop, because a product with powers of 1 − w rounds differently from the exported step,
    which is visible for nearly constant features. Has no gradient, as it has no weights.
    """

    def call(self, values: Any, mean: Any, deviation: Any) -> Any:
        """Means and deviations after each sample."""
        weights = np.repeat([MEAN_WEIGHT, FAST_WEIGHT], len(FEATURES)).astype(np.float32)

        def step(carried: Any, value: Any) -> Any:
            m, d = carried
            m = m + (value - m) * weights
            d = d + (ops.absolute(value - m) - d) * MEAN_WEIGHT
            return (m, d), (m, d)

        both = ops.concatenate([values, values], axis=-1)
        by_time = ops.transpose(ops.stop_gradient(both), (1, 0, 2))
        _, (means, deviations) = ops.scan(
            step, (ops.stop_gradient(mean), ops.stop_gradient(deviation)), by_time
        )
        axes = (1, 0, 2)
        return ops.transpose(means, axes), ops.transpose(deviations, axes)

    def compute_output_shape(self, values_shape: Any, mean_shape: Any, deviation_shape: Any) -> Any:
        """Shapes of means and deviations."""
        del deviation_shape
        shape = (*values_shape[:-1], mean_shape[-1])
        return shape, shape


@_registered
class Unit(k.layers.Layer):  # type: ignore[misc]
    """``e^a · s + e^b · f``, ``(B, L, Q)`` to ``(B, L, Q, M)``, with learned a and b; at first
    little more than the fast one."""

    def __init__(self, quantities: int, points: int, **named: Any) -> None:
        super().__init__(**named)
        shape = (2, quantities, points)
        first = np.stack([np.full(shape[1:], SLOW_AT_FIRST), np.zeros(shape[1:])])
        self.logs = self.add_weight(
            shape=shape, initializer=lambda *_, **__: ops.cast(first, "float32"), name="logs"
        )

    def call(self, slow: Any, fast: Any) -> Any:
        """The unit of each quantity's and point's residuals, from its two deviations."""
        weights = ops.exp(self.logs)
        return slow[..., None] * weights[0] + fast[..., None] * weights[1]

    def compute_output_shape(self, slow_shape: Any, fast_shape: Any) -> Any:
        """Shape of the units."""
        del fast_shape
        return (*slow_shape, self.logs.shape[-1])


@_registered
class StreamingModel(k.Model):  # type: ignore[misc]
    """``[(B, L, F) samples, (B, S) state] → [(B, L, Q, M, K) forecasts, (B, S) state]``.

    Trains by truncated back-propagation through time: each batch continues the samples of the one
    before, whose last state it starts from as a value, without a gradient. On TensorFlow a batch is
    a :meth:`train_step`; on JAX blocks of batches are a compiled loop
    (:class:`~rlc_train.lstm.engine.JaxEngine`).
    """

    def compile(self, optimizer: Any, objective: Objective, *, jit_compile: bool = False) -> None:
        """Sets optimiser and objective; `jit_compile` has XLA compile a step on TensorFlow."""
        super().compile(optimizer=optimizer, jit_compile=jit_compile)
        self.objective = objective
        optimizer.build(self.trainable_variables)
        self._engine: Engine
        if choose() == "jax":
            self._engine = JaxEngine(objective, optimizer)
        else:
            self._engine = StepEngine(self, xla=jit_compile)

    def train_step(self, data: tuple[Batch, Any]) -> dict[str, Any]:
        """Learns from a batch (TensorFlow).

        Args:
            data: The batch, and ``(B, S)`` state before it.

        Returns:
            ``loss``, the number of labels ``known`` that it is the mean of, and the ``state`` after
            the batch.
        """
        tf = tensorflow()
        batch, state = data
        with tf.GradientTape() as tape:
            loss, known, after = self.objective(batch, state, training=True)
            scaled = self.optimizer.scale_loss(loss)
        variables = self.trainable_variables
        self.optimizer.apply(tape.gradient(scaled, variables), variables)
        return {"loss": loss, "known": known, "state": after}

    def test_step(self, data: tuple[Batch, Any]) -> dict[str, Any]:
        """The same without learning."""
        loss, known, after = self.objective(*data, training=False)
        return {"loss": loss, "known": known, "state": after}

    def fit(
        self,
        x: Epochs,
        *,
        epochs: int = 1,
        initial_epoch: int = 0,
        validation_data: Epochs | None = None,
        callbacks: Sequence[Any] = (),
    ) -> Any:
        """Trains for the epochs from `initial_epoch` to before `epochs`.

        The batches of an epoch follow from its number, not from those before, so that a training
        may go on. Callbacks get ``loss`` and, with validation data, ``val_loss``, and at each batch
        the number of ``batches`` of the epoch; ``stop_training`` ends the training.

        Returns:
            Keras's history.

        Raises:
            TrainError: The model is not compiled.
        """
        called = k.callbacks.CallbackList(
            list(callbacks), add_history=True, model=self, epochs=epochs, verbose=0
        )
        self.stop_training = False
        called.on_train_begin()
        for epoch in range(initial_epoch, epochs):
            called.on_epoch_begin(epoch)
            count, batches = x.epoch(epoch)

            def on_batch(done: int, total: int) -> None:
                called.on_train_batch_end(done - 1, {"batches": total})

            logs = {"loss": self.engine.learn(batches, x.zero, count, on_batch)}
            if validation_data is not None:
                logs["val_loss"] = self.evaluate(validation_data)
            called.on_epoch_end(epoch, logs)
            if self.stop_training:
                break
        called.on_train_end()
        return self.history

    def evaluate(self, x: Epochs) -> float:
        """Mean loss of the first epoch's batches."""
        count, batches = x.epoch(0)
        return self.engine.evaluate(batches, x.zero, count)

    @property
    def engine(self) -> Engine:
        """What runs batches.

        Raises:
            TrainError: The model is not compiled.
        """
        if getattr(self, "_engine", None) is None:
            raise TrainError("model", "is not compiled; call compile(optimizer, objective) first")
        return self._engine
