"""A batch as the bytes of the door's ``ForecastBatch``, written for all bearers at once.

Protobuf's Python objects cost microseconds per bearer, more than the whole forecast: 256 bearers
would take longer than the millisecond until the next report. All bearers of one kind have messages
of one length, so one template is repeated and its numbers are filled in as columns. Varints are
written in a fixed number of bytes, the unneeded ones carrying zeros on; every parser of protocol
buffers has to take that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sojourn_interfaces import forecast_pb2 as pb

_VARINT: Final = 0
_LENGTH_DELIMITED: Final = 2
_RNTI_BYTES: Final = 5
_DRB_BYTES: Final = 2


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """What is to be written of each bearer.

    Attributes:
        rnti: ``(B,)``.
        drb: ``(B,)``.
        source: ``(B,)``.
        fallback: ``(B,)``.
        values: ``(B, quantity, M, Q)`` float32.
        present: ``(B, quantity)`` whether the bearer has a series of it.
    """

    rnti: NDArray[np.uint32]
    drb: NDArray[np.uint8]
    source: NDArray[np.uint8]
    fallback: NDArray[np.uint8]
    values: NDArray[np.float32]
    present: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Common:
    """What all bearers of a batch share; fields as in the door's messages."""

    node_id: str
    sent_at_us: int
    quantiles: Sequence[float]
    origin_us: int
    horizon_start_us: int
    step_us: int
    model: str
    quantities: tuple[int, ...]


def forecast_batch(common: Common, columns: Columns) -> bytes:
    """The bytes of a ``ForecastBatch``, its forecasts in the order of the rows."""
    head = pb.ForecastBatch(
        node_id=common.node_id, sent_at_us=common.sent_at_us, quantiles=common.quantiles
    ).SerializeToString()
    # One bit for the model's name, one for each series.
    kinds = (columns.source == pb.Forecast.MODEL).astype(np.int64)
    for quantity in range(columns.present.shape[1]):
        kinds |= columns.present[:, quantity].astype(np.int64) << (1 + quantity)
    if not len(kinds):
        return head
    if (kinds == kinds[0]).all():
        return head + _rows(common, columns, slice(None), int(kinds[0])).tobytes()
    parts = [b""] * len(kinds)
    for kind in np.unique(kinds).tolist():
        where = np.flatnonzero(kinds == kind)
        written = _rows(common, columns, where, kind)
        size, data = written.shape[1], written.tobytes()
        for at, row in enumerate(where.tolist()):
            parts[row] = data[at * size : (at + 1) * size]
    return head + b"".join(parts)


class _Template:
    """Bytes of one message, with places that are filled in per row."""

    def __init__(self) -> None:
        self.data = bytearray()

    def field(self, number: int, value: int) -> None:
        """A varint all rows share."""
        self.data += _varint(number << 3 | _VARINT) + _varint(value)

    def place(self, number: int, size: int) -> int:
        """A varint of `size` bytes to be filled in; where it begins."""
        self.data += _varint(number << 3 | _VARINT)
        return self.room(size)

    def begin(self, number: int, length: int) -> None:
        """The head of a message, string or packed field of `length` bytes."""
        self.data += _varint(number << 3 | _LENGTH_DELIMITED) + _varint(length)

    def room(self, size: int) -> int:
        """Bytes to be filled in; where they begin."""
        at = len(self.data)
        self.data += bytes(size)
        return at


def _rows(
    common: Common,
    columns: Columns,
    where: slice | NDArray[np.intp],
    kind: int,
) -> NDArray[np.uint8]:
    """``(N, bytes)`` messages of rows that all have the model or none, and the same series."""
    modelled = kind & 1
    present = [q for q in range(columns.present.shape[1]) if kind >> (1 + q) & 1]
    values = columns.values[where]
    series_bytes = values[0, 0].size * 4 if values.shape[1] else 0
    body = _Template()
    body.begin(1, 2 + _RNTI_BYTES + _DRB_BYTES)
    rnti_at, drb_at = body.place(1, _RNTI_BYTES), body.place(2, _DRB_BYTES)
    body.field(2, common.origin_us)
    body.field(3, common.horizon_start_us)
    body.field(4, common.step_us)
    places = []
    for quantity in present:
        code = _varint(common.quantities[quantity])
        body.begin(5, 1 + len(code) + 1 + len(_varint(series_bytes)) + series_bytes)
        body.data += b"\x08" + code
        body.begin(2, series_bytes)
        places.append((quantity, body.room(series_bytes)))
    source_at, fallback_at = body.place(6, 1), body.place(8, 1)
    if modelled:
        name = common.model.encode()
        body.begin(7, len(name))
        body.data += name
    whole = _Template()
    whole.begin(4, len(body.data))
    shift = len(whole.data)
    template = np.frombuffer(bytes(whole.data + body.data), np.uint8)

    rnti = columns.rnti[where]
    rows = np.empty((len(rnti), len(template)), np.uint8)
    rows[:] = template
    _fill_varint(rows, shift + rnti_at, _RNTI_BYTES, rnti)
    _fill_varint(rows, shift + drb_at, _DRB_BYTES, columns.drb[where].astype(np.uint32))
    rows[:, shift + source_at] = columns.source[where]
    rows[:, shift + fallback_at] = columns.fallback[where]
    little_endian = np.ascontiguousarray(values, "<f4")
    for column, at in places:
        written = little_endian[:, column].reshape(len(rnti), -1).view(np.uint8)
        rows[:, shift + at : shift + at + series_bytes] = written
    return rows


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _fill_varint(rows: NDArray[np.uint8], at: int, size: int, values: NDArray[np.uint32]) -> None:
    for byte in range(size):
        more = 0x80 if byte < size - 1 else 0
        rows[:, at + byte] = (values >> np.uint32(7 * byte)) & np.uint32(0x7F) | np.uint32(more)
