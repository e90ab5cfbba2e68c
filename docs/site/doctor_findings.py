"""The findings of `ric doctor` as tables for `docs/troubleshoot.md`, read from its source.

`python docs/site/doctor_findings.py` writes the tables into the page, between its markers;
`--check` only compares. A value that is known at run time only is shown as `…`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
JUDGE: Final = ROOT / "xapps" / "ric_doctor" / "src" / "ric_doctor" / "judge"
PAGE: Final = ROOT / "docs" / "troubleshoot.md"
BEGIN: Final = "<!-- findings of ric doctor: written by docs/site/doctor_findings.py -->"
END: Final = "<!-- end of the findings -->"
TITLES: Final = {
    "reach": "Gateway and connections",
    "nodes": "E2 nodes",
    "fresh": "Ages and clocks",
    "functions": "RAN functions",
    "reports": "Reports",
    "control": "Controls",
}
"""Sections by module of `ric_doctor.judge`, in the order of the page."""
OPEN: Final = "…"
LEVELS: Final = {"warn": 0, "fail": 0, "note": 0, "found": 1}
"""Methods that make a finding, and how many arguments come before its texts."""


@dataclass(frozen=True, slots=True)
class Row:
    """One finding."""

    what: str
    why: str
    remedy: str


class Texts:
    """Texts of one module, with the values of its constants."""

    def __init__(self, module: ast.Module) -> None:
        self._constants: dict[str, str] = {}
        self._tuples: dict[str, ast.Tuple] = {}
        self.tables: list[ast.Dict] = []
        for statement in module.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                value = statement.value
                if isinstance(value, ast.Dict):
                    self.tables.append(value)
                elif isinstance(value, ast.Tuple):
                    self._tuples[statement.target.id] = value
                elif value is not None:
                    self._constants[statement.target.id] = self.of(value)

    def of(self, node: ast.expr) -> str:
        """The text of an expression."""
        match node:
            case ast.Constant(value=str(text)):
                shown = text
            case ast.JoinedStr(values=parts):
                shown = "".join(map(self.of, parts))
            case ast.FormattedValue(value=ast.Name() as name):
                shown = self.of(name)
            case ast.Name(id=name):
                shown = self._constants.get(name, OPEN)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(index))):
                shown = self.of(self._tuples[name].elts[index]) if name in self._tuples else OPEN
            case ast.IfExp(body=body, orelse=orelse):
                shown = " Or: ".join(filter(None, map(self.of, (body, orelse))))
            case ast.BinOp(left=left, right=right):
                shown = self.of(left) + self.of(right)
            case _:
                shown = OPEN
        return shown


def rows(module: ast.Module) -> Iterator[Row]:
    """Every finding but those that say that all is well, in the order of the source."""
    texts = Texts(module)
    for table in texts.tables:
        for value in table.values:
            if isinstance(value, ast.Tuple) and len(value.elts) in {2, 3}:
                found = [texts.of(each).replace("{detail}", OPEN) for each in value.elts]
                yield Row(found[0].lstrip(": "), found[1] if len(found) == 3 else "", found[-1])
    for node in ast.walk(module):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        skipped = LEVELS.get(node.func.attr)
        if skipped is None or len(node.args) < skipped + 3:
            continue
        what, why, remedy = map(texts.of, node.args[skipped : skipped + 3])
        # Those that come from a table are in it.
        if what.strip(OPEN) and remedy != OPEN:
            yield Row(what, why, remedy)


def tables() -> str:
    """The sections of the page."""
    parts = []
    for name, title in TITLES.items():
        module = ast.parse((JUDGE / f"{name}.py").read_text())
        lines = [f"### {title}", "", "| finding | why it matters | do |", "|---|---|---|"]
        lines += [f"| {_cell(r.what)} | {_cell(r.why)} | {_cell(r.remedy)} |" for r in rows(module)]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _cell(text: str) -> str:
    shown = "" if text == OPEN else " ".join(text.split())
    return shown.replace("|", "\\|")


def written(page: str) -> str:
    """The page with the tables of now between its markers."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}"


def main() -> None:
    """Writes the page, or checks it."""
    page = PAGE.read_text()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(written(page))
    elif written(page) != page:
        sys.exit(f"{PAGE.relative_to(ROOT)}: findings differ from ric doctor's; run {sys.argv[0]}")


if __name__ == "__main__":
    main()
