"""The streaming network: samples and state in, forecasts and state out.

Inputs of the recurrent layers (:mod:`rlc_train.lstm.cells`): each feature as a level within its
range on a logarithmic scale, and as a deviation from its moving mean in units of
its mean deviation, which is comparable between busy and quiet bearers; the deviations of queue,
drain and arrivals of the last samples; features in bytes in units of the occupancy's deviation,
so that they can be added; and how much larger the deviation from a slow mean is than that from a
fast one. Forecast residuals are in a sum of both, whose weights are learned for each quantity and
point: a queue of a megabyte that moves slowly changes by a tenth of its slow deviation in 11 ms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rlc_model import FEATURES, MinMaxScaler

from rlc_train.conformal import Correction
from rlc_train.errors import need
from rlc_train.export.check import Reference
from rlc_train.horizon import Layout
from rlc_train.lstm import cells, custom
from rlc_train.lstm.backend import choose, keras, layers, tensorflow
from rlc_train.lstm.cells import Arithmetic
from rlc_train.lstm.shape import (
    BYTES,
    CARRIED,
    CUSTOM,
    LEAST_DEVIATION,
    LEVEL_GAIN,
    LIMIT,
    OCCUPANCY,
    TAPPED,
    TAPS,
    Z_LIMIT,
    NetworkShape,
    bytes_per_occupancy,
    recurrent_layers,
    state_size,
    views_state_size,
)


def build(
    shape: NetworkShape,
    layout: Layout,
    scaler: MinMaxScaler,
    seed: int,
    how: Arithmetic | None = None,
) -> Any:
    """A Keras model ``[(B, L, F) samples, (B, S) state] → [(B, L, Q, M, K), (B, S)]``.

    Samples are scaled to [0, 1]; forecasts are residuals to the last value in spans of the
    quantity. L is variable: chunks in training, 1 in the forecaster. `how` computes the layers with
    weights; the views of the samples are always float32.
    """
    k = keras()
    how = how or Arithmetic()
    k.utils.set_random_seed(seed)
    features, taps = len(FEATURES), TAPS * len(TAPPED)
    sample = k.Input((None, features), name="sample")
    is_custom = shape.kind == CUSTOM
    carried_sizes = custom.state_sizes(custom.make(shape)) if is_custom else []
    size_of_state = views_state_size() + sum(carried_sizes) if is_custom else state_size(shape)
    state = k.Input((size_of_state,), name="state")
    ops = k.ops
    mean, deviation = layers().Moments(name="moments")(
        sample, state[:, : 2 * features], state[:, 2 * features : 4 * features]
    )
    sizes = deviation + LEAST_DEVIATION
    size, fast = sizes[..., :features], sizes[..., features:]
    swing = ops.log(size / fast)
    ratio = _in_one_unit(ops, sample, size, scaler)
    room = ratio[..., BYTES.index(LIMIT)] - ratio[..., BYTES.index(OCCUPANCY)]
    off = sample - mean[..., :features]
    relative = ops.concatenate([off / size, room[..., None]], axis=-1)
    relative = ops.clip(relative, -Z_LIMIT, Z_LIMIT)
    levels = ops.concatenate([sample * LEVEL_GAIN, ratio], axis=-1)
    levels = ops.log(ops.maximum(levels + 1.0, 1.0)) * float(1 / np.log1p(LEVEL_GAIN))
    earlier, kept = _taps(ops, relative, state[:, 4 * features : 4 * features + taps])
    inputs = ops.concatenate([relative, levels, swing, earlier], axis=-1)
    flow: list[Any] = []
    states = [mean[:, -1], deviation[:, -1], kept]
    at = 4 * features + taps
    if is_custom:
        output, carried = custom.add(shape, inputs, state[:, at:])
        flow, states = [output], [*states, *carried]
    for index, name in enumerate(recurrent_layers(shape)):
        size_of = len(CARRIED[shape.kind]) * shape.units
        output, carried = cells.layer(
            shape, name, flow[0] if flow else inputs, state[:, at : at + size_of], how
        )
        at += size_of
        states += carried
        if shape.dropout:
            output = k.layers.Dropout(shape.dropout, seed=seed + index, name=f"dropout_{index}")(
                output
            )
        flow = [output]
    policy = how.policy
    narrow = k.layers.Dense(shape.rank, use_bias=False, name="narrow", dtype=policy)
    head = k.layers.Dense(
        int(np.prod(layout.shape)), name="head", kernel_initializer="zeros", dtype=policy
    )
    quantities, points, quantiles = layout.shape
    axes = k.layers.Reshape((-1, quantities, points, quantiles), name="axes")
    residual = axes(head(narrow(ops.concatenate([*flow, inputs], axis=-1))))
    picked = (ops.take(each, layout.columns, axis=-1) for each in (size, fast))
    unit = layers().Unit(quantities, points, name="unit")(*picked)
    forecast = residual * ops.expand_dims(unit, -1)
    return layers().StreamingModel(
        [sample, state], [forecast, ops.concatenate(states, axis=-1)], name="step"
    )


def before_head(model: Any) -> Any:
    """The model without its head: ``[samples, state] → [(B, L, ·) head inputs, (B, L, Q, M) units
    of the residuals, (B, S)]``. In training only some samples have forecasts."""
    k = keras()
    seen, unit = model.get_layer("narrow").input, model.get_layer("unit").output
    return k.Model(model.inputs, [seen, unit, model.outputs[1]], name="before_head")


def at_head(model: Any, seen: Any, unit: Any) -> Any:
    """``(B, N, Q, M, K)`` forecasts from outputs of :func:`before_head` or parts of them."""
    for layer in ("narrow", "head", "axes"):
        seen = model.get_layer(layer)(seen)
    return seen * keras().ops.expand_dims(unit, -1)


def _in_one_unit(ops: Any, sample: Any, size: Any, scaler: MinMaxScaler) -> Any:
    """``(B, L, len(BYTES))`` features in bytes, in deviations of the occupancy."""
    unit = size[..., OCCUPANCY : OCCUPANCY + 1]
    return ops.take(sample, BYTES, axis=-1) * bytes_per_occupancy(scaler) / unit


def _taps(ops: Any, relative: Any, before: Any) -> tuple[Any, Any]:
    """``(B, L, TAPS·C)`` deviations before each sample, oldest first, and the next state."""
    columns = len(TAPPED)
    newest = ops.take(relative, TAPPED, axis=-1)
    line = ops.concatenate([ops.reshape(before, (-1, TAPS, columns)), newest], axis=1)
    earlier = ops.concatenate([line[:, TAPS - k : -k] for k in range(TAPS, 0, -1)], axis=-1)
    return earlier, ops.reshape(line[:, -TAPS:], (-1, TAPS * columns))


def start_at(model: Any, quantiles: NDArray[np.float32]) -> None:
    """Sets the head's bias, so that the untrained model is persistence with quantiles.

    Args:
        model: From :func:`build`.
        quantiles: ``(Q, M, K)`` of the residuals in units of the fast deviation.
    """
    head = model.get_layer("head")
    kernel, _ = head.get_weights()
    head.set_weights([kernel, quantiles.reshape(-1)])


def pinball_loss(actual: Any, known: Any, forecast: Any, size: Any, layout: Layout) -> Any:
    """Mean of two pinball losses of a batch.

    One in mean residuals of quantity and point, so that all have equal weight; one in units of the
    bearer's scale as well, so that quiet bearers have weight.

    Args:
        actual: ``(B, L, Q, M)`` residuals in mean residuals of quantity and point; ignored if
            unknown.
        known: ``(B, L, Q, M)`` 1 or 0.
        forecast: ``(B, L, Q, M, K)``.
        size: ``(B, L, Q)`` the bearer's scale, in mean residuals of the quantity.
        layout: Has the quantiles.
    """
    ops = keras().ops
    levels = ops.convert_to_tensor(layout.levels)
    difference = actual[..., None] - forecast
    loss = ops.mean(ops.maximum(levels * difference, (levels - 1.0) * difference), axis=-1)
    both = loss * known * (0.5 + 0.5 / size[..., None])
    return ops.sum(both) / ops.maximum(ops.sum(known), 1.0)


def squared_loss(actual: Any, known: Any, forecast: Any, size: Any, layout: Layout) -> Any:
    """Mean squared error (stolidis2024 §IV-C)."""
    del size, layout
    ops = keras().ops
    loss = ops.mean(ops.square(actual[..., None] - forecast), axis=-1) * known
    return ops.sum(loss) / ops.maximum(ops.sum(known), 1.0)


def layer_weights(model: Any) -> dict[str, list[NDArray[np.float32]]]:
    """Weights of the recurrent layers, the two layers of the head and the unit, by name."""
    layers = [layer for layer in model.layers if layer.get_weights()]
    return {layer.name: [np.asarray(w) for w in layer.get_weights()] for layer in layers}


def reference(model: Any, correction: Correction) -> Reference:
    """The Keras model over chunks of one bearer's samples, with the conformal correction.

    It runs on the CPU, as the exported step: a GPU fuses multiplication and addition.
    """
    run = _on_cpu(model)

    def answer(
        samples: NDArray[np.float32], state: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        forecast, after = run(samples[None], state[None])
        return correction.apply(np.asarray(forecast)[0]), np.asarray(after)[0]

    return answer


def _on_cpu(model: Any) -> Callable[[NDArray[np.float32], NDArray[np.float32]], Any]:
    """The compiled model of samples and state."""
    if choose() == "jax":
        jax = need("jax", "jax")
        values = [np.asarray(v) for v in model.trainable_variables]
        others = [np.asarray(v) for v in model.non_trainable_variables]
        compiled = jax.jit(lambda *inputs: model.stateless_call(values, others, inputs)[0])

        def run(samples: NDArray[np.float32], state: NDArray[np.float32]) -> Any:
            with jax.default_device(jax.devices("cpu")[0]):
                return compiled(samples, state)

        return run
    tf = tensorflow()

    def forward(samples: Any, state: Any) -> Any:
        return model([samples, state], training=False)

    traced = tf.function(forward, autograph=False)

    def run_tf(samples: NDArray[np.float32], state: NDArray[np.float32]) -> Any:
        with tf.device("/CPU:0"):
            return traced(tf.constant(samples), tf.constant(state))

    return run_tf
