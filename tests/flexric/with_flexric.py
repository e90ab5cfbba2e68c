"""Builds the SDK against an installed FlexRIC and tests against that FlexRIC's programs.

Without FlexRIC it says in a sentence what is missing, and that is no failure.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from flexric_processes import missing

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


def main() -> int:
    """0 if every test passed or there is no FlexRIC."""
    if lacking := missing():
        print(f"make test-flexric: nothing was tested: {lacking}")
        return 0
    build = [sys.executable, str(ROOT / "xapps/flexric_bridge/swig/build.py")]
    if subprocess.run(build, check=False).returncode != 0:
        return 1
    tests = [sys.executable, "-m", "pytest", "-q", str(HERE), *sys.argv[1:]]
    with_flexric = {**os.environ, "SOJOURN_TEST_FLEXRIC": "1"}
    return subprocess.run(tests, cwd=ROOT, env=with_flexric, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
