"""Writes the JSON of all dashboards into a folder: `python -m sojourn_dashboards [FOLDER]`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from sojourn_dashboards.board import board, text
from sojourn_dashboards.names import PAGES
from sojourn_dashboards.read import read_page

FOLDER: Final = PAGES.parent / "json"


def write(folder: Path) -> None:
    """One file per page; removes files of pages that no longer exist."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {folder / f"{page.stem}.json": page for page in PAGES.glob("*.yaml")}
    for stale in set(folder.glob("*.json")) - files.keys():
        stale.unlink()
    for path, page in files.items():
        path.write_text(text(board(read_page(page))), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
