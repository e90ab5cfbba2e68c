"""What the exporter needs of a Keras model: its weights, and itself as a reference."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlc_train.conformal import Correction
from rlc_train.export.check import Reference
from rlc_train.lstm.backend import tensorflow


def layer_weights(model: Any) -> dict[str, list[NDArray[np.float32]]]:
    """Weights of the LSTM layers and of the two of the head, by name."""
    names = [layer.name for layer in model.layers]
    return {
        name: [np.asarray(w) for w in model.get_layer(name).get_weights()]
        for name in names
        if name.startswith("lstm_") or name in {"narrow", "head"}
    }


def reference(model: Any, correction: Correction) -> Reference:
    """The Keras model over chunks of one bearer's samples, corrected as the export is."""
    tf = tensorflow()

    def forward(samples: Any, state: Any) -> Any:
        return model([samples, state], training=False)

    run = tf.function(forward, reduce_retracing=True, autograph=False)

    def answer(
        samples: NDArray[np.float32], state: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        # A GPU adds and multiplies in one rounding; the exported step will not run on one.
        with tf.device("/CPU:0"):
            forecast, after = run(tf.constant(samples[None]), tf.constant(state[None]))
        return correction.apply(np.asarray(forecast)[0]), np.asarray(after)[0]

    return answer
