"""Lazy imports of TensorFlow and Keras."""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any

from rlc_train.errors import need


def tensorflow() -> Any:
    """The module ``tensorflow`` with reduced logging.

    Raises:
        TrainError: It is not installed.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    return need("tensorflow", "tensorflow")


def keras() -> ModuleType:
    """The module ``keras`` on TensorFlow.

    Raises:
        TrainError: It is not installed.
    """
    tensorflow()
    module: ModuleType = need("keras", "tensorflow")
    return module


def device() -> str:
    """The device of training, for output; GPU memory is allocated as needed."""
    tf = tensorflow()
    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        try:
            tf.config.experimental.set_memory_growth(gpu, enable=True)
        except RuntimeError:
            # The GPU is already in use.
            break
    return f"{len(gpus)} GPU" if gpus else "CPU"
