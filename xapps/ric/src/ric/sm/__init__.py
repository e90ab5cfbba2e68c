"""Service models: bytes on one side, arrays and typed reports on the other.

- `ric.sm.rlc`, `ric.sm.mac`: FlexRIC's plain layout as NumPy structured arrays, without a copy.
- `ric.sm.tc`: E2SM-TC v0 and v1 through the `e2sm_tc` codec.
- `ric.sm.kpm`: E2SM-KPM, which the gateway has already typed.
- `ric.sm.counters`: differences of 32-bit counters that wrap.

Decoding raises `ric.errors.ServiceModelError` for bytes that are not the model's, and nothing
else.
"""

from ric.sm import counters, kpm, mac, rlc, tc
from ric.sm.oids import KPM_OID, MAC_OID, RLC_OID, TC_V0_OID, TC_V1_OID, ran_function_name

__all__ = [
    "KPM_OID",
    "MAC_OID",
    "RLC_OID",
    "TC_V0_OID",
    "TC_V1_OID",
    "counters",
    "kpm",
    "mac",
    "ran_function_name",
    "rlc",
    "tc",
]
