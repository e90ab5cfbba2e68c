"""Names and values of the columns of recordings: those of data sets, of the lab and of FlexRIC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rlc_dataset.errors import DatasetError

RLC_FIELDS: Final[dict[str, str]] = {
    "rlc_occupancy_bytes": "txbuf_occ_bytes",
    "rlc_occupancy_packets": "txbuf_occ_pkts",
    "rlc_pdu_bytes": "txpdu_bytes",
    "rlc_hol_us": "txsdu_wt_us",
    "rlc_mean_sojourn_us": "txsdu_avg_time_to_tx",
}
"""Columns and their fields in FlexRIC's RLC report; recordings of others may use these names."""
NAMES: Final = ("time_us", "rnti", "drb", *RLC_FIELDS, "pacer_limit_bytes", "mcs", "tbs_bytes")
"""The columns that forecasts need."""
_SHOWN: Final = 40
"""Most columns of a file that an error lists."""
OPTIONAL: Final = frozenset({"pacer_limit_bytes", "mcs", "tbs_bytes"})
"""Columns whose values are unknown if a file lacks them."""


_FLEXRIC: Final[dict[str, str]] = {"time_us": "tstamp", "drb": "rbid", **RLC_FIELDS}
"""Columns and their names in tables of FlexRIC."""


def too_large(name: str) -> int:
    """The least value that a column cannot have; 32 bits are those of RLC reports."""
    return {"drb": 1 << 8, "time_us": 1 << 53}.get(name, 1 << 32)


def columns_of(
    there: Sequence[str], file: str, given: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The column of each of :data:`NAMES` that a file has.

    Args:
        there: The file's columns.
        file: Its path, for errors.
        given: The file's column for some of our names.

    Raises:
        DatasetError: Columns are missing: all of them; or `given` has a name that is none of ours.
    """
    given = given or {}
    unknown = [name for name in given if name not in NAMES]
    if unknown:
        raise DatasetError(
            f"is none of ours; expected of {', '.join(NAMES)}", column=unknown[0], file=file
        )
    columns, missing = {}, []
    for name in NAMES:
        names = (given[name],) if name in given else (name, _FLEXRIC.get(name, name))
        known = next((each for each in names if each in there), None)
        if known is not None:
            columns[name] = known
        elif name in given or name not in OPTIONAL:
            missing.append(" or ".join(dict.fromkeys(names)))
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        shown = ", ".join(there[:_SHOWN]) + (", …" if len(there) > _SHOWN else "")
        raise DatasetError(
            f"{verb} missing; the file has {shown}", file=file, column=", ".join(missing)
        )
    return columns


def checked_values(
    column: pa.Array, name: str, shown: str, file: str, rows: Sequence[int] | NDArray[np.intp]
) -> NDArray[np.float64]:
    """Values of a column; float64 is exact for times of this millennium and for counters.

    Args:
        column: The values; unknown ones of :data:`OPTIONAL` are NaN.
        name: Our name of it.
        shown: The file's.
        file: Its path.
        rows: Row of each value.

    Raises:
        DatasetError: Names file, column and row of a null, or of a value out of range.
    """
    kind = column.type
    optional = name in OPTIONAL
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)):
        raise DatasetError(f"has type {kind}; expected numbers", file=file, column=shown)
    values = pc.fill_null(column.cast(pa.float64(), safe=False), np.nan).to_numpy(
        zero_copy_only=False
    )
    limit = too_large(name)
    wrong = ~((values >= 0) & (values < limit) | (optional & np.isnan(values)))
    if wrong.any():
        row = int(np.argmax(wrong))
        found = "null" if np.isnan(values[row]) else f"{values[row]:g}"
        raise DatasetError(
            f"is {found}; expected a number of 0 to below {limit}",
            file=file,
            column=shown,
            row=int(rows[row]),
        )
    return np.asarray(values, np.float64)
