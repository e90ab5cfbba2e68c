"""`make oai-check`: whether a tree of OpenAirInterface fits, before any build, and what differs.

    python -m oai_plan.check FOLDER [--build FOLDER] [--json]

The exit status is 0 if all fits, 1 if it fits with less than everything (no E2 agent), 2 if it does
not fit or is no OAI.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from oai_plan.compiled import build_tree, compile_all
from oai_plan.fit import Finding, Fit, Level, OaiError, examine
from oai_plan.shapes import ADAPTER, AdapterError

HOST: Final = Path(sys.prefix) / "include"
"""Where `make setup` installs sojourn_gnb.h."""


def check(root: Path, *, adapter: Path = ADAPTER, build: Path | None = None) -> Fit:
    """Examine a tree; with a compiler where it has been configured.

    Raises:
        OaiError: The folder is no tree of OAI, or `build` is no build tree of it.
        AdapterError: The folder is not the adapter's.
    """
    fit = examine(root, adapter)
    configured = build_tree(fit.root, build)
    if build is not None and configured is None:
        raise OaiError(f"{build}: is no build tree of {fit.root}; expected one of cmake -G Ninja")
    if configured is None or fit.generation is None:
        return fit
    compiled = compile_all(fit, configured.resolve(), adapter, HOST)
    generation = None if any(f.level is Level.FAIL for f in compiled) else fit.generation
    return replace(fit, findings=(*fit.findings, *compiled), generation=generation)


def table(fit: Fit) -> str:
    """Text for people: a line for each finding, what does not fit first."""
    shown = [finding for finding in fit.findings if finding.level is not Level.OK]
    fine = [finding for finding in fit.findings if finding.level is Level.OK]
    rows = [("", "WHAT", "FOUND", "WHERE")]
    rows += [(f.level.value, f.what, f.found, f.place or "-") for f in (*shown, *fine)]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    lines = [
        f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}"
        + (f"  ({row[3]})" if row[3] not in {"-", "WHERE"} else "")
        for row in rows
    ]
    return "".join(f"{line.rstrip()}\n" for line in [*lines, "", summary(fit)])


def summary(fit: Fit) -> str:
    """One sentence."""
    failed = [finding for finding in fit.findings if finding.level is Level.FAIL]
    if fit.generation is None:
        what = ", ".join(dict.fromkeys(finding.what for finding in failed[:3]))
        return f"{fit.root}: no generation of the adapter fits: see {what}"
    how = "read, as generated headers are not here" if fit.missing_headers else "read"
    if any(finding.found == "compiles" for finding in fit.findings):
        how = "compiled"
    return f"{fit.root}: fits, generation {fit.generation} (declarations {how})"


def as_json(fit: Fit) -> dict[str, Any]:
    """The same as plain values."""
    return {
        "oai": str(fit.root),
        "fits": fit.generation is not None,
        "generation": fit.generation,
        "sources": list(fit.sources),
        "missing_headers": fit.missing_headers,
        "status": fit.status,
        "findings": [_finding(finding) for finding in fit.findings],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    file, _, line = finding.place.partition(":")
    return {
        "level": finding.level.value,
        "what": finding.what,
        "found": finding.found,
        "file": file or None,
        "line": int(line.split(":")[0]) if line.split(":")[0].isdigit() else None,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="make oai-check", description=__doc__)
    parser.add_argument("oai", type=Path, metavar="FOLDER", help="OpenAirInterface's source tree")
    parser.add_argument("--build", type=Path, metavar="FOLDER", help="its build tree, if any")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    given = parser.parse_args(arguments)
    try:
        fit = check(given.oai, build=given.build)
    except (OaiError, AdapterError) as error:
        sys.stderr.write(f"make oai-check: {error}\n")
        return 2
    sys.stdout.write(json.dumps(as_json(fit)) + "\n" if given.json else table(fit))
    return fit.status


if __name__ == "__main__":
    sys.exit(main())
