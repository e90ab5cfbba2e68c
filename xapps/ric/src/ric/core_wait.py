"""How long this process waited for a core: Linux counts it for each thread."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

_TASKS: Final = Path("/proc/self/task")


class CoreWait(NamedTuple):
    """Waits of all threads since their start."""

    waited_s: float
    """Time on a run queue, ready to run."""
    turns: int
    """Times that a thread got a core."""

    def since(self, earlier: CoreWait) -> CoreWait:
        """What came on since then."""
        return CoreWait(self.waited_s - earlier.waited_s, self.turns - earlier.turns)

    @property
    def mean_us(self) -> float:
        """Mean wait for a turn."""
        return self.waited_s * 1e6 / self.turns if self.turns > 0 else 0.0


class CoreWaitMeter:
    """Adds up the threads of this process; those that have ended count as they were read last."""

    def __init__(self, tasks: Path = _TASKS) -> None:
        self._tasks = tasks
        self._ended = CoreWait(0.0, 0)
        self._threads: dict[str, CoreWait] = {}

    def read(self) -> CoreWait | None:
        """The sum now; `None` where the kernel does not count it."""
        try:
            names = [path.name for path in self._tasks.iterdir()]
        except OSError:
            return None
        former, self._threads = self._threads, {}
        for name in names:
            if (thread := _of_thread(self._tasks / name / "schedstat")) is not None:
                self._threads[name] = thread
        for name in former.keys() - self._threads.keys():
            self._ended = _sum(self._ended, former[name])
        if not self._threads:
            return None
        total = self._ended
        for thread in self._threads.values():
            total = _sum(total, thread)
        return total


def _of_thread(file: Path) -> CoreWait | None:
    """Ran, waited, both ns, and turns (Linux, Documentation/scheduler/sched-stats.rst)."""
    try:
        _, waited_ns, turns = map(int, file.read_text(encoding="ascii").split())
    except (OSError, ValueError):
        # The thread has just ended, or its kernel counts something else.
        return None
    return CoreWait(waited_ns / 1e9, turns)


def _sum(one: CoreWait, other: CoreWait) -> CoreWait:
    return CoreWait(one.waited_s + other.waited_s, one.turns + other.turns)


class CoreWaitCollector(Collector):
    """`sojourn_process_run_queue_wait_seconds_total` of this process."""

    def __init__(self, meter: CoreWaitMeter | None = None) -> None:
        self._meter = meter or CoreWaitMeter()

    def collect(self) -> Iterator[Metric]:
        """The one family; none where the kernel does not count it."""
        wait = self._meter.read()
        if wait is None:
            return
        text = "Time for which threads of the process were ready to run and waited for a core."
        yield CounterMetricFamily("sojourn_process_run_queue_wait_seconds", text, wait.waited_s)
