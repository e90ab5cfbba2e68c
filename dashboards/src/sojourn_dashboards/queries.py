"""What the queries of all pages have in common: their scope, and how events are counted."""

from __future__ import annotations

import re
from typing import Final

from sojourn_dashboards.names import SITE
from sojourn_dashboards.page import NO_LABEL, Query

_SERIES: Final = re.compile(
    r"(?<![\w:])(?:((?:sojourn|process)_\w+|up)|([a-z_]+:[a-z0-9_]+:[a-z0-9_]+|ALERTS))"
    r"(?![\w:])(\{\}?)?"
)
"""A metric of a program, or a series that Prometheus makes of rules; the start of its matchers."""


def scoped(expr: str) -> str:
    """The expression at the selected sites, its metrics of programs at the selected jobs and
    instances."""

    def selected(found: re.Match[str]) -> str:
        labels = (*SITE, "job", "instance") if found[1] else SITE
        matchers = ", ".join(f'{label}=~"${label}"' for label in labels)
        return f"{found[1] or found[2]}{{{matchers}{', ' if found[3] == '{' else '}'}"

    return _SERIES.sub(selected, expr)


def located(expr: str) -> str:
    """The expression with `NO_LABEL` for each label of the site that its series lack: links of a
    row need all."""
    for label in SITE:
        expr = f'label_replace({expr}, "{label}", "{NO_LABEL}", "{label}", "")'
    return expr


def events(counter: str, label: str) -> str:
    """Events of a counter in each `$__interval`, by a label.

    Not `increase`: a series appears with its first event, which `increase` does not see.
    """
    counted = f"clamp_min({counter} - {counter} offset $__interval or {counter}, 0)"
    return f"sum by ({label}) ({counted})"


def promql(query: Query) -> str:
    """The expression of a query, scoped."""
    if not query.events:
        return scoped(query.expr)
    counted = events(query.events, query.by)
    return scoped(counted if query.zeros else f"{counted} > 0")


def legend(query: Query) -> str:
    """Name of its series; of events, by default their label."""
    return query.legend or (f"{{{{{query.by}}}}}" if query.events else "")
