"""A program at server or UE: it works until a signal ends it, and tells what it failed of."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

from sojourn_demo import DemoError
from sojourn_demo.kernel.setup import tell_failure

Work = Callable[[Path], Coroutine[Any, Any, None]]


def run_program(name: str, work: Work) -> int:
    """Runs `work` on the folder that the command line names, until it ends or SIGTERM or SIGINT
    cancels it; 1 if it failed."""
    (argument,) = sys.argv[1:]
    folder = Path(argument)
    try:
        asyncio.run(_until_signal(work(folder)))
    except (DemoError, OSError) as error:
        tell_failure(folder, error)
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    return 0


async def _until_signal(work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.ensure_future(work)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    with suppress(asyncio.CancelledError):
        await task
