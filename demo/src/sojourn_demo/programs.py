"""Programs of this environment as processes, for demo, tests and benchmarks.

A program prints one JSON object when it is ready, with its addresses, and logs to a file.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self

from sojourn_demo import DemoError

START_TIMEOUT_S: Final = 60.0
POLL_S: Final = 0.05
STOP_TIMEOUT_S: Final = 10.0
SCRAPE_TIMEOUT_S: Final = 30.0


LOOPBACK: Final = "127.0.0.1"
FIRST_PORT: Final = 10_000


def free_port() -> int:
    """A port that is free on loopback, for a program that is about to listen.

    It is none of those that the kernel gives to outgoing connections, which may take it first.
    """
    ephemeral = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii")
    below = int(ephemeral.split()[0])
    while True:
        port = FIRST_PORT + secrets.randbelow(max(below - FIRST_PORT, 1))
        with suppress(OSError), socket.create_server((LOOPBACK, port)):
            return port


def free_address(host: str = LOOPBACK) -> str:
    """The same with a host before it."""
    return f"{host}:{free_port()}"


class Program:
    """One running program."""

    def __init__(
        self,
        command: Sequence[str | Path],
        log: Path,
        *,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        inherited: Sequence[int] = (),
        has_ready_line: bool = True,
        append: bool = True,
        name: str | None = None,
    ) -> None:
        """Starts `command` in `folder`; its standard error goes to `log`.

        Without a ready line, its standard output does, too. `name` is for messages, where the first
        word is not the program's. `inherited` are descriptors that it has, too.
        """
        self.log = log
        self.name = name or Path(command[0]).name
        self.ready: dict[str, Any] = {}
        """The ready line, after `wait_ready`: addresses `listen` and `metrics`."""
        with log.open("ab" if append else "wb") as written:
            self.process = subprocess.Popen(  # noqa: S603 - programs of this environment
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if has_ready_line else written,
                stderr=written,
                env=environment,
                cwd=folder,
                pass_fds=inherited,
                bufsize=0,
                # A separate group: Ctrl-C reaches only the parent, which stops the programs in
                # order.
                process_group=0,
            )

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def wait_ready(self, timeout_s: float = START_TIMEOUT_S) -> Self:
        """Waits for the ready line; raises `DemoError` if it ended, is late or prints another."""
        out = self.process.stdout
        if out is None or not select.select([out], [], [], timeout_s)[0]:
            raise self.late(timeout_s)
        line = out.readline()
        if not line:
            self.process.wait()
            raise self.ended()
        try:
            ready = json.loads(line)
        except ValueError:
            ready = None
        if not isinstance(ready, dict) or ready.get("event") != "ready":
            raise DemoError(f"{self.name} printed {line!r}; expected its ready line")
        self.ready = ready
        return self

    def ended(self) -> DemoError:
        """The error of a program that ended on its own."""
        return DemoError(
            f"{self.name} ended with status {self.process.returncode}: {self._last_line()}"
            f" (log: {self.log})"
        )

    def late(self, timeout_s: float) -> DemoError:
        """The error of a program that is not ready in time."""
        return DemoError(
            f"{self.name} was not ready after {timeout_s:g} s: {self._last_line()}"
            f" (log: {self.log})"
        )

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """SIGTERM; SIGKILL if it does not end in time."""
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout_s)
        self.kill()

    def kill(self) -> None:
        """SIGKILL, and wait for the end."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def metrics(self) -> str:
        """The text of its /metrics."""
        url = f"http://{self.ready['metrics']}/metrics"
        with urllib.request.urlopen(url, timeout=SCRAPE_TIMEOUT_S) as answer:
            text: bytes = answer.read()
        return text.decode()

    def _last_line(self) -> str:
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "its log is empty"


def stop_as_by_ctrl_c() -> None:
    """Lets SIGTERM, which by default would leave programs running, end this one as Ctrl-C does."""
    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)


class Programs:
    """Starts programs; at the end of the block, stops those still running, the last one first.

    SIGTERM ends the block as Ctrl-C does.
    """

    def __init__(self, out: Path) -> None:
        """Logs are written to the folder `out`."""
        self._out = out
        self.started: list[Program] = []

    async def __aenter__(self) -> Self:
        stop_as_by_ctrl_c()
        return self

    async def __aexit__(self, *_: object) -> None:
        for program in list(reversed(self.started)):
            await self.stop(program)

    async def start(
        self, name: str, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> Program:
        """Starts a program of this environment and waits until it is ready; raises `DemoError`."""
        path = Path(sys.executable).parent / name
        if not path.exists():
            raise DemoError(f"{path}: no such program; run `make setup` first")
        program = self.spawn([path, *arguments], environment=environment)
        return await asyncio.to_thread(program.wait_ready)

    async def start_foreign(
        self,
        path: Path,
        *arguments: str,
        environment: Mapping[str, str],
        folder: Path,
        is_ready: Callable[[], bool],
    ) -> Program:
        """Starts a program without ready line in `folder` and waits until `is_ready`.

        Raises `DemoError` if it ends or is late.
        """
        program = self.spawn(
            [path, *arguments], environment=environment, folder=folder, has_ready_line=False
        )
        await self.wait_until(program, is_ready)
        return program

    async def wait_until(
        self,
        program: Program,
        condition: Callable[[], bool],
        timeout_s: float = START_TIMEOUT_S,
    ) -> None:
        """Waits for an effect of `program`; raises `DemoError` if any program ends, or if late."""
        give_up_s = time.monotonic() + timeout_s
        while not condition():
            self.check()
            if time.monotonic() > give_up_s:
                raise program.late(timeout_s)
            await asyncio.sleep(POLL_S)

    async def stop(self, program: Program) -> None:
        """Stops a program gracefully, by SIGKILL if it does not end."""
        await asyncio.to_thread(program.stop)
        self.started.remove(program)

    def check(self) -> None:
        """Raises `DemoError` if a program ended on its own."""
        for program in self.started:
            if not program.alive:
                raise program.ended()

    def spawn(
        self, command: Sequence[str | Path], *, name: str | None = None, **options: Any
    ) -> Program:
        """Starts a program as `Program` does, without waiting; its log has its name."""
        name = name or Path(command[0]).name
        again = any(earlier.name == name for earlier in self.started)
        program = Program(command, self._out / f"{name}.log", append=again, name=name, **options)
        self.started.append(program)
        return program
