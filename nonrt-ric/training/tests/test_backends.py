"""One training on each backend of Keras; each in its own process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import trained_once
from rlc_train.errors import TrainError
from rlc_train.export.check import LIMIT
from rlc_train.lstm import backend
from rlc_train.lstm.engine import blocks
from rlc_train.lstm.lanes import Batch

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
        environment = {**os.environ, "KERAS_BACKEND": name}
        subprocess.run(words, check=True, env=environment)
    return found


@pytest.mark.parametrize("kind", trained_once.KINDS)
def test_both_backends_learn_the_same_from_the_same_weights(both: list[Path], kind: str) -> None:
    with np.load(both[0]) as tensorflow, np.load(both[1]) as jax:
        losses = tensorflow[f"{kind}/losses"]
        assert losses[1] < 0.97 * losses[0], "nothing is learned"
        np.testing.assert_allclose(jax[f"{kind}/losses"], losses, rtol=1e-4)
        for name in (n for n in tensorflow.files if n.startswith(f"{kind}/weight")):
            np.testing.assert_allclose(jax[name], tensorflow[name], atol=1e-4)


@pytest.mark.parametrize("kind", trained_once.KINDS)
def test_the_exported_step_equals_the_model_on_each_backend(both: list[Path], kind: str) -> None:
    for path in both:
        with np.load(path) as found:
            assert float(found[f"{kind}/export"]) <= LIMIT, path.name


def test_a_backend_that_is_unknown_or_comes_too_late_is_refused(
    keras: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend.keras()
    running = backend.choose()
    other = next(name for name in backend.BACKENDS if name != running)
    with pytest.raises(TrainError, match=f"'{other}'; Keras already runs on {running}"):
        backend.choose(other)
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    with pytest.raises(TrainError, match="KERAS_BACKEND: 'torch'; expected of"):
        backend.choose()


def test_blocks_have_one_shape_and_every_batch() -> None:
    batches = [
        Batch(*(np.full((2, 3), number, np.float32) for _ in Batch._fields)) for number in range(70)
    ]
    found = list(blocks(batches, len(batches)))
    assert [(done, size) for done, _, size in found] == [(64, 64), (70, 6)]
    assert {block.samples.shape for _, block, _ in found} == {(64, 2, 3)}
    inside = np.concatenate([block.samples[:size, 0, 0] for _, block, size in found])
    assert inside.tolist() == list(range(70))


def test_a_checkpoint_resumes_to_the_same_weights_on_each_backend(both: list[Path]) -> None:
    for path in both:
        with np.load(path) as found:
            whole = [found[name] for name in found.files if name.startswith("whole/")]
            resumed = [found[name] for name in found.files if name.startswith("resumed/")]
        assert len(whole) == len(resumed) > 0
        for a, b in zip(whole, resumed, strict=True):
            np.testing.assert_array_equal(a, b, path.name)
