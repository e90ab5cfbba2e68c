"""The xApp with a fake RIC and a consumer's channel, for tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import grpc
from prometheus_client import CollectorRegistry, generate_latest
from ric import XApp
from ric.clock import SystemClock
from ric.health import Readiness
from ric.sm import rlc
from ric.testing import FakeNode, FakeRic, ran_function
from rlc_forecaster.app import ForecasterApp
from rlc_forecaster.settings import ForecasterSettings
from sojourn_interfaces import forecast_pb2_grpc as pb_grpc

NODE = "gnb-001-01-0xe00"


def time_us(k: int) -> int:
    """Time of report `k`."""
    return 1_700_000_000_000_000 + 1_000 * k


class HeldClock(SystemClock):
    """The wall clock stands still: no report is late, and passed over for it, on a busy machine."""

    def __init__(self) -> None:
        self._held_us = super().now_us()

    def now_us(self) -> int:
        """The time at which the clock was made."""
        return self._held_us


@dataclass(slots=True)
class Running:
    """A forecaster, its RIC and a consumer's channel."""

    ric: FakeRic
    node: FakeNode
    forecaster: ForecasterApp
    channel: grpc.aio.Channel
    registry: CollectorRegistry
    readiness: Readiness
    http_address: str = ""

    @property
    def stub(self) -> Any:
        return pb_grpc.ForecasterStub(self.channel)

    def report(self, k: int, occupancies: dict[int, int]) -> None:
        records = rlc.zeros(len(occupancies))
        for row, (rnti, occupancy) in zip(records, occupancies.items(), strict=True):
            row["rnti"], row["rbid"] = rnti, 1
            row["txbuf_occ_bytes"] = occupancy
            row["txpdu_bytes"] = 1_000 * k
        self.node.report(rlc.OID, rlc.encode(records, time_us(k)))

    async def subscribed(self) -> None:
        while not self.ric.subscriptions:
            await asyncio.sleep(0.005)

    async def seen(self, reports: int) -> None:
        while self.forecaster.hub.published < reports:
            await asyncio.sleep(0.005)

    def metrics(self) -> str:
        return generate_latest(self.registry).decode()


@asynccontextmanager
async def running(**settings: Any) -> AsyncIterator[Running]:
    """A forecaster on free ports."""
    clock = HeldClock()
    ric = FakeRic(clock=clock)
    node = ric.add_node(NODE, ran_function(rlc.OID))
    made = ForecasterSettings.model_validate(
        {"server": {"listen": "127.0.0.1:0"}, "http": {"listen": ""}, "model": "none", **settings}
    )
    app = XApp("rlc-forecaster", made, link=ric.link(), clock=clock)
    started: asyncio.Future[ForecasterApp] = asyncio.get_running_loop().create_future()

    async def main(xapp: XApp[ForecasterSettings]) -> None:
        forecaster = ForecasterApp(xapp)
        started.set_result(forecaster)
        await forecaster.run()

    task = asyncio.create_task(app.run(main))
    forecaster = await started
    while forecaster.server.port == 0:
        await asyncio.sleep(0.005)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{forecaster.server.port}") as channel:
        yield Running(ric, node, forecaster, channel, app.registry, app.readiness, app.http_address)
    app.stop()
    await asyncio.wait_for(task, 10)
