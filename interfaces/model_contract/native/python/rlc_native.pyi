"""What is done to every value of every bearer each millisecond; what it means is said by rlc_model.

Arrays are C-contiguous. Lengths that do not belong together raise ValueError and name themselves.
"""

from typing import Final, final

import numpy as np
from numpy.typing import NDArray

MAX_RATE_BYTES_PER_MS: Final[float]
"""10 Gbit/s. A larger step of a counter is a restarted RLC entity, not traffic."""

@final
class Fields:
    """Where a record of a report has the fields that are read, bytes from its beginning."""

    def __new__(
        cls,
        *,
        record: int,
        occupancy_bytes: int,
        occupancy_packets: int,
        pdu_bytes: int,
        mean_sojourn: int,
        head_of_line_age: int,
    ) -> Fields:
        """Offsets: u32, and f64 for the mean sojourn; `record` is the length of all."""

def samples(
    report: NDArray[np.uint8],
    fields: Fields,
    before: NDArray[np.int64],
    elapsed_ms: float | NDArray[np.float64],
    seen: NDArray[np.bool_] | None,
) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.bool_]]:
    """Features of ``(N · record,)`` bytes of records.

    Args:
        report: The bytes.
        fields: Where they have what.
        before: ``(N, 2)`` counter of drained bytes and occupancy of the reports before.
        elapsed_ms: Since those, one for all or ``(N,)``.
        seen: ``(N,)`` whether there is one before; None when there is for all.

    Returns:
        ``(N, 9)`` features, those of others than the RLC report 0; ``(N, 2)`` what the next report
        is compared with; ``(N,)`` whether the counters went on.
    """

def unscaled(
    answer: NDArray[np.float32], span: NDArray[np.float32], base: NDArray[np.float32]
) -> NDArray[np.float32]:
    """``answer · span + base``: of ``(B, Q, M, K)``, ``(Q·M·K,)``, ``(B, Q)``."""

def all_finite(values: NDArray[np.float32]) -> bool:
    """Whether no value is NaN or infinite."""

def add_and_order(plain: NDArray[np.float32], offset: NDArray[np.float32]) -> NDArray[np.float32]:
    """``plain + offset``, growing along the last axis of `offset` and never below 0.

    `plain` is of the shape of `offset`, or has one value for several that follow one another.
    """
