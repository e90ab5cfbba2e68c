"""Tables of anyone with a column of times and one of rates: CSV with a header, or JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from rlc_dataset.channels.text import number_in, read_json, rows
from rlc_dataset.channels.trace import MAX_STEPS, ChannelTrace
from rlc_dataset.errors import DatasetError

UNITS_BPS: Final = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}
MAX_RATE_BPS: Final = 1e11
"""Channels of the lab."""
MAX_PERIOD_S: Final = 3600.0
SESSION_GAP_PERIODS: Final = 60
"""A longer gap starts a session; within a shorter one nothing was measured."""
_UNKNOWN: Final = ("", "-", "None")
"""Rates that were not measured; JSON's null is the last."""
_DATES: Final = ("%a %b %d %H:%M:%S %Z %Y", "%a %b %d %H:%M:%S %Y", "%Y.%m.%d_%H.%M.%S")
"""Beside ISO 8601: of date(1) and ctime(3), and UCC's."""


@dataclass(frozen=True, slots=True)
class RateColumns:
    """Where a table has its times and rates.

    Attributes:
        time: Column of times: seconds, ISO 8601, or dates as date(1) prints them. In JSON a path of
            names with dots, through lists: ``intervals.sum.start``.
        rate: Column of rates, alike.
        unit: Unit of the rates, of `UNITS_BPS`.
    """

    time: str
    rate: str
    unit: str

    def __post_init__(self) -> None:
        if self.unit not in UNITS_BPS:
            expected = ", ".join(UNITS_BPS)
            raise DatasetError(f"{self.unit!r}; expected of {expected}", file="unit")


def load_rates(path: Path, columns: RateColumns) -> ChannelTrace:
    """Reads a table: ``rate_bps`` in steps of the median distance of its times.

    Of rows of one step the last is used; steps without a row are not measured. A gap of more than
    60 steps, or a time that goes back, starts a session.

    Raises:
        DatasetError: A column is missing, a value is no time or rate, or there are fewer than two
            times.
    """
    unit_bps = UNITS_BPS[columns.unit]
    at_s: list[float] = []
    rates: list[float] = []
    for number, (time, rate) in _values(path, columns):
        at_s.append(_seconds(time, path, columns.time, number))
        text, high = str(rate).strip(), MAX_RATE_BPS / unit_bps
        rates.append(
            math.nan
            if text in _UNKNOWN
            else number_in(text, 0, high, path=path, column=columns.rate, row=number) * unit_bps
        )
    times = np.array(at_s)
    if np.isnan(rates).all():
        raise DatasetError("has no rate", file=str(path), column=columns.rate)
    steps = np.diff(times)
    if not (steps > 0).any():
        raise DatasetError(
            f"has {len(times)} rows with increasing times; expected two or more",
            file=str(path),
            column=columns.time,
        )
    period_s = max(0.001, round(float(np.median(steps[steps > 0])), 3))
    if period_s > MAX_PERIOD_S:
        raise DatasetError(
            f"has a row each {period_s:g} s (median); expected {MAX_PERIOD_S:g} s at most",
            file=str(path),
            column=columns.time,
        )
    breaks = (steps < 0) | (steps > SESSION_GAP_PERIODS * period_s)
    parts = np.split(np.arange(len(times)), np.flatnonzero(breaks) + 1)
    made_times, made_sessions, made_rates = [], [], []
    total = 0
    for session, part in enumerate(parts):
        slots = np.rint((times[part] - times[part[0]]) / period_s).astype(np.int64)
        total += int(slots[-1]) + 1
        if total > MAX_STEPS:
            raise DatasetError(f"has more than {MAX_STEPS} steps", file=str(path))
        values = np.full(int(slots[-1]) + 1, np.nan)
        values[slots] = np.array(rates)[part]
        made_rates.append(values)
        start_us = round(times[part[0]] * 1e6)
        made_times.append(start_us + np.arange(len(values)) * round(period_s * 1e6))
        made_sessions.append(np.full(len(values), session, np.int32))
    return ChannelTrace(
        "rates",
        str(path),
        round(period_s * 1e6),
        np.concatenate(made_times).astype(np.int64),
        np.concatenate(made_sessions),
        {"rate_bps": np.concatenate(made_rates)},
    )


def _values(path: Path, columns: RateColumns) -> Iterator[tuple[int, tuple[Any, Any]]]:
    """Number (CSV: of the line; JSON: of the element, from 1), time and rate of each row."""
    document = read_json(path)
    if document is None:
        for number, row in rows(path, [columns.time, columns.rate]):
            yield number, (row[columns.time], row[columns.rate])
        return
    times, rates = (_of_json(document, name, path) for name in (columns.time, columns.rate))
    if len(times) != len(rates):
        raise DatasetError(
            f"has {len(rates)} values and {columns.time} has {len(times)}; expected as many",
            file=str(path),
            column=columns.rate,
        )
    yield from enumerate(zip(times, rates, strict=True), 1)


def _of_json(document: Any, name: str, path: Path) -> list[Any]:
    """The values that a path of names with dots leads to, through lists."""
    found = [document]
    rest = name
    while rest:
        found = [one for each in found for one in (each if isinstance(each, list) else [each])]
        # A name may have dots itself.
        keys = {key for each in found if isinstance(each, dict) for key in each}
        key = max((k for k in keys if k == rest or rest.startswith(f"{k}.")), key=len, default=None)
        if not key:
            shown = ", ".join(sorted(keys)[:20]) or "no names"
            raise DatasetError(f"has no {rest}; there is {shown}", file=str(path), column=name)
        found = [each[key] for each in found if isinstance(each, dict) and key in each]
        rest = rest[len(key) + 1 :]
    return [one for each in found for one in (each if isinstance(each, list) else [each])]


def _seconds(value: Any, path: Path, column: str, row: int) -> float:
    text = str(value).strip()
    try:
        seconds = float(text)
    except ValueError:
        seconds = _date(text)
    if not (math.isfinite(seconds) and abs(seconds) < MAX_STEPS * 1e6):
        raise DatasetError(
            f"is {text[:40]!r}; expected seconds, ISO 8601, or a date like 'Wed Dec 15 16:04:00"
            " UTC 2021'",
            file=str(path),
            column=column,
            row=row,
        )
    return seconds


def _date(text: str) -> float:
    """Seconds since the Unix epoch, NaN if it is no date; a date without zone is UTC."""
    readers = [datetime.fromisoformat, *(lambda t, f=f: datetime.strptime(t, f) for f in _DATES)]
    for read in readers:
        try:
            found = read(text)
            return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            continue
    return math.nan
