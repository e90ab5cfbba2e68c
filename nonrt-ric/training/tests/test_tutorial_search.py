"""Runs the search of the tutorial; in a file of its own it runs beside the rest of the page."""

from __future__ import annotations

import re
import shutil

import pytest
from rlc_train.settings import load
from tutorial_page import OUT, SEARCH, run, sections


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("keras")
def test_the_search_of_the_tutorial_ends_with_settings() -> None:
    shutil.rmtree(OUT / "tune", ignore_errors=True)
    output = run(sections()[SEARCH], 500)
    found = re.search(r"out/tutorial/tune/best\.yaml: .* network\.units (\d+),", output)
    assert found, output
    assert load(OUT / "tune" / "best.yaml").network.units == int(found[1])
