"""Byte layout of RLC reports, for the native feature extraction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import rlc_native
from numpy.typing import NDArray

from rlc_model.errors import ContractError

REPORT: Final = np.dtype(
    [
        ("txbuf_occ_bytes", "<u4"),
        ("txbuf_occ_pkts", "<u4"),
        ("txpdu_bytes", "<u4"),
        ("txsdu_avg_time_to_tx", "<f8"),
        ("txsdu_wt_us", "<u4"),
    ]
)
"""Fields read from an RLC report, with FlexRIC's names and formats."""
REQUIRED_FIELDS: Final[tuple[str, ...]] = REPORT.names or ()


@dataclass(frozen=True, slots=True)
class Records:
    """Layout of reports of one dtype.

    Attributes:
        fields: Offsets of the fields.
        is_native: Whether the reports are readable without conversion.
    """

    fields: rlc_native.Fields
    is_native: bool

    @classmethod
    def of(cls, dtype: np.dtype[np.void]) -> Self:
        """The layout of a dtype.

        Raises:
            ContractError: A field of :data:`REQUIRED_FIELDS` is missing.
        """
        names = dtype.names or ()
        missing = [name for name in REQUIRED_FIELDS if name not in names]
        if missing:
            raise ContractError("report", f"lacks {', '.join(missing)}")
        is_native = all(dtype[name] == REPORT[name] for name in REQUIRED_FIELDS)
        layout = dtype if is_native else REPORT
        at = {name: int(place[1]) for name, place in (layout.fields or {}).items()}
        fields = rlc_native.Fields(
            record=layout.itemsize,
            occupancy_bytes=at["txbuf_occ_bytes"],
            occupancy_packets=at["txbuf_occ_pkts"],
            pdu_bytes=at["txpdu_bytes"],
            mean_sojourn=at["txsdu_avg_time_to_tx"],
            head_of_line_age=at["txsdu_wt_us"],
        )
        return cls(fields, is_native)

    def data(self, report: NDArray[np.void]) -> NDArray[np.uint8]:
        """``(B · record,)`` bytes of ``(B,)`` reports."""
        if not self.is_native:
            converted = np.zeros(len(report), REPORT)
            for name in REQUIRED_FIELDS:
                converted[name] = report[name]
            report = converted
        return np.ascontiguousarray(report).view(np.uint8)
