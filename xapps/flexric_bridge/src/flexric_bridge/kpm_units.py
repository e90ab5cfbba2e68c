"""Units of a node's KPM measurements, inferred from its reports.

OAI's gNBs changed two units in one commit (2025-11-13) and do not announce them: volumes from kbit
to whole Mbit per period, PRBs from a count to percent. Confusing them is an error by a factor of
1000, so a unit is published only once the node's own reports prove it: more than 100 PRBs are no
percentage, and a volume has to match the throughput, which is kbit/s in both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final

import structlog

_log = structlog.get_logger()

THROUGHPUT_OF: Final = {
    "DRB.PdcpSduVolumeDL": "DRB.UEThpDl",
    "DRB.PdcpSduVolumeUL": "DRB.UEThpUl",
    "RRU.PrbTotDl": "DRB.UEThpDl",
    "RRU.PrbTotUl": "DRB.UEThpUl",
}
"""The measurement that must be subscribed as well to infer the unit of these."""
FIXED: Final = {"DRB.UEThpDl": "kbit/s", "DRB.UEThpUl": "kbit/s", "DRB.RlcSduDelayDl": "us"}
"""Units that did not change. OAI's RLC delay is in µs where TS 28.552 has 0.1 ms."""

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


class KpmUnits:
    """Units of one node. Evidence for one unit decides the others; contradicting evidence resets
    them until there is more."""

    def __init__(self, node_id: str) -> None:
        self._node_id = node_id
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
        """Name → unit ("kbit", "Mbit", "PRB", "%", "us", "kbit/s"), without unknown ones."""
        known = {**FIXED, **(_UNITS[self.era] if self.era is not None else {})}
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
