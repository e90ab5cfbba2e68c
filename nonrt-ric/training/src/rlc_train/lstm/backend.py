"""Keras's backend: lazy imports, choice for the process, and the device."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from types import ModuleType
from typing import Any, Final

from rlc_train.errors import TrainError, installed, need

BACKENDS: Final = ("tensorflow", "jax")
_VARIABLE: Final = "KERAS_BACKEND"


def add_argument(parser: argparse.ArgumentParser) -> None:
    """Declares ``--backend``."""
    parser.add_argument(
        "--backend",
        choices=BACKENDS,
        help="backend of Keras (KERAS_BACKEND, else tensorflow if it is installed, else jax)",
    )


def choose(name: str | None = None) -> str:
    """Selects Keras's backend for this process and returns its name.

    In this order: `name`, the environment's ``KERAS_BACKEND``, TensorFlow if it is installed, JAX.

    Raises:
        TrainError: The name is unknown, its library is not installed, or Keras already runs on
            another one.
    """
    wanted = name or os.environ.get(_VARIABLE)
    if wanted is None:
        wanted = "jax" if installed("jax") and not installed("tensorflow") else "tensorflow"
    if wanted not in BACKENDS:
        raise TrainError("--backend" if name else _VARIABLE, f"{wanted!r}; expected of {BACKENDS}")
    if "keras" in sys.modules:
        running = str(sys.modules["keras"].backend.backend())
        if running != wanted:
            raise TrainError("--backend", f"{wanted!r}; Keras already runs on {running}")
    os.environ[_VARIABLE] = wanted
    # Keras loads TensorFlow, where it is installed, on JAX as well.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    # Several trainings may share a GPU.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    need(wanted, wanted)
    return wanted


def tensorflow() -> Any:
    """The module ``tensorflow``, as Keras's backend.

    Raises:
        TrainError: It is not installed, or Keras runs on another backend.
    """
    choose("tensorflow")
    return need("tensorflow", "tensorflow")


def keras() -> ModuleType:
    """The module ``keras`` on the backend of the process.

    Raises:
        TrainError: It is not installed.
    """
    if "keras" in sys.modules:
        return sys.modules["keras"]
    module: ModuleType = need("keras", choose())
    return module


def layers() -> ModuleType:
    """:mod:`rlc_train.lstm.layers`, which loads Keras when it is imported."""
    keras()
    return importlib.import_module("rlc_train.lstm.layers")


def callbacks() -> ModuleType:
    """:mod:`rlc_train.lstm.callbacks`, which loads Keras when it is imported."""
    keras()
    return importlib.import_module("rlc_train.lstm.callbacks")


def gpus() -> int:
    """Number of GPUs that the backend sees; their memory is allocated as needed."""
    if choose() == "jax":
        jax = need("jax", "jax")
        return sum(device.platform == "gpu" for device in jax.devices())
    tf = tensorflow()
    found = tf.config.list_physical_devices("GPU")
    for gpu in found:
        try:
            tf.config.experimental.set_memory_growth(gpu, enable=True)
        except RuntimeError:
            # The GPU is already in use.
            break
    return len(found)


def device() -> str:
    """The device of training, for output."""
    count = gpus()
    return f"{count} GPU" if count else "CPU"
