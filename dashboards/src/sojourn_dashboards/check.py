"""Runs every query of every dashboard and rule against a Prometheus that scrapes Sojourn.

`python -m sojourn_dashboards.check URL [--span SECONDS]`. Exit status 1 if a query fails, returns
nothing or only NaN, or if a legend names a label that the result lacks. Alert expressions are not
expected to hold; the series they read must exist. `MAY_BE_EMPTY` lists the exceptions, and
`WITHOUT_FLEXRIC` those of a Prometheus that scrapes no FlexRIC bridge.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from sojourn_dashboards.api import Api
from sojourn_dashboards.promql import QueryError, selectors, substituted

ROOT: Final = Path(__file__).parents[2]
MAY_BE_EMPTY: Final[Mapping[str, str]] = {
    "sojourn_tls_": "plain text on loopback",
    "sojourn_access_": "no client is refused",
    "sojourn_task_restarts_total": "no task fails",
    "sojourn_controller_trial_": "no rule with a trial",
    "sojourn_controller_rollbacks_total": "nothing is rolled back",
    "sojourn_controller_ignored_total": "every report and answer is used",
    "sojourn_forecaster_model_refused_info": "no model is refused",
    "sojourn_controller_reconciliations_total": "nobody else sets pipelines",
    'seconds{cluster=~".*", namespace=~".*", release=~".*", job=~".+", instance=~".+", '
    'state="violated"}': "no bearer is in violation now",
    'kind="inherited"': "no pipeline took over a backlog in the window",
    "ALERTS": "no alert fires",
    "site:cause:active": "no alert fires",
    "job:certificate_left_seconds": "plain text on loopback",
}
"""Part of a query → why it may be empty in a healthy loop."""
WITHOUT_FLEXRIC: Final[Mapping[str, str]] = {
    "sojourn_flexric_": "no FlexRIC near-RT RIC in the loop",
    'job="flexric-bridge"': "no FlexRIC near-RT RIC in the loop",
}
"""The same, where no FlexRIC bridge is scraped."""
_LABEL_VALUES = re.compile(r"label_values\((?P<selector>.+),\s*(?P<label>\w+)\)")
_DURATION = re.compile(r"(\d+)([smhd])")
_UNIT_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_LEGEND_LABEL = re.compile(r"\{\{\s*(\w+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one query."""

    where: str
    good: bool
    text: str

    def __str__(self) -> str:
        return f"{'ok  ' if self.good else 'FAIL'} {self.where}: {self.text}"


@dataclass(frozen=True, slots=True)
class Prometheus:
    """The HTTP API of a Prometheus, at one range of time."""

    url: str
    end: float
    span_s: int

    def step_s(self, least: str = "") -> int:
        """Interval of the samples of a panel, at least `least`, for instance `1m`."""
        found = _DURATION.fullmatch(least)
        least_s = int(found[1]) * _UNIT_S[found[2]] if found else 1
        return max(least_s, self.span_s // 300)

    def get(self, path: str, **parameters: str) -> Any:
        """The data of an answer.

        Raises:
            QueryError: Refused by Prometheus, or no Prometheus there.
        """
        return Api(self.url).get(path, **parameters)

    def query(self, expr: str, step_s: int | None = None) -> list[dict[str, Any]]:
        """The series of a query at the end of the range; with a step, over all of it."""
        if step_s is None:
            data = self.get("query", query=expr, time=str(self.end))
        else:
            start = str(self.end - self.span_s)
            times = {"start": start, "end": str(self.end), "step": str(step_s)}
            data = self.get("query_range", query=expr, **times)
        found: list[dict[str, Any]] = data["result"]
        return found

    def allowed_empty(self, expr: str) -> str | None:
        """Why a query may be empty; `None` if it may not."""
        bridges = self.query('up{job="flexric-bridge"}')
        reasons = MAY_BE_EMPTY if bridges else {**MAY_BE_EMPTY, **WITHOUT_FLEXRIC}
        return next((why for part, why in reasons.items() if part in expr), None)

    def intervals(self, least: str = "") -> dict[str, str]:
        """Values of Grafana's variables of time, in a panel with this least interval."""
        step_s = self.step_s(least)
        return {
            "__rate_interval": f"{max(15, 4 * step_s)}s",
            "__interval": f"{step_s}s",
            "__range": f"{self.span_s}s",
        }


def label_values(query: str) -> tuple[str, str]:
    """Selector and label of a variable's query.

    Raises:
        QueryError: Of another form.
    """
    found = _LABEL_VALUES.fullmatch(query)
    if found is None:
        raise QueryError(f"{query}: expected label_values(SELECTOR, LABEL)")
    return found["selector"], found["label"]


def variables(prometheus: Prometheus, board: dict[str, Any]) -> Iterator[Finding | dict[str, str]]:
    """A finding for each variable that queries; last, the values of all variables."""
    values = prometheus.intervals()
    for variable in board["templating"]["list"]:
        if variable["type"] != "query":
            continue
        where = f"{board['title']}: variable {variable['name']}"
        query = variable["query"]
        try:
            selector, label = label_values(substituted(query, values))
            listed = prometheus.get(f"label/{label}/values", **{"match[]": selector})
            why = None if listed else prometheus.allowed_empty(selector)
            yield Finding(
                where, bool(listed) or why is not None, why or ", ".join(listed) or "none"
            )
        except QueryError as error:
            yield Finding(where, False, str(error))
            listed = []
        # A regular expression in a string of PromQL.
        first = re.escape(listed[0]).replace("\\", "\\\\") if listed else "none"
        values[variable["name"]] = variable.get("allValue") or first
    yield values


def board_findings(prometheus: Prometheus, board: dict[str, Any]) -> Iterator[Finding]:
    """The outcome of each variable, annotation and panel query of a dashboard."""
    values: Mapping[str, str] = {}
    for item in variables(prometheus, board):
        if isinstance(item, Finding):
            yield item
        else:
            values = item
    for annotation in board["annotations"]["list"]:
        where = f"{board['title']}: annotation {annotation['name']}"
        yield series_exist(prometheus, where, substituted(annotation["expr"], values))
    for panel in panels(board["panels"]):
        least = panel.get("interval", "")
        for target in panel.get("targets", []):
            where = f"{board['title']}: {panel['title']}/{target['refId']}"
            expr = substituted(target["expr"], {**values, **prometheus.intervals(least)})
            step_s = None if target.get("instant") else prometheus.step_s(least)
            yield query_finding(prometheus, where, expr, target["legendFormat"], step_s)


def panels(listed: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """All panels, those in collapsed rows included."""
    for panel in listed:
        yield panel
        yield from panels(panel.get("panels", []))


def query_finding(
    prometheus: Prometheus, where: str, expr: str, legend: str = "", step_s: int | None = None
) -> Finding:
    """Whether a query returns numbers, with the labels that its legend names."""
    try:
        found = prometheus.query(expr, step_s)
    except QueryError as error:
        return Finding(where, False, f"{error}: {expr}")
    samples = [v for s in found for _, v in (s.get("values") or [s["value"]])]
    numbers = [value for value in samples if math.isfinite(float(value))]
    missing = [
        label
        for label in _LEGEND_LABEL.findall(legend)
        if any(label not in series["metric"] for series in found)
    ]
    text = f"{len(found)} series, {len(numbers)} samples"
    if missing:
        return Finding(where, False, f"{text}; labels of the legend missing: {missing}: {expr}")
    if not numbers:
        why = prometheus.allowed_empty(expr)
        return Finding(where, why is not None, f"empty: {why or expr}")
    return Finding(where, True, text)


def series_exist(prometheus: Prometheus, where: str, expr: str) -> Finding:
    """Whether each metric that an expression reads exists, with the labels it selects by."""
    try:
        for selector in selectors(expr):
            labels = "".join(f', {name}!=""' for name, value in selector.matchers.items() if value)
            series = f'{{__name__="{selector.metric}"{labels}}}'
            if not prometheus.query(series) and not prometheus.allowed_empty(series):
                return Finding(where, False, f"no series {series}")
    except QueryError as error:
        return Finding(where, False, f"{error}: {expr}")
    return Finding(where, True, "its series exist")


def rule_findings(prometheus: Prometheus, rules: dict[str, Any]) -> Iterator[Finding]:
    """The outcome of each rule of a file."""
    for group in rules["groups"]:
        for rule in group["rules"]:
            if "record" in rule:
                where = f"{group['name']}: {rule['record']}"
                yield query_finding(prometheus, where, rule["expr"])
            else:
                where = f"{group['name']}: {rule['alert']}"
                yield series_exist(prometheus, where, rule["expr"])


def check(prometheus: Prometheus) -> Iterator[Finding]:
    """All findings of all dashboards and rules."""
    for path in sorted((ROOT / "json").glob("*.json")):
        yield from board_findings(prometheus, json.loads(path.read_text(encoding="utf-8")))
    for path in sorted((ROOT / "rules").glob("*.yaml")):
        yield from rule_findings(prometheus, yaml.safe_load(path.read_text(encoding="utf-8")))


def main() -> int:
    """Prints all findings; 1 if one is not good."""
    parser = argparse.ArgumentParser(prog="python -m sojourn_dashboards.check", description=__doc__)
    parser.add_argument("url", help="address of the Prometheus, http://HOST:PORT")
    parser.add_argument("--span", type=int, default=120, help="seconds before now that are asked")
    arguments = parser.parse_args()
    prometheus = Prometheus(arguments.url, time.time(), arguments.span)
    findings = list(check(prometheus))
    for finding in findings:
        print(finding)
    failed = sum(not finding.good for finding in findings)
    print(f"{len(findings)} queries, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
