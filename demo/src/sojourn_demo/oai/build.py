"""A built OpenAirInterface: its programs, and the settings of gNB and UE."""

from __future__ import annotations

import mmap
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sojourn_demo import DemoError

GNB, UE, RF_SIMULATOR = "nr-softmodem", "nr-uesoftmodem", "librfsimulator.so"
SETTINGS: Final = Path("ci-scripts/conf_files")
GNB_SETTINGS: Final = "gnb.band78.106prb.rfsim.phytest-dora.conf"
UE_SETTINGS: Final = "nrue.uicc.conf"
MARK: Final = b"sojourn: traffic control %s in OAI"
"""Text in the binary of every gNB that the adapter is linked into."""
TOOLS: Final = {
    "ip": "iproute2",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "stdbuf": "coreutils",
    "ping": "iputils-ping",
    "iperf3": "iperf3",
}
"""What a run needs beside OAI, and the package that has it."""
TDD_PERIODS_PER_FRAME: Final = {0: 20, 1: 16, 2: 10, 3: 8, 4: 5, 5: 4, 6: 2, 7: 1}
"""Periods by dl-UL-TransmissionPeriodicity (38.331), of which 0 is 0.5 ms and 7 is 10 ms."""
SYMBOLS_PER_SLOT: Final = 14


@dataclass(frozen=True, slots=True)
class Oai:
    """A build tree of OAI with traffic control in its gNB."""

    build: Path
    gnb_settings: Path
    ue_settings: Path

    @classmethod
    def found(cls, variables: Mapping[str, str]) -> Oai:
        """The OAI of the environment variables: ``OAI_BUILD``, and ``OAI_GNB_CONF`` and
        ``OAI_UE_CONF`` where other settings are wanted than those of OAI's own tests.

        Raises:
            DemoError: Something is missing; the message says what.
        """
        if not variables.get("OAI_BUILD"):
            raise DemoError("OAI_BUILD is not set; expected the build tree of OpenAirInterface")
        build = Path(variables["OAI_BUILD"]).resolve()
        for name in (GNB, UE, RF_SIMULATOR):
            if not (build / name).is_file():
                raise DemoError(f"OAI_BUILD={build}: has no {name}; expected a build tree of OAI")
        if not _contains(build / GNB, MARK):
            raise DemoError(
                f"{build / GNB}: has no traffic control; expected a gNB built as docs/oai.md says"
            )
        if missing := [name for name in TOOLS if shutil.which(name) is None]:
            packages = sorted({TOOLS[name] for name in missing})
            raise DemoError(f"no {', '.join(missing)} here; install {', '.join(packages)}")
        return cls(
            build,
            _settings(variables, "OAI_GNB_CONF", build, GNB_SETTINGS),
            _settings(variables, "OAI_UE_CONF", build, UE_SETTINGS),
        )

    def environment(self, **settings: str) -> dict[str, str]:
        """The environment of OAI's programs: this one, OAI's libraries and `settings`."""
        libraries = [str(self.build), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        return {**os.environ, "LD_LIBRARY_PATH": ":".join(libraries), **settings}

    def downlink_prb_per_frame(self) -> float:
        """Downlink PRBs of the cell in 10 ms, by carrier bandwidth and TDD pattern of the gNB's
        settings: whole slots and the downlink symbols of the mixed one.

        Raises:
            DemoError: The settings lack one of them.
        """
        text = self.gnb_settings.read_text(errors="replace")
        prbs, period, slots, symbols = (
            _number(self.gnb_settings, text, name)
            for name in (
                "dl_carrierBandwidth",
                "dl_UL_TransmissionPeriodicity",
                "nrofDownlinkSlots",
                "nrofDownlinkSymbols",
            )
        )
        per_frame = TDD_PERIODS_PER_FRAME.get(period)
        if per_frame is None:
            raise DemoError(
                f"{self.gnb_settings}: dl_UL_TransmissionPeriodicity: {period}; expected 0 to 7"
            )
        return prbs * (slots + symbols / SYMBOLS_PER_SLOT) * per_frame


def _settings(variables: Mapping[str, str], variable: str, build: Path, name: str) -> Path:
    if given := variables.get(variable):
        if not Path(given).is_file():
            raise DemoError(f"{variable}={given}: no such file; expected settings of OAI")
        return Path(given).resolve()
    for folder in (build, *build.parents):
        if (found := folder / SETTINGS / name).is_file():
            return found
    raise DemoError(
        f"no {SETTINGS / name} beside OAI_BUILD={build}; name the settings in {variable}"
    )


def _contains(program: Path, text: bytes) -> bool:
    with program.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as content:
        return content.find(text) >= 0


def _number(path: Path, text: str, name: str) -> int:
    found = re.search(rf"^\s*{name}\s*=\s*(\d+)\s*;", text, re.MULTILINE)
    if found is None:
        raise DemoError(f"{path}: has no {name}; expected the settings of a TDD cell")
    return int(found[1])
