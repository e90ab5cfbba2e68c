"""Scenarios that last a few seconds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("gnb_lab", reason="the lab's Python module is not built")

SCENARIO = """
name: {name}
seed: 1
duration_s: {duration_s}
cell: {{ rat: nr, n_prb: 24, scs_khz: 30, tdd: {{ pattern: DDDDDDDMUU }} }}
ues:
  - {{ rnti: 1, channel: {channel}, drbs: [{{ id: 1 }}] }}
flows:
  - {{ name: bulk, kind: tcp, hystart: false }}
  - {{ name: ping, kind: ping, interval_ms: 50 }}
"""

WriteScenario = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> WriteScenario:
    """Write a scenario; returns its path."""

    def to(name: str, channel: str = "{ fixed_mcs: 10 }", duration_s: float = 4.0) -> Path:
        path = tmp_path / f"{name}.yaml"
        path.write_text(SCENARIO.format(name=name, channel=channel, duration_s=duration_s))
        return path

    return to
