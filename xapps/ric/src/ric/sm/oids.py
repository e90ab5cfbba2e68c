"""Service model OIDs: how an xApp finds a RAN function."""

from __future__ import annotations

from typing import Final

KPM_OID: Final = "1.3.6.1.4.1.53148.1.2.2.2"
"""E2SM-KPM v2 and v3, O-RAN.WG3.E2SM-KPM §7.3.1."""
MAC_OID: Final = "0.0.0.0.0.0.0.0.1.142.0"
RLC_OID: Final = "0.0.0.0.0.0.0.0.1.143.0"
TC_V0_OID: Final = "0.0.0.0.0.0.0.0.1.146.0"
TC_V1_OID: Final = "0.0.0.0.0.0.0.0.1.146.1"

_NAMES: Final = {
    KPM_OID: "kpm",
    MAC_OID: "mac",
    RLC_OID: "rlc",
    TC_V0_OID: "tc_v0",
    TC_V1_OID: "tc_v1",
}


def ran_function_name(oid: str) -> str:
    """Short name of a known OID, for labels and logs; the OID itself when it is not known."""
    return _NAMES.get(oid, oid)
