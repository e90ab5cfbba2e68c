"""Builds `echo_node.c` against a FlexRIC: an E2 node that gives back what it gets."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
INTERFACE = HERE.parent / "service-model" / "include"
SYMBOL = "sojourn_tc_interface"


def build_echo_node(folder: Path) -> Path:
    """The program, linked with FlexRIC's agent as `flexric-node` is."""
    source, build = Path(os.environ["FLEXRIC_SRC"]), Path(os.environ["FLEXRIC_BUILD"])
    program = folder / "echo_node"
    command = [
        *("cc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"),
        *("-DE2AP_V2", "-DKPM_V2_03", "-I", str(INTERFACE), "-isystem", str(source / "src")),
        str(HERE / "echo_node.c"),
        str(build / "src/agent/libe2_agent.a"),
        str(build / "src/sm/kpm_sm/kpm_sm_v02.03/libkpm_sm_static.a"),
        *("-Wl,-z,execstack", f"-Wl,--export-dynamic-symbol={SYMBOL}"),
        *("-lsctp", "-ldl", "-lm", "-lpthread", "-o", str(program)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.fail(done.stderr)
    return program
