"""Builds `echo_node.c` against a FlexRIC: an E2 node that gives back what it gets."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
INTERFACE = HERE.parent / "service-model" / "include"
SYMBOL = "sojourn_tc_interface"


def cmake_setting(build: Path, name: str) -> str:
    """A setting of FlexRIC's build tree."""
    found = re.search(rf"^{name}:\w+=(\w+)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE)
    assert found is not None, name
    return found[1]


def build_echo_node(folder: Path) -> Path:
    """The program, linked with FlexRIC's agent as `flexric-node` is."""
    source, build = Path(os.environ["FLEXRIC_SRC"]), Path(os.environ["FLEXRIC_BUILD"])
    program = folder / "echo_node"
    e2ap, kpm = (cmake_setting(build, name) for name in ("E2AP_VERSION", "KPM_VERSION"))
    (kpm_model,) = (build / "src/sm/kpm_sm").glob("*/libkpm_sm_static.a")
    command = [
        *("cc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"),
        *(f"-D{e2ap}", f"-D{kpm}", "-I", str(INTERFACE), "-isystem", str(source / "src")),
        str(HERE / "echo_node.c"),
        str(build / "src/agent/libe2_agent.a"),
        str(kpm_model),
        *("-Wl,-z,execstack", f"-Wl,--export-dynamic-symbol={SYMBOL}"),
        *("-lsctp", "-ldl", "-lm", "-lpthread", "-o", str(program)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.fail(done.stderr)
    return program
