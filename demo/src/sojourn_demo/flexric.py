"""An installed FlexRIC: what of it is there, and how its near-RT RIC is started.

``FLEXRIC_BUILD`` names its build tree. Where the kernel has no SCTP, a shared object is loaded into
FlexRIC's programs that stands in for it: `SCTP_OVER_TCP`, or the one that ``SCTP_SHIM`` names.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sojourn_demo.errors import DemoError

E2_PORT, E42_PORT = 36421, 36422
IPPROTO_SCTP = 132
SERVICE_MODELS = ("gtp", "kpm", "mac", "pdcp", "rc", "rlc", "slice", "tc")
RIC_PROGRAM = Path("examples/ric/nearRT-RIC")
LEVEL_TRIGGERED = "libflexric_level_triggered.so"
"""Without it FlexRIC's programs leave messages unread that come while another is."""
SCTP_OVER_TCP = "libflexric_sctp_over_tcp.so"
"""Gives SCTP to programs of one machine whose kernel has none."""
SETUP_DONE = "E2 SETUP RESPONSE rx"
"""What FlexRIC's agent prints when the near-RT RIC has accepted the node."""


@dataclass(frozen=True, slots=True)
class FlexRic:
    """A build tree of FlexRIC, and what its programs are started with."""

    build: Path
    level_triggered: Path
    shim: Path | None

    @classmethod
    def found(cls, variables: Mapping[str, str]) -> FlexRic:
        """What the environment names.

        Raises:
            DemoError: Something is not there, and what makes it be there.
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
                    f"this kernel has no SCTP, and {shim}, which stands in for it, is not there;"
                    " run `make flexric-bridge` first, or load the module sctp"
                )
        for program, target in (
            ("flexric-node", "make flexric-node"),
            ("flexric-bridge", "make setup"),
        ):
            if not (programs / program).is_file():
                raise DemoError(f"{programs / program}: no such program; run `{target}` first")
        level_triggered = programs.parent / "lib" / LEVEL_TRIGGERED
        if not level_triggered.is_file():
            raise DemoError(f"{level_triggered}: no such file; run `make flexric-bridge` first")
        return cls(build.resolve(), level_triggered, shim.resolve() if shim else None)

    @property
    def ric(self) -> Path:
        """The program of the near-RT RIC."""
        return self.build / RIC_PROGRAM

    def environment(self) -> dict[str, str]:
        """What the near-RT RIC and the node run with."""
        preloaded = [str(self.level_triggered)]
        if self.shim is not None:
            preloaded.append(str(self.shim))
        return {**os.environ, "LD_PRELOAD": " ".join(preloaded)}

    def link_service_models(self, folder: Path) -> str:
        """Links all service models of the build tree into a new `folder`; its name with the slash
        that FlexRIC wants.

        Raises:
            DemoError: The build tree lacks one.
        """
        folder.mkdir(parents=True, exist_ok=True)
        for model in SERVICE_MODELS:
            name = f"lib{model}_sm.so"
            found = next(iter(sorted((self.build / "src" / "sm").rglob(name))), None)
            if found is None:
                raise DemoError(f"{self.build}/src/sm: has no {name}; expected all service models")
            link = folder / name
            link.unlink(missing_ok=True)
            link.symlink_to(found)
        return f"{folder}/"


def configuration(folder: Path, address: str) -> Path:
    """Writes FlexRIC's configuration file for a near-RT RIC at `address`."""
    path = folder / "flexric.conf"
    path.write_text(f"[NEAR-RIC]\nNEAR_RIC_IP = {address}\n\n[XAPP]\nDB_DIR = {folder}/\n")
    return path


def loopback_address(process: int) -> str:
    """A loopback address for the near-RT RIC of a process: FlexRIC's ports are fixed, so that two
    on one address would be in each other's way."""
    return f"127.{64 + process // 62_500 % 64}.{process // 250 % 250}.{1 + process % 250}"


def is_open(address: str, port: int) -> bool:
    """Whether something listens there, over SCTP or what stands in for it.

    It is looked up and not tried: a connection without E2AP makes the near-RT RIC abort.
    """
    return tcp_listens(_read("/proc/net/tcp"), address, port) or sctp_listens(
        _read("/proc/net/sctp/eps"), address, port
    )


def kernel_has_sctp() -> bool:
    """Whether a socket of SCTP can be had."""
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
    """Of ``/proc/net/tcp``: addresses are 32 bits of this machine's byte order, 0A is LISTEN."""
    number = int.from_bytes(socket.inet_aton(address), sys.byteorder)
    wanted = f"{number:08X}:{port:04X}"
    return any(
        len(words) > 3 and words[1] == wanted and words[3] == "0A"
        for words in map(str.split, lines)
    )


def sctp_listens(lines: list[str], address: str, port: int) -> bool:
    """Of ``/proc/net/sctp/eps``: the local port is in column 6, addresses are from column 9 on."""
    return any(
        len(words) > 8 and words[5] == str(port) and address in words[8:]
        for words in map(str.split, lines)
    )
