"""The xApp: follows the RLC of every node, publishes forecasts, loads models."""

from __future__ import annotations

import asyncio
import gc
import time
from contextlib import aclosing, suppress
from functools import partial

from ric import Node, XApp, for_each_node
from ric.errors import ServiceModelError
from ric.sm import TC_V1_OID, rlc
from rlc_model import ContractError

from rlc_forecaster.core import Forecaster, Layout
from rlc_forecaster.cu_feed import CuFeed
from rlc_forecaster.hub import Hub
from rlc_forecaster.indications import ContextFeed, on_rlc_report
from rlc_forecaster.metrics import ForecasterCollector, ModelStatus, Timings
from rlc_forecaster.model_source import ModelChange, ModelSource
from rlc_forecaster.onnx_step import OnnxStep
from rlc_forecaster.service import ForecastServer
from rlc_forecaster.settings import ForecasterSettings

READINESS_PERIOD_S = 0.25
KEEP_NEWEST = 32
"""RLC reports queued at the gateway and again here: enough for short stalls of the machine, and a
bound on the delay of a forecaster that cannot keep up."""
MODEL_WAIT_S = 30.0
"""Longest wait of the start for the first model, of which it needs a second or two."""
CONTEXT_PERIOD_MS = 20
"""Period of the context reports without a model, which has its own."""


class ForecasterApp:
    """One running forecaster."""

    def __init__(self, app: XApp[ForecasterSettings]) -> None:
        self._app = app
        self._model: OnnxStep | None = None
        self._previous_model: OnnxStep | None = None
        self._status = ModelStatus()
        self._model_polled = asyncio.Event()
        self._engines: dict[str, Forecaster] = {}
        self._timings = Timings()
        settings = app.settings
        self.hub = Hub(Layout(), app.clock)
        self.server = ForecastServer(
            self.hub,
            settings.server,
            app.security,
            oldest_s=settings.http.fresh_within_s,
            period_ms=settings.period_ms,
        )
        # Bound already: a stop may come before the server is started.
        app.on_stop(self.server.stop)
        app.readiness.note("model", self._status.shortcoming)
        ForecasterCollector(
            self._engines, self.hub, self._timings, self._status, self.server.encodings
        ).register(app.registry)

    async def run(self) -> None:
        """Serves until stopped."""
        settings = self._app.settings
        if (directory := settings.model_directory) is not None:
            self._status.wanted = True
            source = ModelSource(directory, settings.period_ms * 1_000, settings.model_trusted_keys)
            self._app.on_stop(partial(asyncio.to_thread, source.close))
            self._app.supervise("model", partial(self._watch_model, source))
            # `asyncio.wait_for` of Python 3.11 loses a stop that comes as the wait ends.
            with suppress(TimeoutError):
                async with asyncio.timeout(MODEL_WAIT_S):
                    await self._model_polled.wait()
        await self.server.start()
        host = settings.server.listen.rpartition(":")[0]
        listen = f"{host}:{self.server.port}"
        self._app.log.info("forecasts", address=listen, model=self._model_name())
        self._app.announce_ready(listen=listen)
        self._app.supervise("readiness", self._update_health)
        if (feed_ms := settings.cu_feed_period_ms) is not None:
            feed = CuFeed(self._app.gateway, self.hub.latest, feed_ms)
            feeding = partial(for_each_node, self._app.gateway, TC_V1_OID, feed.follow)
            self._app.supervise("feeds of CUs", feeding)
        await for_each_node(self._app.gateway, rlc.OID, self._follow)

    async def _follow(self, node: Node) -> None:
        """Forecasts one node while it is connected."""
        settings = self._app.settings
        engine = Forecaster(
            node.id,
            self._model,
            layout=self.hub.layout,
            period_us=settings.period_ms * 1_000,
        )
        engine.model_stale = self._status.stale
        self._engines[node.id] = engine
        try:
            async with asyncio.TaskGroup() as tasks:
                if context_ms := self._context_period_ms():
                    feed = ContextFeed(
                        self._app.gateway, self._app.metrics, node, engine, context_ms
                    )
                    tasks.create_task(feed.follow_mac(), name=f"{node.id} mac")
                    tasks.create_task(feed.follow_limits(), name=f"{node.id} limits")
                tasks.create_task(self._follow_rlc(node, engine), name=f"{node.id} rlc")
        finally:
            del self._engines[node.id]
            self.hub.forget(node.id)

    def _context_period_ms(self) -> int:
        configured = self._app.settings.context_period_ms
        if configured is not None:
            return configured
        return CONTEXT_PERIOD_MS if self._model is None else self._model.context_period_ms

    async def _follow_rlc(self, node: Node, engine: Forecaster) -> None:
        trigger = rlc.event_trigger(self._app.settings.period_ms)
        stream = self._app.gateway.subscribe(
            node.id, rlc.OID, trigger, queue_depth=KEEP_NEWEST, keep_newest=KEEP_NEWEST
        )
        async with aclosing(stream) as indications:
            async for indication in indications:
                self._on_rlc(engine, indication.message)

    def _on_rlc(self, engine: Forecaster, message: bytes) -> None:
        began_ns = time.perf_counter_ns()
        if self.hub.wants_cumulated:
            engine.forecast_cumulated_drain()
        try:
            batch = on_rlc_report(engine, message)
        except (ServiceModelError, ContractError) as error:
            self._app.metrics.count_bad_message(engine.node_id, rlc.OID)
            self._app.log.warning("RLC report refused", node=engine.node_id, error=str(error))
            return
        if batch is None:
            return
        self.hub.publish(batch)
        published_ns = time.perf_counter_ns()
        self._timings.forecast.observe_us((published_ns - began_ns) / 1_000)
        engine.learn()
        self._timings.learn.observe_us((time.perf_counter_ns() - published_ns) / 1_000)
        self._log_swaps(engine)

    def _log_swaps(self, engine: Forecaster) -> None:
        for result in engine.swap_results():
            if not result.refused:
                self._app.log.info("model active", node=engine.node_id, model=result.model)
                continue
            self._status.refuse(result.refused)
            if self._model is not None and self._model.name == result.model:
                # Nodes that connect later start with the model that remains active.
                self._model = self._previous_model
                self._status.name = "" if self._model is None else self._model.name
            self._app.log.error(
                "model refused",
                node=engine.node_id,
                model=result.model,
                error=result.refused,
                serving=self._model_name(),
            )

    async def _watch_model(self, source: ModelSource) -> None:
        while True:
            # Trying and loading a model takes a second; reports arrive every millisecond.
            now_s = self._app.clock.monotonic_ns() / 1e9
            self._apply(source, await asyncio.to_thread(source.poll, now_s))
            self._model_polled.set()
            await asyncio.sleep(self._app.settings.model_check_s)

    def _apply(self, source: ModelSource, change: ModelChange | None) -> None:
        if change is not None and change.model is None:
            self._refused(change)
        elif change is not None and change.model is not None:
            self._previous_model, self._model = self._model, change.model
            self._status.accept(change.model.name)
            self.hub.layout = change.model.layout
            for engine in self._engines.values():
                engine.swap_model(change.model)
                self._log_swaps(engine)
            self._app.log.info("model accepted", model=change.model.name)
        self._update_staleness(source)

    def _refused(self, change: ModelChange) -> None:
        if self._status.refuse(change.problem, change.retry_in_s):
            self._app.log.error(
                "model refused" if change.retry_in_s is None else "model not accepted yet",
                error=change.problem,
                serving=self._model_name(),
            )

    def _update_staleness(self, source: ModelSource) -> None:
        oldest_h, written_at_s = self._app.settings.model_max_age_h, source.written_at_s
        self._status.written_at_s = written_at_s
        if oldest_h is None or written_at_s is None:
            return
        age_h = (self._app.clock.now_us() / 1e6 - written_at_s) / 3600
        stale = age_h > oldest_h
        if stale != self._status.stale:
            self._app.log.warning(
                "model stale" if stale else "model no longer stale",
                model=self._model_name(),
                age_h=round(age_h, 2),
                limit_h=oldest_h,
            )
        self._status.stale = stale
        for engine in self._engines.values():
            engine.model_stale = stale

    def _model_name(self) -> str:
        return self._model.name if self._model is not None else "persistence"

    async def _update_health(self) -> None:
        while True:
            await self.server.set_ready(self._app.readiness.ready)
            await asyncio.sleep(READINESS_PERIOD_S)


async def main(app: XApp[ForecasterSettings]) -> None:
    """What :func:`ric.run_xapp` runs."""
    # The imports leave 60 000 permanent objects; collecting them takes 40 ms, or 40 reports.
    gc.collect()
    gc.freeze()
    await ForecasterApp(app).run()
