"""An installed FlexRIC: its files, and the environment of its programs.

``FLEXRIC_BUILD`` is its build tree. If the kernel has no SCTP, FlexRIC's programs preload a shared
object that emulates it: `SCTP_OVER_TCP`, or the one in ``SCTP_SHIM``.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sojourn_demo import DemoError

E2_PORT, E42_PORT = 36421, 36422
IPPROTO_SCTP = 132
SERVICE_MODELS = ("gtp", "kpm", "mac", "pdcp", "rc", "rlc", "slice", "tc")
RIC_PROGRAM = Path("examples/ric/nearRT-RIC")
LEVEL_TRIGGERED = "libflexric_level_triggered.so"
"""Makes FlexRIC's edge-triggered event loop level-triggered, so that no message is left unread."""
SCTP_OVER_TCP = "libflexric_sctp_over_tcp.so"
"""Emulates SCTP between programs of one machine."""
TC_V1_MODEL = "libsojourn_tc_sm.so"
"""E2SM-TC v1 as a service model of one build of FlexRIC."""
SETUP_DONE = "E2 SETUP RESPONSE rx"
"""Output of FlexRIC's agent after a successful E2 Setup."""


@dataclass(frozen=True, slots=True)
class FlexRic:
    """A build tree of FlexRIC and the libraries that its programs preload."""

    build: Path
    level_triggered: Path
    shim: Path | None

    @classmethod
    def found(cls, variables: Mapping[str, str], *, node: bool = True) -> FlexRic:
        """The FlexRIC of the environment variables; with `node`, the lab as its E2 node, too.

        Raises:
            DemoError: A file is missing; the message has the command that makes it.
        """
        build = Path(variables.get("FLEXRIC_BUILD", ""))
        if not variables.get("FLEXRIC_BUILD"):
            raise DemoError("FLEXRIC_BUILD is not set; expected the build tree of FlexRIC")
        if not (build / RIC_PROGRAM).is_file():
            raise DemoError(
                f"FLEXRIC_BUILD={build}: has no {RIC_PROGRAM}; expected a build tree of FlexRIC"
            )
        programs = Path(sys.executable).parent
        shim = Path(variables["SCTP_SHIM"]) if variables.get("SCTP_SHIM") else None
        if shim is not None and not shim.is_file():
            raise DemoError(f"SCTP_SHIM={shim}: no such file; expected a shared object")
        if shim is None and not kernel_has_sctp():
            shim = programs.parent / "lib" / SCTP_OVER_TCP
            if not shim.is_file():
                raise DemoError(
                    f"this kernel has no SCTP, and {shim}, which emulates it, is missing;"
                    " run `make flexric-bridge` first, or load the module sctp"
                )
        needed = {"flexric-bridge": "make setup"}
        if node:
            needed["flexric-node"] = "make flexric-node"
        for program, target in needed.items():
            if not (programs / program).is_file():
                raise DemoError(f"{programs / program}: no such program; run `{target}` first")
        level_triggered = programs.parent / "lib" / LEVEL_TRIGGERED
        if not level_triggered.is_file():
            raise DemoError(f"{level_triggered}: no such file; run `make flexric-bridge` first")
        return cls(build.resolve(), level_triggered, shim.resolve() if shim else None)

    @property
    def ric(self) -> Path:
        """Path of the near-RT RIC."""
        return self.build / RIC_PROGRAM

    def environment(self) -> dict[str, str]:
        """Environment of the near-RT RIC and the node."""
        inherited = os.environ.get("LD_PRELOAD", "").split()
        return {**os.environ, "LD_PRELOAD": " ".join([*inherited, *self.preloaded()])}

    def preloaded(self) -> list[str]:
        """The libraries that the near-RT RIC and the node preload."""
        return list(map(str, filter(None, (self.level_triggered, self.shim))))

    def link_service_models(self, folder: Path, *, tc_v1: bool = True) -> str:
        """Links all service models of the build tree into a new `folder`, and E2SM-TC v1 where it
        is installed and wanted.

        Returns:
            Its name with the final slash that FlexRIC requires.

        Raises:
            DemoError: A service model is missing.
        """
        folder.mkdir(parents=True, exist_ok=True)
        own = tc_v1_model() if tc_v1 else None
        models = [] if own is None else [own]
        for model in SERVICE_MODELS:
            name = f"lib{model}_sm.so"
            found = next(iter(sorted((self.build / "src" / "sm").rglob(name))), None)
            if found is None:
                raise DemoError(f"{self.build}/src/sm: has no {name}; expected all service models")
            models.append(found)
        for found in models:
            link = folder / found.name
            link.unlink(missing_ok=True)
            link.symlink_to(found)
        return f"{folder}/"


def tc_v1_model() -> Path | None:
    """E2SM-TC v1 as a service model, where `make flexric-sm` installed it."""
    model = Path(sys.executable).parent.parent / "lib/flexric" / TC_V1_MODEL
    return model if model.is_file() else None


def configuration(folder: Path, address: str) -> Path:
    """Writes FlexRIC's configuration file for a near-RT RIC at `address`."""
    path = folder / "flexric.conf"
    path.write_text(f"[NEAR-RIC]\nNEAR_RIC_IP = {address}\n\n[XAPP]\nDB_DIR = {folder}/\n")
    return path


def loopback_address(process: int) -> str:
    """A loopback address for the near-RT RIC of a process: FlexRIC's ports are fixed, so two
    processes need two addresses."""
    return f"127.{64 + process // 62_500 % 64}.{process // 250 % 250}.{1 + process % 250}"


def is_open(address: str, port: int) -> bool:
    """Whether a socket listens on the port, over SCTP or its emulation.

    Reads /proc, because a connection without E2AP makes the near-RT RIC abort.
    """
    return tcp_listens(_read("/proc/net/tcp"), address, port) or sctp_listens(
        _read("/proc/net/sctp/eps"), address, port
    )


def kernel_has_sctp() -> bool:
    """Whether SCTP sockets are available."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_SEQPACKET, IPPROTO_SCTP).close()
    except OSError:
        return False
    return True


def _read(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()[1:]
    except OSError:
        return []


def tcp_listens(lines: list[str], address: str, port: int) -> bool:
    """Parses ``/proc/net/tcp``: addresses are 32 bits of this machine's byte order, 0A is
    LISTEN."""
    number = int.from_bytes(socket.inet_aton(address), sys.byteorder)
    wanted = f"{number:08X}:{port:04X}"
    return any(
        len(words) > 3 and words[1] == wanted and words[3] == "0A"
        for words in map(str.split, lines)
    )


def sctp_listens(lines: list[str], address: str, port: int) -> bool:
    """Parses ``/proc/net/sctp/eps``: the local port is in column 6, addresses are from column 9
    on."""
    return any(
        len(words) > 8 and words[5] == str(port) and address in words[8:]
        for words in map(str.split, lines)
    )
