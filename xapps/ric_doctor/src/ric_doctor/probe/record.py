"""One subscription: what arrived, whether it decodes, and how old it was."""

from __future__ import annotations

from dataclasses import replace
from statistics import median_low
from typing import Any

import numpy as np
from ric.e2 import Indication
from ric.errors import ServiceModelError
from ric.sm import KPM_OID, MAC_OID, RLC_OID, TC_V0_OID, TC_V1_OID, kpm, mac, rlc, tc
from ric.sm.plain import Records

from ric_doctor.facts import STATUS, Age, Stream


class StreamRecord:
    """Takes indications in order of arrival; pure, `now_us` is our wall clock."""

    def __init__(
        self, node_id: str, oid: str, period_ms: int, sent_at_us: int, style: str = ""
    ) -> None:
        self._stream = Stream(node_id, oid, period_ms, 0, style)
        self._sent_at_us = sent_at_us
        self._node_ages_us: list[int] = []
        self._gateway_ages_us: list[int] = []
        self._undecodable = 0
        self._first_error = ""
        self._tstamp_off_us = 0
        self._bearers: int | None = None
        self._backlogged = self._delays = 0
        self.status: list[dict[str, Any]] | None = None
        """The newest E2SM-TC v1 pipeline status."""

    def add(self, indication: Indication, now_us: int) -> None:
        """One indication."""
        self._node_ages_us.append(now_us - indication.collected_at_us)
        self._gateway_ages_us.append(now_us - indication.received_at_us)
        try:
            self._read(indication)
        except ServiceModelError as error:
            self._undecodable += 1
            self._first_error = self._first_error or str(error)

    def facts(self, now_us: int, ended: str = "", detail: str = "") -> Stream:
        """The facts until `now_us`, when the subscription ended."""
        return replace(
            self._stream,
            window_us=now_us - self._sent_at_us,
            ended=ended,
            detail=detail,
            received=len(self._node_ages_us),
            undecodable=self._undecodable,
            first_error=self._first_error,
            node_age=_age(self._node_ages_us),
            gateway_age=_age(self._gateway_ages_us),
            tstamp_off_us=self._tstamp_off_us,
            bearers=self._bearers,
            backlogged=self._backlogged,
            delays=self._delays,
        )

    def _read(self, indication: Indication) -> None:
        oid = self._stream.oid
        if oid == RLC_OID:
            table = rlc.decode(indication.message)
            self._rows(len(table.records))
            self._delayed(table.records)
            self._timestamp(table.tstamp_us, indication)
        elif oid == MAC_OID:
            self._timestamp(mac.decode(indication.message).tstamp_us, indication)
        elif oid == KPM_OID:
            kpm.report_of(indication)
        elif oid == TC_V0_OID:
            status = tc.decode("indication", indication.message, "v0")
            self._timestamp(status["tstamp"], indication)
        elif oid == TC_V1_OID:
            content = _content(indication.message, self._stream.style)
            if self._stream.style == STATUS:
                self.status = content
                self._rows(len(content))

    def _rows(self, bearers: int) -> None:
        self._bearers = max(self._bearers or 0, bearers)

    def _delayed(self, records: Records) -> None:
        waiting = records["txbuf_occ_bytes"] > 0
        reported = (records["txsdu_wt_us"] > 0) | (records["txsdu_avg_time_to_tx"] > 0)
        self._backlogged += int(np.count_nonzero(waiting))
        self._delays += int(np.count_nonzero(waiting & reported))

    def _timestamp(self, tstamp_us: int, indication: Indication) -> None:
        off_us = tstamp_us - indication.collected_at_us
        if abs(off_us) > abs(self._tstamp_off_us):
            self._tstamp_off_us = off_us


def _age(ages_us: list[int]) -> Age | None:
    return Age(min(ages_us), median_low(ages_us)) if ages_us else None


def _content(message: bytes, style: str) -> list[dict[str, Any]]:
    decoded = tc.decode("indication", message)
    if style not in decoded:
        found = next(iter(decoded), "nothing")
        raise ServiceModelError("tc", "indication", found, f"the requested style, {style}")
    content: list[dict[str, Any]] = decoded[style]
    return content
