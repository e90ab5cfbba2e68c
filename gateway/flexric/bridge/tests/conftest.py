"""A real bridge with a fake RIC."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from bridge_world import BridgeWorld
from fake_sdk import ENVIRONMENT


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[BridgeWorld]:
    """The RIC runs without nodes; the bridge is not started."""
    path = str(tmp_path / "ric")
    monkeypatch.setenv(ENVIRONMENT, path)
    here = str(Path(__file__).parent)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((here, os.environ.get("PYTHONPATH", ""))))
    made = BridgeWorld(path, tmp_path)
    await made.ric.start()
    try:
        yield made
    finally:
        await made.end()
