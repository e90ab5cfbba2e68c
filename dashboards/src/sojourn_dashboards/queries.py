"""PromQL that pages have in common, and the scope of every query."""

from __future__ import annotations

import re
from typing import Final

from sojourn_dashboards.colours import BOUND, SERIES
from sojourn_dashboards.table import Query

_SCRAPED: Final = re.compile(r"(?<![\w:])((?:sojourn|process)_\w+|up)(?![\w:])(\{?)")
"""A metric of a program, not a recorded series, and the brace of its matchers."""


def scoped(expr: str) -> str:
    """The expression with its metrics of programs at the selected jobs and instances."""
    scope = 'job=~"$job", instance=~"$instance"'
    return _SCRAPED.sub(lambda m: f"{m[1]}{{{scope}{', ' if m[2] else '}'}", expr)


def rates(counter: str, label: str) -> Query:
    """Increase of a counter per second, by a label, which is the legend."""
    return Query(f"sum by ({label}) (rate({counter}[$__rate_interval]))", f"{{{{{label}}}}}")


def quantile(q: float, buckets: str, window: str = "$__rate_interval") -> str:
    """Quantile of a histogram, over all its series."""
    return f"histogram_quantile({q}, sum by (le) (rate({buckets}[{window}])))"


def percentiles(buckets: str, window: str = "$__rate_interval") -> list[Query]:
    """Median and 99th percentile of a histogram."""
    shown = ((0.5, "p50", SERIES[3]), (0.99, "p99", SERIES[1]))
    return [Query(quantile(q, buckets, window), legend, colour) for q, legend, colour in shown]


def bound(expr: str, legend: str) -> Query:
    """A bound or an objective, or what the other lines add up to."""
    return Query(expr, legend, BOUND, dashed=True)


def events(counter: str, label: str) -> str:
    """Events of a counter in each `$__interval`, by a label.

    Not `increase`: a series appears with its first event, which `increase` does not see.
    """
    counted = f"clamp_min({counter} - {counter} offset $__interval or {counter}, 0)"
    return f"sum by ({label}) ({counted})"


def happened(counter: str, label: str) -> Query:
    """Events of a counter in the intervals that have some, by a label, which is the legend."""
    return Query(f"{events(counter, label)} > 0", f"{{{{{label}}}}}")


def by_owner(expr: str) -> str:
    """An expression by node and instance, of the controllers that own the nodes.

    Every replica watches every node. Where one of them owns it, the others are left out.
    """
    owner = "sojourn_controller_node_owner"
    others = f"{owner} == 0 and on (node) (max by (node) ({owner}) == 1)"
    return f"({expr}) unless on (node, instance) ({others})"


def owned(aggregation: str, expr: str) -> str:
    """An aggregation of an expression, of the controllers that own the nodes."""
    return f"{aggregation} ({by_owner(expr)})"


def with_blocker(expr: str) -> str:
    """An expression by blocker, with a word where there is none."""
    return f'label_replace({expr}, "blocker", "nothing", "blocker", "")'


def with_slice(expr: str) -> str:
    """An expression by slice, with words where the policy defines none."""
    return f'label_replace({expr}, "slice", "no slice", "slice", "")'
