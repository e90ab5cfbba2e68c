"""The programs that the demo needs or uses, and what is said where one is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sojourn_demo import DemoError
from sojourn_demo.kernel import quality
from sojourn_demo.load import network_quality

NEEDED: Final = {"iperf3": "iperf3", "ping": "iputils-ping", "setpriv": "util-linux"}
"""Program and the package of Debian that has it."""
QUALITY_SERVER: Final = {quality.NGINX: "nginx-light", quality.OPENSSL: "openssl"}
"""The same for the server of the test of responsiveness."""
CHROMIUM: Final = ("chromium", "chromium-browser", "google-chrome")
CONTROLS: Final = ("cubic", "bbr")
SETTINGS: Final = Path("/proc/sys/net/ipv4")


@dataclass(frozen=True, slots=True)
class Tools:
    """What is here.

    Attributes:
        controls: Congestion controls of the downloads that the kernel has.
        irtt: Whether irtt is here.
        chromium: The browser.
        quality: The client of the test of responsiveness, where its server is here, too.
        skipped: A sentence for each thing that is missing.
    """

    controls: tuple[str, ...]
    irtt: bool
    chromium: str | None
    skipped: tuple[str, ...]
    quality: str | None = None

    @classmethod
    def found(cls) -> Tools:
        """Those on PATH.

        Raises:
            DemoError: A program is missing without which there is nothing to show.
        """
        if missing := [name for name in NEEDED if shutil.which(name) is None]:
            packages = ", ".join(NEEDED[name] for name in missing)
            raise DemoError(f"no {', '.join(missing)} on PATH; Debian: apt install {packages}")
        kernel = kernel_controls()
        controls = tuple(name for name in CONTROLS if name in kernel)
        if not controls:
            raise DemoError(
                f"congestion controls of this kernel: {', '.join(kernel)}; expected cubic or bbr"
            )
        irtt = shutil.which("irtt") is not None
        chromium = next(filter(None, map(shutil.which, CHROMIUM)), None)
        skipped = [
            f"No download by {name}: this kernel offers {', '.join(kernel)}"
            f" (`modprobe tcp_{name}`)."
            for name in CONTROLS
            if name not in controls
        ]
        if not irtt:
            skipped.append(
                "No irtt (Debian: apt install irtt): numbered UDP packets of the demo's own are the"
                " VoIP-like flow."
            )
        if chromium is None:
            skipped.append(
                "No video and no pages: no chromium on PATH (Debian: apt install chromium)."
            )
        client = next(filter(None, map(shutil.which, network_quality.CLIENTS)), None)
        if client is None:
            skipped.append(
                f"No RPM: no {network_quality.CLIENTS[0]} on PATH, the IETF community's client for"
                " responsiveness (docs/kernel-traffic.md says where it is from)."
            )
        elif missing := [name for name in QUALITY_SERVER if shutil.which(name) is None]:
            packages = " ".join(QUALITY_SERVER[name] for name in missing)
            skipped.append(
                f"No RPM: no {', '.join(missing)} on PATH (Debian: apt install {packages})."
            )
            client = None
        return cls(controls, irtt, chromium, tuple(skipped), client)


def kernel_controls() -> tuple[str, ...]:
    """Congestion controls that this user may choose."""
    name = "available" if os.geteuid() == 0 else "allowed"
    path = SETTINGS / f"tcp_{name}_congestion_control"
    try:
        return tuple(path.read_text().split())
    except OSError as error:
        raise DemoError(f"{path}: {error.strerror}; expected Linux") from error


def gnb_lab() -> Path:
    """The program; raises `DemoError` without it."""
    path = Path(sys.executable).parent / "gnb-lab"
    if not path.exists():
        raise DemoError(f"{path}: no such program; run `make setup` first")
    return path


def check_namespaces(scenario: Path) -> None:
    """Raises `DemoError` with what `gnb-lab live` lacks here, or finds wrong with `scenario`."""
    words = [str(gnb_lab()), "live", str(scenario), "--relay", "--", "sh", "-c", ":"]
    done = subprocess.run(  # noqa: S603 - a program of this environment
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        said = done.stderr.strip() or f"gnb-lab ended with status {done.returncode}"
        raise DemoError(said.splitlines()[-1].removeprefix("gnb-lab: "))
