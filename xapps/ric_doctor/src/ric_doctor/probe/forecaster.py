"""A forecaster: whether its stream is open to this client, until the first forecast."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import grpc.aio
from ric.clock import Clock
from ric.gateway.channel import call_metadata, open_channel
from ric.settings import ClientSettings
from sojourn_interfaces import forecast_pb2 as pb
from sojourn_interfaces.forecast_pb2_grpc import ForecasterStub

from ric_doctor.facts import PortState, Reach
from ric_doctor.probe.port import check_port


async def reach_forecaster(
    settings: ClientSettings, address: str, clock: Clock, *, timeout_s: float, seconds: float
) -> Reach:
    """Wait `seconds` for a forecast; all calls have ended when this returns.

    Raises `SettingsError` for a certificate, key or token that cannot be read.
    """
    reach = await check_port(address, settings.tls, timeout_s)
    if reach.port is not PortState.ANSWERS:
        return reach
    channel = open_channel(settings, address)
    began_ns = clock.monotonic_ns()
    try:
        call = ForecasterStub(channel).Subscribe(
            pb.ForecastRequest(quantities=[pb.OCCUPANCY_BYTES]), metadata=call_metadata(settings)
        )
        code, detail = await _first(call, seconds)
    finally:
        await channel.close()
    took_us = (clock.monotonic_ns() - began_ns) // 1000
    return replace(reach, code=code, detail=detail, answered_us=took_us)


async def _first(
    call: grpc.aio.UnaryStreamCall[pb.ForecastRequest, pb.ForecastBatch], seconds: float
) -> tuple[str, str]:
    """gRPC status and its text, "OK" with the first forecast."""
    try:
        async with asyncio.timeout(seconds):
            ended = await call.read() is grpc.aio.EOF
    except TimeoutError:
        return "DEADLINE_EXCEEDED", f"no forecast within {seconds:g} s"
    except grpc.aio.AioRpcError as error:
        return error.code().name, error.details() or error.code().name
    else:
        return ("UNAVAILABLE", "the stream ended") if ended else ("OK", "")
    finally:
        call.cancel()
