"""Fixtures of the training's tests."""

from __future__ import annotations

from pathlib import Path

import made_corpus
import pytest
from rlc_train.extras import there


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small data set on disk."""
    return made_corpus.write_dataset(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def keras() -> None:
    """Skips where TensorFlow is not installed."""
    if not there("tensorflow"):
        pytest.skip("TensorFlow is not installed: make setup-training")


@pytest.fixture
def baselines_extra() -> None:
    """Skips where scikit-learn, statsmodels or LightGBM is not installed."""
    for module in ("sklearn", "statsmodels", "lightgbm"):
        if not there(module):
            pytest.skip(f"{module} is not installed: make setup-training")
