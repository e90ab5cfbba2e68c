"""The life of an xApp: start, supervised tasks, signals, graceful stop."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

import structlog
from prometheus_client import CollectorRegistry, Counter

from ric import logs
from ric.backoff import Backoff
from ric.clock import Clock, SystemClock
from ric.errors import RicError
from ric.gateway import E2GatewayClient, GatewayLink
from ric.health import HealthServer, Readiness
from ric.metrics import GatewayCollector, GatewayMetrics
from ric.settings import XAppSettings, printable

_new_event_loop: Callable[[], asyncio.AbstractEventLoop]
try:
    from uvloop import new_event_loop as _new_event_loop
except ImportError:
    # The loop of the standard library does as well, somewhat slower.
    _new_event_loop = asyncio.new_event_loop

Settings = TypeVar("Settings", bound=XAppSettings)

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1


class XApp(Generic[Settings]):
    """One xApp while it runs: what its `main` is given.

    `gateway` is open, `registry` is served at /metrics, `readiness` at /readyz. Everything is
    injected, so a test makes one with a fake link, its own registry and virtual time.
    """

    def __init__(
        self,
        name: str,
        settings: Settings,
        *,
        registry: CollectorRegistry | None = None,
        link: GatewayLink | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.name = name
        self.settings = settings
        self.registry = registry or CollectorRegistry()
        self.clock = clock or SystemClock()
        self.metrics = GatewayMetrics()
        self.gateway = E2GatewayClient(
            settings.gateway, link=link, metrics=self.metrics, clock=self.clock
        )
        self.readiness = Readiness(self.metrics, self.clock, settings.http.fresh_within_s)
        self.log: logs.Logger = structlog.get_logger(xapp=name)
        self.http_address = ""
        """Where /metrics, /healthz and /readyz are, once running; "" when not served."""
        self._stop = asyncio.Event()
        self._on_stop: list[Callable[[], Awaitable[None]]] = []
        self._tasks: asyncio.TaskGroup | None = None
        GatewayCollector(self.metrics, self.registry)
        self._restarts = Counter(
            "sojourn_xapp_task_restarts_total",
            "Times a supervised task failed and was started again.",
            ("task",),
            registry=self.registry,
        )

    @property
    def stopping(self) -> bool:
        """Whether a stop was asked for."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Begin a graceful stop."""
        self._stop.set()

    async def stopped(self) -> None:
        """Return when a stop was asked for."""
        await self._stop.wait()

    def on_stop(self, callback: Callable[[], Awaitable[None]]) -> None:
        """Have `callback` awaited at a graceful stop, last added first.

        The gateway is still open and the tasks still run: the place to release leases.
        """
        self._on_stop.append(callback)

    def supervise(self, name: str, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        """Run `work` beside the rest; when it raises, log, count, wait and run it again.

        Only for work that may begin anew at any time. A return ends it.
        """
        if self._tasks is None:
            raise RicError(f"task {name}: xApp {self.name} is not running; expected within `main`")
        return self._tasks.create_task(self._supervised(name, work), name=name)

    async def run(self, main: Callable[[XApp[Settings]], Awaitable[None]]) -> None:
        """Run until `main` and its tasks are done, `main` raises, or a stop is asked for.

        Then stop gracefully; an exception of `main` is raised here afterwards, in a group.
        """
        self.log.info("starting", settings=printable(self.settings))
        health = HealthServer(self.registry, self.readiness)
        try:
            if self.settings.http.listen:
                self.http_address = await health.start(self.settings.http.listen)
                self.log.info("health and metrics", address=f"http://{self.http_address}")
            async with self.gateway:
                await self._run_until_stop(main)
        finally:
            await health.stop()
        self.log.info("stopped")

    async def _run_until_stop(self, main: Callable[[XApp[Settings]], Awaitable[None]]) -> None:
        async def work() -> None:
            async with asyncio.TaskGroup() as self._tasks:
                await main(self)

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
        gateway = self.settings.gateway
        backoff = Backoff(gateway.backoff_initial_s, gateway.backoff_max_s, gateway.backoff_factor)
        while True:
            began_ns = self.clock.monotonic_ns()
            try:
                await work()
            except Exception:
                if (self.clock.monotonic_ns() - began_ns) / 1e9 > gateway.backoff_max_s:
                    # It worked for a while: a new failure, not the same one again.
                    backoff.reset()
                delay_s = backoff.next_s()
                self._restarts.labels(name).inc()
                self.log.exception("task failed", task=name, restart_in_s=round(delay_s, 3))
                await self.clock.sleep(delay_s)
            else:
                return


def prompt_runner() -> asyncio.Runner:
    """What runs a program that gets a report each millisecond: uvloop where it is installed.

    What was imported lives as long as the process: it goes out of the collector's sight, or each
    full collection walks all of it and holds up reports for tens of milliseconds.
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
    """Run an xApp as a program: logs, signals, uvloop where installed; returns the exit status.

    SIGINT and SIGTERM stop gracefully; a second one stops at once.
    """
    if configure_logs:
        logs.configure(settings.log)
    log = structlog.get_logger(xapp=name)
    try:
        with prompt_runner() as runner:
            runner.run(_run_with_signals(name, settings, main))
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
    name: str, settings: Settings, main: Callable[[XApp[Settings]], Awaitable[None]]
) -> None:
    app = XApp(name, settings)
    loop = asyncio.get_running_loop()
    whole = asyncio.current_task()

    def on_signal(number: signal.Signals) -> None:
        app.log.info("signal", name=number.name)
        if app.stopping and whole is not None:
            whole.cancel()
        app.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal, number)
    await app.run(main)


def _leaves(error: BaseException) -> list[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
