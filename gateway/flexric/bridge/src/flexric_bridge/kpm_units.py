"""Units of a node's KPM measurements: stated in the settings, or proven by what the node announces
and reports; otherwise unknown.

E2SM-KPM carries no units, and gNBs deviate from those of TS 28.552. OAI's changed two in one commit
(2025-11-13): volumes from kbit to whole Mbit per period, PRBs from a count to percent. Reports
prove them: more than 100 PRBs are no percentage, and a volume has to match the throughput, which is
kbit/s in all. The delay in the RLC is in 0.1 ms by TS 28.552 (§5.1.3.3.3), as of srsRAN and OCUDU,
and in µs of OAI: no report proves it, the node's RAN functions do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final

import structlog
from ric.sm import KPM_OID, MAC_OID, RLC_OID

from flexric_bridge.kpm_definition import KpmDefinitionError, decode
from flexric_bridge.sdk import RanFunction

_log = structlog.get_logger()

THROUGHPUT_OF: Final = {
    "DRB.PdcpSduVolumeDL": "DRB.UEThpDl",
    "DRB.PdcpSduVolumeUL": "DRB.UEThpUl",
    "RRU.PrbTotDl": "DRB.UEThpDl",
    "RRU.PrbTotUl": "DRB.UEThpUl",
}
"""The measurement that must be subscribed as well to infer the unit of these."""
FIXED: Final = {"DRB.UEThpDl": "kbit/s", "DRB.UEThpUl": "kbit/s"}
"""Units that are the same of all gNBs (TS 28.552 §5.1.1.3)."""
DELAY: Final = "DRB.RlcSduDelayDl"
AMBIGUOUS: Final = {
    DELAY: ("us", "0.1 ms"),
    "DRB.PdcpSduVolumeDL": ("kbit", "Mbit"),
    "DRB.PdcpSduVolumeUL": ("kbit", "Mbit"),
    "RRU.PrbTotDl": ("PRB", "%"),
    "RRU.PrbTotUl": ("PRB", "%"),
}
"""Measurement → the units in which gNBs report it."""

_SRSRAN: Final = frozenset({"DRB.RlcPacketDropRateDl", "DRB.RlcSduTransmittedVolumeDL"})
"""Measurements per UE of srsRAN and OCUDU that OAI's gNBs do not have."""

_PRB: Final = ("RRU.PrbTotDl", "RRU.PrbTotUl")
_VOLUME: Final = ("DRB.PdcpSduVolumeDL", "DRB.PdcpSduVolumeUL")
_LEAST_KBIT: Final = 2000.0
"""Below this a volume in whole Mbit has too few digits as evidence."""
_LIKE: Final = 10.0
"""PDCP volume and RLC throughput of one period differ by less than this factor."""


class KpmUnitSet(Enum):
    """The two sets of units."""

    KBIT_AND_COUNT = "kbit and PRB"
    MBIT_AND_PERCENT = "Mbit and %"


_UNITS: Final = {
    KpmUnitSet.KBIT_AND_COUNT: {**dict.fromkeys(_VOLUME, "kbit"), **dict.fromkeys(_PRB, "PRB")},
    KpmUnitSet.MBIT_AND_PERCENT: {**dict.fromkeys(_VOLUME, "Mbit"), **dict.fromkeys(_PRB, "%")},
}


def delay_unit(functions: Mapping[str, RanFunction]) -> str | None:
    """Unit of `DRB.RlcSduDelayDl` of a node with these RAN functions, by OID; None if they do not
    tell.

    FlexRIC's own service models of RLC and MAC come with FlexRIC's agent, which is OAI's: µs. The
    measurements of srsRAN and OCUDU, which have neither, come with TS 28.552's 0.1 ms.
    """
    if RLC_OID in functions or MAC_OID in functions:
        return "us"
    try:
        names = decode(functions[KPM_OID].definition).measurements
    except (KeyError, KpmDefinitionError):
        return None
    return "0.1 ms" if names is not None and names >= _SRSRAN else None


class KpmUnits:
    """Units of one node. Evidence for one unit decides the others; contradicting evidence resets
    them until there is more."""

    def __init__(
        self,
        node_id: str,
        functions: Mapping[str, RanFunction],
        stated: Mapping[str, str] | None = None,
    ) -> None:
        """`functions`: its RAN functions by OID; `stated`: units of the settings by measurement,
        which need no evidence."""
        self._node_id = node_id
        self._stated = stated or {}
        delay = delay_unit(functions)
        self._announced = {} if delay is None else {DELAY: delay}
        self.era: KpmUnitSet | None = None

    def learn(self, period_ms: int, ues: Iterable[Mapping[str, float]]) -> None:
        """Evaluate a report: the values of each UE by name."""
        inferred = _infer(period_ms, tuple(ues))
        if inferred is None or inferred is self.era:
            return
        if self.era is None:
            self.era = inferred
            _log.info("units of KPM inferred", node=self._node_id, units=inferred.value)
        else:
            _log.warning(
                "units of KPM contradict one another; unknown until there is more evidence",
                node=self._node_id,
                known=self.era.value,
                inferred=inferred.value,
            )
            self.era = None

    def of(self, names: Iterable[str]) -> dict[str, str]:
        """Name → unit ("kbit", "Mbit", "PRB", "%", "us", "0.1 ms", "kbit/s"), without unknown
        ones."""
        inferred = _UNITS[self.era] if self.era is not None else {}
        known = {**FIXED, **self._announced, **inferred, **self._stated}
        return {name: known[name] for name in names if name in known}


def _infer(period_ms: int, ues: tuple[Mapping[str, float], ...]) -> KpmUnitSet | None:
    for name in _PRB:
        # Shares of a cell add up to 100, plus the rounding of each.
        if sum(values.get(name, 0.0) for values in ues) > 100 + len(ues):
            return KpmUnitSet.KBIT_AND_COUNT
    for values in ues:
        for name in _VOLUME:
            era = _by_volume(values, name, period_ms)
            if era is not None:
                return era
    return None


def _by_volume(values: Mapping[str, float], name: str, period_ms: int) -> KpmUnitSet | None:
    throughput = values.get(THROUGHPUT_OF[name])
    volume = values.get(name)
    if throughput is None or volume is None:
        return None
    kbit = throughput * period_ms / 1000
    if kbit < _LEAST_KBIT:
        return None
    if kbit / _LIKE < volume < kbit * _LIKE:
        return KpmUnitSet.KBIT_AND_COUNT
    mbit = kbit / 1000
    if mbit / _LIKE < volume < mbit * _LIKE:
        return KpmUnitSet.MBIT_AND_PERCENT
    return None
