"""The scenario of a run: the default cell, or one UE behind a recorded radio."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from sojourn_demo.errors import DemoError


def write_scenario(
    base: Path, out: Path, *, duration_s: float, trace: Path | None, seed: int | None
) -> Path:
    """Writes ``scenario.yaml`` into `out`, made from `base`.

    Raises:
        DemoError: A file that cannot be read, or a base without a UE.
    """
    try:
        scenario: Any = yaml.safe_load(base.read_text())
    except OSError as error:
        raise DemoError(f"{base}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise DemoError(f"{base}: {error}") from error
    if not isinstance(scenario, dict) or not scenario.get("ues"):
        raise DemoError(f"{base}: has no ues; expected a gnb-lab scenario")
    scenario["duration_s"] = duration_s
    if seed is not None:
        scenario["seed"] = seed
    if trace is not None:
        if not trace.is_file():
            raise DemoError(f"{trace}: no such file; expected a Mahimahi trace (.xz and .gz too)")
        scenario["name"] = f"{scenario.get('name', base.stem)} on {trace.name}"
        for ue in scenario["ues"]:
            ue["channel"] = {"mahimahi": {"path": str(trace.resolve())}}
    path = out / "scenario.yaml"
    path.write_text(yaml.safe_dump(scenario, sort_keys=False))
    return path
