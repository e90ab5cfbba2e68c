"""What the demo tells its programs at server and UE: files in the folder of the run."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

from sojourn_demo import DemoError
from sojourn_demo.recording import APPLICATIONS

HTTP_PORT: Final = 8080
IPERF_PORT: Final = 5201
"""Port of the first download; each further one has the next."""
VOIP_PORT: Final = 5010
"""Port of the VoIP-like flow at the UE, where irtt is missing."""
SITE: Final = "site"
"""Folder of the web site, beside those of the runs."""
SERVER_READY: Final = "server.ready"
UE_READY: Final = "ue.ready"
DONE: Final = "ue.done"
BROWSER: Final = "browser.json"
"""What the browser measured, with Unix times."""
GNB: Final = "gnb.json"
"""The gNB's summary, with how late it was."""
MEASURED: Final = "measured.csv"
"""What the other programs measured: rows with Unix times."""
QUALITY_BEGINS: Final = "quality.begins"
"""The downloads are over; the server of the test of responsiveness may start."""
QUALITY_READY: Final = "quality.ready"
QUALITY: Final = "responsiveness"
"""Folder with the files of the server of the test of responsiveness, and the probes."""
FAILED: Final = "failed.txt"
POLL_S: Final = 0.05


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Writes a file that is whole when it is there."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(content))
    new.replace(path)


@dataclass(frozen=True, slots=True)
class Setup:
    """The load of a run.

    Attributes:
        controls: Congestion controls of the downloads, one each.
        irtt: Whether irtt is the VoIP-like flow, or numbered packets of this program.
        chromium: The browser, if there is one.
        quality: The client of the test of responsiveness, if there are client and server.
    """

    controls: tuple[str, ...]
    irtt: bool
    chromium: str | None
    quality: str | None = None

    def write(self, folder: Path) -> None:
        """Writes it for server and UE, and removes what an earlier run left."""
        folder.mkdir(parents=True, exist_ok=True)
        states = (
            SERVER_READY,
            UE_READY,
            DONE,
            FAILED,
            Schedule.FILE,
            QUALITY_BEGINS,
            QUALITY_READY,
        )
        for name in (*states, BROWSER, MEASURED, APPLICATIONS, GNB):
            (folder / name).unlink(missing_ok=True)
        shutil.rmtree(folder / QUALITY, ignore_errors=True)
        write_json(folder / "setup.json", asdict(self))

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Reads it."""
        found = json.loads((folder / "setup.json").read_text())
        return cls(tuple(found["controls"]), found["irtt"], found["chromium"], found["quality"])


@dataclass(frozen=True, slots=True)
class Schedule:
    """Unix times in µs: from `begin_us` on the applications are watched; at `switch_us` the
    controller may act, and videos and pages begin anew; all end at `end_us`."""

    FILE = "schedule.json"

    begin_us: int
    switch_us: int
    end_us: int

    def write(self, folder: Path) -> None:
        """Tells the UE."""
        write_json(folder / self.FILE, asdict(self))

    @classmethod
    async def awaited(cls, folder: Path) -> Self:
        """The schedule, when it is there."""
        await appeared(folder / cls.FILE)
        return cls(**json.loads((folder / cls.FILE).read_text()))

    def phases(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Begin and end of the phase without control, and of that with it."""
        return (self.begin_us, self.switch_us), (self.switch_us, self.end_us)


async def appeared(path: Path) -> None:
    """Waits for a file of the run; raises `DemoError` if a program of it failed."""
    while True:
        if is_there(path):
            return
        await asyncio.sleep(POLL_S)


def is_there(path: Path) -> bool:
    """Whether a file of the run is there; raises `DemoError` as `check` of its folder."""
    check(path.parent)
    return path.exists()


def check(folder: Path) -> None:
    """Raises `DemoError` with what a program at server or UE failed of."""
    if (failed := folder / FAILED).exists():
        raise DemoError(failed.read_text())


def tell_failure(folder: Path, error: Exception) -> None:
    """What `check` raises elsewhere; the first failure counts."""
    try:
        descriptor = os.open(folder / FAILED, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    except FileExistsError:
        return
    with os.fdopen(descriptor, "w") as file:
        file.write(str(error))
