"""E2SM-KPM as the gateway reports it: measurement names and values, no bytes.

Names are those of 3GPP TS 28.552. Units are those of the node, which may differ from the standard:
`KpmReport.units` has the known ones. KPM has no buffer occupancy; RLC has.
"""

from __future__ import annotations

import re
from typing import Final

from ric.e2 import Indication, KpmReport, KpmUe
from ric.errors import ServiceModelError
from ric.sm.plain import event_trigger

__all__ = [
    "MEASUREMENTS",
    "OID",
    "OLDEST",
    "KpmReport",
    "KpmUe",
    "column",
    "event_trigger",
    "report_of",
    "version_of",
]

OID: Final = "1.3.6.1.4.1.53148.1.2.2.2"
"""E2SM-KPM, O-RAN.WG3.E2SM-KPM §7.3.1: of every version towards xApps, as the gateway types it."""
_ANNOUNCED: Final = re.compile(r"1\.3\.6\.1\.4\.1\.53148\.1\.([1-9][0-9]?)\.2\.2")
OLDEST: Final = 2
"""Version of E2SM-KPM from which on reports have UEs."""

MEASUREMENTS: Final[dict[str, str]] = {
    "DRB.PdcpSduVolumeDL": "kbit or Mbit per period",
    "DRB.PdcpSduVolumeUL": "kbit or Mbit per period",
    "DRB.RlcSduDelayDl": "µs or 0.1 ms",
    "DRB.UEThpDl": "kbit/s",
    "DRB.UEThpUl": "kbit/s",
    "RRU.PrbTotDl": "PRB per period or %",
    "RRU.PrbTotUl": "PRB per period or %",
}
"""What an OAI gNB serves, and the units in which gNBs do."""


def version_of(oid: str) -> int | None:
    """The version of E2SM-KPM that an OID names; `None` for one of another service model.

    It is that of the ASN.1 module, which most nodes leave at 2 with each version: FlexRIC with
    KPM_V3 and KPM_V5_00 announces 3 and 5, OCUDU has v5 and announces 2. Messages of all versions
    from `OLDEST` on are read alike: what a later one adds is skipped.
    """
    found = _ANNOUNCED.fullmatch(oid)
    return None if found is None else int(found[1])


def report_of(indication: Indication) -> KpmReport:
    """The report in `indication`; raises `ServiceModelError` when it carries none."""
    if indication.kpm is None:
        raise ServiceModelError(
            "kpm", "indication", f"{len(indication.message)} message bytes", "a KPM report"
        )
    return indication.kpm


def column(report: KpmReport, measurement: str) -> dict[int, float]:
    """RNTI → value of one measurement, for the UEs that have it and whose RNTI is known."""
    return {
        ue.rnti: ue.values[measurement] for ue in report.ues if ue.rnti and measurement in ue.values
    }
