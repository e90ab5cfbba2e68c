"""What the SDK's tests share."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import ric

_ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def rlc_vectors() -> list[dict[str, Any]]:
    """Vectors taken from FlexRIC's own encoder."""
    shared = Path(os.environ.get("SOJOURN_SHARED") or _ROOT.parent / "shared")
    path = shared / "facts" / "rlc_v0_vectors.jsonl"
    if not path.is_file():
        pytest.skip(f"the RLC vectors are not here: SOJOURN_SHARED/facts/{path.name} is absent")
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(autouse=True)
def _logs_to_stderr() -> None:
    ric.logs.configure(ric.settings.LogSettings(level="debug", format="json"))
