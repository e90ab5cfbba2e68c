"""MAC statistics service model (RAN function 142), one record for each UE.

FlexRIC's plain layout: records of 176 bytes, the C struct of the gNB in its native alignment.
Transport block sizes, SDU bytes, PRBs and SDUs named `aggr` are cumulative; `dl_curr_tbs`,
`ul_curr_tbs` are the newest transport block; `dl_sched_rb`, `ul_sched_rb` the PRBs scheduled in
it; `bsr` is the last buffer status report, `phr` the last power headroom, dB.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ric.sm.plain import PlainModel, Table, event_trigger

__all__ = [
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

OID: Final = "0.0.0.0.0.0.0.0.1.142.0"

_FIELDS: Final[tuple[tuple[str, str | tuple[str, int], int], ...]] = (
    ("dl_aggr_tbs", "<u8", 0),
    ("ul_aggr_tbs", "<u8", 8),
    ("dl_aggr_bytes_sdus", "<u8", 16),
    ("ul_aggr_bytes_sdus", "<u8", 24),
    ("dl_curr_tbs", "<u8", 32),
    ("ul_curr_tbs", "<u8", 40),
    ("dl_sched_rb", "<u8", 48),
    ("ul_sched_rb", "<u8", 56),
    ("pusch_snr", "<f4", 64),
    ("pucch_snr", "<f4", 68),
    ("dl_bler", "<f4", 72),
    ("ul_bler", "<f4", 76),
    ("dl_harq", ("<u4", 5), 80),
    ("ul_harq", ("<u4", 5), 100),
    ("dl_num_harq", "<u4", 120),
    ("ul_num_harq", "<u4", 124),
    ("rnti", "<u4", 128),
    ("dl_aggr_prb", "<u4", 132),
    ("ul_aggr_prb", "<u4", 136),
    ("dl_aggr_sdus", "<u4", 140),
    ("ul_aggr_sdus", "<u4", 144),
    ("dl_aggr_retx_prb", "<u4", 148),
    ("ul_aggr_retx_prb", "<u4", 152),
    ("bsr", "<u4", 156),
    ("frame", "<u2", 160),
    ("slot", "<u2", 162),
    ("wb_cqi", "u1", 164),
    ("dl_mcs1", "u1", 165),
    ("ul_mcs1", "u1", 166),
    ("dl_mcs2", "u1", 167),
    ("ul_mcs2", "u1", 168),
    ("phr", "i1", 169),
)

RECORD: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": [name for name, _, _ in _FIELDS],
        "formats": [form for _, form, _ in _FIELDS],
        "offsets": [at for _, _, at in _FIELDS],
        "itemsize": 176,
    }
)
"""One UE."""

_MODEL: Final = PlainModel("mac", RECORD, rows_key="ue")


check, decode, encode, zeros = _MODEL.check, _MODEL.decode, _MODEL.encode, _MODEL.zeros
is_full, MOST_RECORDS = _MODEL.is_full, _MODEL.most_records
to_json, from_json = _MODEL.to_json, _MODEL.from_json
