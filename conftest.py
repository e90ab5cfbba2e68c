"""What holds for every Python test."""

import random

import pytest


@pytest.fixture(autouse=True)
def _same_jitter() -> None:
    """Back-off delays are the same in every run: a test that fails, fails again."""
    random.seed(20)
