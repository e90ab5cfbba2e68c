"""What a program shows of the host it runs on: its wait for a core, and its priority."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from ric.core_wait import CoreWait, CoreWaitMeter
from ric.errors import PriorityRefused
from ric.lifecycle import Service
from ric.metrics import register_program
from ric.priority import set_nice
from ric.settings import HttpSettings, ServiceSettings


def thread(folder: Path, name: str, text: str) -> None:
    (folder / name).mkdir(exist_ok=True)
    (folder / name / "schedstat").write_text(text, encoding="ascii")


def test_the_wait_is_that_of_all_threads_and_does_not_fall_when_one_ends(tmp_path: Path) -> None:
    meter = CoreWaitMeter(tmp_path)
    assert meter.read() is None, "no threads, no count"
    thread(tmp_path, "1", "5000 2000000000 10\n")
    thread(tmp_path, "2", "5000 500000000 40\n")
    first = meter.read()
    assert first == CoreWait(2.5, 50)
    (tmp_path / "2" / "schedstat").unlink()
    thread(tmp_path, "1", "5000 2600000000 20\n")
    thread(tmp_path, "3", "something else\n")
    second = meter.read()
    assert second is not None
    assert second == CoreWait(3.1, 60)
    assert first is not None
    assert second.since(first).mean_us == pytest.approx(60_000)
    assert CoreWait(0.0, 0).mean_us == 0.0


@pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="the kernel does not count it"
)
def test_a_program_exports_its_wait() -> None:
    registry = CollectorRegistry()
    register_program(registry, "test")
    wait_s = registry.get_sample_value("sojourn_process_run_queue_wait_seconds_total")
    assert wait_s is not None
    assert wait_s > 0


def test_a_nice_value_is_that_of_all_threads() -> None:
    """Runs a program of its own: a nice value is not taken back without a right."""
    text = """
import os, threading
from pathlib import Path
from ric.priority import set_nice
threading.Thread(target=threading.Event().wait, daemon=True).start()
nice = os.getpriority(os.PRIO_PROCESS, 0) + 1
set_nice(nice)
threads = [int(path.name) for path in Path("/proc/self/task").iterdir()]
print(len(threads) > 1, {os.getpriority(os.PRIO_PROCESS, each) for each in threads} == {nice})
"""
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert ran.stdout == "True True\n"


async def test_a_priority_that_is_not_permitted_is_one_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "setpriority", refuse)
    with pytest.raises(PriorityRefused, match="nice: -5 is not permitted; expected"):
        set_nice(-5)
    service = Service("test", ServiceSettings(http=HttpSettings(listen=""), nice=-5))
    warnings: list[str] = []

    class Log:
        def info(self, *_: Any, **__: Any) -> None:
            pass

        def warning(self, event: str, **values: Any) -> None:
            warnings.append(f"{event}: {values['error']}")

    monkeypatch.setattr(service, "log", Log())

    async def main() -> None:
        pass

    await service.run_tasks(main)
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    assert service.registry.get_sample_value("sojourn_process_nice") == nice
    assert len(warnings) == 1
    assert "-5 is not permitted" in warnings[0]
