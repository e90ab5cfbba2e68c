"""RLC statistics service model (RAN function 143), one record for each bearer.

FlexRIC's plain layout: records of 152 bytes, Python struct `<25I4xQdIIQIIIBB2x`. Main
fields, as filled by an OAI gNB:

- `txbuf_occ_bytes`, `txbuf_occ_pkts`: the transmission buffer now (gauges).
- `txsdu_wt_us`: age of the head-of-line SDU, µs, 0 when empty; reacts at once.
- `txsdu_avg_time_to_tx`: mean sojourn time over the last 100 ms, µs; lags.
- all other counters are cumulative and wraps at 2³², byte counters of
  SDUs at 2⁶⁴.
- `rnti`, `rbid` together name the bearer; `mode` is 0 AM, 1 UM, 2 TM.
- `txpdu_wt_ms` is never set.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ric.sm.plain import PlainModel, Table, event_trigger

__all__ = [
    "MODE_AM",
    "MODE_TM",
    "MODE_UM",
    "OID",
    "RECORD",
    "Table",
    "check",
    "decode",
    "encode",
    "event_trigger",
    "from_json",
    "is_full",
    "to_json",
    "zeros",
]

OID: Final = "0.0.0.0.0.0.0.0.1.143.0"

MODE_AM: Final = 0
MODE_UM: Final = 1
MODE_TM: Final = 2

_U32_FIELDS: Final = (
    "txpdu_pkts",
    "txpdu_bytes",
    "txpdu_wt_ms",
    "txpdu_dd_pkts",
    "txpdu_dd_bytes",
    "txpdu_retx_pkts",
    "txpdu_retx_bytes",
    "txpdu_segmented",
    "txpdu_status_pkts",
    "txpdu_status_bytes",
    "txbuf_occ_bytes",
    "txbuf_occ_pkts",
    "rxpdu_pkts",
    "rxpdu_bytes",
    "rxpdu_dup_pkts",
    "rxpdu_dup_bytes",
    "rxpdu_dd_pkts",
    "rxpdu_dd_bytes",
    "rxpdu_ow_pkts",
    "rxpdu_ow_bytes",
    "rxpdu_status_pkts",
    "rxpdu_status_bytes",
    "rxbuf_occ_bytes",
    "rxbuf_occ_pkts",
    "txsdu_pkts",
)
# Offsets are explicit: NumPy's own alignment would follow the machine that runs this, not the wire.
_TAIL_FIELDS: Final = (
    ("txsdu_bytes", "<u8", 104),
    ("txsdu_avg_time_to_tx", "<f8", 112),
    ("txsdu_wt_us", "<u4", 120),
    ("rxsdu_pkts", "<u4", 124),
    ("rxsdu_bytes", "<u8", 128),
    ("rxsdu_dd_pkts", "<u4", 136),
    ("rxsdu_dd_bytes", "<u4", 140),
    ("rnti", "<u4", 144),
    ("mode", "u1", 148),
    ("rbid", "u1", 149),
)

RECORD: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": [*_U32_FIELDS, *(name for name, _, _ in _TAIL_FIELDS)],
        "formats": ["<u4"] * len(_U32_FIELDS) + [form for _, form, _ in _TAIL_FIELDS],
        "offsets": [4 * i for i in range(len(_U32_FIELDS))] + [at for _, _, at in _TAIL_FIELDS],
        "itemsize": 152,
    }
)
"""One bearer."""

_MODEL: Final = PlainModel("rlc", RECORD, rows_key="rb")


check, decode, encode, zeros = _MODEL.check, _MODEL.decode, _MODEL.encode, _MODEL.zeros
is_full, MOST_RECORDS = _MODEL.is_full, _MODEL.most_records
to_json, from_json = _MODEL.to_json, _MODEL.from_json
