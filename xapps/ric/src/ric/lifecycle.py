"""The life of a program: start, supervised tasks, readiness, signals, graceful stop."""

from __future__ import annotations

import asyncio
import gc
import json
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, Final, Generic, TypeVar

import structlog
from prometheus_client import CollectorRegistry, Counter

from ric import logs
from ric.backoff import Backoff
from ric.clock import Clock, SystemClock
from ric.errors import PriorityRefused, RicError
from ric.gateway import E2GatewayClient, GatewayLink
from ric.health import Readiness, add_health_routes
from ric.http import HttpServer
from ric.metrics import GatewayCollector, GatewayMetrics, register_program
from ric.priority import NiceCollector, set_nice
from ric.security import Security
from ric.settings import LogSettings, ServiceSettings, XAppSettings, printable

_new_event_loop: Callable[[], asyncio.AbstractEventLoop]
try:
    from uvloop import new_event_loop as _new_event_loop
except ImportError:
    # The loop of the standard library works as well, somewhat slower.
    _new_event_loop = asyncio.new_event_loop

AnyService = TypeVar("AnyService", bound="Service[Any]")
AnySettings = TypeVar("AnySettings", bound=ServiceSettings)
Settings = TypeVar("Settings", bound=XAppSettings)

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
RESTART_INITIAL_S: Final = 0.05
RESTART_MAX_S: Final = 5.0
"""Delays before a failed task is restarted."""


class Service(Generic[AnySettings]):
    """A long-running program: supervised tasks, `/metrics` and `/readyz`, a graceful stop.

    Everything is injected, so a test makes one with its own registry and virtual time.
    """

    def __init__(
        self,
        name: str,
        settings: AnySettings,
        *,
        registry: CollectorRegistry | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.name = name
        self.settings = settings
        self.registry = registry or CollectorRegistry()
        self.clock = clock or SystemClock()
        self.readiness = Readiness()
        self.security = Security(settings.access, self.registry, settings.clients())
        self.http = HttpServer(settings.http, self.security)
        """The HTTP server of /metrics and probes; add routes of the program's own at any time."""
        add_health_routes(self.http, self.registry, self.readiness)
        self.log: logs.Logger = structlog.get_logger(program=name)
        self.http_address = ""
        """Address of /metrics, /healthz and /readyz, once running; "" if disabled."""
        self._stop = asyncio.Event()
        self._on_stop: list[Callable[[], Awaitable[None]]] = []
        self._tasks: asyncio.TaskGroup | None = None
        register_program(self.registry, name)
        self._restarts = Counter(
            "sojourn_task_restarts_total",
            "Times a supervised task failed and was restarted.",
            ("task",),
            registry=self.registry,
        )

    @property
    def stopping(self) -> bool:
        """Whether a stop was requested."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Begin a graceful stop."""
        self._stop.set()

    async def stopped(self) -> None:
        """Return when a stop was requested."""
        await self._stop.wait()

    def on_stop(self, callback: Callable[[], Awaitable[None]]) -> None:
        """Have `callback` awaited at a graceful stop, last added first.

        Tasks still run then, and the gateway of an xApp is open: the place to release leases.
        """
        self._on_stop.append(callback)

    def supervise(self, name: str, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        """Run `work` as a task; unexpected exceptions are logged and counted, the task restarts.

        Only for work that may be restarted at any time. The task ends when `work` returns.
        """
        if self._tasks is None:
            raise RicError(f"task {name}: {self.name} is not running; expected within `main`")
        return self._tasks.create_task(self._supervised(name, work), name=name)

    def announce_ready(self, **addresses: str) -> None:
        """Print the ready line, one JSON object, on standard output."""
        line = {"event": "ready", **addresses, "metrics": self.http_address}
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()

    async def run_tasks(self, main: Callable[[], Awaitable[None]]) -> None:
        """Run until `main` and its tasks are done, `main` raises, or a stop is requested.

        Then stop gracefully; an exception of `main` is raised here afterwards, in a group.
        """
        self.log.info("starting", settings=printable(self.settings))
        self._set_nice()
        try:
            if self.settings.http.listen:
                self.http_address = await self.http.start()
                scheme = "http" if self.settings.http.certificate_file is None else "https"
                self.log.info("health and metrics", address=f"{scheme}://{self.http_address}")
            async with AsyncExitStack() as stack:
                await self._open(stack)
                self.security.start()
                await self._run_until_stop(main)
        finally:
            await self.http.stop()
            self.security.close()
        self.log.info("stopped")

    def _set_nice(self) -> None:
        nice = self.settings.nice
        if nice is None:
            return
        self.registry.register(NiceCollector())
        try:
            set_nice(nice)
        except PriorityRefused as error:
            self.log.warning("priority not set", error=str(error))
        else:
            self.log.info("priority set", nice=nice)

    async def _open(self, stack: AsyncExitStack) -> None:
        """Enter what `main` needs and what outlives the graceful stop."""

    async def _run_until_stop(self, main: Callable[[], Awaitable[None]]) -> None:
        async def work() -> None:
            async with asyncio.TaskGroup() as self._tasks:
                await main()

        working = asyncio.ensure_future(work())
        stop = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait((working, stop), return_when=asyncio.FIRST_COMPLETED)
            self._stop.set()
            await self._call_on_stop()
        finally:
            stop.cancel()
            already_done = working.done()
            working.cancel()
            try:
                await working
            except asyncio.CancelledError:
                current = asyncio.current_task()
                if already_done or (current is not None and current.cancelling()):
                    raise
            finally:
                self._tasks = None

    async def _call_on_stop(self) -> None:
        try:
            async with asyncio.timeout(self.settings.stop_timeout_s):
                while self._on_stop:
                    callback = self._on_stop.pop()
                    try:
                        await callback()
                    except Exception:
                        self.log.exception("stop callback failed")
        except TimeoutError:
            self.log.warning("stop took too long", limit_s=self.settings.stop_timeout_s)

    async def _supervised(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        backoff = Backoff(RESTART_INITIAL_S, RESTART_MAX_S)
        while True:
            began_ns = self.clock.monotonic_ns()
            try:
                await work()
            except Exception:
                if (self.clock.monotonic_ns() - began_ns) / 1e9 > RESTART_MAX_S:
                    # It worked for a while: a new failure, not the same one again.
                    backoff.reset()
                delay_s = backoff.next_s()
                self._restarts.labels(name).inc()
                self.log.exception("task failed", task=name, restart_in_s=round(delay_s, 3))
                await self.clock.sleep(delay_s)
            else:
                return


class XApp(Service[Settings]):
    """An xApp while it runs: a service with an open E2 gateway; the argument of its `main`."""

    def __init__(
        self,
        name: str,
        settings: Settings,
        *,
        registry: CollectorRegistry | None = None,
        link: GatewayLink | None = None,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(name, settings, registry=registry, clock=clock)
        self.metrics = GatewayMetrics()
        self.gateway = E2GatewayClient(
            settings.gateway, link=link, metrics=self.metrics, clock=self.clock
        )
        self.readiness.require_gateway(self.metrics, self.clock, settings.http.fresh_within_s)
        GatewayCollector(self.metrics, self.registry)

    async def run(self, main: Callable[[XApp[Settings]], Awaitable[None]]) -> None:
        """Run `main`; see `run_tasks`."""
        await self.run_tasks(lambda: main(self))

    async def _open(self, stack: AsyncExitStack) -> None:
        await stack.enter_async_context(self.gateway)


def prompt_runner() -> asyncio.Runner:
    """The runner of a program that gets a report each millisecond: uvloop if it is installed.

    Imported objects live as long as the process: they are frozen, since a full garbage collection
    over them delays reports by tens of milliseconds.
    """
    gc.collect()
    gc.freeze()
    return asyncio.Runner(loop_factory=_new_event_loop)


def run_xapp(
    name: str,
    settings: Settings,
    main: Callable[[XApp[Settings]], Awaitable[None]],
    *,
    configure_logs: bool = True,
) -> int:
    """Run an xApp as a program; see `run_service`."""
    return run_service(
        lambda: XApp(name, settings),
        lambda app: app.run(main),
        settings.log if configure_logs else None,
    )


def run_service(
    make: Callable[[], AnyService],
    run: Callable[[AnyService], Awaitable[None]],
    log_settings: LogSettings | None,
) -> int:
    """Run a service as a program: logs, signals, uvloop if installed; returns the exit status.

    SIGINT and SIGTERM stop it gracefully; a second one stops it at once.
    """
    if log_settings is not None:
        logs.configure(log_settings)
    log = structlog.get_logger()
    try:
        with prompt_runner() as runner:
            runner.run(_run_with_signals(make, run))
    except (KeyboardInterrupt, asyncio.CancelledError):
        log.warning("stopped at once")
        return EXIT_FAILED
    except Exception as failure:
        for error in _leaves(failure):
            expected = isinstance(error, (RicError, OSError))
            log.critical("failed", error=str(error), exc_info=None if expected else error)
        return EXIT_FAILED
    return EXIT_OK


async def _run_with_signals(
    make: Callable[[], AnyService], run: Callable[[AnyService], Awaitable[None]]
) -> None:
    service = make()
    loop = asyncio.get_running_loop()
    whole = asyncio.current_task()

    def on_signal(number: signal.Signals) -> None:
        service.log.info("signal", name=number.name)
        if service.stopping and whole is not None:
            whole.cancel()
        service.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal, number)
    await run(service)


def _leaves(error: BaseException) -> list[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
