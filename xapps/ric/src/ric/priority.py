"""Nice value of this program's threads: reports and controls get a core before other work does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ric.errors import PriorityRefused

_TASKS: Final = Path("/proc/self/task")


def set_nice(nice: int) -> None:
    """Set it for all threads; those to come inherit it.

    Raises `PriorityRefused` where the system does not permit it: below the present value it needs
    CAP_SYS_NICE or a limit RLIMIT_NICE.
    """
    # On Linux each thread has a nice value of its own; threads of libraries run already.
    threads = [int(path.name) for path in _TASKS.iterdir()] if _TASKS.exists() else [0]
    for thread in threads:
        try:
            # A thread may end meanwhile.
            with suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, thread, nice)
        except PermissionError as error:
            raise PriorityRefused(nice, os.getpriority(os.PRIO_PROCESS, 0)) from error


class NiceCollector(Collector):
    """`sojourn_process_nice` of this process."""

    def collect(self) -> Iterator[Metric]:
        """The one family."""
        text = "Nice value of the program: -20 gets a core first, 19 last."
        yield GaugeMetricFamily("sojourn_process_nice", text, os.getpriority(os.PRIO_PROCESS, 0))
