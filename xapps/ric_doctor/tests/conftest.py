"""What the doctor's tests share."""

from __future__ import annotations

import pytest
import ric.logs
from ric.settings import LogSettings


@pytest.fixture(autouse=True)
def _logs_to_stderr() -> None:
    ric.logs.configure(LogSettings(level="debug", format="json"))
