"""The fixture of `tc_ric.in_lab`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tc_ric import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)
