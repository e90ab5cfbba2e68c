"""The shell: RLC of every node in, forecasts to the hub, models as they appear."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import aclosing
from functools import partial

from ric import Node, XApp, for_each_node
from ric.errors import ServiceModelError
from ric.metrics import Histogram
from ric.sm import rlc
from rlc_model import ContractError

from rlc_forecaster.core import Forecaster, Layout
from rlc_forecaster.hub import Hub
from rlc_forecaster.metrics import ForecasterCollector
from rlc_forecaster.model_source import ModelChange, ModelSource
from rlc_forecaster.onnx_step import OnnxStep
from rlc_forecaster.service import ForecastServer
from rlc_forecaster.settings import ForecasterSettings

READINESS_PERIOD_S = 0.25


class ForecasterApp:
    """One running forecaster."""

    def __init__(self, app: XApp[ForecasterSettings]) -> None:
        self._app = app
        self._model: OnnxStep | None = None
        self._refused = 0
        self._engines: dict[str, Forecaster] = {}
        self._step = Histogram()
        self.hub = Hub(Layout())
        self.server = ForecastServer(self.hub, app.settings.forecast)
        ForecasterCollector(self._engines, self.hub, self._step, self._in_use).register(
            app.registry
        )

    async def run(self) -> None:
        """Serves until stopped."""
        settings = self._app.settings
        source = ModelSource(settings.model) if settings.model is not None else None
        if source is not None:
            self._go_over(source.look())
        await self.server.start()
        host = settings.forecast.listen.rpartition(":")[0]
        listen = f"{host}:{self.server.port}"
        self._app.on_stop(self.server.stop)
        self._app.log.info("forecasts", address=listen, model=self._in_use()[0] or "persistence")
        ready = {"event": "ready", "listen": listen, "metrics": self._app.http_address}
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()
        self._app.supervise("readiness", self._tell_readiness)
        if source is not None:
            self._app.supervise("model", partial(self._watch_model, source))
        await for_each_node(self._app.gateway, rlc.OID, self._follow)

    async def _follow(self, node: Node) -> None:
        """Forecasts one node for as long as it is there."""
        engine = Forecaster(
            node.id,
            self._model,
            layout=self.hub.layout,
            period_us=self._app.settings.period_ms * 1_000,
        )
        self._engines[node.id] = engine
        trigger = rlc.event_trigger(self._app.settings.period_ms)
        try:
            async with aclosing(
                self._app.gateway.subscribe(node.id, rlc.OID, trigger)
            ) as indications:
                async for indication in indications:
                    self._on_rlc(engine, indication.message)
        finally:
            del self._engines[node.id]
            self.hub.forget(node.id)

    def _on_rlc(self, engine: Forecaster, message: bytes) -> None:
        began_ns = time.perf_counter_ns()
        try:
            table = rlc.decode(message)
            batch = engine.on_report(table.records, table.tstamp_us)
        except (ServiceModelError, ContractError) as error:
            self._app.metrics.count_bad_message(engine.node_id, rlc.OID)
            self._app.log.warning("RLC report refused", node=engine.node_id, error=str(error))
            return
        self._step.observe_us((time.perf_counter_ns() - began_ns) / 1_000)
        if batch is not None:
            self.hub.publish(batch)

    async def _watch_model(self, source: ModelSource) -> None:
        while True:
            await asyncio.sleep(self._app.settings.model_check_s)
            # Reading and trying a model takes tens of milliseconds; samples come each one.
            self._go_over(await asyncio.to_thread(source.look))

    def _go_over(self, change: ModelChange | None) -> None:
        if change is None:
            return
        if change.model is None:
            self._refused += 1
            self._app.log.error(
                "model refused",
                error=str(change.refused),
                serving=self._in_use()[0] or "persistence",
            )
            return
        self._model = change.model
        self.hub.layout = change.model.layout
        for engine in self._engines.values():
            engine.swap_model(change.model)
        self._app.log.info("model in use", model=change.model.name)

    def _in_use(self) -> tuple[str, int]:
        return (self._model.name if self._model is not None else "", self._refused)

    async def _tell_readiness(self) -> None:
        while True:
            await self.server.set_ready(self._app.readiness.ready)
            await asyncio.sleep(READINESS_PERIOD_S)


async def main(app: XApp[ForecasterSettings]) -> None:
    """What :func:`ric.run_xapp` runs."""
    await ForecasterApp(app).run()
