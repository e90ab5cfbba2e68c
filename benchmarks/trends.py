"""Whether quantities of a long run stay flat: robust slopes with intervals, verdicts, a picture.

Samples are in segments, one for each start of the programs; slopes are taken within segments alone,
each without its warm-up.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from measuring import memory_mib
from measuring import show as show_rows
from numpy.typing import NDArray
from sojourn_demo.colours import GOODPUT, PING, RLC, TC
from sojourn_demo.programs import Program
from sojourn_report import save
from sojourn_report.colours import SHADE

STATUS: Final = {"flat": 0, "rising": 1, "ended": 1, "undecided": 3}
"""Exit status by verdict."""
COLUMNS: Final = ("segment", "at_s", "source", "quantity", "value")
HOUR_S: Final = 3600.0
NORMAL_QUANTILE: Final = 1.96
"""Quantile of the standard normal distribution for a two-sided interval of 95 %."""
MOST_SAMPLES: Final = 2000
"""Samples of a segment that slopes use; longer ones are thinned: pairs grow by the square."""


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
    """Allowed change as a share of the median."""


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


PANELS: Final = {
    "memory_mib": "memory, MiB",
    "threads": "threads",
    "descriptors": "descriptors",
    "cpu_cores": "CPU, cores",
    "indication_age": "age of indications, ms",
    "control_round_trip": "control round trip, ms",
    "forecast_age": "age of forecasts, ms",
}
COLOURS: Final = {"gnb-lab": PING, "rlc-forecaster": GOODPUT, "tc-controller": RLC, "client": TC}


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

    def as_json(self) -> dict[str, object]:
        """The fields and the verdict; null for NaN and infinity, which JSON has not."""
        known = {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in asdict(self).items()
        }
        return known | {"verdict": self.verdict}


def add_arguments(parser: argparse.ArgumentParser, seconds: float, out: str) -> None:
    """Arguments of a run whose trends are judged."""
    parser.add_argument("--seconds", type=float, default=seconds, help="default: %(default)s")
    parser.add_argument("--every-s", type=float, default=10.0, help="between samples (default: 10)")
    parser.add_argument(
        "--warm-s", type=float, help="of each start, without verdict (default: --seconds / 6)"
    )
    parser.add_argument("--out", type=Path, default=Path(out))


def sizes(program: Program) -> dict[str, float]:
    """Memory, threads and descriptors of a program now."""
    pid = program.process.pid
    return {
        "memory_mib": memory_mib(pid),
        "threads": len(list(Path(f"/proc/{pid}/task").iterdir())),
        "descriptors": len(list(Path(f"/proc/{pid}/fd").iterdir())),
    }


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
    """Slopes between all pairs of samples at different times."""
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


def show(found: Sequence[Trend]) -> None:
    """Prints the table."""
    show_rows(
        [
            {
                "program": t.source,
                "quantity": f"`{t.quantity}`",
                "median": t.median,
                "per hour": f"{t.slope:+.2g}",
                "95 % interval": f"{t.low:+.2g} to {t.high:+.2g}",
                "allowed": t.allowed,
                "verdict": t.verdict,
            }
            for t in found
        ]
    )


def draw(
    path: Path, title: str, samples: Sequence[Sample], trends: Sequence[Trend], warm_s: float
) -> None:
    """Writes an SVG with a panel for each quantity; the warm-up of each segment is shaded."""
    figure = Figure(figsize=(11, 15), layout="constrained")
    figure.suptitle(title)
    panels = dict(zip(PANELS, figure.subplots(len(PANELS), 1, sharex=True), strict=True))
    begins: dict[int, float] = {}
    for sample in samples:
        begins.setdefault(sample.segment, sample.at_s)
    for key, axes in panels.items():
        axes.set_ylabel(PANELS[key])
        for begin_s in begins.values():
            axes.axvspan(begin_s / 60, (begin_s + warm_s) / 60, color=SHADE)
        for trend in trends:
            if trend.quantity.startswith(key):
                _line(axes, samples, trend)
        axes.set_ylim(bottom=0)
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=9)
    axes.set_xlabel("minutes of running")
    save(figure, path)


def _line(axes: Axes, samples: Sequence[Sample], trend: Trend) -> None:
    at, values, segment = [], [], None
    for sample in samples:
        if (sample.source, sample.quantity) == (trend.source, trend.quantity):
            if segment not in (None, sample.segment):
                # A gap between segments.
                at.append(sample.at_s / 60)
                values.append(float("nan"))
            segment = sample.segment
            at.append(sample.at_s / 60)
            values.append(sample.value)
    high = "p99" in trend.quantity
    of = next((part for part in ("p50", "p99") if part in trend.quantity), "")
    axes.plot(
        at,
        values,
        color=COLOURS[trend.source],
        linewidth=1.2 if high else 1.6,
        linestyle=(0, (3, 2)) if high else "-",
        label=f"{trend.source} {of}\n{trend.slope:+.2g} per hour: {trend.verdict}",
    )
