"""Runs every test suite of the repository and closes with one count over all of them.

The product's crates run with overflow checks and debug assertions; the lab runs optimised, because
its tests simulate minutes of traffic. All share the dependencies that `make setup` built, of which
`shared-features` keeps the features the same.

`python tests/run.py NAME...` runs the suites of these names alone, and keeps no count.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COUNT_FILE = ROOT / "out" / "tests.txt"
PRODUCT_CRATES = (
    "bounded-input",
    "e2sm-tc",
    "tc-pipelines",
    "rlc-native",
    "rlc-windows",
    "tc-rf",
    "ip-header",
    "gnb-host",
    "serving",
    "sojourn-fuzz",
)
PURE_LAB_CRATES = ("ran", "traffic")
LAB_CRATES = (
    "lab-scenario",
    "lab-world",
    "lab-gateway",
    "lab-live",
    "lab-recording",
    "lab-forecast",
    "lab-reproduce",
    "replay-aqm",
    "gnb-lab",
    "flexric-node",
    "lab-fuzz",
)


def select(crates: Iterable[str], *, lab: bool) -> tuple[str, ...]:
    """Cargo's flags that select these packages of one workspace, with its shared features."""
    workspace = ("--manifest-path", "lab/Cargo.toml") if lab else ()
    features = "lab-shared-features" if lab else "shared-features"
    return (*workspace, *(word for name in (features, *crates) for word in ("-p", name)))


CARGO_TEST = ("cargo", "test", "--locked", "--no-fail-fast", "--release")
CHECKED = ("--config", "tests/checked.toml")
"""Overflow checks and debug assertions in the crates of the product."""
LAB_CHECKED = ("--config", "lab/checked.toml")
"""The same in the lab's crates that do no I/O."""


@dataclass(frozen=True, slots=True)
class Suite:
    """One test command and how to read its closing lines."""

    name: str
    command: tuple[str, ...]
    pattern: re.Pattern[str]


@dataclass(slots=True)
class Count:
    """Tests passed, failed and skipped."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0


CARGO = re.compile(
    r"^test result: .*? (?P<passed>\d+) passed; (?P<failed>\d+) failed; (?P<skipped>\d+) ignored"
)
PYTEST = re.compile(r"(?P<number>\d+) (?P<kind>passed|failed|errors?|skipped)")

PYTEST_COMMAND = (
    *(sys.executable, "-m", "pytest", "-q"),
    *("--dist=loadfile", "--no-loadscope-reorder"),
)

SUITES = (
    Suite("Rust, product", (*CARGO_TEST, *CHECKED, *select(PRODUCT_CRATES, lab=False)), CARGO),
    Suite(
        "Rust, radio and traffic",
        (*CARGO_TEST, *LAB_CHECKED, *select(PURE_LAB_CRATES, lab=True)),
        CARGO,
    ),
    Suite("Rust, lab", (*CARGO_TEST, *select(LAB_CRATES, lab=True)), CARGO),
    # More files at a time than two cores: most tests of running programs wait.
    Suite("Python", (*PYTEST_COMMAND, "-n3", "-m", "not training_extras"), PYTEST),
    # By itself: TensorFlow and LightGBM keep both cores busy, and others run in real time.
    Suite(
        "Training",
        (*PYTEST_COMMAND, "-n2", "-m", "training_extras", "nonrt-ric/training"),
        PYTEST,
    ),
)


def count_line(suite: Suite, line: str, count: Count) -> None:
    """Adds the counts in one line of output to `count`."""
    if suite.pattern is CARGO:
        if match := CARGO.match(line):
            count.passed += int(match["passed"])
            count.failed += int(match["failed"])
            count.skipped += int(match["skipped"])
    elif re.search(r" in [\d.]+s", line):
        for match in PYTEST.finditer(line):
            kind = "failed" if match["kind"].startswith("error") else match["kind"]
            setattr(count, kind, getattr(count, kind) + int(match["number"]))


def run(suite: Suite, total: Count) -> bool:
    """Runs a suite and prints its output; returns whether it passed."""
    started = time.monotonic()
    print(f"== {suite.name}: {' '.join(suite.command)}", flush=True)
    count = Count()
    with subprocess.Popen(
        suite.command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.write(line)
            count_line(suite, line, count)
    if process.returncode != 0 and count.failed == 0:
        # A failed build or a crashed runner is a failure even if no test was counted.
        count.failed = 1
    print(
        f"== {suite.name}: {count.passed} passed, {count.failed} failed, {count.skipped} skipped"
        f" in {time.monotonic() - started:.0f} s",
        flush=True,
    )
    total.passed += count.passed
    total.failed += count.failed
    total.skipped += count.skipped
    return process.returncode == 0


def main() -> int:
    """Runs all suites, or those that are named; 0 only if every one of them passed."""
    # A shell that starts this in the background makes it ignore SIGINT, which the programs under
    # test would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    names = sys.argv[1:]
    known = [suite.name for suite in SUITES]
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"tests/run.py: no suite {unknown[0]!r}; expected of {known}")
    total = Count()
    good = [run(suite, total) for suite in SUITES if not names or suite.name in names]
    closing = f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped"
    if not names:
        COUNT_FILE.parent.mkdir(exist_ok=True)
        COUNT_FILE.write_text(closing + "\n")
    print(closing, flush=True)
    return 0 if all(good) and total.passed else 1


if __name__ == "__main__":
    sys.exit(main())
