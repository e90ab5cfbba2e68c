"""The SDK session: one child process kept alive, one command at a time, every request counted.

A child that dies or hangs is restarted after the delay that `ric_state.Retry` computes, and the
reason is logged. `on_up` gets the nodes of a new session, `on_down` the reason why there is none.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

import structlog
from ric.clock import Clock

from flexric_bridge.budget import Budget, Use
from flexric_bridge.child_process import ChildLost, ChildProcess, Deadlines
from flexric_bridge.ric_address import Unreachable, ipv4_of
from flexric_bridge.ric_state import Retry, RicState
from flexric_bridge.sdk import Connection, E2Node, ReportRequest, SdkError, SdkVersions
from flexric_bridge.settings import RicSettings

_log = structlog.get_logger()

RESTART_REASONS: Final = ("reopened", "open_failed", "lost", "hung")
"""Opened again for new nodes; RIC absent or refusing; child ended; child does not answer."""
MAKE_IT: Final = "build it with `make flexric-bridge` where FlexRIC is installed"


class SessionDown(Exception):  # noqa: N818 - says what happened
    """There is no SDK session; the message says why."""


class Session:
    """See the module. `run` must be running."""

    def __init__(
        self,
        settings: RicSettings,
        budget: Budget,
        clock: Clock,
        *,
        on_up: Callable[[list[E2Node]], None],
        on_down: Callable[[str], None],
        on_reports: Callable[[bytes], None],
        on_spent: Callable[[], None] = lambda: None,
    ) -> None:
        self._settings = settings
        self.budget = budget
        self._clock = clock
        self._on_up = on_up
        self._on_down = on_down
        self._on_reports = on_reports
        self._on_spent = on_spent
        self._child: ChildProcess | None = None
        self._lost = asyncio.Event()
        self._one_caller = asyncio.Lock()
        self._stopping = False
        self._reopening = False
        self._retry = Retry(settings, clock)
        self.up = False
        self.why = "not started yet"
        """Why there is no session."""
        self.versions: SdkVersions | None = None
        """The FlexRIC that the native module was built for, once known."""
        self.starts = 0
        self.restarts = Counter(dict.fromkeys(RESTART_REASONS, 0))
        """Number of restarts by reason."""

    async def run(self) -> None:
        """Keep a session open, for ever."""
        while not self._stopping:
            try:
                nodes = await self._open()
            except (ChildLost, SdkError, OSError) as error:
                await self._end_child("the RIC could not be opened")
                if self._stopping:
                    break
                delay_s = self._failed_to_open(error)
            else:
                self._opened(nodes)
                await self._lost.wait()
                if self._stopping:
                    break
                if self._reopening:
                    self._reopening = False
                    self.restarts["reopened"] += 1
                    continue
                delay_s = await self._was_lost()
            self._log_down(delay_s)
            await self._clock.sleep(delay_s)

    @property
    def state(self) -> RicState:
        """State of the session."""
        return self._retry.state

    def _opened(self, nodes: list[E2Node]) -> None:
        self.up, self.why = True, ""
        self._retry.opened()
        _log.info("FlexRIC session open", ric=self._address, nodes=[n.id for n in nodes])
        self._on_up(nodes)

    def _failed_to_open(self, error: Exception) -> float:
        """Delay before the next attempt, s."""
        delay_s = self._retry.failed(error, module_missing=bool(missing_module(self._settings.sdk)))
        self._went_down(self._describe(error), "open_failed")
        return delay_s

    async def _was_lost(self) -> float:
        """Delay before the next session, s."""
        child = self._child
        why = "" if child is None else child.exit_reason()
        await self._end_child("the session was lost")
        delay_s = self._retry.lost(ric_disconnected=child is not None and child.ric_disconnected)
        self._went_down(f"the SDK's process {why}", "lost")
        return delay_s

    def _log_down(self, delay_s: float) -> None:
        if self._retry.log_is_due():
            _log.warning(
                "FlexRIC session down",
                ric_state=self.state.value,
                why=self.why,
                retry_in_s=round(delay_s, 2),
            )

    async def stop(self, leave: tuple[int, ...] = ()) -> None:
        """End subscriptions but `leave`, and the session."""
        self._stopping = True
        self.up = False
        async with self._one_caller:
            if self._child is not None:
                await self._close_child(leave)
        self._lost.set()

    async def reopen(self, leave: tuple[int, ...] = ()) -> None:
        """Close this session and open another: the RIC lists new nodes at setup only."""
        async with self._one_caller:
            if not self.up or self._child is None:
                return
            self.up, self.why = False, "a new session is being opened"
            self._retry.enter(RicState.STARTING)
            self._reopening = True
            # `run` continues when the child has ended.
            await self._close_child(leave)

    def give_up_session(self, why: str) -> None:
        """Kill the child, so that `run` opens another session."""
        child = self._child
        if self.up and child is not None:
            _log.warning("FlexRIC session given up", why=why)
            self._ending = asyncio.create_task(child.kill(why))

    async def _close_child(self, leave: tuple[int, ...]) -> None:
        if self._child is not None:
            ended = await self._child.close(leave)
            self._spend(Use.DELETION, ended)

    async def _open(self) -> list[E2Node]:
        self._lost.clear()
        self.starts += 1
        child = self._child = self.new_child(self._on_reports, self._lost.set)
        await child.start()
        self.versions = await child.versions()
        retry = self._retry
        await self.open_child(child, retry.setup_delay_s, ric_was_away=retry.ric_was_away)
        return _distinct(await child.nodes())

    def _count_session(self, number: int | None) -> None:
        if self.budget.begin_session(number):
            _log.info("the RIC was restarted: its request budget begins anew", ric=self._address)
        self._on_spent()

    def new_child(
        self, on_reports: Callable[[bytes], None], on_end: Callable[[], None]
    ) -> ChildProcess:
        """A child for this RIC, not started."""
        s = self._settings
        environment = {} if s.preload is None else {"LD_PRELOAD": str(s.preload.resolve())}
        deadlines = Deadlines(s.open_timeout_s, s.command_timeout_s)
        return ChildProcess(s.sdk, deadlines, on_reports, on_end, environment)

    async def open_child(
        self, child: ChildProcess, setup_delay_s: float = 0.0, *, ric_was_away: bool = False
    ) -> None:
        """Connect a child to the RIC."""
        s = self._settings
        configuration = "" if s.configuration is None else str(s.configuration)
        # FlexRIC appends file names to it.
        libraries = "" if s.libraries is None else f"{s.libraries}/"
        delays = (setup_delay_s, ric_was_away)
        try:
            address = await ipv4_of(s.address)
        except Unreachable as error:
            raise SdkError("absent", str(error)) from None
        await child.open(Connection(address, configuration, libraries, s.blocks_per_s, *delays))
        self._count_session(await child.session_number())

    async def _end_child(self, because: str) -> None:
        if self._child is not None:
            await self._child.kill(because)

    def _went_down(self, why: str, reason: str) -> None:
        self.up, self.why = False, why
        self.restarts["hung" if "no answer" in why else reason] += 1
        self._on_down(why)

    def _describe(self, error: Exception) -> str:
        module = missing_module(self._settings.sdk)
        if isinstance(error, ChildLost) and module:
            return f"the Python module {module} is not installed; {MAKE_IT}"
        if isinstance(error, ChildLost):
            return f"the SDK's process {error}"
        if not isinstance(error, SdkError):
            return str(error)
        ric = f"the RIC at {self._address}"
        sentences: dict[str, str] = {
            "absent": f"{ric} is absent: {error.detail}",
            "no-nodes": f"{ric} answers, and no E2 node has connected to it yet",
            "timeout": f"{ric} does not answer: {error.detail}",
            "no-sctp": f"{error.detail}; `modprobe sctp`, or --ric-preload",
            "mismatch": f"{error}; {MAKE_IT} again",
        }
        return sentences.get(error.kind, str(error))

    @property
    def _address(self) -> str:
        return self._settings.address

    # ----------------------------------------------------------------------- requests

    async def subscribe(self, request: ReportRequest) -> int:
        """See `Sdk.subscribe`; as all of these raises `SdkError`, `SessionDown`, `BudgetSpent`."""
        async with self._asking(Use.SUBSCRIPTION) as child:
            return await child.subscribe(request)

    async def unsubscribe(self, handle: int) -> None:
        """See `Sdk.unsubscribe`."""
        async with self._asking(Use.DELETION) as child:
            await child.unsubscribe(handle)

    async def control(
        self, node_id: str, function_id: int, header: bytes, message: bytes, *, safe: bool = False
    ) -> bytes:
        """See `Sdk.control`; `safe`: it restores the safe pipeline."""
        async with self._asking(Use.SAFE if safe else Use.CONTROL) as child:
            return await child.control(node_id, function_id, header, message)

    async def controls(
        self,
        node_id: str,
        function_id: int,
        header: bytes,
        groups: Sequence[Sequence[bytes]],
        *,
        safe: bool = False,
    ) -> tuple[list[bool], SdkError | None]:
        """Controls in order until one is not acknowledged; those of a group may be in flight at
        once. Returns which of those sent were acknowledged, and the error of the first that was
        not. One round trip to the SDK's process for all of them."""
        use = Use.SAFE if safe else Use.CONTROL
        most = self._settings.controls_together
        runs = [
            group[start : start + most] for group in groups for start in range(0, len(group), most)
        ]
        async with self._asking(use, sum(map(len, groups))) as child:
            acknowledged, failure = await child.controls(node_id, function_id, header, runs)
            if failure is not None and failure.kind == "closed":
                self.give_up_session(str(failure))
            return acknowledged, failure

    @asynccontextmanager
    async def _asking(self, use: Use, count: int = 1) -> AsyncIterator[ChildProcess]:
        async with self._one_caller:
            if not self.up or self._child is None:
                raise SessionDown(self.why)
            self.budget.refuse(use, count)
            # Controls that are not sent because an earlier one failed are counted all the same.
            self._spend(use, count)
            try:
                yield self._child
            except ChildLost as error:
                raise SessionDown(f"the SDK's process {error}") from None
            except SdkError as error:
                if error.kind == "closed":
                    self.give_up_session(str(error))
                raise

    def _spend(self, use: Use, count: int = 1) -> None:
        if count:
            share = self.budget.spend(use, count)
            self._on_spent()
            if share is not None:
                _log.warning(
                    "request budget of the RIC",
                    used=self.budget.used,
                    left=self.budget.left,
                    threshold=f"{share:.0%}",
                )


def missing_module(sdk: str) -> str:
    """The package of `module:name` if it is not installed, else ""."""
    package = sdk.partition(":")[0].partition(".")[0]
    return package if importlib.util.find_spec(package) is None else ""


def _distinct(nodes: list[E2Node]) -> list[E2Node]:
    """The nodes without those that have the id of an earlier one."""
    seen: dict[str, E2Node] = {}
    for node in nodes:
        if node.id in seen:
            _log.error("two nodes have one id; the second is ignored", node=node.id)
        else:
            seen[node.id] = node
    return list(seen.values())
