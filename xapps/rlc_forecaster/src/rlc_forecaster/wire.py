"""Encoding of ``ForecastBatch`` for all bearers at once.

Protobuf's Python objects cost microseconds per bearer, more than the forecast itself: 256 bearers
would take longer than a report period of 1 ms. Only times and values change from one batch to the
next, so the message is laid out once and these are filled in as columns, which for 256 bearers
takes a sixth of the time of the layout. Varints that are filled in have a fixed length, padded with
continuation bytes; every Protobuf parser accepts that.
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
_TIME_BYTES: Final = 9
"""63 bits."""


@dataclass(frozen=True, slots=True)
class Common:
    """Fields that all bearers share; named as in forecast.proto.

    `series_values` is the number of values of a series, `cumulated_quantiles` are empty without
    forecasts of the cumulated drain.
    """

    node_id: str
    quantiles: Sequence[float]
    points_us: tuple[int, ...]
    model: str
    quantities: tuple[int, ...]
    series_values: int
    cumulated_quantiles: tuple[float, ...] = ()

    @property
    def cumulated_bytes(self) -> int:
        """Length of a bearer's cumulated drain."""
        return 4 * len(self.points_us) * len(self.cumulated_quantiles)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The bearers of a message and the kind of their forecasts.

    Attributes:
        rnti: ``(B,)``.
        drb: ``(B,)``.
        source: ``(B,)``.
        fallback: ``(B,)``.
        present: ``(B, quantity)`` whether the bearer has a series of the quantity.
    """

    rnti: NDArray[np.uint32]
    drb: NDArray[np.uint8]
    source: NDArray[np.uint8]
    fallback: NDArray[np.uint8]
    present: NDArray[np.bool_]


class BatchLayout:
    """The bytes of a ``ForecastBatch`` except for times and values.

    Forecasts are grouped by kind, which is whether they have a model's name and which series they
    have; messages of one kind have the same length. Within a kind they keep the order of the rows.
    """

    def __init__(self, common: Common, rows: Rows) -> None:
        head = _Template()
        name = common.node_id.encode()
        head.begin(1, len(name))
        head.data += name
        sent_at = head.place(2, _TIME_BYTES)
        shared = pb.ForecastBatch(
            quantiles=common.quantiles,
            points_us=common.points_us,
            cumulated_quantiles=common.cumulated_quantiles,
        )
        head.data += shared.SerializeToString()
        kinds = _kinds(rows)
        parts = [
            (np.flatnonzero(kinds == kind), _body(common, kind))
            for kind in np.unique(kinds).tolist()
        ]
        size = len(head.data) + sum(len(where) * len(body.data) for where, body in parts)
        self._bytes = np.empty(size, np.uint8)
        self._bytes[: len(head.data)] = np.frombuffer(bytes(head.data), np.uint8)
        self._sent_at = self._bytes[sent_at : sent_at + _TIME_BYTES]
        self._parts: list[_Part] = []
        begin = len(head.data)
        for where, body in parts:
            end = begin + len(where) * len(body.data)
            written = self._bytes[begin:end].reshape(len(where), -1)
            whole = slice(None) if len(parts) == 1 else where
            self._parts.append(_Part(written, whole, body, rows, common))
            begin = end

    def write(
        self,
        sent_at_us: int,
        origin_us: int,
        series: Sequence[NDArray[np.float32]],
        cumulated: NDArray[np.float32] | None = None,
    ) -> bytes:
        """The message of one batch.

        Args:
            sent_at_us: As in the message.
            origin_us: As in each of its forecasts.
            series: ``(B, M, Q)`` for each quantity, in the quantities' order.
            cumulated: ``(B, M, levels)`` cumulated drain, if there is one.
        """
        self._sent_at[:] = _time(sent_at_us)
        origin = _time(origin_us)
        for part in self._parts:
            part.write(origin, series, cumulated)
        return self._bytes.tobytes()


class _Part:
    """The rows of one kind."""

    def __init__(
        self,
        written: NDArray[np.uint8],
        where: slice | NDArray[np.intp],
        body: _Body,
        rows: Rows,
        common: Common,
    ) -> None:
        self._where = where
        series_bytes = 4 * common.series_values
        written[:] = np.frombuffer(bytes(body.data), np.uint8)
        _fill_varint(written, body.rnti_at, _RNTI_BYTES, rows.rnti[where])
        _fill_varint(written, body.drb_at, _DRB_BYTES, rows.drb[where].astype(np.uint32))
        written[:, body.source_at] = rows.source[where]
        written[:, body.fallback_at] = rows.fallback[where]
        self._origin = written[:, body.origin_at : body.origin_at + _TIME_BYTES]
        self._series = [
            (column, written[:, at : at + series_bytes]) for column, at in body.series_at
        ]
        at = body.cumulated_at
        self._cumulated = written[:, at : at + common.cumulated_bytes]

    def write(
        self,
        origin: NDArray[np.uint8],
        series: Sequence[NDArray[np.float32]],
        cumulated: NDArray[np.float32] | None,
    ) -> None:
        self._origin[:] = origin
        for column, place in self._series:
            place[:] = _bytes_of(series[column][self._where])
        if cumulated is not None:
            self._cumulated[:] = _bytes_of(cumulated[self._where])


def _bytes_of(values: NDArray[np.float32]) -> NDArray[np.uint8]:
    """``(N, bytes)`` of the values of N rows."""
    return values.astype("<f4", copy=False).reshape(len(values), -1).view(np.uint8)


class _Template:
    """Bytes of a message, with places to fill in per row."""

    def __init__(self) -> None:
        self.data = bytearray()

    def place(self, number: int, size: int) -> int:
        """A varint field of `size` bytes to fill in; returns its offset."""
        self.data += _varint(number << 3 | _VARINT)
        return self.room(size)

    def begin(self, number: int, length: int) -> None:
        """The head of a message, string or packed field of `length` bytes."""
        self.data += _varint(number << 3 | _LENGTH_DELIMITED) + _varint(length)

    def room(self, size: int) -> int:
        """Bytes to fill in; returns their offset."""
        at = len(self.data)
        self.data += bytes(size)
        return at


@dataclass(frozen=True, slots=True)
class _Body:
    """One forecast of a kind, with the offsets of the fields to fill in."""

    data: bytes
    rnti_at: int
    drb_at: int
    origin_at: int
    source_at: int
    fallback_at: int
    series_at: list[tuple[int, int]]
    cumulated_at: int


def _kinds(rows: Rows) -> NDArray[np.int64]:
    """One bit for the model's name, one for each series."""
    kinds: NDArray[np.int64] = (rows.source == pb.Forecast.MODEL).astype(np.int64)
    for quantity in range(rows.present.shape[1]):
        kinds |= rows.present[:, quantity].astype(np.int64) << (1 + quantity)
    return kinds


def _body(common: Common, kind: int) -> _Body:
    series_bytes = 4 * common.series_values
    body = _Template()
    body.begin(1, 2 + _RNTI_BYTES + _DRB_BYTES)
    rnti_at, drb_at = body.place(1, _RNTI_BYTES), body.place(2, _DRB_BYTES)
    origin_at = body.place(2, _TIME_BYTES)
    series_at = []
    for quantity, number in enumerate(common.quantities):
        if not kind >> (1 + quantity) & 1:
            continue
        code = _varint(number)
        body.begin(5, 1 + len(code) + 1 + len(_varint(series_bytes)) + series_bytes)
        body.data += b"\x08" + code
        body.begin(2, series_bytes)
        series_at.append((quantity, body.room(series_bytes)))
    source_at, fallback_at = body.place(6, 1), body.place(8, 1)
    if kind & 1:
        name = common.model.encode()
        body.begin(7, len(name))
        body.data += name
    cumulated_at = len(body.data)
    if common.cumulated_bytes:
        body.begin(9, common.cumulated_bytes)
        cumulated_at = body.room(common.cumulated_bytes)
    whole = _Template()
    whole.begin(4, len(body.data))
    shift = len(whole.data)
    return _Body(
        bytes(whole.data + body.data),
        shift + rnti_at,
        shift + drb_at,
        shift + origin_at,
        shift + source_at,
        shift + fallback_at,
        [(quantity, shift + at) for quantity, at in series_at],
        shift + cumulated_at,
    )


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _time(value_us: int) -> NDArray[np.uint8]:
    """A varint of :data:`_TIME_BYTES`."""
    groups = [value_us >> 7 * byte & 0x7F | 0x80 for byte in range(_TIME_BYTES)]
    groups[-1] &= 0x7F
    return np.array(groups, np.uint8)


def _fill_varint(rows: NDArray[np.uint8], at: int, size: int, values: NDArray[np.uint32]) -> None:
    for byte in range(size):
        more = 0x80 if byte < size - 1 else 0
        rows[:, at + byte] = (values >> np.uint32(7 * byte)) & np.uint32(0x7F) | np.uint32(more)
