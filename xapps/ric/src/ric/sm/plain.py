"""FlexRIC's plain layout of a table of statistics: u32 n, n records, i64 timestamp.

Little-endian, records in the sender's native C layout, nothing between the parts.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ric.errors import ServiceModelError

Buffer = bytes | bytearray | memoryview
Records = NDArray[np.void]

_COUNT: Final = struct.Struct("<I")
_TSTAMP: Final = struct.Struct("<q")
_FRAME_BYTES: Final = _COUNT.size + _TSTAMP.size

MOST_BYTES: Final = (32 << 10) - 128
"""Longest message through FlexRIC, whose nodes and RIC receive 32 KiB with E2AP around it."""

PERIOD_MS_MAX: Final = 0xFFFF_FFFF
"""Largest period of an event trigger, a u32."""


class Table(NamedTuple):
    """A decoded message."""

    records: Records
    """Structured array over the message's own memory: read-only if the message is, alive as long
    as the array."""
    tstamp_us: int
    """Wall clock of the node when the report was taken, µs since the Unix epoch."""


class PlainModel:
    """Codec of one service model in the plain layout.

    `rows_key` is the name of the list of records in the JSON shape.
    """

    def __init__(self, name: str, dtype: np.dtype[np.void], rows_key: str) -> None:
        self.name = name
        self.dtype = dtype
        self.rows_key = rows_key
        self._record_bytes = dtype.itemsize
        self.most_records = (MOST_BYTES - _FRAME_BYTES) // dtype.itemsize
        """Records for which FlexRIC has room."""

    def is_full(self, message: Buffer) -> bool:
        """Whether a message has as many records as FlexRIC has room for: nodes with more report the
        others in the next messages, in turn."""
        return len(message) == _FRAME_BYTES + self.most_records * self._record_bytes

    def decode(self, message: Buffer) -> Table:
        """View `message` as records, without a copy; raises as `check` does."""
        count = self.check(message)
        records: Records = np.frombuffer(message, self.dtype, count, _COUNT.size)
        return Table(records, _TSTAMP.unpack_from(message, len(message) - _TSTAMP.size)[0])

    def check(self, message: Buffer) -> int:
        """The number of records in `message`.

        Raises `ServiceModelError` when the length does not match the count in front. The values
        themselves are not judged: any bit pattern is a number.
        """
        length = len(message)
        if length < _FRAME_BYTES:
            raise ServiceModelError(
                self.name, "message", f"{length} bytes", f"at least {_FRAME_BYTES}"
            )
        count: int = _COUNT.unpack_from(message)[0]
        expected_bytes = _FRAME_BYTES + count * self._record_bytes
        if length == expected_bytes:
            return count
        raise ServiceModelError(
            self.name,
            "message",
            f"{length} bytes for {count} records",
            f"{expected_bytes} (12 + {count} × {self._record_bytes})",
        )

    def encode(self, records: Records, tstamp_us: int) -> bytes:
        """The message that `decode` turns into `records` and `tstamp_us`."""
        if records.dtype != self.dtype or records.ndim != 1:
            raise ServiceModelError(
                self.name,
                "records",
                f"array of {records.dtype} with {records.ndim} dimensions",
                "a one-dimensional array of the model's record type",
            )
        try:
            tail = _TSTAMP.pack(tstamp_us)
        except struct.error:
            raise ServiceModelError(
                self.name, "tstamp", str(tstamp_us), "a 64-bit signed integer"
            ) from None
        return _COUNT.pack(len(records)) + records.tobytes() + tail

    def zeros(self, count: int) -> Records:
        """`count` records with every field 0, to be filled in."""
        return np.zeros(count, self.dtype)

    def to_json(self, table: Table) -> dict[str, Any]:
        """`{"tstamp": µs, rows_key: [{field: number}]}` in wire order, as plain Python values.

        Numbers that are not finite become `None`, for JSON has none.
        """
        names = self.dtype.names or ()
        rows = [
            {name: _finite(table.records[name][row].tolist()) for name in names}
            for row in range(len(table.records))
        ]
        return {"tstamp": table.tstamp_us, self.rows_key: rows}

    def from_json(self, value: Any) -> Table:
        """The inverse of `to_json`; every field must be there and fit its type."""
        keys = {"tstamp", self.rows_key}
        if not isinstance(value, Mapping) or value.keys() != keys:
            expected = f'an object with "tstamp" and "{self.rows_key}" and nothing else'
            raise ServiceModelError(self.name, "value", _shown(value), expected)
        rows, tstamp_us = value[self.rows_key], value["tstamp"]
        if not isinstance(rows, list):
            raise ServiceModelError(self.name, self.rows_key, _shown(rows), "a list")
        if not isinstance(tstamp_us, int) or isinstance(tstamp_us, bool):
            raise ServiceModelError(self.name, "tstamp", _shown(tstamp_us), "an integer, µs")
        if not -(2**63) <= tstamp_us < 2**63:
            raise ServiceModelError(
                self.name, "tstamp", _shown(tstamp_us), "a 64-bit signed integer"
            )
        records = self.zeros(len(rows))
        for index, row in enumerate(rows):
            self._fill(records, index, row, f"{self.rows_key}[{index}]")
        return Table(records, tstamp_us)

    def _fill(self, records: Records, index: int, row: Any, place: str) -> None:
        names = self.dtype.names or ()
        if not isinstance(row, Mapping):
            raise ServiceModelError(self.name, place, _shown(row), "an object with all fields")
        for name in row:
            if name not in names:
                expected = f"one of {', '.join(names)}"
                raise ServiceModelError(self.name, f"{place}.{name}", "unknown field", expected)
        for name in names:
            if name not in row:
                raise ServiceModelError(self.name, f"{place}.{name}", "missing", "a number")
            self._set_field(records, index, name, row[name], f"{place}.{name}")

    def _set_field(self, records: Records, row: int, name: str, value: Any, place: str) -> None:
        base, shape = _base_and_shape(self.dtype, name)
        if shape:
            if not isinstance(value, list) or len(value) != shape[0]:
                raise ServiceModelError(
                    self.name, place, _shown(value), f"a list of {shape[0]} numbers"
                )
            records[name][row] = [
                self._number(base, item, f"{place}[{i}]") for i, item in enumerate(value)
            ]
        else:
            records[name][row] = self._number(base, value, place)

    def _number(self, base: np.dtype[Any], value: Any, place: str) -> int | float:
        if base.kind == "f":
            if value is None:
                return float("nan")
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                try:
                    return float(value)
                except OverflowError:
                    pass
            raise ServiceModelError(self.name, place, _shown(value), "a number, or null for NaN")
        bounds = np.iinfo(base)
        if (
            isinstance(value, int)
            and not isinstance(value, bool)
            and bounds.min <= value <= bounds.max
        ):
            return value
        raise ServiceModelError(
            self.name, place, _shown(value), f"an integer from {bounds.min} to {bounds.max}"
        )


def event_trigger(period_ms: int) -> bytes:
    """RIC event trigger definition: a report each `period_ms`, u32 little-endian."""
    if not 1 <= period_ms <= PERIOD_MS_MAX:
        raise ServiceModelError(
            "event trigger", "period_ms", str(period_ms), f"1 to {PERIOD_MS_MAX}"
        )
    return _COUNT.pack(period_ms)


def event_trigger_period_ms(trigger: Buffer) -> int:
    """The period in a RIC event trigger definition; the inverse of `event_trigger`."""
    if len(trigger) != _COUNT.size:
        raise ServiceModelError(
            "event trigger", "length", f"{len(trigger)} bytes", f"{_COUNT.size}"
        )
    period_ms: int = _COUNT.unpack(trigger)[0]
    if period_ms == 0:
        raise ServiceModelError("event trigger", "period_ms", "0", "at least 1")
    return period_ms


def _base_and_shape(dtype: np.dtype[np.void], name: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
    field = dtype[name]
    return field.base, field.shape


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
