"""Prints what distributions of this repository require of others, for pip's -r.

    python .ci/third_party.py FOLDER[,EXTRA...] ...

Those are fetched while Rust compiles the modules that the distributions require of each other.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

OWN = "sojourn-"


def required(argument: str) -> list[str]:
    """Requirements of one distribution and of the extras named behind its folder."""
    folder, *extras = argument.split(",")
    file = Path(folder) / "pyproject.toml"
    project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    optional = project.get("optional-dependencies", {})
    lines = list(project.get("dependencies", []))
    for extra in extras:
        if extra not in optional:
            sys.exit(f"{file}: no extra {extra!r}; expected of {sorted(optional)}")
        lines += optional[extra]
    return [line for line in lines if not line.startswith(OWN)]


if __name__ == "__main__":
    print("\n".join(sorted({line for argument in sys.argv[1:] for line in required(argument)})))
