"""What a consumer asked for, cut out of a batch and put into the door's messages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rlc_model import Quantity
from sojourn_interfaces import forecast_pb2 as pb

from rlc_forecaster.core import Batch, Layout

QUANTITY_OF: Final = {
    pb.OCCUPANCY_BYTES: Quantity.OCCUPANCY,
    pb.DRAIN_BYTES: Quantity.DRAIN,
}
"""The door's quantities this forecaster can make at all."""
CODE_OF: Final = {quantity: code for code, quantity in QUANTITY_OF.items()}


class SelectionError(ValueError):
    """A request that cannot be answered; the message names the field and what was expected."""


@dataclass(frozen=True, slots=True)
class Selection:
    """A checked request.

    Attributes:
        node_id: One node, or all when empty.
        bearers: (RNTI, DRB) pairs, or all when empty.
        quantities: In the order asked for.
        quantiles: Growing levels, or the model's when empty.
    """

    node_id: str
    bearers: frozenset[tuple[int, int]]
    quantities: tuple[Quantity, ...]
    quantiles: tuple[float, ...]

    @classmethod
    def of(cls, request: pb.ForecastRequest, layout: Layout) -> Selection:
        """Checks a request against what is forecast now.

        Raises:
            SelectionError: An unknown or absent quantity, or a quantile outside (0, 1).
        """
        quantities = tuple(
            _quantity(index, code, layout)
            for index, code in enumerate(request.quantities or [pb.OCCUPANCY_BYTES])
        )
        for index, level in enumerate(request.quantiles):
            if not 0 < level < 1:
                raise SelectionError(f"quantiles[{index}]: {level:g} is not within (0, 1)")
        return cls(
            request.node_id,
            frozenset((b.rnti, b.drb) for b in request.bearers),
            quantities,
            tuple(sorted(request.quantiles)),
        )

    def wants(self, batch: Batch) -> bool:
        """Whether the batch is of a node asked for."""
        return not self.node_id or self.node_id == batch.node_id

    def encode(self, batch: Batch, sent_at_us: int) -> pb.ForecastBatch:
        """The door's message for what of a batch was asked for."""
        layout = batch.layout
        kept = [q for q in self.quantities if q in layout.quantities]
        columns = [layout.quantities.index(q) for q in kept]
        values = _at_quantiles(batch.values[:, columns], layout.quantiles, self.quantiles)
        message = pb.ForecastBatch(
            node_id=batch.node_id,
            sent_at_us=sent_at_us,
            quantiles=self.quantiles or layout.quantiles,
        )
        codes = [CODE_OF[q] for q in kept]
        for row in self._rows(batch):
            forecast = message.forecasts.add(
                bearer=pb.Bearer(rnti=int(batch.rnti[row]), drb=int(batch.drb[row])),
                origin_us=batch.origin_us,
                horizon_start_us=layout.start_us,
                step_us=layout.step_us,
                source=pb.Forecast.Source.Name(int(batch.source[row])),
                model=batch.model if batch.source[row] == pb.Forecast.MODEL else "",
            )
            for column, code in enumerate(codes):
                forecast.series.add(quantity=code, values=values[row, column].ravel().tolist())
        return message

    def _rows(self, batch: Batch) -> Iterable[int]:
        if not self.bearers:
            return range(len(batch))
        pairs = zip(batch.rnti.tolist(), batch.drb.tolist(), strict=True)
        return [row for row, pair in enumerate(pairs) if pair in self.bearers]


def _quantity(index: int, code: int, layout: Layout) -> Quantity:
    quantity = QUANTITY_OF.get(code)  # type: ignore[call-overload]
    if quantity is None or quantity not in layout.quantities:
        served = ", ".join(pb.Quantity.Name(CODE_OF[q]) for q in layout.quantities)
        known = code in pb.Quantity.values()
        name = pb.Quantity.Name(code) if known else str(code)
        raise SelectionError(f"quantities[{index}]: {name} is not forecast; expected {served}")
    result: Quantity = quantity
    return result


def _at_quantiles(
    values: NDArray[np.float32], have: tuple[float, ...], want: tuple[float, ...]
) -> NDArray[np.float32]:
    """``(…, Q)`` values at other levels: linear between those there are, the ends beyond them."""
    if not want or want == have:
        return values
    position = np.interp(want, have, np.arange(len(have)))
    low = np.floor(position).astype(np.intp)
    high = np.minimum(low + 1, len(have) - 1)
    share = (position - low).astype(np.float32)
    between: NDArray[np.float32] = values[..., low] * (1 - share) + values[..., high] * share
    return between
