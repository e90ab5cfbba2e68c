"""One node's engine, asked frame by frame."""

from __future__ import annotations

from typing import Final

from rlc_forecaster.core import Forecaster, StepModel
from rlc_forecaster.indications import take_limits, take_mac, take_rlc
from rlc_forecaster.lockstep.frames import Frame, Kind
from rlc_forecaster.selection import Encoder, Selection
from rlc_forecaster.settings import FallbackRule

NODE_ID: Final = "lockstep"
"""The one node there is."""


class Session:
    """Indications in, forecasts out, without a clock."""

    def __init__(self, model: StepModel, period_us: int = 1_000) -> None:
        """An engine as the service makes it, with its defaults."""
        self.engine = Forecaster(
            NODE_ID, model, period_us=period_us, hysteresis=FallbackRule().hysteresis()
        )
        everything = Selection("", frozenset(), model.layout.quantities, ())
        self._encoder = Encoder(everything)

    def answer(self, frame: Frame) -> bytes | None:
        """The ``ForecastBatch`` for an RLC report, all quantities and quantiles of the model; empty
        when the engine says nothing to it. None for any other indication.

        ``sent_at_us`` is the origin: how long it takes is for the caller to add.

        Raises:
            ServiceModelError: The message is not what the kind says.
            ContractError: The report cannot be, such as one without a time.
        """
        if frame.kind is Kind.MAC:
            take_mac(self.engine, frame.message)
            return None
        if frame.kind is Kind.TC_STATUS:
            take_limits(self.engine, frame.message, frame.collected_at_us)
            return None
        batch = take_rlc(self.engine, frame.message)
        return b"" if batch is None else self._encoder.encode(batch, batch.origin_us)

    def learn(self) -> None:
        """Holds older forecasts against what came; for when the answer has left."""
        self.engine.learn()
