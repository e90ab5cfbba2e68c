"""Rules: promtool accepts them, each alert fires after its `for` with all labels and annotations,
and follows the conventions of monitoring mixins."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from rule_files import (
    ALERTS,
    FILES,
    GROUPS,
    RECORDS,
    ROOT,
    RULES,
    SITE,
    needs_promtool,
    promtool,
)
from sojourn_dashboards.promql import selectors

RUNBOOKS = ROOT / "docs" / "runbooks"
NAMES = sorted({rule["alert"] for rule in ALERTS})
RECORDED = re.compile(r"\b[a-z_]+:[a-z0-9_]+:[a-z0-9_]+\b")
INTERVAL_S = 30
UNITS = {"s": 1, "m": 60, "h": 3600}
CASES: list[dict[str, Any]] = [
    case
    for path in sorted((Path(__file__).parent / "alerts").glob("*.yaml"))
    for case in yaml.safe_load(path.read_text())
]
"""Cases of each alert rule: `series` (values each 30 s, promtool's notation), the time from which
its expression holds, and the labels and description of the alert that it must raise. All are at the
site `PLACE`."""
PLACE = {"cluster": "east", "namespace": "ran", "release": "first"}

PERCEIVED = {"critical": {"CRITICAL", "MAJOR"}, "warning": {"MAJOR", "MINOR", "WARNING"}}
"""Perceived severities of TS 28.532 by `severity`."""
ALARM_TYPES = {
    "COMMUNICATIONS_ALARM",
    "QUALITY_OF_SERVICE_ALARM",
    "PROCESSING_ERROR_ALARM",
    "OPERATIONAL_VIOLATION",
    "SECURITY_SERVICE_OR_MECHANISM_VIOLATION",
    "TIME_DOMAIN_VIOLATION",
}
BOARDS = {"fleet", "cell", "bearer", "controller", "forecaster", "gateway", "slo"}


def identity(rule: dict[str, Any]) -> str:
    labels = rule["labels"]
    return "-".join(filter(None, (rule["alert"], labels["severity"], labels.get("long"))))


def seconds(duration: str) -> int:
    return int(duration[:-1]) * UNITS[duration[-1]]


def rule_of(case: dict[str, Any]) -> dict[str, Any]:
    labels = case.get("labels", {})
    wanted = {"severity": case["severity"]} | {
        k: labels[k] for k in ("long", "short") if k in labels
    }
    found = [
        rule
        for rule in ALERTS
        if rule["alert"] == case["alert"] and wanted.items() <= rule["labels"].items()
    ]
    assert len(found) == 1
    return found[0]


def expected(case: dict[str, Any], rule: dict[str, Any]) -> dict[str, Any]:
    # Prometheus drops labels without value.
    labels = PLACE | {k: v for k, v in case.get("labels", {}).items() if v}
    link = re.sub(
        r"\{\{ \$labels\.(\w+) \}\}", lambda m: labels[m[1]], rule["annotations"]["dashboard_url"]
    )
    return {
        "exp_labels": rule["labels"] | labels,
        "exp_annotations": rule["annotations"]
        | {"description": case["description"], "dashboard_url": link},
    }


def placed(series: str) -> str:
    """The series at a site."""
    name, _, labels = series.partition("{")
    return f"{name}{{" + "".join(f'{k}="{v}", ' for k, v in PLACE.items()) + labels


@needs_promtool
@pytest.mark.parametrize("case", CASES, ids=lambda case: identity(rule_of(case)))
def test_an_alert_fires_after_its_for_and_not_a_step_before(
    case: dict[str, Any], tmp_path: Path
) -> None:
    rule = rule_of(case)
    records = [
        {"name": group["name"], "rules": [r for r in group["rules"] if "record" in r]}
        for groups in GROUPS.values()
        for group in groups
        if RECORDED.search(str(rule["expr"]))
    ]
    groups = [group for group in records if group["rules"]] + [{"name": "alert", "rules": [rule]}]
    fires_s = seconds(case["holds_after"]) + seconds(rule["for"])
    checks: tuple[tuple[int, list[Any]], ...] = (
        (fires_s - INTERVAL_S, []),
        (fires_s, [expected(case, rule)]),
    )
    test = {
        "interval": f"{INTERVAL_S}s",
        "input_series": [{"series": placed(s), "values": v} for s, v in case["series"].items()],
        "alert_rule_test": [
            {"eval_time": f"{at_s}s", "alertname": case["alert"], "exp_alerts": alerts}
            for at_s, alerts in checks
        ],
    }
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": groups}))
    whole = {
        "rule_files": ["rules.yaml"],
        "evaluation_interval": f"{INTERVAL_S}s",
        # Else promtool evaluates groups in any order, and an alert may read the record of before.
        "group_eval_order": [group["name"] for group in groups],
        "tests": [test],
    }
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(whole))
    promtool("test", "rules", tmp_path / "test.yaml")


def test_every_alert_rule_has_a_case() -> None:
    assert sorted(identity(rule_of(case)) for case in CASES) == sorted(map(identity, ALERTS))


@needs_promtool
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_promtool_accepts_the_rules(path: Path) -> None:
    promtool("check", "rules", path)


@needs_promtool
@pytest.mark.parametrize(
    "path", sorted((RULES / "tests").glob("*.yaml")), ids=lambda path: path.name
)
def test_promtool_tests_pass(path: Path) -> None:
    promtool("test", "rules", path)


@pytest.mark.skipif(shutil.which("pint") is None, reason="needs pint on PATH (cloudflare/pint)")
def test_pint_accepts_the_rules() -> None:
    command = ["pint", "-c", "dashboards/pint.hcl", "-n", "-o", "lint", *map(str, FILES)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("rule", ALERTS, ids=identity)
def test_an_alert_has_the_labels_and_annotations_that_a_noc_reads(rule: dict[str, Any]) -> None:
    labels, annotations = rule["labels"], rule["annotations"]
    assert re.fullmatch(r"Sojourn([A-Z][a-z]+)+", rule["alert"])
    assert seconds(rule["for"]) >= 60
    assert labels["perceived_severity"] in PERCEIVED[labels["severity"]]
    assert labels["alarm_type"] in ALARM_TYPES
    assert re.fullmatch(r"[a-z]+([A-Z][a-z]+)*", labels["probable_cause"])
    # Grouped alerts share a summary, so it is static.
    assert "{{" not in annotations["summary"]
    assert annotations["summary"].endswith(".")
    assert len(annotations["summary"]) <= 80
    assert annotations["description"].endswith(".")
    assert annotations["runbook_url"] == (
        f"https://docs.sojourn.example/docs/runbooks/{rule['alert']}.html"
    )
    assert all(f"var-{label}=" in annotations["dashboard_url"] for label in SITE)
    chosen = r"var-(\w+)=\{\{ \$labels\.(\w+) \}\}"
    found = re.fullmatch(
        rf"https://grafana\.example/d/sojourn-(\w+)(?:\?{chosen}(?:&{chosen})*)?",
        annotations["dashboard_url"],
    )
    assert found
    assert found[1] in BOARDS
    board = json.loads((ROOT / "dashboards" / "json" / f"{found[1]}.json").read_text())
    variables = {variable["name"] for variable in board["templating"]["list"]}
    for variable, label in re.findall(chosen, annotations["dashboard_url"]):
        assert variable == label
        assert variable in variables


@pytest.mark.parametrize("name", NAMES)
def test_severities_of_an_alert_differ_in_nothing_but_threshold_and_duration(name: str) -> None:
    summaries = {rule["annotations"]["summary"] for rule in ALERTS if rule["alert"] == name}
    types = {rule["labels"]["alarm_type"] for rule in ALERTS if rule["alert"] == name}
    assert len(summaries) == len(types) == 1


@pytest.mark.parametrize("name", NAMES)
def test_an_alert_has_a_runbook(name: str) -> None:
    text = (RUNBOOKS / f"{name}.md").read_text()
    headings = re.findall(r"^#+ .*$", text, re.MULTILINE)
    parts = ("Meaning", "Impact", "Diagnosis", "Commands", "Mitigation")
    assert headings == [f"# {name}", *(f"## {part}" for part in parts)]
    index = (RUNBOOKS / "README.md").read_text()
    assert f"[{name}]({name}.md)" in index


def test_every_runbook_is_of_an_alert() -> None:
    pages = {path.stem for path in RUNBOOKS.glob("Sojourn*.md")}
    assert pages == set(NAMES)


def test_group_names_are_unique() -> None:
    counts = Counter(group["name"] for groups in GROUPS.values() for group in groups)
    assert max(counts.values()) == 1


@pytest.mark.parametrize("rule", RECORDS, ids=lambda rule: rule["record"])
def test_a_recorded_series_is_named_by_level_metric_and_operation(rule: dict[str, Any]) -> None:
    assert RECORDED.fullmatch(rule["record"])


@pytest.mark.parametrize("rule", ALERTS + RECORDS, ids=lambda rule: rule.get("record", "alert"))
def test_an_expression_parses(rule: dict[str, Any]) -> None:
    promql_parser.parse(str(rule["expr"]))


@pytest.mark.parametrize("rule", ALERTS + RECORDS, ids=lambda rule: rule.get("record", "alert"))
def test_a_rule_reads_and_joins_within_a_site(rule: dict[str, Any]) -> None:
    expr = str(rule["expr"])
    # The chart puts the matchers of its release in place of this one.
    assert [s for s in selectors(expr) if s.matchers.get("release") != ".*"] == []
    grouped = re.findall(r"\b(?:by|on) \(([^)]*)\)", expr)
    assert all({*labels.split(", ")} >= {*SITE} for labels in grouped if labels), expr


def test_every_recorded_series_that_a_rule_reads_is_recorded() -> None:
    recorded = {rule["record"] for rule in RECORDS}
    read = {name for rule in ALERTS + RECORDS for name in RECORDED.findall(str(rule["expr"]))}
    assert read <= recorded


def test_every_recorded_series_is_read_by_an_alert_a_dashboard_or_a_page() -> None:
    readers = [str(rule["expr"]) for rule in ALERTS]
    readers += [path.read_text() for path in (ROOT / "dashboards" / "json").glob("*.json")]
    readers += [path.read_text() for path in (ROOT / "docs").glob("*.md")]
    unread = {rule["record"]: str(rule["expr"]) for rule in RECORDS}
    while found := {name for text in readers for name in RECORDED.findall(text)} & set(unread):
        readers = [unread.pop(name) for name in found]
    assert unread == {}
