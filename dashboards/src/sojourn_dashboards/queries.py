"""What the queries of all pages have in common: their scope, and how events are counted."""

from __future__ import annotations

import re
from typing import Final

from sojourn_dashboards.page import Query

_SCRAPED: Final = re.compile(r"(?<![\w:])((?:sojourn|process)_\w+|up)(?![\w:])(\{\}?)?")
"""A metric of a program, not a recorded series, and the start of its matchers."""


def scoped(expr: str) -> str:
    """The expression with its metrics of programs at the selected jobs and instances."""
    scope = 'job=~"$job", instance=~"$instance"'
    return _SCRAPED.sub(lambda m: f"{m[1]}{{{scope}{', ' if m[2] == '{' else '}'}", expr)


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
