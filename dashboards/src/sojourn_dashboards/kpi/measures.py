"""The figures of a site, with their names in TS 28.552."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from sojourn_dashboards.kpi.totals import Site, Totals

_SUM: Final = "DRB.PdcpSduDelayDl + DRB.RlcSduDelayDl"


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure of a site in a period; lower is better."""

    name: str
    standard: str
    """Name in TS 28.552, and what it has of it."""
    unit: str
    of: Callable[[Totals], float | None]


@dataclass(frozen=True, slots=True)
class Row:
    """A site: its figures before and after, one for each of `MEASURES`."""

    site: Site
    before: tuple[float | None, ...]
    after: tuple[float | None, ...]


def quantile_s(totals: Totals, share: float) -> float | None:
    """A quantile of the sojourn of sparse packets, s, as Prometheus interpolates it."""
    buckets = sorted(
        (math.inf if le == "+Inf" else float(le), count)
        for (name, le), count in totals.sums.items()
        if name == "sojourn"
    )
    if not buckets or buckets[-1][1] <= 0:
        return None
    rank = share * buckets[-1][1]
    low, below = 0.0, 0.0
    for high, count in buckets:
        if count >= rank:
            # Beyond the last bound all that is known is that bound.
            part = (rank - below) / (count - below) if count > below else 0.0
            return low if math.isinf(high) else low + (high - low) * part
        low, below = high, count
    return low


def _kind(kind: str) -> Callable[[Totals], float | None]:
    return lambda totals: _times(1e3, totals.ratio("kind_sum", "kind_count", kind))


def _times(factor: float, value: float | None) -> float | None:
    return None if value is None else factor * value


def _sum(totals: Totals) -> float | None:
    pdcp, rlc = (totals.ratio(f"{each}_sum", f"{each}_count") for each in ("pdcp", "rlc"))
    return None if pdcp is None or rlc is None else 1e4 * (pdcp + rlc)


def _share(totals: Totals) -> float | None:
    measured = totals.get("state", "met") + totals.get("state", "violated")
    return 100 * totals.get("state", "violated") / measured if measured else None


def _drops(totals: Totals) -> float | None:
    measured = totals.get("state", "met") + totals.get("state", "violated")
    return totals.get("dropped") / measured if measured else None


MEASURES: Final = (
    Measure("time above the bound", "– (objective of the rule)", "% of bearer time", _share),
    Measure(
        "sparse packets, 95th percentile",
        f"{_SUM}, of sparse flows",
        "ms",
        lambda totals: _times(1e3, quantile_s(totals, 0.95)),
    ),
    Measure("sparse packets, mean", f"{_SUM}, of sparse flows", "ms", _kind("sparse")),
    Measure("bulk packets, mean", f"{_SUM}, of bulk flows", "ms", _kind("bulk")),
    Measure(
        "inherited packets, mean", f"{_SUM}, of a backlog taken over", "ms", _kind("inherited")
    ),
    Measure(
        "delay in the CU-UP",
        "DRB.PdcpSduDelayDl (5.1.3.3.1)",
        "0.1 ms",
        lambda totals: _times(1e4, totals.ratio("pdcp_sum", "pdcp_count")),
    ),
    Measure(
        "delay in the gNB-DU",
        "DRB.RlcSduDelayDl (5.1.3.3.3)",
        "0.1 ms",
        lambda totals: _times(1e4, totals.ratio("rlc_sum", "rlc_count")),
    ),
    Measure("both delays", _SUM, "0.1 ms", _sum),
    Measure(
        "dropped packets",
        "DRB.PdcpPacketDropRateDl (5.1.3.2.1), its drops",
        "packets/s of a bearer",
        _drops,
    ),
)


def rows(before: dict[Site, Totals], after: dict[Site, Totals]) -> list[Row]:
    """A row for each site, the worst of now first."""

    def figures(totals: Totals) -> tuple[float | None, ...]:
        return tuple(measure.of(totals) for measure in MEASURES)

    sites = before.keys() | after.keys()
    found = [
        Row(each, figures(before.get(each, Totals())), figures(after.get(each, Totals())))
        for each in sites
    ]
    return sorted(found, key=lambda row: (*map(_worst_first, row.after[:2]), row.site))


def _worst_first(value: float | None) -> float:
    return math.inf if value is None else -value


def change_percent(before: float | None, after: float | None) -> float | None:
    """Change from before to after; `None` without both."""
    if before is None or after is None or before == 0:
        return None
    return 100 * (after / before - 1)


def shown(value: float | None) -> str:
    """Three significant digits, without an exponent; a dash without a value."""
    if value is None:
        return "–"
    digits = 2 - (math.floor(math.log10(abs(value))) if value else 0)
    return f"{value:,.{min(3, max(0, digits))}f}"


def sentence(row: Row) -> str:
    """A site in a line."""
    parts = (
        f"{MEASURES[n].name} {shown(row.before[n])} → {shown(row.after[n])} {MEASURES[n].unit}"
        for n in (1, 0)
    )
    return f"{row.site}: {', '.join(parts)}"


def worst(found: Sequence[Row], count: int) -> list[Site]:
    """The sites of the first rows."""
    return [row.site for row in found[:count]]
