"""Whether a quantity of a soak stays flat: a robust slope with its interval, and a verdict.

Samples are in segments, one for each start of the programs; slopes are taken within segments alone,
each without its warm-up.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

COLUMNS: Final = ("segment", "at_s", "source", "quantity", "value")
HOUR_S: Final = 3600.0
NORMAL_QUANTILE: Final = 1.96
"""Of the standard normal distribution, for a two-sided interval of 95 %."""
MOST_SAMPLES: Final = 2000
"""Of a segment, for its slopes; longer ones are thinned evenly, since pairs grow by the square."""


class Sample(NamedTuple):
    """One row of `samples.csv`; `at_s` counts the time that the programs ran, all segments."""

    segment: int
    at_s: float
    source: str
    quantity: str
    value: float


@dataclass(frozen=True, slots=True)
class Allowed:
    """The most that a quantity may grow per hour: the larger of both."""

    absolute: float = 0.0
    share: float = 0.0
    """Of the median."""


ALLOWED: Final[Mapping[str, Allowed]] = {
    # An allocator returns and takes arenas of a megabyte.
    "memory_mib": Allowed(1.0, 0.01),
    "threads": Allowed(0.5),
    "descriptors": Allowed(0.5),
    "cpu_cores": Allowed(0.01, 0.05),
    # Percentiles of windows of seconds scatter with the load of the host.
    "indication_age_p50_ms": Allowed(0.02, 0.1),
    "indication_age_p99_ms": Allowed(0.1, 0.25),
    "control_round_trip_p50_ms": Allowed(0.02, 0.1),
    "control_round_trip_p99_ms": Allowed(0.1, 0.25),
    "forecast_age_p50_ms": Allowed(0.02, 0.1),
    "forecast_age_p99_ms": Allowed(0.1, 0.25),
}


@dataclass(frozen=True, slots=True)
class Trend:
    """One quantity of one program, per hour."""

    source: str
    quantity: str
    samples: int
    median: float
    slope: float
    low: float
    high: float
    allowed: float

    @property
    def verdict(self) -> str:
        """`flat`, `rising`, or `undecided` while the interval holds the growth that is allowed."""
        if math.isnan(self.slope):
            return "undecided"
        if self.low > self.allowed:
            return "rising"
        return "flat" if self.high <= self.allowed else "undecided"


def read_samples(path: Path) -> list[Sample]:
    """The samples of a file; a last line that was cut off is left out.

    Raises `ValueError` naming line and expectation for anything else that is not a sample.
    """
    text = path.read_text(encoding="utf-8")
    rows = list(csv.reader(text[: text.rfind("\n") + 1].splitlines()))
    if not rows or tuple(rows[0]) != COLUMNS:
        raise ValueError(f"{path}:1: expected the columns {', '.join(COLUMNS)}")
    return [_sample(f"{path}:{number}", row) for number, row in enumerate(rows[1:], 2)]


def _sample(place: str, row: Sequence[str]) -> Sample:
    try:
        segment, at_s, source, quantity, value = row
        return Sample(int(segment), float(at_s), source, quantity, float(value))
    except ValueError:
        raise ValueError(f"{place}: {','.join(row)}; expected {', '.join(COLUMNS)}") from None


def trends(samples: Iterable[Sample], warm_s: float) -> list[Trend]:
    """The trend of each quantity, in the order of their first samples."""
    series: dict[tuple[str, str], dict[int, list[tuple[float, float]]]] = {}
    begins: dict[int, float] = {}
    for sample in samples:
        begins.setdefault(sample.segment, sample.at_s)
        segments = series.setdefault((sample.source, sample.quantity), {})
        if sample.at_s >= begins[sample.segment] + warm_s and not math.isnan(sample.value):
            segments.setdefault(sample.segment, []).append((sample.at_s, sample.value))
    return [trend(*name, [np.array(s) for s in found.values()]) for name, found in series.items()]


def trend(source: str, quantity: str, segments: Sequence[NDArray[np.float64]]) -> Trend:
    """The trend of a quantity from its segments, each ``(n, 2)`` of seconds and values.

    The slope is the median of the slopes of all pairs (Theil 1950); its 95 % interval is that of
    Sen (1968), from the variance of Kendall's S, which adds up over segments (Hirsch and Slack
    1984). NaN with fewer than two samples.
    """
    values = np.concatenate([s[:, 1] for s in segments]) if segments else np.empty(0)
    median = float(np.median(values)) if len(values) else math.nan
    limit = ALLOWED[quantity]
    allowed = max(limit.absolute, limit.share * median if len(values) else 0.0)
    slopes, variance = [np.empty(0)], 0.0
    for segment in segments:
        thinned = segment[:: math.ceil(len(segment) / MOST_SAMPLES)]
        slopes.append(_slopes(thinned))
        n = len(thinned)
        variance += n * (n - 1) * (2 * n + 5) / 18
    ordered = np.sort(np.concatenate(slopes)) * HOUR_S
    if not len(ordered):
        nan = math.nan
        return Trend(source, quantity, len(values), median, nan, nan, nan, allowed)
    half = NORMAL_QUANTILE * math.sqrt(variance) / 2
    middle, last = (len(ordered) - 1) / 2, len(ordered) - 1
    low = ordered[max(0, math.floor(middle - half))]
    high = ordered[min(last, math.ceil(middle + half))]
    # With a handful of samples the interval is wider than all their slopes.
    return Trend(
        source,
        quantity,
        len(values),
        median,
        float(np.median(ordered)),
        float(low) if middle - half >= 0 else -math.inf,
        float(high) if middle + half <= last else math.inf,
        allowed,
    )


def _slopes(segment: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of all pairs of samples at different times."""
    first, second = np.triu_indices(len(segment), 1)
    difference = segment[second] - segment[first]
    apart = difference[:, 0] > 0
    return np.asarray(difference[apart, 1] / difference[apart, 0])


def overall(found: Sequence[Trend]) -> str:
    """`rising` if one is, `flat` if all are, else `undecided`."""
    verdicts = {each.verdict for each in found}
    if "rising" in verdicts:
        return "rising"
    return "flat" if verdicts == {"flat"} else "undecided"
