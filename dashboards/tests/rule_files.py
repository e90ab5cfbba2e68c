"""The committed rules, and promtool on them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
RULES = ROOT / "dashboards" / "rules"
FILES = sorted(RULES.glob("*.yaml"))
GROUPS: dict[Path, list[dict[str, Any]]] = {
    path: yaml.safe_load(path.read_text())["groups"] for path in FILES
}
ALERTS: list[dict[str, Any]] = [
    r for groups in GROUPS.values() for g in groups for r in g["rules"] if "alert" in r
]
RECORDS: list[dict[str, Any]] = [
    r for groups in GROUPS.values() for g in groups for r in g["rules"] if "record" in r
]
SITE = ("cluster", "namespace", "release")
"""Labels that name a site."""

needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="needs promtool on PATH (Debian: prometheus)"
)


def promtool(*arguments: str | Path) -> None:
    """Runs promtool, which must succeed."""
    done = subprocess.run(
        ["promtool", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
