"""Latencies that a client sees during a soak: age of indications and forecasts, controls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import grpc
from clients import control_forever
from measuring import percentiles
from ric import E2GatewayClient
from ric.settings import GatewaySettings
from ric.sm import rlc
from sojourn_interfaces import forecast_pb2 as pb

PARSED_EVERY: Final = 16
"""Of the forecasts; to parse all in Python takes longer than to make them."""
SUBSCRIBE: Final = "/sojourn.forecast.v1.Forecaster/Subscribe"
QUANTITIES: Final = ("indication_age", "control_round_trip", "forecast_age")


@dataclass(slots=True)
class Probe:
    """What was measured since the last `take`."""

    values_us: dict[str, list[float]] = field(default_factory=lambda: {q: [] for q in QUANTITIES})

    def take(self) -> dict[str, float]:
        """p50 and p99 of each quantity, ms, and begin anew; NaN without values."""
        found: dict[str, float] = {}
        for quantity, values in self.values_us.items():
            p50, p99 = percentiles(values)
            found |= {f"{quantity}_p50_ms": p50 / 1e3, f"{quantity}_p99_ms": p99 / 1e3}
            values.clear()
        return found


@asynccontextmanager
async def probing(gateway: str, forecaster: str) -> AsyncIterator[Probe]:
    """Measures during the block; an error of a client ends it."""
    probe = Probe()
    async with (
        E2GatewayClient(GatewaySettings(address=gateway)) as client,
        grpc.aio.insecure_channel(forecaster) as channel,
        asyncio.TaskGroup() as tasks,
    ):
        node = (await anext(client.watch_nodes())).node.id
        running = [
            tasks.create_task(_indications(client, node, probe)),
            tasks.create_task(control_forever(client, node, probe.values_us["control_round_trip"])),
            tasks.create_task(_forecasts(channel, probe)),
        ]
        yield probe
        for task in running:
            task.cancel()


async def _indications(client: E2GatewayClient, node: str, probe: Probe) -> None:
    async with aclosing(client.subscribe(node, rlc.OID, rlc.event_trigger(1))) as stream:
        async for indication in stream:
            age_us = indication.handled_at_us - indication.collected_at_us
            probe.values_us["indication_age"].append(age_us)


async def _forecasts(channel: grpc.aio.Channel, probe: Probe) -> None:
    call: Any = channel.unary_stream(
        SUBSCRIBE, request_serializer=pb.ForecastRequest.SerializeToString
    )(pb.ForecastRequest(), wait_for_ready=True)
    received = 0
    async for message in call:
        now_us = time.time_ns() / 1e3
        received += 1
        if received % PARSED_EVERY == 0:
            batch = pb.ForecastBatch.FromString(message)
            age_us = now_us - batch.forecasts[0].origin_us
            probe.values_us["forecast_age"].append(age_us)
