"""The example in the documentation of each Python package runs and prints what it says."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest
from structlog.testing import capture_logs


@pytest.mark.parametrize(
    "package", ["e2sm_tc", "gnb_lab", "ric", "rlc_model", "rlc_train", "sojourn_report"]
)
def test_the_example_of_a_package_works(package: str) -> None:
    with capture_logs():
        result = doctest.testmod(import_module(package))
    assert result.attempted > 0
    assert result.failed == 0
