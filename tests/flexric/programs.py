"""The bridge and the xApps as processes of a test, and what they count."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from flexric_processes import Site, shim
from loop import POLICY

ANY_PORT = "127.0.0.1:0"
QUICK = ("--gateway-backoff-max-s", "0.5")


@dataclass(frozen=True)
class Program:
    """A running program and the line it said when it was ready."""

    process: subprocess.Popen[bytes]
    ready: dict[str, Any]

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        """SIGKILL: it gets no word in."""
        self.process.kill()
        self.process.wait(20)
        if self.process.stdout is not None:
            self.process.stdout.close()

    def metrics(self) -> str:
        """What it exports."""
        url = f"http://{self.ready['metrics']}/metrics"
        with urllib.request.urlopen(url, timeout=30) as answer:
            text: bytes = answer.read()
        return text.decode()

    def indications(self, node: str, ran_function: str) -> float:
        """How many it got of a node; 0 before the first."""
        series = re.compile(
            rf'^sojourn_e2_indications_total{{node="{node}",ran_function="{ran_function}"}} (\S+)$',
            re.MULTILINE,
        )
        found = series.search(self.metrics())
        return float(found[1]) if found else 0.0


def start(command: Sequence[str], log: Path, env: dict[str, str] | None = None) -> Program:
    """A program that says in a line of JSON when it is ready."""
    with log.open("ab") as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, env=env
        )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, log.read_text()
    return Program(process, json.loads(line))


def module(name: str) -> list[str]:
    """A command of this environment by its module."""
    return [sys.executable, "-m", name]


def start_bridge(site: Site, *arguments: str) -> Program:
    """The sidecar for a site's RIC."""
    preload = ("--ric-preload", shim()) if shim() else ()
    return start(
        [
            *module("flexric_bridge.cli"),
            *("serve", "--ric", site.address, "--libraries", str(site.libraries)),
            *("--listen", ANY_PORT, "--metrics-listen", ANY_PORT),
            *("--ric-controls-together", "16"),
            *(*preload, *arguments),
        ],
        site.directory / "bridge.err",
    )


def start_controller(site: Site, gateway: str) -> Program:
    policy = site.directory / "policy.yaml"
    policy.write_text(yaml.safe_dump(POLICY))
    return start(
        [
            *module("tc_controller.cli"),
            *("--gateway", gateway, "--metrics-listen", ANY_PORT, "--policy", str(policy)),
            *("--state", str(site.directory / "controller.json"), *QUICK),
        ],
        site.directory / "controller.err",
    )


def start_forecaster(site: Site, gateway: str) -> Program:
    return start(
        [
            *module("rlc_forecaster.cli"),
            *("--gateway", gateway, "--metrics-listen", ANY_PORT),
            *("--listen", ANY_PORT, *QUICK),
        ],
        site.directory / "forecaster.err",
    )


def sdk_process(bridge: Program) -> int | None:
    """The process that owns the SDK, by the bridge's children; the oldest is the session's."""
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
