"""Instructions of the hot paths: a packet in every queue discipline and in the six stages, a
millisecond of an emulated cell without and with an RLC report, a report to the mix of forecasts.

Counted by Valgrind, so neither the load nor the speed of a machine shows in them. A load runs
twice, for different times; the difference is what a packet, a millisecond or a report costs.
`instructions.json` keeps the counts and the compiler they are of. More than 10 % above a kept count
is a failure: exit code 1.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from measuring import show

ROOT = Path(__file__).resolve().parent.parent
KEPT = Path(__file__).with_name("instructions.json")
BUILD = (
    *("cargo", "build", "--manifest-path", "lab/Cargo.toml", "--release", "--locked", "--quiet"),
    *("-p", "lab-shared-features", "-p", "gnb-benchmarks", "--bin", "hot-paths"),
)
PROGRAM = ROOT / "target" / "release" / "hot-paths"
TIMES = {"cell": (1_500, 3_000), "forecasts": (60, 120)}
"""How often a load is repeated, by the first word of its name. The first run fills tables, grows
storage and starts the flows."""
PACKETS = (1 << 14, 3 << 14)
"""The same of all others."""
TOLERANCE = 0.1


def compiler() -> str:
    """What the counts depend on beside the code: compiler and machine."""
    version = subprocess.run(("rustc", "--version"), capture_output=True, text=True, check=True)
    return f"{version.stdout.split('(')[0].strip()}, {platform.machine()}"


def total(name: str, times: int) -> int:
    """Instructions of a whole run."""
    run = subprocess.run(
        (
            *("valgrind", "--tool=cachegrind", "--cache-sim=no"),
            *("--cachegrind-out-file=/dev/null", PROGRAM, name, str(times)),
        ),
        capture_output=True,
        text=True,
        check=True,
    )
    refs = re.search(r"I\s+refs:\s+([\d,]+)", run.stderr)
    if refs is None:
        raise ValueError(f"valgrind's output has no count of instructions: {run.stderr[-500:]}")
    return int(refs[1].replace(",", ""))


def count(name: str) -> int:
    """Instructions of a packet, a millisecond or a report of a load."""
    few, many = TIMES.get(name.partition("_")[0], PACKETS)
    return round((total(name, many) - total(name, few)) / (many - few))


def counts() -> dict[str, float]:
    """Instructions by load; builds what it counts."""
    subprocess.run(BUILD, cwd=ROOT, check=True)
    names = subprocess.run((PROGRAM,), capture_output=True, text=True, check=True).stdout.split()
    return {name: count(name) for name in names}


def grown(kept: Mapping[str, float], counted: Mapping[str, float]) -> list[str]:
    """The loads that take more instructions than tolerated, and those that are not in both."""
    limit = 1 + TOLERANCE
    return [
        name
        for name in dict.fromkeys((*kept, *counted))
        if name not in kept or counted.get(name, float("inf")) > kept[name] * limit
    ]


def main() -> int:
    """Counts, compares with what is kept, and keeps the counts if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true", help="write the counts to instructions.json")
    arguments = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.exit("instructions.py: no valgrind on PATH; Debian has it in the package valgrind")
    counted = counts()
    if arguments.keep:
        document = {"compiler": compiler(), "instructions": counted}
        KEPT.write_text(json.dumps(document, indent=2) + "\n")
    document = json.loads(KEPT.read_text())
    kept = document["instructions"]
    show([{"load": name, "kept": kept.get(name), "now": now} for name, now in counted.items()])
    if document["compiler"] != compiler():
        print(f"kept of {document['compiler']}, counted of {compiler()}")
    failed = grown(kept, counted)
    if failed:
        print(f"more than {TOLERANCE:.0%} above what is kept, or not kept: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
