"""Writes the JSON of all dashboards into a folder: `python -m sojourn_dashboards [FOLDER]`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from sojourn_dashboards import bearer, cell, controller, fleet, forecaster, gateway, slo
from sojourn_dashboards.board import UID_PREFIX, text

BOARDS: Final = {
    str(module.BOARD.uid).removeprefix(UID_PREFIX): module.BOARD
    for module in (fleet, cell, bearer, controller, forecaster, gateway, slo)
}
"""By name of their files, from general to specific."""
FOLDER: Final = Path(__file__).parents[2] / "json"


def write(folder: Path) -> None:
    """One file per dashboard; removes files of dashboards that no longer exist."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {folder / f"{name}.json": board for name, board in BOARDS.items()}
    for stale in set(folder.glob("*.json")) - files.keys():
        stale.unlink()
    for path, board in files.items():
        path.write_text(text(board), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
