"""The bridge and the xApps as processes of a test."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from flexric_processes import Site, shim
from loop import policy as policy_file
from sojourn_demo.programs import Program

ANY_PORT = "127.0.0.1:0"
READY_WITHIN_S = 120.0
QUICK = ("--gateway-backoff-max-s", "0.5")


def indications(program: Program, node: str) -> float:
    """Number of indications of a node that an xApp received."""
    series = re.compile(rf'^sojourn_e2_indications_total{{node="{node}"}} (\S+)$', re.MULTILINE)
    found = series.search(program.metrics())
    return float(found[1]) if found else 0.0


def start(program: str, log: Path, *arguments: str) -> Program:
    """Starts a module as a program and waits until it is ready."""
    return Program([sys.executable, "-m", program, *arguments], log).wait_ready(READY_WITHIN_S)


def start_bridge(site: Site, *arguments: str) -> Program:
    """The bridge for a site's RIC."""
    preload = ("--ric-preload", shim()) if shim() else ()
    return start(
        "flexric_bridge.cli",
        site.directory / "bridge.err",
        *("serve", "--ric", site.address, "--libraries", str(site.libraries)),
        *("--listen", ANY_PORT, "--metrics-listen", ANY_PORT),
        *("--ric-controls-together", "16"),
        *(*preload, *arguments),
    )


def start_controller(site: Site, gateway: str) -> Program:
    policy = site.directory / "policy.yaml"
    policy.write_text(policy_file())
    return start(
        "tc_controller.cli",
        site.directory / "controller.err",
        *("--gateway", gateway, "--metrics-listen", ANY_PORT, "--policy", str(policy)),
        *("--state", str(site.directory / "controller.json"), *QUICK),
    )


def start_forecaster(site: Site, gateway: str) -> Program:
    return start(
        "rlc_forecaster.cli",
        site.directory / "forecaster.err",
        *("--gateway", gateway, "--metrics-listen", ANY_PORT),
        *("--listen", ANY_PORT, *QUICK),
    )


def sdk_process(bridge: Program) -> int | None:
    """Id of the process that owns the session's SDK: the oldest SDK child of the bridge."""
    children = Path(f"/proc/{bridge.process.pid}/task")
    pids = [
        int(pid) for task in children.iterdir() for pid in (task / "children").read_text().split()
    ]
    return min((pid for pid in pids if _is_sdk(pid)), default=None)


def _is_sdk(pid: int) -> bool:
    try:
        return b"flexric_bridge.child" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has just ended
        return False
