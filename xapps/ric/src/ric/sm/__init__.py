"""Service models: bytes on one side, arrays and typed reports on the other.

- `ric.sm.rlc`, `ric.sm.mac`: FlexRIC's plain layout as NumPy structured arrays, without a copy.
- `ric.sm.tc`: E2SM-TC v0 and v1 through the `e2sm_tc` codec.
- `ric.sm.kpm`: E2SM-KPM, which the gateway has already typed; `ric.sm.kpm_bytes` reads its bytes.

Decoding raises `ric.errors.ServiceModelError` for malformed bytes, and nothing else.
"""

from typing import Final

from ric.sm import kpm, mac, rlc, tc

__all__ = [
    "KPM_OID",
    "MAC_OID",
    "RLC_OID",
    "TC_V0_OID",
    "TC_V1_OID",
    "kpm",
    "mac",
    "ran_function_name",
    "rlc",
    "tc",
]

KPM_OID: Final = kpm.OID
MAC_OID: Final = mac.OID
RLC_OID: Final = rlc.OID
TC_V0_OID: Final = tc.V0_OID
TC_V1_OID: Final = tc.V1_OID

_NAMES: Final = {
    KPM_OID: "kpm",
    MAC_OID: "mac",
    RLC_OID: "rlc",
    TC_V0_OID: "tc_v0",
    TC_V1_OID: "tc_v1",
}


def ran_function_name(oid: str) -> str:
    """Short name of a known OID, for labels and logs; otherwise the OID itself."""
    return _NAMES.get(oid, oid)
