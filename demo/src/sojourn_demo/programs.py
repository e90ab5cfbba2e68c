"""The three programs as processes: started, found, stopped, nothing left behind."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sojourn_demo.errors import DemoError

START_TIMEOUT_S = 20.0
LOOK_EVERY_S = 0.05
STOP_TIMEOUT_S = 10.0


@dataclass(slots=True)
class Program:
    """One running program.

    Attributes:
        ready: The line it printed when it was ready: ``listen`` and ``metrics`` addresses.
    """

    name: str
    process: asyncio.subprocess.Process
    log: Path
    ready: dict[str, Any] = field(default_factory=dict)

    @property
    def ended(self) -> bool:
        """Whether it is not running any more."""
        return self.process.returncode is not None

    def last_words(self) -> str:
        """The end of its log."""
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"


class Programs:
    """Starts programs; leaving the block stops those still running, the last started first."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self.running: list[Program] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for program in reversed(self.running):
            await self.stop(program)

    async def start(
        self, name: str, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> Program:
        """Starts `name` of this environment and waits for its ready line.

        Raises:
            DemoError: It is not installed, ended, or is not ready in time.
        """
        path = Path(sys.executable).parent / name
        if not path.exists():
            raise DemoError(f"{path}: no such program; run `make setup` first")
        program = await self._spawn(path, arguments, environment, None, speaks=True)
        program.ready = await self._ready(program)
        return program

    async def start_foreign(
        self,
        path: Path,
        *arguments: str,
        environment: Mapping[str, str],
        folder: Path,
        is_ready: Callable[[], bool],
    ) -> Program:
        """Starts a program that has no ready line in `folder`, where it may leave files, and waits
        until `is_ready`. What it prints is in its log.

        Raises:
            DemoError: It ended, or is not ready in time.
        """
        program = await self._spawn(path, arguments, environment, folder, speaks=False)
        await self.wait_until(program, is_ready)
        return program

    async def wait_until(self, program: Program, holds: Callable[[], bool]) -> None:
        """Waits for something that `program` is to bring about.

        Raises:
            DemoError: A program ended, or it does not hold in time.
        """
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                while not holds():
                    self.check()
                    await asyncio.sleep(LOOK_EVERY_S)
        except TimeoutError:
            raise _late(program) from None

    async def _spawn(
        self,
        path: Path,
        arguments: tuple[str, ...],
        environment: Mapping[str, str] | None,
        folder: Path | None,
        *,
        speaks: bool,
    ) -> Program:
        log = self._out / f"{path.name}.log"
        with log.open("wb") as written:
            process = await asyncio.create_subprocess_exec(
                str(path),
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE if speaks else written,
                stderr=written,
                env=environment,
                cwd=folder,
                # A group of its own: Ctrl-C reaches the demo alone, which stops them in order.
                process_group=0,
            )
        program = Program(path.name, process, log)
        self.running.append(program)
        return program

    async def stop(self, program: Program) -> None:
        """Ends a program gracefully, by force when it does not."""
        if program.ended:
            return
        with suppress(ProcessLookupError):
            program.process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await program.process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                program.process.kill()
            await program.process.wait()

    def check(self) -> None:
        """Raises `DemoError` when a program ended on its own."""
        for program in self.running:
            if program.ended:
                raise DemoError(
                    f"{program.name} ended with status {program.process.returncode}:"
                    f" {program.last_words()} (all of it in {program.log})"
                )

    async def _ready(self, program: Program) -> dict[str, Any]:
        stdout = program.process.stdout
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                line = await stdout.readline() if stdout is not None else b""
        except TimeoutError:
            raise _late(program) from None
        if not line:
            await program.process.wait()
            self.check()
        try:
            ready = json.loads(line)
        except ValueError:
            raise DemoError(f"{program.name} said {line!r}; expected its ready line") from None
        if not isinstance(ready, dict) or ready.get("event") != "ready":
            raise DemoError(f"{program.name} said {line!r}; expected its ready line")
        return ready


def _late(program: Program) -> DemoError:
    return DemoError(
        f"{program.name} was not ready after {START_TIMEOUT_S:g} s:"
        f" {program.last_words()} (all of it in {program.log})"
    )
