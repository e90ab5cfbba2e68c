"""FlexRIC's near-RT RIC and its emulated E2 nodes as processes of a test."""

from __future__ import annotations

import os
import pty
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from matrix import Installation

PATIENCE_S = 20.0
RESTART_S = 0.5
"""Delay before a supervisor restarts the RIC; systemd's default is 0.1 s, kubelet's longer."""
IPPROTO_SCTP = 132

RIC = Path("examples/ric/nearRT-RIC")
EMULATORS = Path("examples/emulator/agent")
LAB = Path(sys.executable).parent / "flexric-node"
LEVEL_TRIGGERED = Path(sys.prefix) / "lib/libflexric_level_triggered.so"
TC_V1_MODEL = Path(sys.prefix) / "lib/flexric/libsojourn_tc_sm.so"
SCTP_OVER_TCP = Path(sys.prefix) / "lib/libflexric_sctp_over_tcp.so"


def has_sctp() -> bool:
    """Whether the kernel has SCTP."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_SEQPACKET, IPPROTO_SCTP).close()
    except OSError:
        return False
    return True


def missing(installation: Installation) -> str | None:
    """Why tests with this FlexRIC cannot run, or None."""
    if not (installation.build / RIC).is_file():
        return f"there is no {installation.build / RIC}: build FlexRIC's target {RIC.name}"
    if "SCTP_SHIM" in os.environ and not Path(shim()).is_file():
        return f"SCTP_SHIM is {shim()}, which is no file"
    return None


def missing_sctp() -> str | None:
    """Why programs cannot use SCTP, or None."""
    if shim() and not Path(shim()).is_file():
        return "the kernel has no SCTP: `make flexric-bridge` builds a substitute"
    return None


def shim() -> str:
    """The library that substitutes SCTP for a kernel without it; empty otherwise."""
    named = os.environ.get("SCTP_SHIM", "")
    return named or ("" if has_sctp() else str(SCTP_OVER_TCP))


def environment() -> dict[str, str]:
    """The environment of the RIC and of E2 nodes, as the operator's guide has it."""
    preloaded = [str(LEVEL_TRIGGERED), *filter(None, [shim()])]
    return {**os.environ, "LD_PRELOAD": " ".join(preloaded)}


class Process:
    """A program of FlexRIC; its output is a terminal, so that it is not buffered."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        ours, theirs = pty.openpty()
        self.log = log
        self._lines: list[str] = []
        self._printed = threading.Condition()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            env=environment(),
            cwd=log.parent,  # FlexRIC leaves files where it is started
        )
        os.close(theirs)
        threading.Thread(target=self._read, args=(ours,), daemon=True).start()

    def _read(self, descriptor: int) -> None:
        with os.fdopen(descriptor, errors="replace") as output, self.log.open("a") as log:
            try:
                for line in output:
                    log.write(line)
                    with self._printed:
                        self._lines.append(line)
                        self._printed.notify_all()
            except OSError:  # the program ended
                return

    def wait_for(self, text: str, at: Process | None = None) -> bool:
        """Wait for a line with this text; false if the program ended without it."""
        deadline = time.monotonic() + PATIENCE_S
        with self._printed:
            while not any(text in line for line in self._lines):
                left = deadline - time.monotonic()
                if at is not None and not at.alive:
                    return False
                assert left > 0 and self.alive, f"no {text!r} in {self.log}"
                self._printed.wait(min(left, 0.2))
        return True

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        """SIGKILL, without a graceful end."""
        self._process.kill()
        self._process.wait(PATIENCE_S)


@dataclass(frozen=True)
class Site:
    """Directory and address of one RIC, so that several can run concurrently."""

    directory: Path
    address: str

    @property
    def configuration(self) -> Path:
        return self.directory / "flexric.conf"

    @property
    def libraries(self) -> Path:
        return self.directory / "models"


def make_site(directory: Path, number: int, *, tc_v1: bool = False) -> Site:
    """Configuration and service models, as FlexRIC's installation would place them, and E2SM-TC v1
    beside them."""
    # Ports are fixed; each site of each test run has its own loopback address.
    pid = os.getpid()
    site = Site(directory, f"127.{64 + number % 64}.{pid // 254 % 254 + 1}.{pid % 254 + 1}")
    site.libraries.mkdir(parents=True)
    for model in (Path(os.environ["FLEXRIC_BUILD"]) / "src/sm").rglob("lib*_sm.so"):
        shutil.copy(model, site.libraries)
    if tc_v1:
        shutil.copy(TC_V1_MODEL, site.libraries)
    site.configuration.write_text(
        f"[NEAR-RIC]\nNEAR_RIC_IP = {site.address}\n\n[XAPP]\nDB_DIR = {directory}/\n"
    )
    return site


class Network:
    """A near-RT RIC and its E2 nodes."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.agents: dict[str, Process] = {}
        self._starts: dict[str, Callable[[], Process]] = {}
        self.ric = self._start_ric()

    def _start_ric(self) -> Process:
        ric = self._start(RIC, "ric")
        try:
            ric.wait_for("[iApp]: nearRT-RIC IP Address")
        except BaseException:
            ric.kill()
            raise
        return ric

    def _start(self, program: Path, name: str) -> Process:
        path = Path(os.environ["FLEXRIC_BUILD"]) / program
        command = [str(path), "-c", str(self.site.configuration), "-p", f"{self.site.libraries}/"]
        return Process(command, self.site.directory / f"{name}.log")

    def repair(self) -> bool:
        """Restart what is not running, as a supervisor does; returns whether anything was down.

        Nodes are stopped with the RIC: two that reconnect at once would make the next one abort.
        """
        broken = self.repair_ric()
        broken = broken or not all(agent.alive for agent in self.agents.values())
        for name, agent in tuple(self.agents.items()):
            if not agent.alive:
                self._add(name, self._starts[name])
        return broken

    def repair_ric(self) -> bool:
        """Restart the RIC alone, if it is down; returns whether it was."""
        if self.ric.alive:
            return False
        for agent in self.agents.values():
            agent.kill()
        time.sleep(RESTART_S)
        self.ric = self._start_ric()
        return True

    def add(self, kind: str) -> None:
        """An emulated E2 node (gnb, gnb_cu, gnb_du, enb); returns once the RIC has accepted it.

        Skips the test where this FlexRIC has no such program.
        """
        program = Path(os.environ["FLEXRIC_BUILD"]) / EMULATORS / f"emu_agent_{kind}"
        if not program.is_file():
            pytest.skip(f"there is no {program}: build FlexRIC's target emu_agent_{kind}")
        there = self._add(kind, lambda: self._start(EMULATORS / f"emu_agent_{kind}", kind))
        assert there, self.ric.log

    def add_lab(self, nb_id: int, scenario: Path) -> str:
        """The lab as an E2 node; returns its id once the RIC has accepted its E2 setup."""
        name = f"gnb-001-01-{nb_id:#x}"
        command = [
            *(str(LAB), str(scenario), "--ric", self.site.address, "--nb-id", str(nb_id)),
            *("--libraries", str(self.site.libraries)),
        ]
        there = self._add(name, lambda: Process(command, self.site.directory / f"{name}.log"))
        assert there, self.ric.log
        return name

    def _add(self, name: str, start: Callable[[], Process]) -> bool:
        """Whether the RIC has accepted its E2 setup; false if the RIC ended."""
        self._starts[name] = start
        self.agents[name] = start()
        # The RIC aborts on two concurrent E2 setups.
        return self.agents[name].wait_for("E2 SETUP RESPONSE rx", at=self.ric)

    def stop(self) -> None:
        for process in (*self.agents.values(), self.ric):
            process.kill()
