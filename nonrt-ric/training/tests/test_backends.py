"""One training on each backend of Keras; each in its own process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import trained_once
from rlc_train.export.check import LIMIT
from rlc_train.lstm import backend

SCRIPT = Path(trained_once.__file__)


@pytest.fixture(scope="module")
def both(keras: None, jax: None, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The results of TensorFlow and JAX from the same initial weights."""
    del keras, jax
    folder = tmp_path_factory.mktemp("backends")
    found = []
    for name in backend.BACKENDS:
        found.append(folder / f"{name}-out.npz")
        words = [sys.executable, str(SCRIPT), str(folder), str(found[-1])]
        subprocess.run(words, check=True, env={**os.environ, "KERAS_BACKEND": name})
    return found


@pytest.mark.parametrize("kind", trained_once.KINDS)
def test_both_backends_learn_the_same_from_the_same_weights(both: list[Path], kind: str) -> None:
    with np.load(both[0]) as tensorflow, np.load(both[1]) as jax:
        losses = tensorflow[f"{kind}/losses"]
        assert losses[1] < 0.97 * losses[0], "nothing is learned"
        np.testing.assert_allclose(jax[f"{kind}/losses"], losses, rtol=2e-3)
        for name in (n for n in tensorflow.files if n.startswith(f"{kind}/weight")):
            np.testing.assert_allclose(jax[name], tensorflow[name], atol=0.02)


@pytest.mark.parametrize("kind", trained_once.KINDS)
def test_the_exported_step_equals_the_model_on_each_backend(both: list[Path], kind: str) -> None:
    for path in both:
        with np.load(path) as found:
            assert float(found[f"{kind}/export"]) <= LIMIT, path.name
