"""RLC reports as the arithmetic reads them: records of bytes."""

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
"""What of an RLC report is read, with FlexRIC's names and formats."""
REQUIRED_FIELDS: Final[tuple[str, ...]] = REPORT.names or ()


@dataclass(frozen=True, slots=True)
class Records:
    """How reports of one dtype are read.

    Attributes:
        fields: Where a record has what.
        as_they_are: Whether they need not be converted for it.
    """

    fields: rlc_native.Fields
    as_they_are: bool

    @classmethod
    def of(cls, dtype: np.dtype[np.void]) -> Self:
        """The way for a dtype.

        Raises:
            ContractError: It lacks one of :data:`REQUIRED_FIELDS`.
        """
        names = dtype.names or ()
        missing = [name for name in REQUIRED_FIELDS if name not in names]
        if missing:
            raise ContractError("report", f"lacks {', '.join(missing)}")
        as_they_are = all(dtype[name] == REPORT[name] for name in REQUIRED_FIELDS)
        laid_out = dtype if as_they_are else REPORT
        at = {name: int(place[1]) for name, place in (laid_out.fields or {}).items()}
        fields = rlc_native.Fields(
            record=laid_out.itemsize,
            occupancy_bytes=at["txbuf_occ_bytes"],
            occupancy_packets=at["txbuf_occ_pkts"],
            pdu_bytes=at["txpdu_bytes"],
            mean_sojourn=at["txsdu_avg_time_to_tx"],
            head_of_line_age=at["txsdu_wt_us"],
        )
        return cls(fields, as_they_are)

    def data(self, report: NDArray[np.void]) -> NDArray[np.uint8]:
        """``(B · record,)`` bytes of ``(B,)`` reports."""
        if not self.as_they_are:
            converted = np.zeros(len(report), REPORT)
            for name in REQUIRED_FIELDS:
                converted[name] = report[name]
            report = converted
        return np.ascontiguousarray(report).view(np.uint8)
