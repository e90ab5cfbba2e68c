"""A scenario in ``gnb-lab run``, beside the same cell elsewhere."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from sojourn_demo.recording import Recording, read_recording


def lab_run(folder: Path, scenario: Mapping[str, Any]) -> Recording:
    """Runs a scenario; its file and recording stay in the folder.

    Raises:
        CalledProcessError: gnb-lab refuses it; its message is on standard error.
    """
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(scenario))
    program = Path(sys.executable).parent / "gnb-lab"
    command = [str(word) for word in (program, "run", path, "--out", folder / "lab")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return read_recording(folder / "lab")
