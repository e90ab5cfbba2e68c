"""The common format of channel traces: quantities of a downlink on a regular grid per session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rlc_dataset.errors import DatasetError
from rlc_dataset.schema import UNIT

QUANTITIES: Final[Mapping[str, str]] = {
    "capacity_bytes": "B",
    "rate_bps": "bit/s",
    "mcs": "1",
    "cqi": "1",
    "snr_db": "dB",
    "occupancy_bytes": "B",
    "requested_prb": "1",
    "granted_prb": "1",
    "error_pct": "%",
}
"""Quantities and their units.

- ``capacity_bytes``: deliverable bytes in the period, used or not.
- ``rate_bps``: delivered, a lower bound of the capacity.
- ``mcs``, ``cqi``: means over the period, possibly fractional. LTE traces have the MCS of 36.213.
- ``occupancy_bytes``: occupancy of the buffer before the radio.
- ``requested_prb``, ``granted_prb``: sums over the period, as published.
- ``error_pct``: transmissions with errors of all in the period.
"""

MAX_STEPS: Final = 86_400_000
"""A day of milliseconds."""


@dataclass(frozen=True, slots=True)
class ChannelTrace:
    """A trace.

    Attributes:
        source: Format: ``mahimahi``, ``ucc``, ``colosseum`` or ``rates``.
        file: Its path.
        period_us: Period within a session.
        time_us: ``(N,)`` int64 start of each period: µs since the Unix epoch, or since the start of
            a trace without date.
        session: ``(N,)`` int32, increasing from 0; times are regular only within a session.
        quantities: Name in :data:`QUANTITIES` → ``(N,)`` float64, NaN if not measured.
    """

    source: str
    file: str
    period_us: int
    time_us: NDArray[np.int64]
    session: NDArray[np.int32]
    quantities: Mapping[str, NDArray[np.float64]]

    def __len__(self) -> int:
        return len(self.time_us)

    @property
    def sessions(self) -> int:
        """Number of sessions."""
        return int(self.session[-1]) + 1 if len(self) else 0

    def of_session(self, number: int) -> ChannelTrace:
        """One session."""
        kept = self.session == number
        return ChannelTrace(
            self.source,
            self.file,
            self.period_us,
            self.time_us[kept],
            np.zeros(int(kept.sum()), np.int32),
            {name: values[kept] for name, values in self.quantities.items()},
        )

    def window(self, first: int, last: int) -> ChannelTrace:
        """The steps from `first` to before `last`; times and sessions are kept."""
        rows = slice(first, last)
        return ChannelTrace(
            self.source,
            self.file,
            self.period_us,
            self.time_us[rows],
            self.session[rows] - self.session[first],
            {name: values[rows] for name, values in self.quantities.items()},
        )

    def table(self) -> pa.Table:
        """Columns ``time_us``, ``session`` and the quantities; null if not measured."""
        fields = [
            pa.field("time_us", pa.int64(), False, {UNIT: b"us"}),
            pa.field("session", pa.int32(), False, {UNIT: b"1"}),
        ]
        arrays = [pa.array(self.time_us), pa.array(self.session)]
        for name, values in self.quantities.items():
            fields.append(pa.field(name, pa.float64(), True, {UNIT: QUANTITIES[name].encode()}))
            arrays.append(pa.array(values, mask=np.isnan(values)))
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    def lab_channel(self) -> dict[str, Any]:
        """The element `channel` of a lab scenario that plays this trace.

        An MCS is rounded down, because blocks with the next higher MCS would fail; values not
        measured are those before. Mahimahi traces are played from their file.

        Raises:
            DatasetError: The trace has more than one session, or neither MCS nor CQI nor, of a
                table of rates, a rate.
        """
        if self.source == "mahimahi":
            return {"mahimahi": {"path": self.file}}
        if self.sessions != 1:
            raise DatasetError(f"has {self.sessions} sessions; choose one", file=self.file)
        if self.source == "rates":
            kbps = np.rint(_held(self.quantities["rate_bps"]) / 1000).astype(int).tolist()
            return {"rate_series": {"period_ms": self.period_us // 1000, "values_kbps": kbps}}
        for name, kind in (("mcs", "mcs_series"), ("cqi", "cqi_series")):
            values = self.quantities.get(name)
            if values is not None and not np.isnan(values).all():
                held = np.floor(_held(values)).astype(int).tolist()
                return {kind: {"period_ms": self.period_us // 1000, "values": held}}
        raise DatasetError("has neither MCS nor CQI", file=self.file)


def _held(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values with NaN replaced by the previous value, at the start by the first one."""
    known = ~np.isnan(values)
    last = np.maximum.accumulate(np.where(known, np.arange(len(values)), 0))
    filled = values[last]
    return np.where(np.isnan(filled), values[known][0], filled)
