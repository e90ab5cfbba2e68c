"""Does a tree of OpenAirInterface fit the adapter: findings, from declarations and calls in it."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from oai_plan.declarations import DeclarationError, Headers, canonical, read_source
from oai_plan.shapes import E2, Expected, Shape, expected, wrapped

PROJECT: Final = re.compile(r"^\s*project\s*\(\s*OpenAirInterface\b", re.MULTILINE)
FOLDERS: Final = (
    *("", "common", "common/utils", "openair2", "openair2/LAYER2", "openair2/COMMON"),
    *("openair2/LAYER2/nr_pdcp", "openair2/LAYER2/nr_rlc", "openair2/LAYER2/NR_MAC_gNB"),
    *("openair1", "openair3", "nfapi/open-nFAPI/nfapi/public_inc"),
)
"""Folders that OAI's build searches for headers."""
SOURCES: Final = ("openair1", "openair2", "openair3", "executables", "nfapi", "common")
"""Folders with sources of `nr-softmodem`."""
COMMON: Final = ("bearer.c", "pdcp.c", "rlc.c", "mac.c")
"""Sources for every generation."""
ALTERNATIVES: Final = (
    ("generation/one_cell.c", "generation/several_cells.c"),
    ("generation/deliver_pdu.c", "generation/nr_up.c"),
)
"""Sources of which one is built."""
NAMES: Final = {
    ("one_cell", "deliver_pdu"): "2026.w11",
    ("several_cells", "deliver_pdu"): "several cells",
    ("several_cells", "nr_up"): "nr_up",
    ("one_cell", "nr_up"): "nr_up, one cell",
}
AGENT: Final = "openair2/E2AP/e2_agent_arg.h"
FLEXRIC: Final = "openair2/E2AP/flexric"
"""OAI's submodule, of which its E2 agent is made."""
FLEXRIC_FILE: Final = "src/agent/e2_agent_api.h"
PLATFORM: Final = "common/platform_types.h"


class OaiError(Exception):
    """A folder that is not OAI's source tree; the message names it and what was expected."""


class Level(enum.Enum):
    """Severity."""

    OK = "ok"
    WARN = "warn"
    """It fits, with less than everything."""
    FAIL = "fail"
    """It does not fit."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found of one thing; `place` is a file and line of OAI, if there is one."""

    level: Level
    what: str
    found: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class Fit:
    """All findings of a tree."""

    root: Path
    generation: str | None
    """Name of the generation that fits, none if none does."""
    sources: tuple[str, ...]
    """Sources of the adapter for it."""
    missing_headers: int
    """Generated headers that this tree has not."""
    findings: tuple[Finding, ...]

    @property
    def status(self) -> int:
        """Exit status: 0 if all is there, 1 with warnings, 2 if it does not fit."""
        levels = {finding.level for finding in self.findings}
        return 2 if Level.FAIL in levels else 1 if Level.WARN in levels else 0


def source_tree(root: Path) -> Path:
    """The root of a tree of OAI.

    Raises:
        OaiError: It is not one.
    """
    if not root.is_dir():
        raise OaiError(f"{root}: no such folder; expected OpenAirInterface's source tree")
    file = root / "CMakeLists.txt"
    if not file.is_file() or PROJECT.search(read_source(file)) is None:
        raise OaiError(
            f"{root}: has no CMakeLists.txt of the project OpenAirInterface; expected"
            " OpenAirInterface's source tree"
        )
    return root.resolve()


def examine(root: Path, adapter: Path) -> Fit:
    """Compare a tree with what the adapter expects.

    Raises:
        OaiError: The folder is no tree of OAI.
        AdapterError: The folder is not the adapter's.
    """
    root = source_tree(root)
    headers = Headers(root, FOLDERS)
    headers.read(PLATFORM)
    findings: list[Finding] = []
    for source in COMMON:
        findings += _shapes(headers, expected(adapter, source))
    chosen = []
    for alternatives in ALTERNATIVES:
        fitting, found = _alternative(headers, adapter, alternatives)
        chosen.append(fitting)
        findings += found
    e2, found = _e2(root, headers, adapter)
    findings += found
    findings += _calls(root, wrapped(adapter, e2))
    fits = None not in chosen and all(each.level is not Level.FAIL for each in findings)
    sources = tuple(source for source in chosen if source is not None)
    name = NAMES[tuple(Path(each).stem for each in sources)] if fits else None  # type: ignore[index]
    return Fit(root, name, sources, len(headers.missing), tuple(findings))


def _shapes(headers: Headers, wanted: Expected) -> Iterator[Finding]:
    """A finding for each declaration that a source of the adapter expects."""
    absent = [name for name in wanted.headers if headers.read(name) is None]
    if "common/oai_version.h" in absent:
        absent.remove("common/oai_version.h")
    for name in absent:
        yield Finding(Level.FAIL, name, "no such header")
    for shape in wanted.shapes:
        yield _compare(headers, shape)


def _compare(headers: Headers, shape: Shape) -> Finding:
    if shape.structure:
        found = headers.member(shape.structure, shape.name)
    else:
        found = headers.function(shape.name)
    if found is None:
        return Finding(Level.FAIL, shape.what, "not declared")
    place = found.place(headers.root)
    try:
        is_same = canonical(found.text, headers.names) == canonical(shape.type, headers.names)
    except DeclarationError as error:
        return Finding(Level.FAIL, shape.what, f"cannot be read: {error}", place)
    if is_same:
        return Finding(Level.OK, shape.what, "as expected", place)
    return Finding(
        Level.FAIL, shape.what, f"is {found.text}; expected {' '.join(shape.type.split())}", place
    )


def _alternative(
    headers: Headers, adapter: Path, sources: tuple[str, ...]
) -> tuple[str | None, list[Finding]]:
    """The source of which all fits, and its findings; those of the nearest if none does."""
    tried = {source: list(_shapes(headers, expected(adapter, source))) for source in sources}

    def failures(source: str) -> int:
        return sum(finding.level is Level.FAIL for finding in tried[source])

    nearest = min(sources, key=failures)
    return (nearest if failures(nearest) == 0 else None), tried[nearest]


def _e2(root: Path, headers: Headers, adapter: Path) -> tuple[bool, list[Finding]]:
    """Whether the E2 agent can be built, with findings about it."""
    agent = "E2 agent"
    if not (root / AGENT).is_file():
        return False, [Finding(Level.WARN, agent, f"has no {AGENT}: packets, and no control")]
    if not (root / FLEXRIC / FLEXRIC_FILE).is_file():
        remedy = f"git submodule update --init {FLEXRIC}"
        found = f"the submodule {FLEXRIC} is empty: no control before `{remedy}`"
        return False, [Finding(Level.WARN, "FlexRIC", found, FLEXRIC)]
    findings = [
        Finding(Level.OK, agent, "is there", AGENT),
        Finding(Level.OK, "FlexRIC", "the submodule is there", FLEXRIC),
    ]
    for source in E2:
        findings += _shapes(headers, expected(adapter, source))
    return True, findings


def _calls(root: Path, names: list[str]) -> Iterator[Finding]:
    """Whether the linker can wrap each function: one file has it, another one uses it."""
    defined: dict[str, Path] = {}
    used: dict[str, set[Path]] = {name: set() for name in names}
    mention = re.compile(rf"\b({'|'.join(names)})\b")
    definition = re.compile(
        rf"^[^\S\n]*[\w*][\w \t*]*?[\s*]({'|'.join(names)})\s*\((?:[^(){{}};]|\([^()]*\))*\)\s*\{{",
        re.MULTILINE,
    )
    for folder in SOURCES:
        for file in sorted((root / folder).rglob("*.c")):
            if "test" in file.name or "tests" in file.parts:
                continue
            text = read_source(file)
            if mention.search(text) is None:
                continue
            here = {found[1] for found in definition.finditer(text)}
            for name in here:
                defined.setdefault(name, file)
            for found in mention.finditer(text):
                if found[1] not in here:
                    used[found[1]].add(file)
    for name in names:
        what = f"{name}()"
        if name not in defined:
            yield Finding(Level.FAIL, what, "defined in no source file")
        elif not used[name]:
            said = "used only where it is defined, where no linker can wrap it"
            yield Finding(Level.FAIL, what, said, str(defined[name].relative_to(root)))
