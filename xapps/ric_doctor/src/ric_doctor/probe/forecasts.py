"""A forecaster: its health, and its stream for a few seconds."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Final

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from ric.clock import Clock
from ric.gateway.channel import call_metadata, open_channel
from ric.settings import ClientSettings
from sojourn_interfaces import forecast_pb2 as pb
from sojourn_interfaces.forecast_pb2_grpc import ForecasterStub

from ric_doctor.facts import Door, Forecasts, Reach, Spread
from ric_doctor.probe.port import knock

_SERVICE: Final = pb.DESCRIPTOR.services_by_name["Forecaster"].full_name


async def listen(
    settings: ClientSettings, address: str, clock: Clock, *, timeout_s: float, seconds: float
) -> Forecasts:
    """Stream for `seconds`; all calls have ended when this returns.

    Raises `SettingsError` for a certificate, key or token that cannot be read.
    """
    reach = await knock(address, settings.tls, timeout_s)
    if reach.door is not Door.ANSWERS:
        return Forecasts(reach)
    channel = open_channel(settings, address)
    try:
        health = await _health(channel, timeout_s)
        call = ForecasterStub(channel).Subscribe(
            pb.ForecastRequest(quantities=[pb.OCCUPANCY_BYTES]), metadata=call_metadata(settings)
        )
        return await _stream(call, reach, health, clock, seconds)
    finally:
        await channel.close()


async def _health(channel: grpc.aio.Channel, timeout_s: float) -> str:
    request = health_pb2.HealthCheckRequest(service=_SERVICE)
    try:
        answer = await health_pb2_grpc.HealthStub(channel).Check(request, timeout=timeout_s)
    except grpc.aio.AioRpcError as error:
        return error.code().name
    name: str = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    return name


async def _stream(
    call: grpc.aio.UnaryStreamCall[pb.ForecastRequest, pb.ForecastBatch],
    reach: Reach,
    health: str,
    clock: Clock,
    seconds: float,
) -> Forecasts:
    nodes: set[str] = set()
    models: set[str] = set()
    fallbacks: Counter[str] = Counter()
    ages_us: list[float] = []
    on_the_way_us: list[float] = []
    batches = forecasts = by_model = 0
    code, ended = "OK", ""
    began_us = clock.now_us()
    try:
        async with asyncio.timeout(seconds):
            async for batch in call:
                now_us = clock.now_us()
                batches += 1
                nodes.add(batch.node_id)
                on_the_way_us.append(now_us - batch.sent_at_us)
                for forecast in batch.forecasts:
                    forecasts += 1
                    ages_us.append(now_us - forecast.origin_us)
                    if forecast.source == pb.Forecast.MODEL:
                        by_model += 1
                        models.add(forecast.model)
                    else:
                        fallbacks[_reason(forecast.fallback)] += 1
        ended = "the stream ended"
    except TimeoutError:
        pass
    except grpc.aio.AioRpcError as error:
        code, ended = error.code().name, error.details() or error.code().name
    finally:
        call.cancel()
    return Forecasts(
        Reach(reach.address, reach.door, reach.tls, reach.detail, reach.connect_us, code),
        health,
        ended,
        batches,
        tuple(sorted(nodes)),
        forecasts,
        by_model,
        dict(fallbacks),
        tuple(sorted(models)),
        Spread.of(ages_us),
        Spread.of(on_the_way_us),
        clock.now_us() - began_us,
    )


def _reason(fallback: int) -> str:
    named = pb.Forecast.Fallback.items()
    # A reason of a newer forecaster has no name here.
    return next((name for name, number in named if number == fallback), str(fallback))
