"""What a consumer asked for, cut out of a batch and put into the door's messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray
from rlc_model import Quantity
from sojourn_interfaces import forecast_pb2 as pb

from rlc_forecaster.core import Batch, Layout
from rlc_forecaster.wire import Columns, Common, forecast_batch

Scalar = TypeVar("Scalar", bound=np.generic)
US_PER_MS: Final = 1_000

QUANTITY_OF: Final = {
    pb.OCCUPANCY_BYTES: Quantity.OCCUPANCY,
    pb.DRAIN_BYTES: Quantity.DRAIN,
    pb.LIMIT_BYTES: Quantity.QUEUE_LIMIT,
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


class Encoder:
    """Writes batches for one consumer."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._rows: NDArray[np.intp] | None = None
        self._rows_of: NDArray[np.uint32] | None = None

    def encode(self, batch: Batch, sent_at_us: int) -> bytes:
        """The door's ``ForecastBatch`` for what of a batch was asked for."""
        layout, asked = batch.layout, self._selection
        kept = [q for q in asked.quantities if q in layout.quantities]
        columns = [layout.quantities.index(q) for q in kept]
        rows = self._rows_wanted(batch)
        values = batch.values if rows is None else batch.values[rows]
        if columns != list(range(len(layout.quantities))):
            values = values[:, columns]
        values = _at_quantiles(values, layout.quantiles, asked.quantiles)
        if Quantity.DRAIN in kept and layout.step_us != US_PER_MS:
            # The contract has bytes per millisecond, the door bytes per step.
            values = values.copy()
            values[:, kept.index(Quantity.DRAIN)] *= layout.step_us / US_PER_MS
        limited = _of(batch.limited, rows)
        present = np.ones((len(values), len(kept)), np.bool_)
        if Quantity.QUEUE_LIMIT in kept:
            present[:, kept.index(Quantity.QUEUE_LIMIT)] = limited
        return forecast_batch(
            Common(
                batch.node_id,
                sent_at_us,
                asked.quantiles or layout.quantiles,
                batch.origin_us,
                layout.start_us,
                layout.step_us,
                batch.model,
                tuple(CODE_OF[q] for q in kept),
            ),
            Columns(
                _of(batch.rnti, rows),
                _of(batch.drb, rows),
                _of(batch.source, rows),
                _of(batch.fallback, rows),
                values,
                present,
            ),
        )

    def _rows_wanted(self, batch: Batch) -> NDArray[np.intp] | None:
        """Rows of the bearers asked for; None for all."""
        wanted = self._selection.bearers
        if not wanted:
            return None
        # The array is the same object as long as the bearers are the same.
        if batch.rnti is not self._rows_of:
            pairs = zip(batch.rnti.tolist(), batch.drb.tolist(), strict=True)
            found = [row for row, pair in enumerate(pairs) if pair in wanted]
            self._rows, self._rows_of = np.array(found, np.intp), batch.rnti
        return self._rows


def _of(array: NDArray[Scalar], rows: NDArray[np.intp] | None) -> NDArray[Scalar]:
    return array if rows is None else array[rows]


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
