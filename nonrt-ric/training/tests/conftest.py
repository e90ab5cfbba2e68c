"""Fixtures of the training's tests."""

from __future__ import annotations

import os
from pathlib import Path

import made_corpus
import pytest
from rlc_train.errors import installed

# XLA compiles the small programs of tests for longer than they run. Before TensorFlow is imported.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
)

EXTRAS = {"keras", "jax", "baselines_extra", "estimators_extra", "mlflow_extra", "dask_extra"}
"""Fixtures of tests that need more than `make setup` installs."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks these tests for the suite Training of `make test`."""
    for item in items:
        if EXTRAS & set(getattr(item, "fixturenames", ())):
            item.add_marker("training_extras")


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small data set on disk."""
    return made_corpus.write_dataset(tmp_path_factory.mktemp("data"))


def _require(*modules: str) -> None:
    for module in modules:
        if not installed(module):
            pytest.skip(f"{module} is not installed: make setup-training")


@pytest.fixture(scope="session")
def keras() -> None:
    """Skips without TensorFlow."""
    _require("tensorflow")


@pytest.fixture(scope="session")
def jax() -> None:
    """Skips without JAX."""
    _require("jax")


@pytest.fixture
def baselines_extra() -> None:
    """Skips without crepes, statsmodels or LightGBM."""
    _require("crepes", "statsmodels", "lightgbm")


@pytest.fixture
def estimators_extra() -> None:
    """Skips without skl2onnx, river or statsforecast."""
    _require("skl2onnx", "onnxmltools", "river", "statsforecast")


@pytest.fixture
def mlflow_extra() -> None:
    """Skips without MLflow."""
    _require("mlflow")


@pytest.fixture
def dask_extra() -> None:
    """Skips without Dask's scheduler."""
    _require("distributed")
