"""``python -m sojourn_demo.kernel.server FOLDER``: the servers of a run, in a namespace."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from sojourn_demo.kernel import quality
from sojourn_demo.kernel.program import run_program
from sojourn_demo.kernel.setup import (
    HTTP_PORT,
    IPERF_PORT,
    QUALITY,
    QUALITY_BEGINS,
    QUALITY_READY,
    SERVER_READY,
    SITE,
    VOIP_PORT,
    Setup,
    is_there,
)
from sojourn_demo.kernel.site import served
from sojourn_demo.load import iperf, irtt
from sojourn_demo.load.commands import ENDS_WITH_PARENT, python
from sojourn_demo.programs import Program, Programs

CUBIC = "cubic"


async def serve(folder: Path) -> None:
    """Serves until it is cancelled; raises `DemoError` if a server does not start."""
    setup = Setup.read(folder)
    with served(folder.parent / SITE, ("", HTTP_PORT)) if setup.chromium else nullcontext():
        async with Programs(folder) as programs:

            def start(name: str, *command: str) -> Program:
                return programs.spawn(
                    (*ENDS_WITH_PARENT, *command), name=name, has_ready_line=False
                )

            for port, control in enumerate(setup.controls, IPERF_PORT):
                words = ("iperf3", "-s", "-p", str(port), "--forceflush")
                server = start(f"iperf3-server-{control}", *words)
                await programs.wait_until(server, partial(_is_listening, server.log))
            if setup.irtt:
                start("irtt-server", *irtt.server())
            else:
                to = f"{os.environ['SOJOURN_UE']}:{VOIP_PORT}"
                start("voip-sender", *python("sojourn_demo.load.flow"), "send", to)
            (folder / SERVER_READY).touch()
            try:
                while True:
                    await asyncio.sleep(1.0)
                    programs.check()
                    if is_there(folder / QUALITY_BEGINS) and not is_there(folder / QUALITY_READY):
                        cubic = CUBIC if CUBIC in setup.controls else None
                        address = os.environ["SOJOURN_SERVER"]
                        await quality.start(programs, folder / QUALITY, address, cubic)
                        (folder / QUALITY_READY).touch()
            finally:
                # Whoever copies the results need not know of sparse files.
                (folder / QUALITY / quality.LARGE).unlink(missing_ok=True)


def _is_listening(log: Path) -> bool:
    return iperf.LISTENING in log.read_bytes()


if __name__ == "__main__":
    sys.exit(run_program("server of the demo", serve))
