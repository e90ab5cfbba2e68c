"""How gRPC is loaded, each time in a process of its own: that happens once."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from ric._grpc import VARIABLE

PROGRAM = f"""
import os
import ric, grpc
print(repr(os.environ.get({VARIABLE!r})))
grpc.insecure_channel("127.0.0.1:1").close()
"""
_UNKNOWN = "Unknown experiment"


def loaded(given: str | None) -> tuple[str, str]:
    """The variable in the environment afterwards, and the output on stderr."""
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    if given is not None:
        environment[VARIABLE] = given
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip(), done.stderr


def test_the_core_gets_its_option_and_child_processes_do_not() -> None:
    left, printed = loaded(None)
    assert left == "None"
    assert _UNKNOWN not in printed


@pytest.mark.parametrize("given", ["", "-no_such_thing"])
def test_the_environment_takes_precedence(given: str) -> None:
    left, printed = loaded(given)
    assert left == repr(given)
    assert (_UNKNOWN in printed) == bool(given)
