"""Writes the JSON of all dashboards into a folder: `python -m sojourn_dashboards [FOLDER]`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from sojourn_dashboards import bearer, cell, controller, fleet, forecaster, gateway, slo
from sojourn_dashboards.frame import Board

BOARDS: Final[tuple[Board, ...]] = tuple(
    module.BOARD for module in (fleet, cell, bearer, controller, forecaster, gateway, slo)
)
"""From general to specific."""
FOLDER: Final = Path(__file__).parents[2] / "json"


def write(folder: Path) -> None:
    """One file per dashboard; removes files of dashboards that no longer exist."""
    folder.mkdir(parents=True, exist_ok=True)
    for stale in set(folder.glob("*.json")) - {folder / f"{board.name}.json" for board in BOARDS}:
        stale.unlink()
    for board in BOARDS:
        (folder / f"{board.name}.json").write_text(board.json(), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
