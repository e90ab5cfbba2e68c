"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table; a bar or a line break in a cell does not end it."""
    return [_line(heads), "|" + "---|" * len(heads), *map(_line, rows)]


def _line(cells: Sequence[str]) -> str:
    shown = (cell.replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(shown)} |"
