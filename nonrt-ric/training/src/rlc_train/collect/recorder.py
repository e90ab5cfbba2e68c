"""A table of :data:`rlc_dataset.SCHEMA` out of indications, live or simulated; no I/O.

Rows are RLC reports. MAC reports and TC pipeline status join the row of their instant; with a
longer period, rows in between have no value, and the feature extractor holds the last one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from ric.sm import MAC_OID, RLC_OID, TC_V1_OID, mac, rlc, tc
from rlc_dataset import PERIOD_US, SCHEMA
from rlc_dataset.check import MCS_MAX
from rlc_dataset.names import RLC_FIELDS
from rlc_model.features import MAX_RATE_BYTES_PER_MS

_UINT32_MAX: Final = 2**32 - 1
_INSTANT_BITS: Final = 40
"""Instants of a key: 2⁴⁰ ms are 34 years."""


@dataclass(slots=True)
class Counts:
    """Cumulative counts of reports.

    Attributes:
        reports: RLC reports received.
        late: RLC reports of an instant before the newest one; ignored.
        repeated: RLC reports of the newest instant; they replace the previous one.
        missing: Instants without RLC report.
        invalid_values: A mean sojourn that is not a valid time (0 is recorded), an MCS or block
            size out of range (null is recorded).
    """

    reports: int = 0
    late: int = 0
    repeated: int = 0
    missing: int = 0
    invalid_values: int = 0


@dataclass(slots=True)
class Recorder:
    """Collects reports until :meth:`take`.

    Clocks of live nodes jitter: report times are rounded to a grid of 1 ms that starts at the
    first report.
    """

    counts: Counts = field(default_factory=Counts)
    _start_us: int | None = None
    _last: int = -1
    _rlc: list[tuple[int, NDArray[np.void]]] = field(default_factory=list)
    _mac: list[tuple[int, NDArray[np.void]]] = field(default_factory=list)
    _limits: list[tuple[int, int, int, int]] = field(default_factory=list)

    @property
    def instants(self) -> int:
        """Number of RLC reports held."""
        return len(self._rlc)

    def on_indication(self, oid: str, message: bytes, collected_at_us: int) -> None:
        """Processes an indication of RLC, MAC or TC v1; ignores others.

        Args:
            oid: RAN function.
            message: The service model's bytes.
            collected_at_us: Time of a TC report; RLC and MAC reports have their own.

        Raises:
            ServiceModelError: The message is invalid.
        """
        if oid == RLC_OID:
            self._on_rlc(rlc.decode(message))
        elif oid == MAC_OID:
            table = mac.decode(message)
            self._mac.append((table.tstamp_us, table.records))
        elif oid == TC_V1_OID:
            self._on_tc(tc.decode("indication", message), collected_at_us)

    def take(self) -> pa.Table | None:
        """Ends the run and returns it in order of (rnti, drb, time_us); None without rows.

        The next run continues the grid; the first row of each bearer has no differences.
        """
        held, self._rlc = self._rlc, []
        macs, self._mac = self._mac, []
        limits, self._limits = self._limits, []
        rows = sum(len(records) for _, records in held)
        if rows == 0 or self._start_us is None:
            return None
        instant = np.repeat([i for i, _ in held], [len(records) for _, records in held])
        records = np.concatenate([records for _, records in held])
        ue, drb = records["rnti"].astype(np.int64), records["rbid"].astype(np.int64)
        mcs, tbs, unknown = self._joined_mac(macs, ue, instant)
        limit, unlimited = _joined_limits(limits, self._start_us, ue, drb, instant)
        context = {
            "pacer_limit_bytes": np.where(unlimited, np.nan, limit),
            "mcs": np.where(unknown, np.nan, mcs),
            "tbs_bytes": np.where(unknown, np.nan, tbs),
        }
        return run_table(self._start_us, instant, records, context, self.counts)

    def _on_rlc(self, table: rlc.Table) -> None:
        if self._start_us is None:
            self._start_us = table.tstamp_us
        instant = _instant(table.tstamp_us, self._start_us)
        self.counts.reports += 1
        if instant < self._last:
            self.counts.late += 1
            return
        if instant == self._last:
            self.counts.repeated += 1
        elif self._last >= 0:
            self.counts.missing += instant - self._last - 1
        self._last = instant
        self._rlc.append((instant, table.records))

    def _on_tc(self, message: Any, collected_at_us: int) -> None:
        for status in message.get("pipeline_status", ()):
            rnti = status["bearer"]["ue"].get("rnti")
            limit = status["pacer"].get("limit_bytes")
            if rnti is not None and limit is not None:
                self._limits.append((collected_at_us, rnti, status["bearer"]["drb"], limit))

    def _joined_mac(
        self,
        macs: list[tuple[int, NDArray[np.void]]],
        ue: NDArray[np.int64],
        instant: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        start_us = self._start_us or 0
        at = np.repeat(
            np.array([_instant(at_us, start_us) for at_us, _ in macs], np.int64),
            np.array([len(records) for _, records in macs], np.int64),
        )
        records = np.concatenate([mac.zeros(0), *(records for _, records in macs)])
        mcs = records["dl_mcs1"].astype(np.int64)
        tbs = records["dl_curr_tbs"]
        sane = (mcs <= MCS_MAX) & (tbs <= _UINT32_MAX)
        self.counts.invalid_values += int((~sane).sum())
        found = _newest(_key(records["rnti"].astype(np.int64)[sane], at[sane]), _key(ue, instant))
        return _at(mcs[sane], found), _at(tbs[sane].astype(np.int64), found), found < 0


def run_table(
    start_us: int,
    instant: NDArray[np.int64],
    records: NDArray[np.void],
    context: Mapping[str, NDArray[np.float64]],
    counts: Counts,
) -> pa.Table:
    """Rows in order of (rnti, drb, time_us), with the bytes drained and arrived since the last.

    Args:
        start_us: Time of instant 0.
        instant: ``(N,)`` milliseconds since then; of a bearer's rows of one the last counts.
        records: ``(N,)`` RLC reports of :data:`ric.sm.rlc.RECORD`.
        context: ``(N,)`` pacer_limit_bytes, mcs and tbs_bytes; NaN if unknown.
        counts: Where invalid values are counted.
    """
    ue, drb = records["rnti"].astype(np.int64), records["rbid"].astype(np.int64)
    order = np.lexsort((instant, drb, ue))
    bearer, at = (ue * 256 + drb)[order], instant[order]
    repeated = np.zeros(len(order), np.bool_)
    repeated[:-1] = (np.diff(bearer) == 0) & (np.diff(at) == 0)
    order = order[~repeated]
    instant, records, ue, drb = instant[order], records[order], ue[order], drb[order]
    sojourn = records["txsdu_avg_time_to_tx"]
    invalid = ~((sojourn >= 0) & (sojourn <= _UINT32_MAX))
    counts.invalid_values += int(invalid.sum())
    drained, arrived = _differences(records, ue * 256 + drb, instant)
    columns: dict[str, Any] = {
        "time_us": start_us + PERIOD_US * instant,
        "rnti": ue,
        "drb": drb,
        **{name: records[field] for name, field in RLC_FIELDS.items()},
        "rlc_mean_sojourn_us": np.where(invalid, 0.0, sojourn),
        "arrived_delta_bytes": arrived,
        "drained_delta_bytes": drained,
        **{name: pa.array(values[order], from_pandas=True) for name, values in context.items()},
    }
    arrays = [pa.array(columns[f.name]).cast(f.type) for f in SCHEMA]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def _instant(at_us: int, start_us: int) -> int:
    return round((at_us - start_us) / PERIOD_US)


def _key(bearer: NDArray[np.int64], instant: NDArray[np.int64]) -> NDArray[np.int64]:
    # Instants before the first RLC report are negative.
    return (bearer << _INSTANT_BITS) + instant


def _newest(keys: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.intp]:
    """The last position of each wanted key in `keys`, else −1."""
    if not len(keys):
        return np.full(len(wanted), -1, np.intp)
    order = np.argsort(keys, kind="stable")
    position = np.searchsorted(keys[order], wanted, side="right") - 1
    found = order[np.maximum(position, 0)]
    return np.where((position >= 0) & (keys[found] == wanted), found, -1).astype(np.intp)


def _at(values: NDArray[np.int64], found: NDArray[np.intp]) -> NDArray[np.int64]:
    """The values at positions; arbitrary for position −1."""
    return values[found] if len(values) else np.zeros(len(found), np.int64)


def _joined_limits(
    limits: list[tuple[int, int, int, int]],
    start_us: int,
    ue: NDArray[np.int64],
    drb: NDArray[np.int64],
    instant: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    reported = np.array(limits, np.int64).reshape(-1, 4)
    at = np.rint((reported[:, 0] - start_us) / PERIOD_US).astype(np.int64)
    # RNTI and DRB have 16 and 8 bits, so the key is positive.
    found = _newest(_key(reported[:, 1] * 256 + reported[:, 2], at), _key(ue * 256 + drb, instant))
    return _at(reported[:, 3], found), found < 0


def _differences(
    records: NDArray[np.void], bearer: NDArray[np.int64], instant: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Bytes drained and arrived since the previous row; 0 at the first row and at a restart."""
    counter = records["txpdu_bytes"].astype(np.uint32)
    occupancy = records["txbuf_occ_bytes"].astype(np.int64)
    drained = np.zeros(len(records), np.int64)
    arrived = np.zeros(len(records), np.int64)
    # Unsigned subtraction is valid across one wrap of the counter.
    step = (counter[1:] - counter[:-1]).astype(np.int64)
    elapsed_ms = np.diff(instant) * PERIOD_US / 1000
    same = (np.diff(bearer) == 0) & (step <= MAX_RATE_BYTES_PER_MS * elapsed_ms)
    drained[1:] = np.where(same, step, 0)
    # Headers drain without having been buffered: slightly negative at times.
    arrived[1:] = np.where(same, np.maximum(np.diff(occupancy) + step, 0), 0)
    return drained, arrived
