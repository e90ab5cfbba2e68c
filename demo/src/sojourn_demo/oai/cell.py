"""An OAI gNB with traffic control and an OAI UE, attached through the RF simulator."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sojourn_demo.load.commands import BY_LINES, ENDS_WITH_PARENT
from sojourn_demo.oai.build import GNB, UE, Oai
from sojourn_demo.oai.network import UE_ADDRESS, UeNamespace
from sojourn_demo.programs import Program, Programs

# Without CAP_SYS_NICE OAI neither takes real-time priority nor pins its threads, either of which
# would starve the other programs of a small machine.
NOT_REAL_TIME: Final = ("--bounding-set", "-sys_nice", "--inh-caps", "-sys_nice")
WITHOUT_CORE: Final = ("--do-ra", "--noS1", "--rfsim")
LOG: Final = ("--log_config.global_log_options", "level,nocolor,time")
WAIT_FOR_UE_S: Final = "20"
"""How long the RF simulator of the gNB waits for a UE that left."""
FROM_GNB: Final = ("reconfig.raw", "rbconfig.raw")
"""Files by which the gNB tells the UE its configuration where no core network is."""


@dataclass(slots=True)
class Cell:
    """gNB and UE of one run, in `folder`."""

    oai: Oai
    programs: Programs
    folder: Path
    namespace: UeNamespace
    gnb: Program
    real_time: bool
    ue: Program | None = None

    @classmethod
    async def start(
        cls,
        oai: Oai,
        programs: Programs,
        folder: Path,
        *,
        settings: Mapping[str, str],
        preloaded: Sequence[str] = (),
        e2: tuple[str, str] | None = None,
        max_mcs: int | None = None,
        real_time: bool = False,
    ) -> Cell:
        """Starts the gNB and waits until it awaits a UE.

        Args:
            settings: ``SOJOURN_…`` variables of the gNB.
            preloaded: Libraries that the gNB preloads, behind those of this environment.
            e2: Address of the near-RT RIC and folder of service models, for a gNB with E2.
            max_mcs: Highest MCS of the downlink, which makes the cell smaller; the gNB's own
                without.
            real_time: Whether OAI may take real-time priority and pin its threads.

        Raises:
            DemoError: It does not start.
        """
        _clear(folder)
        namespace = await UeNamespace.make(programs)
        inherited = os.environ.get("LD_PRELOAD", "").split()
        environment = oai.environment(
            SOJOURN_STATUS_FILE=str(folder / "status.json"),
            SOJOURN_STATUS_MS="100",
            SOJOURN_PACE="1",
            LD_PRELOAD=" ".join([*inherited, *preloaded]),
            **settings,
        )
        options: list[str] = []
        if e2 is not None:
            options += ["--e2_agent.near_ric_ip_addr", e2[0], "--e2_agent.sm_dir", e2[1]]
        if max_mcs is not None:
            options += ["--MACRLCs.[0].dl_max_mcs", str(max_mcs)]
        gnb = programs.spawn(
            (
                *(*ENDS_WITH_PARENT, *_limits(real_time), *BY_LINES, str(oai.build / GNB)),
                *("-O", str(oai.gnb_settings), *WITHOUT_CORE),
                *("--rfsimulator.[0].wait_timeout", WAIT_FOR_UE_S, *options, *LOG),
            ),
            name=GNB,
            environment=environment,
            folder=folder,
            has_ready_line=False,
        )
        await programs.wait_until(gnb, lambda: all(map(_has_content, _files(folder))))
        return cls(oai, programs, folder, namespace, gnb, real_time)

    async def attach(self) -> None:
        """Starts the UE and waits until packets pass; raises `DemoError` if they do not."""
        reconfiguration, bearers = map(str, _files(self.folder))
        self.ue = self.programs.spawn(
            (
                *(*self.namespace.prefix, *ENDS_WITH_PARENT),
                *(*_limits(self.real_time), *BY_LINES),
                *(str(self.oai.build / UE), "-O", str(self.oai.ue_settings), *WITHOUT_CORE),
                *("--rfsimulator.[0].serveraddr", self.namespace.gnb_radio),
                *("--reconfig-file", reconfiguration, "--rbconfig-file", bearers, *LOG),
            ),
            name=UE,
            environment=self.oai.environment(),
            folder=self.folder,
            has_ready_line=False,
        )
        await self.programs.wait_until(self.ue, _answers)

    async def detach(self) -> None:
        """Ends the UE."""
        if self.ue is not None:
            await self.programs.stop(self.ue)
            self.ue = None

    def status(self) -> dict[str, Any]:
        """The gNB's status file, or empty before there is one."""
        try:
            found: dict[str, Any] = json.loads((self.folder / "status.json").read_text())
        except (OSError, ValueError):
            return {}
        return found


def _limits(real_time: bool) -> tuple[str, ...]:
    return () if real_time else NOT_REAL_TIME


def _clear(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for left in _files(folder):
        left.unlink(missing_ok=True)


def _files(folder: Path) -> tuple[Path, ...]:
    return tuple(folder / name for name in FROM_GNB)


def _has_content(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _answers() -> bool:
    command = ("ping", "-n", "-c", "1", "-W", "1", UE_ADDRESS)
    return subprocess.run(command, check=False, capture_output=True).returncode == 0  # noqa: S603
