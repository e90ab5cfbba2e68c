"""Sums over a period and a site, read in short pieces so that no query is large."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from sojourn_dashboards.api import Api
from sojourn_dashboards.promql import QueryError

PIECE_S: Final = 6 * 3600
"""Length of the time that one query reads."""
_STEP_S: Final = 300
"""Samples of a piece are this far apart: `sdu_delay_dl_5m` is a mean over as much."""
_SITE: Final = "cluster, namespace, release"
_P: Final = "sojourn_controller_"


class Site(NamedTuple):
    """Labels of a site; empty where its targets have none."""

    cluster: str
    namespace: str
    release: str

    def __str__(self) -> str:
        return " / ".join(filter(None, self)) or "(no site label)"


@dataclass(frozen=True, slots=True)
class Period:
    """A time that is reported on."""

    name: str
    start_s: int
    end_s: int
    acting: bool | None = None
    """Whether only the time counts in which a controller of the site acted, or none did."""

    def pieces(self) -> Iterator[tuple[int, int]]:
        """Its parts of at most `PIECE_S`: start and end."""
        for start_s in range(self.start_s, self.end_s, PIECE_S):
            yield start_s, min(start_s + PIECE_S, self.end_s)


def _of_replicas(metric: str, *more: str) -> str:
    """Owner and standbys of a node count the same bearers."""
    return f"max by ({', '.join((_SITE, 'node', 'slice', 'rule', *more))}) ({metric})"


def _grown(metric: str, by: str = "") -> str:
    """Growth of a counter of all bearers of a site, of each value of the label `by`."""
    counted = _of_replicas(f"increase({_P}{metric}[{_STEP_S}s])", *filter(None, (by,)))
    return f"sum by ({', '.join(filter(None, (_SITE, by)))}) ({counted})"


_KINDS: Final = _of_replicas(f"{_P}sdu_delay_dl_5m_seconds", "kind")
QUERIES: Final[Mapping[str, tuple[str, str]]] = {
    "kind_sum": (f"sum by ({_SITE}, kind) ({_KINDS})", "kind"),
    "kind_count": (f"count by ({_SITE}, kind) ({_KINDS})", "kind"),
    "sojourn": (_grown("sojourn_seconds_bucket", "le"), "le"),
    "pdcp_sum": (_grown("pdcp_sdu_delay_dl_seconds_sum"), ""),
    "pdcp_count": (_grown("pdcp_sdu_delay_dl_seconds_count"), ""),
    "rlc_sum": (_grown("rlc_sdu_delay_dl_seconds_sum"), ""),
    "rlc_count": (_grown("rlc_sdu_delay_dl_seconds_count"), ""),
    "dropped": (_grown("dropped_packets_total"), ""),
    "state": (_grown('compliance_seconds_total{state=~"met|violated"}', "state"), "state"),
}
"""Sums by name: query, and the label whose values are kept apart."""


@dataclass(slots=True)
class Totals:
    """Sums of `QUERIES`, by name and value of its label."""

    sums: defaultdict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float))

    def get(self, name: str, value: str = "") -> float:
        """A sum; 0 if nothing was read."""
        return self.sums.get((name, value), 0.0)

    def ratio(self, over: str, under: str, value: str = "") -> float | None:
        """One sum over another; `None` without any."""
        divisor = self.get(under, value)
        return self.get(over, value) / divisor if divisor else None

    def add(self, other: Totals) -> None:
        """Add those of another piece."""
        for key, value in other.sums.items():
            self.sums[key] += value


def read_piece(api: Api, period: Period, start_s: int, end_s: int) -> dict[Site, Totals]:
    """The sums of each site over a piece of a period.

    Raises:
        QueryError: Prometheus refuses, is not there, or answers something else.
    """
    found: dict[Site, Totals] = {}
    for name, (query, label) in QUERIES.items():
        expression = query
        if period.acting is not None:
            acts = f"max by ({_SITE}) ({_P}acting) == {int(period.acting)}"
            expression = f"{query} and on ({_SITE}) ({acts})"
        # Without the first instant, which is the last one of the piece before.
        whole = f"sum_over_time(({expression})[{end_s - start_s - 1}s:{_STEP_S}s])"
        data = api.get("query", query=whole, time=str(end_s))
        try:
            for series in data["result"]:
                labels, (_, value) = series["metric"], series["value"]
                site = Site(*(labels.get(each, "") for each in Site._fields))
                totals = found.setdefault(site, Totals())
                totals.sums[name, labels.get(label, "")] += float(value)
        except (KeyError, TypeError, ValueError) as error:
            raise QueryError(f"{api.url}: {name}: no vector; expected a Prometheus") from error
    return found
