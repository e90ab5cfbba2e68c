"""Fixtures of the training's tests."""

from __future__ import annotations

from pathlib import Path

import made_corpus
import pytest
from rlc_train.errors import there

EXTRAS = {"keras", "baselines_extra", "mlflow_extra", "dask_extra"}
"""Fixtures of tests that need more than `make setup` installs."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks them, so that `make test-training` runs those alone."""
    for item in items:
        if EXTRAS & set(getattr(item, "fixturenames", ())):
            item.add_marker("training_extras")


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


@pytest.fixture
def mlflow_extra() -> None:
    """Skips where MLflow is not installed."""
    if not there("mlflow"):
        pytest.skip("MLflow is not installed: make setup-training")


@pytest.fixture
def dask_extra() -> None:
    """Skips where Dask's scheduler is not installed."""
    if not there("distributed"):
        pytest.skip("Dask is not installed: make setup-training")
