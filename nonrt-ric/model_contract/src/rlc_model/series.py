"""Features of a whole run, bit-identical to :class:`~rlc_model.features.FeatureExtractor`.

The extractor processes one report at a time. This module applies the same functions to all reports
of a bearer at once, which is two orders of magnitude faster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rlc_model.context_cache import HOLD_US
from rlc_model.errors import ContractError
from rlc_model.features import CONTEXT, FEATURES, rlc_features
from rlc_model.manifest import Quantity
from rlc_model.outcomes import outcomes
from rlc_model.records import REPORT, REQUIRED_FIELDS, Records

LONGEST_RUN_STEPS: Final = 24 * 3600 * 1000
"""A day of milliseconds; a longer grid is caused by a clock that jumped."""


@dataclass(frozen=True, slots=True)
class Bearer:
    """Identity of a bearer."""

    ue: int
    drb: int


@dataclass(frozen=True, slots=True)
class RunArrays:
    """One run on a regular grid of T instants, for B bearers.

    Attributes:
        start_us: Time of the first instant.
        period_us: Period of the grid.
        bearers: The B bearers, in order of (ue, drb).
        features: ``(T, B, F)`` float32, columns as :data:`~rlc_model.features.FEATURES`; 0 if not
            `present`.
        fresh: ``(T, B)`` bool, as :class:`~rlc_model.features.Samples`.
        known: ``(T, B, 3)`` bool, as :class:`~rlc_model.features.Samples`.
        present: ``(T, B)`` bool; False without a report: before the bearer's first, after its last,
            and in gaps.
        targets: ``(T, B)`` float32 outcomes of each quantity, see :mod:`rlc_model.outcomes`; NaN
            if unknown or not `present`. The target of instant t at horizon h is row
            ``t + h / period``; of the drain over a span that of :func:`~rlc_model.span_mean`.
        limit_reported: ``(T, B)`` bool; True where the forecaster gets the limit of that instant.
    """

    start_us: int
    period_us: int
    bearers: tuple[Bearer, ...]
    features: NDArray[np.float32]
    fresh: NDArray[np.bool_]
    known: NDArray[np.bool_]
    present: NDArray[np.bool_]
    targets: Mapping[Quantity, NDArray[np.float32]]
    limit_reported: NDArray[np.bool_]

    @property
    def steps(self) -> int:
        """T."""
        return len(self.features)


@dataclass(frozen=True, slots=True)
class BearerSeries:
    """All reports of one bearer, in order of time.

    Attributes:
        bearer: The bearer.
        at_us: ``(N,)`` increasing times of the reports.
        report: ``(N,)`` structured array with the fields that the extractor reads.
        limit_bytes: ``(N,)`` float64, reported at the time of the row; NaN if none or unknown.
        mcs: ``(N,)`` float64, NaN if unknown.
        tbs_bytes: ``(N,)`` float64, NaN if `mcs` is.
    """

    bearer: Bearer
    at_us: NDArray[np.int64]
    report: NDArray[np.void]
    limit_bytes: NDArray[np.float64]
    mcs: NDArray[np.float64]
    tbs_bytes: NDArray[np.float64]


def report_array(columns: Mapping[str, NDArray[np.generic]]) -> NDArray[np.void]:
    """The structured array of columns named as FlexRIC's fields.

    Raises:
        ContractError: A column is missing.
    """
    missing = [name for name in REQUIRED_FIELDS if name not in columns]
    if missing:
        raise ContractError("report", f"lacks {', '.join(missing)}")
    report = np.zeros(len(columns[REQUIRED_FIELDS[0]]), REPORT)
    for name in REQUIRED_FIELDS:
        report[name] = columns[name]
    return report


def run_arrays(
    series: list[BearerSeries], *, period_us: int = 1_000, context_us: int = 1
) -> RunArrays:
    """Puts the bearers of a run on one grid.

    Args:
        series: The bearers.
        period_us: Period of the grid.
        context_us: Period at which features use limit, MCS and block size, if longer than that of
            the rows. Targets use all values.

    Raises:
        ContractError: No bearer, a bearer without reports, times that do not increase or are off
            the grid, or a run of more than a day.
    """
    if not series:
        raise ContractError("run", "has no bearer")
    series = sorted(series, key=lambda s: (s.bearer.ue, s.bearer.drb))
    for one in series:
        _check(one)
    start_us = min(int(one.at_us[0]) for one in series)
    end_us = max(int(one.at_us[-1]) for one in series)
    steps = (end_us - start_us) // period_us + 1
    if steps > LONGEST_RUN_STEPS:
        raise ContractError("run", f"spans {steps} instants; expected at most {LONGEST_RUN_STEPS}")
    bearers = len(series)
    features = np.zeros((steps, bearers, len(FEATURES)), np.float32)
    fresh = np.zeros((steps, bearers), np.bool_)
    known = np.zeros((steps, bearers, len(CONTEXT)), np.bool_)
    present = np.zeros((steps, bearers), np.bool_)
    limit_reported = np.zeros((steps, bearers), np.bool_)
    quantities = tuple(Quantity)
    targets = np.full((len(quantities), steps, bearers), np.nan, np.float32)
    for column, one in enumerate(series):
        rows = _rows(one, start_us, period_us)
        values, valid, known[rows, column] = bearer_features(one, context_us)
        features[rows, column], fresh[rows, column] = values, valid
        present[rows, column] = True
        limit_reported[rows, column] = _reported(one, context_us) & ~np.isnan(one.limit_bytes)
        targets[:, rows, column] = outcomes(quantities, values, valid, one.limit_bytes).T
    return RunArrays(
        start_us,
        period_us,
        tuple(one.bearer for one in series),
        features,
        fresh,
        known,
        present,
        dict(zip(quantities, targets, strict=True)),
        limit_reported,
    )


def bearer_features(
    series: BearerSeries, context_us: int = 1
) -> tuple[NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_]]:
    """``(N, F)`` features, ``(N,)`` fresh and ``(N, 3)`` known of one bearer's reports.

    `context_us` is as in :func:`run_arrays`.
    """
    report = series.report
    levels = np.stack([report["txpdu_bytes"], report["txbuf_occ_bytes"]], axis=1).astype(np.int64)
    before = np.concatenate([levels[:1], levels[:-1]])
    seen = np.ones(len(report), np.bool_)
    seen[0] = False
    elapsed_ms = np.diff(series.at_us, prepend=series.at_us[0] - 1_000) / 1_000.0
    records = Records.of(report.dtype)
    features, _, fresh = rlc_features(records, report, before, elapsed_ms, seen)
    reported = _reported(series, context_us)
    limit_row = _last_reported(reported & ~np.isnan(series.limit_bytes), series.at_us)
    mac_row = _last_reported(reported & ~np.isnan(series.mcs), series.at_us)
    limit_known, mac_known = limit_row >= 0, mac_row >= 0
    features[limit_known, 6] = series.limit_bytes[limit_row[limit_known]]
    features[mac_known, 7] = series.mcs[mac_row[mac_known]]
    features[mac_known, 8] = series.tbs_bytes[mac_row[mac_known]]
    return features, fresh, np.stack([limit_known, mac_known, mac_known], axis=1)


def _reported(series: BearerSeries, context_us: int) -> NDArray[np.bool_]:
    """Rows with a report of limit, MCS and block size: the first of each period."""
    period = (series.at_us - series.at_us[0]) // context_us
    return np.asarray(np.diff(period, prepend=-1) > 0)


def _last_reported(valid: NDArray[np.bool_], at_us: NDArray[np.int64]) -> NDArray[np.intp]:
    """The newest earlier `valid` row within :data:`HOLD_US` of each row, else −1."""
    own = np.where(valid, np.arange(len(valid)), -1)
    last = np.concatenate([[-1], np.maximum.accumulate(own)[:-1]]).astype(np.intp)
    too_old = (last >= 0) & (at_us - at_us[last] > HOLD_US)
    return np.where(too_old, -1, last)


def _rows(series: BearerSeries, start_us: int, period_us: int) -> NDArray[np.int64]:
    rows, off = np.divmod(series.at_us - start_us, period_us)
    if off.any():
        row = int(np.argmax(off != 0))
        raise ContractError(
            f"run: time_us of UE {series.bearer.ue} DRB {series.bearer.drb}, report {row}",
            f"{series.at_us[row]} is {off[row]} µs off the grid of {period_us} µs",
        )
    return np.asarray(rows, np.int64)


def _check(series: BearerSeries) -> None:
    place = f"run: UE {series.bearer.ue} DRB {series.bearer.drb}"
    Records.of(series.report.dtype)
    lengths = {
        len(array)
        for array in (
            series.at_us,
            series.report,
            series.limit_bytes,
            series.mcs,
            series.tbs_bytes,
        )
    }
    if len(lengths) != 1:
        raise ContractError(place, f"has columns of lengths {sorted(lengths)}; expected one length")
    if not len(series.at_us):
        raise ContractError(place, "has no report")
    stuck = np.diff(series.at_us) <= 0
    if stuck.any():
        row = int(np.argmax(stuck)) + 1
        raise ContractError(f"{place}: time_us, report {row}", "is not after the report before it")
