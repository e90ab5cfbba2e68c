"""Builds bridge and node against FlexRIC installations, and runs tests and demo with each.

FLEXRIC_SRC and FLEXRIC_BUILD name one installation, or several separated by colons. The outcomes
are printed as a table. Without FlexRIC a message says what is missing, and the exit status is 0.
`--no-demo` leaves the demo out; all other arguments are passed to pytest.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from flexric_processes import missing
from matrix import Installation, Row, installations, table, write

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
BIN = Path(sys.executable).parent
MODEL = ROOT / "gateway/flexric/service-model/build_model.py"
OUT = ROOT / "out/flexric"
NODE = (
    *("cargo", "build", "--manifest-path", "lab/Cargo.toml", "--release", "--locked"),
    *("-p", "lab-shared-features", "-p", "flexric-node", "--features", "flexric"),
)
NO_DEMO = "--no-demo"
RESULTS = "SOJOURN_TEST_FLEXRIC"


def succeeds(command: list[str], environment: dict[str, str]) -> bool:
    """Whether a command exits with 0."""
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0


def build(environment: dict[str, str]) -> bool:
    """The bridge's module, the service model and the node for one FlexRIC."""
    module = [sys.executable, str(ROOT / "gateway/flexric/bridge/swig/build.py")]
    model = [sys.executable, str(MODEL), str(BIN.parent / "lib/flexric")]
    if not all(succeeds(command, environment) for command in (module, model, list(NODE))):
        return False
    shutil.copy2(ROOT / "target/release/flexric-node", BIN / "flexric-node.new")
    (BIN / "flexric-node.new").rename(BIN / "flexric-node")
    return True


def test(row: Row, environment: dict[str, str], arguments: list[str]) -> None:
    """The tests of this directory."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.json"
        command = [sys.executable, "-m", "pytest", "-q", str(HERE), *arguments]
        row.tests_passed = succeeds(command, {**environment, RESULTS: str(results)})
        if results.is_file():
            row.take(results)


def demo(environment: dict[str, str], number: int) -> bool:
    """Whether `make demo-flexric` passes its check."""
    out = OUT / f"demo-{number}"
    shown = [str(BIN / "sojourn-demo"), "--through", "flexric", "--out", str(out)]
    check = [sys.executable, str(ROOT / "demo/tests/check_demo.py"), str(out / "summary.json")]
    return succeeds(shown, environment) and succeeds(check, environment)


def examine(installation: Installation, number: int, arguments: list[str]) -> Row:
    """Build, test and demo of one installation."""
    row = Row(installation.name)
    environment = installation.environment()
    print(f"== FlexRIC {row.name}", flush=True)
    row.outcomes["build"]["passed" if build(environment) else "failed"] += 1
    if row.good:
        test(row, environment, [argument for argument in arguments if argument != NO_DEMO])
        if NO_DEMO not in arguments:
            row.outcomes["demo"]["passed" if demo(environment, number) else "failed"] += 1
    return row


def main(arguments: list[str]) -> int:
    """Exit status: 0 unless something failed."""
    try:
        found = installations()
        lacking = next(filter(None, map(missing, found)), None)
    except ValueError as error:
        print(f"make test-flexric: {error}")
        return 1
    if not found or lacking:
        lacking = lacking or "set FLEXRIC_SRC and FLEXRIC_BUILD to FlexRIC's source and build tree"
        print(f"make test-flexric: nothing was tested: {lacking}")
        return 0
    rows: list[Row] = []
    for number, installation in enumerate(found):
        rows.append(examine(installation, number, arguments))
        write(rows, OUT / "matrix.json")
    print(table(rows))
    print(f"as JSON: {os.path.relpath(OUT / 'matrix.json', ROOT)}")
    return 0 if all(row.good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
