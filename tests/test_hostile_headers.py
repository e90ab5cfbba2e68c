"""Metadata without end, over TLS from three addresses, beside a client that reads forecasts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path

import hostile_headers
import pytest

ROOT = Path(__file__).parent.parent
PATHS = [ROOT / "tests", ROOT / "xapps/rlc_forecaster/tests"]


def cannot() -> str:
    """Why no network namespace can be made here; "" if one can."""
    for tool in ("unshare", "ip"):
        if shutil.which(tool) is None:
            return f"{tool} is not on PATH"
    tried = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    return "" if tried.returncode == 0 else "a network namespace needs root"


def test_three_clients_with_metadata_without_end_cost_another_no_forecast(tmp_path: Path) -> None:
    if why := cannot():
        pytest.skip(why)
    done = subprocess.run(
        ["unshare", "--net", sys.executable, hostile_headers.__file__, str(tmp_path)],
        capture_output=True,
        check=False,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, PATHS))},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stderr.splitlines()[-1])
    assert found["read"] == hostile_headers.REPORTS
    assert found["healthy"] == hostile_headers.REPORTS // 20
    # The connection may end before its client has read why.
    outcomes = set(chain.from_iterable(found["outcomes"]))
    assert outcomes <= {8, None, "ConnectionResetError", "BrokenPipeError"}
    assert found["grown_mib"] < 64
