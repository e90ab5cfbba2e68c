"""What a consumer asked for, cut out of a batch and put into the door's messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray
from rlc_model import Quantity
from sojourn_interfaces import forecast_pb2 as pb

from rlc_forecaster.core import Batch, Layout
from rlc_forecaster.wire import BatchLayout, Common, Rows

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
    """Writes batches for consumers that asked for the same."""

    def __init__(self, selection: Selection) -> None:
        self.selection = selection
        self._rows: NDArray[np.intp] | None = None
        self._rows_of: NDArray[np.uint32] | None = None
        self._laid_out: dict[str, tuple[Common, Rows, BatchLayout]] = {}
        self._written: dict[str, tuple[Batch, bytes]] = {}

    def encode(self, batch: Batch, sent_at_us: int) -> bytes:
        """The door's ``ForecastBatch`` for what of a batch was asked for.

        A batch that was written for one consumer is the same bytes for the next, `sent_at_us` of
        the first included.
        """
        written = self._written.get(batch.node_id)
        if written is not None and written[0] is batch:
            return written[1]
        layout, asked = batch.layout, self.selection
        kept = [q for q in asked.quantities if q in layout.quantities]
        chosen = self._rows_wanted(batch)
        values = _of(batch.values, chosen)
        series = [self._series(values, layout, quantity) for quantity in kept]
        message = self._layout_for(batch, chosen, kept).write(sent_at_us, batch.origin_us, series)
        self._written[batch.node_id] = batch, message
        return message

    def _series(
        self, values: NDArray[np.float32], layout: Layout, quantity: Quantity
    ) -> NDArray[np.float32]:
        column = values[:, layout.quantities.index(quantity)]
        column = _at_quantiles(column, layout.quantiles, self.selection.quantiles)
        if quantity is Quantity.DRAIN and layout.step_us != US_PER_MS:
            # The contract has bytes per millisecond, the door bytes per step.
            return column * np.float32(layout.step_us / US_PER_MS)
        return column

    def _layout_for(
        self, batch: Batch, chosen: NDArray[np.intp] | None, kept: list[Quantity]
    ) -> BatchLayout:
        layout = batch.layout
        quantiles = self.selection.quantiles or layout.quantiles
        common = Common(
            batch.node_id,
            quantiles,
            layout.start_us,
            layout.step_us,
            batch.model,
            tuple(CODE_OF[q] for q in kept),
            layout.points * len(quantiles),
        )
        rnti = _of(batch.rnti, chosen)
        present = np.ones((len(rnti), len(kept)), np.bool_)
        if Quantity.QUEUE_LIMIT in kept:
            present[:, kept.index(Quantity.QUEUE_LIMIT)] = _of(batch.limited, chosen)
        rows = Rows(
            rnti,
            _of(batch.drb, chosen),
            _of(batch.source, chosen),
            _of(batch.fallback, chosen),
            present,
        )
        laid_out = self._laid_out.get(batch.node_id)
        if laid_out is None or not _same(laid_out, common, rows):
            laid_out = common, rows, BatchLayout(common, rows)
            self._laid_out[batch.node_id] = laid_out
        return laid_out[2]

    def _rows_wanted(self, batch: Batch) -> NDArray[np.intp] | None:
        """Rows of the bearers asked for; None for all."""
        wanted = self.selection.bearers
        if not wanted:
            return None
        # The array is the same object as long as the bearers are the same.
        if batch.rnti is not self._rows_of:
            pairs = zip(batch.rnti.tolist(), batch.drb.tolist(), strict=True)
            found = [row for row, pair in enumerate(pairs) if pair in wanted]
            self._rows, self._rows_of = np.array(found, np.intp), batch.rnti
        return self._rows


def _same(laid_out: tuple[Common, Rows, BatchLayout], common: Common, rows: Rows) -> bool:
    """Whether a batch has the layout of an earlier one: mostly by arrays being the same object."""
    before = laid_out[1]
    return laid_out[0] == common and all(
        old is new or np.array_equal(old, new)
        for old, new in (
            (before.rnti, rows.rnti),
            (before.drb, rows.drb),
            (before.source, rows.source),
            (before.fallback, rows.fallback),
            (before.present, rows.present),
        )
    )


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
