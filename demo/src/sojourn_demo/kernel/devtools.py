"""A headless Chromium, commanded over the Chrome DevTools Protocol.

Commands and answers go through a pair of named pipes, NUL behind each message, so that neither a
port nor a WebSocket is needed.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, Final

from sojourn_demo import DemoError
from sojourn_demo.load.commands import ENDS_WITH_PARENT
from sojourn_demo.programs import Program, Programs

ANSWER_WITHIN_S: Final = 120.0
LARGEST_ANSWER_BYTES: Final = 256 << 20
FLAGS: Final = (
    *("--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage"),
    # Root has no sandbox, and the pages are the demo's own in a namespace without an internet.
    "--no-sandbox",
    # No traffic but that of the pages.
    *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--disable-default-apps", "--disable-domain-reliability"),
    *("--disable-features=Translate,OptimizationHints,MediaRouter", "--metrics-recording-only"),
    # Pages beside the one in front are as fast.
    *("--disable-background-timer-throttling", "--disable-renderer-backgrounding"),
    "--disable-backgrounding-occluded-windows",
    *("--autoplay-policy=no-user-gesture-required", "--mute-audio", "--password-store=basic"),
)


Awaited = int | tuple[str, str]
"""Number of a command whose answer is awaited, or session and address of a page that is to come."""


class Browser:
    """A running browser; see `started`."""

    def __init__(self, program: Program, commands: int, answers: asyncio.StreamReader) -> None:
        self._program = program
        self._commands = commands
        self._answers = answers
        self._waiting: dict[Awaited, asyncio.Future[dict[str, Any]]] = {}
        self._numbers = count(1)

    async def call(
        self, method: str, session: str | None = None, /, **parameters: Any
    ) -> dict[str, Any]:
        """The result of a method, of the browser or of the page of `session`.

        Raises:
            DemoError: The browser refuses it, has ended, or does not answer in time.
        """
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        with self._awaited(number) as answer:
            os.write(self._commands, json.dumps(message).encode() + b"\0")
            found = await self._within(answer)
        if "error" in found:
            raise DemoError(f"Chromium: {method}: {found['error'].get('message')}")
        result: dict[str, Any] = found["result"]
        return result

    async def navigate(self, session: str, url: str) -> None:
        """Takes the page of `session` to `url`; see `Page.navigate`."""
        await self.call("Page.enable", session)
        with self._awaited((session, url)) as navigated:
            done = await self.call("Page.navigate", session, url=url)
            if "errorText" in done:
                raise DemoError(f"Chromium: {url}: {done['errorText']}")
            # What is evaluated before would be of the page before.
            await self._within(navigated)

    @asynccontextmanager
    async def page(self) -> AsyncIterator[Page]:
        """A page of a context of its own: no cache, cookie or connection of another is used."""
        context = (await self.call("Target.createBrowserContext"))["browserContextId"]
        target = await self.call(
            "Target.createTarget", url="about:blank", browserContextId=context, newWindow=True
        )
        attached = await self.call(
            "Target.attachToTarget", targetId=target["targetId"], flatten=True
        )
        try:
            yield Page(self, attached["sessionId"])
        finally:
            if self._program.alive:
                await self.call("Target.disposeBrowserContext", browserContextId=context)

    async def read(self) -> None:
        """Hands out answers and pages that came until it is cancelled."""
        while True:
            message = await self._answers.readuntil(b"\0")
            found = json.loads(message[:-1])
            what: Awaited = found.get("id", 0)
            if found.get("method") == "Page.frameNavigated":
                what = (found["sessionId"], found["params"]["frame"]["url"])
            waiting = self._waiting.get(what)
            if waiting is not None and not waiting.done():
                waiting.set_result(found)

    @contextmanager
    def _awaited(self, what: Awaited) -> Iterator[asyncio.Future[dict[str, Any]]]:
        self._waiting[what] = asyncio.get_running_loop().create_future()
        try:
            yield self._waiting[what]
        finally:
            del self._waiting[what]

    async def _within(self, answer: asyncio.Future[dict[str, Any]]) -> dict[str, Any]:
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                return await answer
        except TimeoutError as error:
            late = self._program.alive
            raise self._program.late(ANSWER_WITHIN_S) if late else self._program.ended() from error


class Page:
    """A page of a browser."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session

    async def navigate(self, url: str) -> None:
        """Goes to `url`; returns when its answer begins, or raises `DemoError`."""
        await self._browser.navigate(self._session, url)

    async def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; that of the promise if it is one.

        Raises:
            DemoError: The script throws; the message is that of the exception.
        """
        found = await self._browser.call(
            *("Runtime.evaluate", self._session),
            expression=expression,
            awaitPromise=True,
            returnByValue=True,
        )
        if thrown := found.get("exceptionDetails"):
            said = thrown.get("exception", {}).get("description") or thrown.get("text")
            raise DemoError(f"Chromium: {str(said).splitlines()[0]}")
        return found["result"].get("value")


@asynccontextmanager
async def started(programs: Programs, chromium: Path, folder: Path) -> AsyncIterator[Browser]:
    """A browser with a fresh profile in `folder`, for as long as the block.

    Raises:
        DemoError: It does not start.
    """
    profile = folder / "chromium"
    shutil.rmtree(profile, ignore_errors=True)
    profile.mkdir(parents=True)
    pipes = [profile / "commands", profile / "answers"]
    for pipe in pipes:
        os.mkfifo(pipe)
    # Opened for both directions, because opening for one waits for the other side.
    commands, answers = (os.open(pipe, os.O_RDWR) for pipe in pipes)
    reader = asyncio.StreamReader(limit=LARGEST_ANSWER_BYTES)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(answers, "rb", buffering=0)
    )
    program = programs.spawn(
        # The protocol's descriptors are 3 and 4.
        (
            *(*ENDS_WITH_PARENT, "sh", "-c", 'exec 3<"$0" 4>"$1"; shift; exec "$@"'),
            *(*map(str, pipes), str(chromium), *FLAGS),
            *(f"--user-data-dir={profile}", "about:blank"),
        ),
        name="chromium",
        environment=_environment(profile),
        has_ready_line=False,
    )
    browser = Browser(program, commands, reader)
    reading = asyncio.create_task(browser.read())
    try:
        await browser.call("Browser.getVersion")
        yield browser
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        transport.close()
        os.close(commands)
        await programs.stop(program)
        # Its helpers, which end with it, but some moments later.
        with suppress(ProcessLookupError):
            os.killpg(program.process.pid, signal.SIGKILL)
        shutil.rmtree(profile, ignore_errors=True)


def _environment(home: Path) -> Mapping[str, str]:
    """The browser's environment, with a home of its own: the user's is neither read nor written."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    return {**kept, "HOME": str(home)}
