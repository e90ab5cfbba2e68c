"""The supervisor's side of the child process: start, commands, deadlines, end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from flexric_bridge.frames import (
    HEAD,
    BlockStream,
    bytes_of,
    node_from_json,
    pack_json,
    request_to_json,
    text_of,
)
from flexric_bridge.sdk import Connection, E2Node, ReportRequest, SdkError, SdkVersions

_TAIL_LINES: Final = 12
_END_S: Final = 2.0
_SESSION: Final = re.compile(rb"xApp ID = (\d+)")
"""FlexRIC's library prints it when the RIC has answered the setup request."""
_SESSION_S: Final = 0.5


class ChildLost(Exception):  # noqa: N818 - says what happened
    """The child process ended or had to be killed; the message says how."""


@dataclass(frozen=True, slots=True)
class Deadlines:
    """How long the SDK may take for a command, s. FlexRIC itself gives up after 3 s."""

    open_s: float = 15.0
    command_s: float = 5.0
    more_s: float = 0.5
    """Added for each of several controls."""
    close_s: float = 20.0


class ChildProcess:
    """One child and its SDK. One caller at a time, as the SDK requires.

    `on_reports` gets each block of reports; `on_end` is called once when the child has ended.
    """

    def __init__(
        self,
        factory: str,
        deadlines: Deadlines,
        on_reports: Callable[[bytes], None],
        on_end: Callable[[], None],
        environment: dict[str, str] | None = None,
    ) -> None:
        self._factory = factory
        self._deadlines = deadlines
        self._on_reports = on_reports
        self._on_end = on_end
        self._environment = environment or {}
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._reports: asyncio.Transport | None = None
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._watching: asyncio.Task[None] | None = None
        self._killed_because = ""
        self._number: int | None = None
        self._numbered = asyncio.Event()
        self._opening = False
        self.ric_disconnected = False
        """Whether the RIC ended the session, so that no more reports come."""
        self._closing = False
        self._turn = asyncio.Lock()

    @property
    def pid(self) -> int:
        """Process id; 0 before the start."""
        return self._process.pid if self._process is not None else 0

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Start the process; raises `OSError` when that fails."""
        commands, theirs = socket.socketpair()
        reports, their_reports = socket.socketpair()
        # Blocks wait here rather than in the SDK's ring while the event loop is busy.
        for end in (reports, their_reports):
            for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
                end.setsockopt(socket.SOL_SOCKET, option, 1 << 20)
        try:
            numbers = (theirs.fileno(), their_reports.fileno())
            with theirs, their_reports:
                self._process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "flexric_bridge.child", *map(str, numbers)),
                    self._factory,
                    pass_fds=numbers,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.STDOUT,
                    env={**os.environ, "PYTHONUNBUFFERED": "1", **self._environment},
                    start_new_session=True,
                )
            loop = asyncio.get_running_loop()
            self._reader, self._writer = await asyncio.open_connection(sock=commands)
            transport, _ = await loop.create_connection(
                lambda: BlockStream(self._on_reports, self._reports_ended), sock=reports
            )
            self._reports = transport
        except BaseException:
            # A stop may cancel it: nobody else knows of the process.
            if self._writer is None:
                commands.close()
            else:
                self._writer.transport.abort()
            reports.close()
            if self._process is not None and self._process.returncode is None:
                self._process.kill()
                await self._process.wait()
            raise
        self._watching = asyncio.create_task(self._watch(), name="flexric child")

    # The first answer comes when the process has started, which takes seconds on a busy machine: to
    # kill it then only makes another one start.

    async def versions(self) -> SdkVersions:
        """See `Sdk.versions`."""
        return SdkVersions(**await self._ask(self._deadlines.open_s, "versions"))

    async def load(self) -> None:
        """See `Sdk.load`."""
        await self._ask(self._deadlines.open_s, "load")

    async def open(self, connection: Connection) -> None:
        """See `Sdk.open`."""
        self._opening = True
        try:
            deadline_s = self._deadlines.open_s + connection.setup_delay_s
            await self._ask(deadline_s, "open", **asdict(connection))
        finally:
            self._opening = False
        if self.ric_disconnected:
            self._reports_ended()

    async def session_number(self) -> int | None:
        """The RIC's number of the session that was opened, where the SDK printed it."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SESSION_S):
                await self._numbered.wait()
        return self._number

    async def nodes(self) -> list[E2Node]:
        """See `Sdk.nodes`."""
        return [node_from_json(v) for v in await self._ask(self._deadlines.command_s, "nodes")]

    async def subscribe(self, request: ReportRequest) -> int:
        """See `Sdk.subscribe`."""
        return int(
            await self._ask(self._deadlines.command_s, "subscribe", **request_to_json(request))
        )

    async def unsubscribe(self, handle: int) -> None:
        """See `Sdk.unsubscribe`."""
        await self._ask(self._deadlines.command_s, "unsubscribe", handle=handle)

    async def control(self, node_id: str, function_id: int, header: bytes, message: bytes) -> bytes:
        """See `Sdk.control`."""
        outcome = await self._ask(
            self._deadlines.command_s,
            "control",
            node_id=node_id,
            function_id=function_id,
            header=text_of(header),
            message=text_of(message),
        )
        return bytes_of(outcome)

    async def controls(
        self, node_id: str, function_id: int, header: bytes, runs: Sequence[Sequence[bytes]]
    ) -> tuple[list[bool], SdkError | None]:
        """Runs of controls, those of a run in flight at once, until one is not acknowledged.
        Returns which of those sent were acknowledged, and the error of the first that was not."""
        answer = await self._ask(
            self._deadlines.command_s + sum(map(len, runs)) * self._deadlines.more_s,
            "controls",
            node_id=node_id,
            function_id=function_id,
            header=text_of(header),
            runs=[[text_of(message) for message in run] for run in runs],
        )
        error = SdkError(answer["kind"], answer["detail"]) if "kind" in answer else None
        return answer["acknowledged"], error

    async def close(self, leave: tuple[int, ...] = ()) -> int:
        """End all subscriptions but `leave`, then the process; returns how many were ended."""
        ended = 0
        self._closing = True
        try:
            async with asyncio.timeout(self._deadlines.close_s):
                async with self._turn:
                    # The RIC aborts when an xApp disconnects during its setup.
                    pass
            ended = await self._ask(self._deadlines.close_s, "close", leave=leave)
            if self._process is not None:
                async with asyncio.timeout(_END_S):
                    await self._process.wait()
        except (ChildLost, SdkError, TimeoutError):
            pass
        finally:
            await self.kill("closed")
        return ended

    async def kill(self, because: str) -> None:
        """Kill the process, if it still runs."""
        if self.alive and self._process is not None:
            self._killed_because = self._killed_because or because
            self._process.kill()
        if self._watching is not None:
            await asyncio.gather(self._watching, return_exceptions=True)

    async def _wait_for_end(self) -> None:
        """Give a process that is ending time to report its exit status."""
        if self._process is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_END_S):
                    await self._process.wait()

    def _reports_ended(self) -> None:
        """The SDK will send no more reports: it lost the RIC and does not reconnect."""
        if self.alive and not self._closing and self._process is not None:
            self.ric_disconnected = True
            if self._opening:
                return  # the answer to `open` has the reason
            self._killed_because = self._killed_because or "no more reports will come"
            self._process.kill()

    def exit_reason(self) -> str:
        """How the process ended and its last output, in one sentence."""
        if self._process is None:
            return "never started"
        code = self._process.returncode
        if self._killed_because:
            how = f"was killed: {self._killed_because}"
        elif code is None:
            how = "still runs"
        elif code < 0:
            how = f"ended by {signal.Signals(-code).name}"
        else:
            how = f"exited with {code}"
        last = [line for line in self._tail if line.strip()]
        return f"{how}; last output: {' | '.join(last[-3:])}" if last else how

    async def _ask(self, deadline_s: float, name: str, **arguments: Any) -> Any:
        if self._turn.locked():
            raise RuntimeError(f"command {name}: another is in progress; expected one at a time")
        if self._reader is None or self._writer is None or self._writer.is_closing():
            raise ChildLost(self.exit_reason())
        try:
            async with self._turn, asyncio.timeout(deadline_s):
                self._writer.write(pack_json({"do": name, **arguments}))
                await self._writer.drain()
                (length,) = HEAD.unpack(await self._reader.readexactly(HEAD.size))
                answer = json.loads(await self._reader.readexactly(length))
        except TimeoutError:
            await self.kill(f"no answer to {name} within {deadline_s:g} s")
            raise ChildLost(self.exit_reason()) from None
        except (OSError, asyncio.IncompleteReadError):
            await self._wait_for_end()
            await self.kill("it closed its socket")
            raise ChildLost(self.exit_reason()) from None
        except asyncio.CancelledError:
            # The pending answer would be taken for that of the next command.
            if self.alive and self._process is not None:
                self._killed_because = f"{name} was cancelled"
                self._process.kill()
            raise
        if "kind" in answer:
            raise SdkError(answer["kind"], answer["detail"])
        return answer["value"]

    async def _watch(self) -> None:
        """Store the last lines that the process prints, until it ends."""
        process = self._process
        if process is None or process.stdout is None:
            return
        while line := await _line(process.stdout):
            self._tail.append(line.decode(errors="replace").strip()[:300])
            if match := _SESSION.search(line):
                self._number = int(match[1])
                self._numbered.set()
        await process.wait()
        if self._writer is not None:
            self._writer.close()
        if self._reports is not None:
            self._reports.close()
        self._on_end()


async def _line(stream: asyncio.StreamReader) -> bytes:
    """The next line, or the start of one that is too long; empty at the end."""
    try:
        return await stream.readline()
    except ValueError:
        return await stream.read(4096) or b"..."
