"""One subscription: counts, ages, and bounds on the clocks."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import Any, Final

import numpy as np
from ric.e2 import Indication
from ric.errors import ServiceModelError
from ric.sm import KPM_OID, MAC_OID, RLC_OID, TC_V0_OID, TC_V1_OID, kpm, mac, rlc, tc
from ric.sm.plain import Records

from ric_doctor.facts import KPM_MEASUREMENT, STATUS, Interval, Offsets, Rows, Spread, Stream

_FRESH: Final = 1
"""Index of the first indication that was certainly collected after the request: the very first may
be of another subscriber."""


_CUMULATIVE: Final = ("txpdu_pkts", "txpdu_bytes", "rxpdu_pkts")
_HALF: Final = 1 << 31
"""A 32-bit counter that grew by more than half its range went backwards (RFC 1982)."""


class RowRecord:
    """Adds up reports of one subscription."""

    def __init__(self) -> None:
        self._bearers = self._repeated = self._backlogged = self._delays = 0
        self._steps = self._steps_back = 0
        self._last: Records | None = None
        self._last_keys: list[int] = []

    def add_ues(self, records: Records) -> None:
        """One MAC report."""
        self._bearers = max(self._bearers, len(records))
        self._repeated += len(np.unique(records["rnti"])) < len(records)

    def add_bearers(self, records: Records) -> None:
        """One RLC report."""
        self._bearers = max(self._bearers, len(records))
        keys = (records["rnti"].astype(np.int64) << 8 | records["rbid"]).tolist()
        self._repeated += len(set(keys)) < len(keys)
        waiting = records["txbuf_occ_bytes"] > 0
        reported = (records["txsdu_wt_us"] > 0) | (records["txsdu_avg_time_to_tx"] > 0)
        self._backlogged += int(np.count_nonzero(waiting))
        self._delays += int(np.count_nonzero(waiting & reported))
        if self._last is not None and keys == self._last_keys:
            self._steps += len(keys)
            back = np.zeros(len(keys), bool)
            for name in _CUMULATIVE:
                back |= (records[name] - self._last[name]) > _HALF
            self._steps_back += int(np.count_nonzero(back))
        self._last, self._last_keys = records, keys

    def add_pipelines(self, count: int) -> None:
        """One E2SM-TC v1 pipeline status."""
        self._bearers = max(self._bearers, count)

    def facts(self) -> Rows:
        """The sums."""
        return Rows(
            self._bearers,
            self._repeated,
            self._backlogged,
            self._delays,
            self._steps,
            self._steps_back,
        )


class StreamRecord:
    """Takes indications in order of arrival; pure, `now_us` is our wall clock."""

    def __init__(
        self, node_id: str, oid: str, period_ms: int, sent_at_us: int, style: str = ""
    ) -> None:
        self._stream = Stream(node_id, oid, period_ms, 0, style)
        self._sent_at_us = sent_at_us
        self._times: list[tuple[int, int, int]] = []
        self._sequence: int | None = None
        self._missed = self._dropped = self._disordered = 0
        self._undecodable = 0
        self._first_error = ""
        self._tstamp_off_us = 0
        self._rows = RowRecord()
        self._has_rows = False
        self._unsupported: set[str] = set()
        self._without_unit = False
        self.status: list[dict[str, Any]] | None = None
        """The newest E2SM-TC v1 pipeline status."""

    def add(self, indication: Indication, now_us: int) -> None:
        """One indication."""
        self._times.append((indication.collected_at_us, indication.received_at_us, now_us))
        self._number(indication)
        try:
            self._read(indication)
        except ServiceModelError as error:
            self._undecodable += 1
            self._first_error = self._first_error or str(error)

    def facts(self, now_us: int, ended: str = "", detail: str = "") -> Stream:
        """The facts until `now_us`, when the subscription ended."""
        stream = replace(
            self._stream,
            window_us=now_us - self._sent_at_us,
            ended=ended,
            detail=detail,
            received=len(self._times),
            missed=self._missed,
            dropped=self._dropped,
            disordered=self._disordered,
            undecodable=self._undecodable,
            first_error=self._first_error,
            tstamp_off_us=self._tstamp_off_us,
            rows=self._rows.facts() if self._has_rows else None,
            unsupported=tuple(sorted(self._unsupported)),
            without_unit=self._without_unit,
        )
        return self._timed(stream, now_us) if self._times else stream

    def _timed(self, stream: Stream, now_us: int) -> Stream:
        times = self._times
        handled = [here for _, _, here in times]
        gaps = [b - a for a, b in zip(handled, [*handled[1:], now_us], strict=True)]
        collected = [node for node, _, _ in times]
        return replace(
            stream,
            first_after_us=handled[0] - self._sent_at_us,
            listened_us=now_us - handled[0],
            longest_gap_us=max(gaps),
            node_to_gateway_us=Spread.of([gateway - node for node, gateway, _ in times]),
            gateway_to_here_us=Spread.of([here - gateway for _, gateway, here in times]),
            node_to_here_us=Spread.of([here - node for node, _, here in times]),
            collected_span_us=collected[-1] - collected[0],
            handled_span_us=handled[-1] - handled[0],
            distinct=len(set(collected)),
            late=sum(a < b for a, b in zip(collected, accumulate(collected, max), strict=True)),
            offsets=offsets(times, self._sent_at_us),
        )

    def _number(self, indication: Indication) -> None:
        if self._sequence is None:
            self._dropped = indication.dropped
        elif indication.sequence <= self._sequence:
            self._disordered += 1
            return
        else:
            self._missed += indication.sequence - self._sequence - 1
            self._dropped = max(self._dropped, indication.dropped)
        self._sequence = indication.sequence

    def _read(self, indication: Indication) -> None:
        oid = self._stream.oid
        if oid == RLC_OID:
            table = rlc.decode(indication.message)
            self._has_rows = True
            self._rows.add_bearers(table.records)
            self._timestamp(table.tstamp_us, indication)
        elif oid == MAC_OID:
            table = mac.decode(indication.message)
            self._has_rows = True
            self._rows.add_ues(table.records)
            self._timestamp(table.tstamp_us, indication)
        elif oid == KPM_OID:
            report = kpm.report_of(indication)
            self._unsupported.update(report.unsupported)
            if any(KPM_MEASUREMENT in ue.values for ue in report.ues):
                self._without_unit = KPM_MEASUREMENT not in report.units
        elif oid == TC_V0_OID:
            status = tc.decode("indication", indication.message, "v0")
            self._timestamp(status["tstamp"], indication)
        elif oid == TC_V1_OID:
            content = _content(indication.message, self._stream.style)
            if self._stream.style == STATUS:
                self.status = content
                self._has_rows = True
                self._rows.add_pipelines(len(content))

    def _timestamp(self, tstamp_us: int, indication: Indication) -> None:
        off_us = tstamp_us - indication.collected_at_us
        if abs(off_us) > abs(self._tstamp_off_us):
            self._tstamp_off_us = off_us


def _content(message: bytes, style: str) -> list[dict[str, Any]]:
    decoded = tc.decode("indication", message)
    if style not in decoded:
        found = next(iter(decoded), "nothing")
        raise ServiceModelError("tc", "indication", found, f"the requested style, {style}")
    content: list[dict[str, Any]] = decoded[style]
    return content


def offsets(times: list[tuple[int, int, int]], sent_at_us: int) -> Offsets | None:
    """Bounds from causality alone, from (collected, received, handled) of each indication.

    What was collected before it was received before it was handled bounds how far node and gateway
    are behind us; what was collected after it was asked for, at `sent_at_us`, bounds how far they
    are ahead. `None` with too few indications for the second.
    """
    fresh = times[_FRESH:]
    if not fresh:
        return None
    return Offsets(
        node_here=Interval(
            max(node - here for node, _, here in times),
            min(node for node, _, _ in fresh) - sent_at_us,
        ),
        gateway_here=Interval(
            max(gateway - here for _, gateway, here in times),
            min(gateway for _, gateway, _ in fresh) - sent_at_us,
        ),
    )
