"""A client finds the E2 gateway again when its name moves to another address."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import moved_gateway
import pytest


def test_a_gateway_whose_name_moves_is_found_at_its_new_address(tmp_path: Path) -> None:
    unshare = ["unshare", "--mount"]
    if shutil.which("unshare") is None:
        pytest.skip("unshare (util-linux) is not on PATH")
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
        pytest.skip("a table of hosts of its own needs root")
    done = subprocess.run(
        [*unshare, sys.executable, moved_gateway.__file__, str(tmp_path)],
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
