"""TensorFlow and Keras, imported when first needed."""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any

from rlc_train.errors import need


def tensorflow() -> Any:
    """The module ``tensorflow``, quiet.

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
    """What training runs on, in words; memory of a GPU is taken as it is needed."""
    tf = tensorflow()
    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        try:
            tf.config.experimental.set_memory_growth(gpu, enable=True)
        except RuntimeError:
            # It is in use already, with the memory it took.
            break
    return f"{len(gpus)} GPU" if gpus else "CPU"
