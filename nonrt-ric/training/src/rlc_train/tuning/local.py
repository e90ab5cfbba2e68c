"""Several trials at once on one machine: a chief in this process, workers in their own.

A small network leaves most of a GPU idle, and its trainings share one.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from rlc_train.errors import TrainError
from rlc_train.lstm.backend import choose


def _free_address() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{one.getsockname()[1]}"


@dataclass(slots=True)
class Workers:
    """Processes that run trials for a chief; ended when the context is left.

    Attributes:
        words: Arguments of ``rlc-train`` of each, without its name and the chief's address.
        count: Number of workers.
        logs: Directory of their output.
        address: Of the chief, free when this object was made.
    """

    words: Sequence[str]
    count: int
    logs: Path
    address: str = field(default_factory=_free_address)
    _running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __enter__(self) -> Self:
        self.logs.mkdir(parents=True, exist_ok=True)
        threads = str(max(1, (os.cpu_count() or 1) // self.count))
        environment = {
            "KERAS_BACKEND": choose(),
            "TF_NUM_INTRAOP_THREADS": threads,
            "TF_NUM_INTEROP_THREADS": threads,
            **os.environ,
        }
        for number in range(self.count):
            name = f"local-{number}"
            command = [sys.executable, "-m", "rlc_train.cli", *self.words]
            command += ["--worker", name, "--address", self.address]
            with (self.logs / f"{name}.log").open("wb") as log:
                self._running[name] = subprocess.Popen(  # noqa: S603 - this program
                    command, stdout=log, stderr=subprocess.STDOUT, env=environment
                )
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def failed(self) -> list[str]:
        """Names of workers that ended with an error.

        Raises:
            TrainError: All of them did; with the last line of one's output.
        """
        names = [name for name, process in self._running.items() if process.poll() not in (None, 0)]
        if names and len(names) == self.count:
            path = self.logs / f"{names[0]}.log"
            lines = path.read_text(errors="replace").strip().splitlines()
            raise TrainError(str(path), f"no worker is left: {lines[-1] if lines else 'no output'}")
        return names
