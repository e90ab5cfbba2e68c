"""Queries of dashboards and rules: variables replaced, and the series that they read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import promql_parser

_VARIABLE = re.compile(r"\$\{(\w+)(?::\w+)?\}|\$(\w+)")


class QueryError(ValueError):
    """A query that cannot be run: the message says which and why."""


@dataclass(frozen=True, slots=True)
class Selector:
    """A vector selector of a query and where it stands."""

    metric: str
    matchers: Mapping[str, str]
    """Label → value or pattern that it is compared with."""
    within: tuple[str, ...]
    """Functions, aggregations and `group_left`-like operators around it, outermost first."""


def substituted(query: str, values: Mapping[str, str]) -> str:
    """The query with Grafana's variables replaced.

    Raises:
        QueryError: A variable without a value.
    """

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name not in values:
            raise QueryError(f"{query}: variable ${name} has no value; known: {', '.join(values)}")
        return values[name]

    return _VARIABLE.sub(value, query)


def selectors(query: str) -> list[Selector]:
    """All vector selectors of a PromQL query.

    Raises:
        QueryError: Not PromQL.
    """
    try:
        tree = promql_parser.parse(query)
    except ValueError as error:
        raise QueryError(f"{query}: {error}; expected PromQL") from error
    return list(_walk(tree, ()))


def _walk(node: Any, within: tuple[str, ...]) -> Iterator[Selector]:
    match type(node).__name__:
        case "VectorSelector":
            matchers = {m.name: m.value for m in node.matchers.matchers}
            yield Selector(node.name or matchers.get("__name__", ""), matchers, within)
        case "MatrixSelector":
            yield from _walk(node.vector_selector, within)
        case "BinaryExpr":
            yield from _walk(node.lhs, within)
            yield from _walk(node.rhs, within)
        case "AggregateExpr":
            yield from _walk(node.expr, (*within, str(node.op)))
        case "Call":
            for argument in node.args:
                yield from _walk(argument, (*within, node.func.name))
        case "SubqueryExpr":
            yield from _walk(node.expr, (*within, "subquery"))
        case "ParenExpr" | "UnaryExpr":
            yield from _walk(node.expr, within)
