"""What holds for every Python test."""

import random

import pytest
from hypothesis import settings

# How long an example takes is the machine's affair; no test asserts on time.
settings.register_profile("sojourn", deadline=None)
settings.load_profile("sojourn")


@pytest.fixture(autouse=True)
def _same_jitter() -> None:
    """Back-off delays are the same in every run: a test that fails, fails again."""
    random.seed(20)
