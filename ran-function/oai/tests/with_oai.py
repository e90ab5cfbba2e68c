"""Runs the tests in a real OpenAirInterface gNB, within a network namespace of its own.

OAI_BUILD names OAI's build tree, FLEXRIC_SRC and FLEXRIC_BUILD the FlexRIC that it ships with.
Without them a message says what is missing, and the exit status is 0. Arguments go to pytest.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sojourn_demo import DemoError
from sojourn_demo.flexric import FlexRic
from sojourn_demo.oai.build import Oai
from sojourn_demo.oai.network import enter

TESTS = tuple(
    Path(__file__).parent / name for name in ("test_gnb.py", "test_sa.py", "test_split.py")
)
ENABLED = "SOJOURN_TEST_OAI"


def main(arguments: list[str]) -> int:
    """Exit status where nothing can be tested; pytest's takes the place of it."""
    try:
        Oai.found(os.environ)
        FlexRic.found(os.environ, node=False)
    except DemoError as error:
        print(f"make test-oai: nothing was tested: {error}")
        return 0
    os.environ[ENABLED] = "1"
    return enter((sys.executable, "-m", "pytest", "-q", *map(str, TESTS), *arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
