"""The selection of a consumer, applied to a batch and encoded as a ``ForecastBatch``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray
from rlc_model import Quantity
from rlc_model.cumulated import LEVELS
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
"""Quantities of forecast.proto that this forecaster supports."""
CODE_OF: Final = {quantity: code for code, quantity in QUANTITY_OF.items()}

MAX_QUANTITIES: Final = 16
MAX_QUANTILES: Final = 16
MAX_BEARERS: Final = 4096
MAX_NODE_ID: Final = 256
"""Bounds of a request, duplicates included: 1000 bearers with all of it make a message of 4 MB, the
most that a gRPC client takes by default."""
INTERPOLATION: Final = 4
"""Times the cost of bytes that are interpolated between the model's quantiles."""


class SelectionError(ValueError):
    """A request that cannot be served; the message names field, value and expectation."""


@dataclass(frozen=True, slots=True)
class Selection:
    """A checked request.

    Attributes:
        node_id: One node; empty for all.
        bearers: (RNTI, DRB) pairs; empty for all.
        quantities: In the requested order, without duplicates.
        quantiles: Increasing levels, without duplicates; empty for the model's.
        cumulated: Whether the cumulated drain is requested as well.
    """

    node_id: str
    bearers: frozenset[tuple[int, int]]
    quantities: tuple[Quantity, ...]
    quantiles: tuple[float, ...]
    cumulated: bool = False

    @classmethod
    def of(cls, request: pb.ForecastRequest, layout: Layout) -> Selection:
        """Checks a request against the present layout.

        Raises:
            SelectionError: A quantity that is not forecast, a quantile outside (0, 1) or beyond
                those of the forecasts, or more of something than is served.
        """
        if len(request.node_id) > MAX_NODE_ID:
            raise SelectionError(
                f"node_id: {len(request.node_id)} characters; expected at most {MAX_NODE_ID}"
            )
        for name, most in (
            ("quantities", MAX_QUANTITIES),
            ("quantiles", MAX_QUANTILES),
            ("bearers", MAX_BEARERS),
        ):
            if (count := len(getattr(request, name))) > most:
                raise SelectionError(f"{name}: {count}; expected at most {most}")
        quantities = tuple(
            _quantity(index, code, layout)
            for index, code in enumerate(request.quantities or [pb.OCCUPANCY_BYTES])
            if code != pb.CUMULATED_DRAIN_BYTES
        )
        for index, level in enumerate(request.quantiles):
            if not 0 < level < 1:
                raise SelectionError(f"quantiles[{index}]: {level:g} is not within (0, 1)")
        selection = cls(
            request.node_id,
            frozenset((b.rnti, b.drb) for b in request.bearers),
            tuple(dict.fromkeys(quantities)),
            tuple(sorted(set(request.quantiles))),
            pb.CUMULATED_DRAIN_BYTES in request.quantities,
        )
        selection.check_quantiles(layout)
        return selection

    def check_quantiles(self, layout: Layout) -> None:
        """Checks that the quantiles are among those of forecasts, or between two of them.

        Of what is beyond the outermost nothing is known, and its value under the label of another
        would be taken for it.

        Raises:
            SelectionError: One is not.
        """
        # In the precision of the message.
        low, high = np.float32(layout.quantiles[0]), np.float32(layout.quantiles[-1])
        for level in self.quantiles:
            if not low <= np.float32(level) <= high:
                raise SelectionError(
                    f"quantiles: {level:g} is beyond those of the forecasts; expected {low:g} to"
                    f" {high:g}"
                )

    def wants(self, batch: Batch) -> bool:
        """Whether the batch is of a selected node."""
        return not self.node_id or self.node_id == batch.node_id

    def message_bytes(self, batch: Batch) -> int:
        """About the size of the message of a batch."""
        bearers = min(len(batch), len(self.bearers)) if self.bearers else len(batch)
        columns = len(self.quantities) * (len(self.quantiles) or len(batch.layout.quantiles))
        columns += len(LEVELS) if self.cumulated else 0
        return 4 * bearers * batch.layout.points * columns

    def cost_bytes(self, batch: Batch) -> int:
        """About what a message costs as the time to send so many bytes."""
        has_own = self.quantiles not in ((), batch.layout.quantiles)
        return (INTERPOLATION if has_own else 1) * self.message_bytes(batch)


class Encoder:
    """Encodes batches for consumers with the same selection."""

    def __init__(self, selection: Selection) -> None:
        self.selection = selection
        self._rows: dict[str, tuple[NDArray[np.uint32], NDArray[np.intp]]] = {}
        self._laid_out: dict[str, tuple[Common, Rows, BatchLayout]] = {}
        self._spans: tuple[Layout, NDArray[np.float32] | None] | None = None

    def encode(self, batch: Batch, sent_at_us: int) -> bytes:
        """The encoded ``ForecastBatch``."""
        layout = batch.layout
        kept = [q for q in self.selection.quantities if q in layout.quantities]
        chosen = self._selected_rows(batch)
        values = _of(batch.values, chosen)
        series = [self._series(values, layout, quantity) for quantity in kept]
        cumulated = batch.cumulated if self.selection.cumulated else None
        if cumulated is not None:
            cumulated = _of(cumulated, chosen)
        laid_out = self._layout_for(batch, chosen, kept, LEVELS if cumulated is not None else ())
        return laid_out.write(sent_at_us, batch.origin_us, series, cumulated)

    def _series(
        self, values: NDArray[np.float32], layout: Layout, quantity: Quantity
    ) -> NDArray[np.float32]:
        column = values[:, layout.quantities.index(quantity)]
        column = _at_quantiles(column, layout.quantiles, self.selection.quantiles)
        if quantity is Quantity.DRAIN:
            # The model contract has bytes per millisecond, forecast.proto bytes per span.
            spans_ms = self._spans_ms(layout, column.shape[-1])
            return column if spans_ms is None else column * spans_ms
        return column

    def _spans_ms(self, layout: Layout, columns: int) -> NDArray[np.float32] | None:
        """``(M, Q)`` spans of the points, the same for all quantiles; None if all are 1 ms."""
        if self._spans is None or self._spans[0] is not layout:
            spans_ms = np.array(layout.spans_us, np.float32) / np.float32(US_PER_MS)
            # Repeated: NumPy multiplies rows of three values four times slower.
            each = np.repeat(spans_ms[:, None], columns, axis=1)
            self._spans = layout, None if (spans_ms == 1).all() else each
        return self._spans[1]

    def _layout_for(
        self,
        batch: Batch,
        chosen: NDArray[np.intp] | None,
        kept: list[Quantity],
        cumulated_quantiles: tuple[float, ...],
    ) -> BatchLayout:
        layout = batch.layout
        quantiles = self.selection.quantiles or layout.quantiles
        common = Common(
            batch.node_id,
            quantiles,
            layout.points_us,
            batch.model,
            tuple(CODE_OF[q] for q in kept),
            layout.points * len(quantiles),
            cumulated_quantiles,
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

    def _selected_rows(self, batch: Batch) -> NDArray[np.intp] | None:
        """Rows of the selected bearers; None for all."""
        wanted = self.selection.bearers
        if not wanted:
            return None
        known = self._rows.get(batch.node_id)
        # The array is the same object as long as the bearers are the same.
        if known is None or known[0] is not batch.rnti:
            pairs = zip(batch.rnti.tolist(), batch.drb.tolist(), strict=True)
            found = [row for row, pair in enumerate(pairs) if pair in wanted]
            known = self._rows[batch.node_id] = batch.rnti, np.array(found, np.intp)
        return known[1]


def _same(laid_out: tuple[Common, Rows, BatchLayout], common: Common, rows: Rows) -> bool:
    """Whether a batch has the layout of an earlier one; mostly the arrays are the same objects."""
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
    """``(…, Q)`` values at other levels within `have`: interpolated linearly."""
    if not want or want == have:
        return values
    position = np.interp(want, have, np.arange(len(have)))
    low = np.floor(position).astype(np.intp)
    high = np.minimum(low + 1, len(have) - 1)
    share = (position - low).astype(np.float32)
    between: NDArray[np.float32] = values[..., low] * (1 - share) + values[..., high] * share
    return between
