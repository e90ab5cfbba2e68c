"""Runs batches through a compiled training step: one class per backend of Keras."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from rlc_train.errors import need
from rlc_train.lstm.backend import keras, tensorflow
from rlc_train.lstm.lanes import Batch
from rlc_train.lstm.objective import Objective

BLOCK: Final = 64
"""Most batches of one call of the compiled loop on JAX."""
BLOCK_BYTES: Final = 256 << 20
"""Most bytes of their arrays."""

BatchCallback = Callable[[int, int], None]
"""Called with the number of batches done within the epoch and the number of batches."""


class Engine(Protocol):
    """Trains and evaluates a model; the state is carried from batch to batch."""

    def learn(
        self,
        batches: Iterable[Batch],
        zero: NDArray[np.float32],
        count: int,
        on_batch: BatchCallback | None = None,
    ) -> float:
        """Mean loss over `count` batches, weighted by their labels, with a step after each."""

    def evaluate(self, batches: Iterable[Batch], zero: NDArray[np.float32], count: int) -> float:
        """The same without training."""


class StepEngine:
    """A call of ``train_step`` of a model per batch (TensorFlow)."""

    def __init__(self, model: Any, *, xla: bool) -> None:
        options = {"jit_compile": xla, "autograph": False}
        self._learn = tensorflow().function(model.train_step, **options)
        self._evaluate = tensorflow().function(model.test_step, **options)

    def learn(
        self,
        batches: Iterable[Batch],
        zero: NDArray[np.float32],
        count: int,
        on_batch: BatchCallback | None = None,
    ) -> float:
        """See :class:`Engine`."""
        return self._run(self._learn, batches, zero, count, on_batch)

    def evaluate(self, batches: Iterable[Batch], zero: NDArray[np.float32], count: int) -> float:
        """See :class:`Engine`."""
        return self._run(self._evaluate, batches, zero, count, None)

    def _run(
        self, step: Any, batches: Iterable[Batch], zero: Any, count: int, on_batch: Any
    ) -> float:
        state: Any = zero
        total, weight = 0.0, 0.0
        for number, batch in enumerate(batches):
            found = step((batch, state))
            state, known = found["state"], float(found["known"])
            total += float(found["loss"]) * known
            weight += known
            if on_batch is not None:
                on_batch(number + 1, count)
        return total / weight if weight else float("nan")


class JaxEngine:
    """A call per block of batches: the loop over them is part of the compiled program, so that a
    GPU does not wait for Python between two steps of a small network."""

    def __init__(self, objective: Objective, optimizer: Any) -> None:
        self._jax = need("jax", "jax")
        self._objective = objective
        self._optimizer = optimizer
        self._trainable = objective.model.trainable_variables
        of_these = {id(v) for v in self._trainable}
        # With the counters of the random dropout.
        self._others = [v for v in objective.model.variables if id(v) not in of_these]
        self._learn = self._jax.jit(self._learned, donate_argnums=(0,))
        self._evaluate = self._jax.jit(self._evaluated)

    def learn(
        self,
        batches: Iterable[Batch],
        zero: NDArray[np.float32],
        count: int,
        on_batch: BatchCallback | None = None,
    ) -> float:
        """See :class:`Engine`."""
        variables = (self._trainable, self._others, self._optimizer.variables)
        values = ([self._jax.numpy.array(v.value) for v in group] for group in variables)
        carried: tuple[Any, ...] = (*values, zero, np.float32(0), np.float32(0))
        for done, block, size in blocks(batches, count):
            carried = self._learn(carried, block, size)
            if on_batch is not None:
                on_batch(done, count)
        for group, new in zip(variables, carried, strict=False):
            for variable, value in zip(group, new, strict=True):
                variable.assign(value)
        return _mean(*carried[-2:])

    def evaluate(self, batches: Iterable[Batch], zero: NDArray[np.float32], count: int) -> float:
        """See :class:`Engine`."""
        values = [[v.value for v in group] for group in (self._trainable, self._others)]
        carried = (zero, np.float32(0), np.float32(0))
        for _, block, size in blocks(batches, count):
            carried = self._evaluate(values, carried, block, size)
        return _mean(*carried[-2:])

    def _learned(self, carried: Any, block: Batch, size: Any) -> Any:
        def body(index: Any, carried: Any) -> Any:
            trainable, others, moments, state, total, weight = carried
            batch = Batch(*(array[index] for array in block))
            gradient = self._jax.value_and_grad(self._loss, has_aux=True)
            (_, (loss, known, after, others)), slope = gradient(
                trainable, others, moments, batch, state
            )
            trainable, moments = self._optimizer.stateless_apply(moments, slope, trainable)
            return trainable, others, moments, after, total + loss * known, weight + known

        return self._jax.lax.fori_loop(0, size, body, carried)

    def _loss(
        self, trainable: Any, others: Any, moments: Any, batch: Batch, state: Any
    ) -> tuple[Any, Any]:
        """The loss for the gradient, and loss, labels, state and other variables."""
        groups = (self._trainable, self._others, self._optimizer.variables)
        values = (trainable, others, moments)
        pairs = [
            pair
            for group, new in zip(groups, values, strict=True)
            for pair in zip(group, new, strict=True)
        ]
        with keras().StatelessScope(state_mapping=pairs) as scope:
            loss, known, after = self._objective(batch, state, training=True)
            scaled = self._optimizer.scale_loss(loss)
        return scaled, (loss, known, after, [scope.get_current_value(v) for v in self._others])

    def _evaluated(self, values: Any, carried: Any, block: Batch, size: Any) -> Any:
        pairs = list(zip([*self._trainable, *self._others], [*values[0], *values[1]], strict=True))

        def body(index: Any, carried: Any) -> Any:
            state, total, weight = carried
            batch = Batch(*(array[index] for array in block))
            with keras().StatelessScope(state_mapping=pairs):
                loss, known, after = self._objective(batch, state, training=False)
            return after, total + loss * known, weight + known

        return self._jax.lax.fori_loop(0, size, body, carried)


def blocks(batches: Iterable[Batch], count: int) -> Iterator[tuple[int, Batch, int]]:
    """Batches stacked in blocks of equal shape: batches done with it, the block, its batches.

    The last block is filled up with zeros, which are not trained on: a block of another shape would
    be compiled anew.
    """
    held: list[Batch] = []
    most = BLOCK
    for done, batch in enumerate(batches, 1):
        if done == 1:
            size = sum(array.nbytes for array in batch)
            most = max(1, min(BLOCK, count, BLOCK_BYTES // size))
        held.append(batch)
        if len(held) == most or done == count:
            arrays = zip(*held, strict=True)
            yield done, Batch(*(_stacked(each, most) for each in arrays)), len(held)
            held = []


def _stacked(arrays: tuple[NDArray[Any], ...], most: int) -> NDArray[Any]:
    block = np.zeros((most, *arrays[0].shape), arrays[0].dtype)
    for index, array in enumerate(arrays):
        block[index] = array
    return block


def _mean(total: Any, weight: Any) -> float:
    return float(total) / float(weight) if float(weight) else float("nan")
