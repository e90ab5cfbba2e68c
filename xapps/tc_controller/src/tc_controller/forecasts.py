"""Client of the forecast stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import grpc
import grpc.aio
import structlog
from ric.backoff import Backoff
from ric.clock import Clock
from ric.errors import SettingsError
from ric.gateway.channel import call_metadata, open_channel
from sojourn_interfaces import forecast_pb2
from sojourn_interfaces.forecast_pb2_grpc import ForecasterStub

from tc_controller.core.inputs import ForecastReport
from tc_controller.reports import forecast_of
from tc_controller.settings import ForecastsSettings

_log = structlog.get_logger()
_BACKOFF_S: Final = (0.1, 5.0)


async def follow_forecasts(
    settings: ForecastsSettings, clock: Clock, handle: Callable[[ForecastReport], None]
) -> None:
    """Call ``handle`` with every batch, until cancelled; reconnects to a forecaster that is away.

    Certificates and token are read at each attempt.

    Forecasts only let the controller act earlier, so their absence is not an error.
    """
    address = settings.address or ""
    backoff = Backoff(*_BACKOFF_S)
    request = forecast_pb2.ForecastRequest(quantities=[forecast_pb2.OCCUPANCY_BYTES])
    while True:
        try:
            async with open_channel(settings, address) as channel:
                stub = ForecasterStub(channel)
                async for batch in stub.Subscribe(request, metadata=call_metadata(settings)):
                    backoff.reset()
                    handle(forecast_of(batch))
        except grpc.aio.AioRpcError as error:
            _log.info("forecaster unavailable", address=address, error=error.details())
        except SettingsError as error:
            _log.warning("forecaster not called", address=address, error=str(error))
        await clock.sleep(backoff.next_s())
