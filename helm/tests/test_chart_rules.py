"""Rules of two releases in one namespace: each alarms for itself, and once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from chart_readme import CHART
from chart_tools import run, template, tool

WATCHED = ("--values", CHART / "examples/lab.yaml")


def rules_of(release: str, folder: Path, *more: str) -> list[str]:
    """Paths of the rule files that a release has in the namespace `ran`."""
    objects = template("--namespace", "ran", *WATCHED, *more, release=release)
    paths = []
    for each in objects:
        if each["kind"] == "PrometheusRule":
            path = folder / f"{each['metadata']['name']}.yaml"
            path.write_text(yaml.safe_dump({"groups": each["spec"]["groups"]}))
            paths.append(path.name)
    return paths


def up(release: str, values: str) -> dict[str, str]:
    """The only controller of a release."""
    labels = f'job="tc-controller", namespace="ran", release="{release}", instance="{release}"'
    return {"series": f"up{{{labels}}}", "values": values}


@pytest.mark.parametrize("scope", ["release", "all"])
def test_a_fault_of_one_of_two_releases_is_one_alert(scope: str, tmp_path: Path) -> None:
    files = rules_of("first", tmp_path, f"--set=monitoring.rules.scope={scope}")
    if scope == "release":
        files += rules_of("second", tmp_path)
    alert = yaml.safe_load((CHART / "files/rules/availability.yaml").read_text())["groups"][0]
    (down,) = (r for r in alert["rules"] if r["alert"] == "SojournControllerDown")
    site = {"job": "tc-controller", "namespace": "ran", "release": "first"}
    by = "alertname, namespace, release, severity"
    named = ", ".join(
        f'{k}="{v}"'
        for k, v in {
            "alertname": "SojournControllerDown",
            "namespace": "ran",
            "release": "first",
            "severity": down["labels"]["severity"],
        }.items()
    )
    test = {
        "rule_files": files,
        "evaluation_interval": "30s",
        "tests": [
            {
                "interval": "30s",
                "input_series": [up("first", "1x4 0x20"), up("second", "1x24")],
                "promql_expr_test": [
                    {
                        "expr": f'count by ({by}) (ALERTS{{alertstate="firing"}})',
                        "eval_time": "10m",
                        "exp_samples": [{"labels": f"{{{named}}}", "value": 1}],
                    }
                ],
                "alert_rule_test": [
                    {
                        "eval_time": "10m",
                        "alertname": "SojournControllerDown",
                        "exp_alerts": [
                            {
                                "exp_labels": down["labels"] | site,
                                "exp_annotations": shown(down, site, files, tmp_path),
                            }
                        ],
                    }
                ],
            }
        ],
    }
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(test))
    run(tool("promtool"), "test", "rules", tmp_path / "test.yaml")


def shown(
    rule: dict[str, dict[str, str]], site: dict[str, str], files: list[str], folder: Path
) -> dict[str, str]:
    """The annotations of the rule as the first file's release has them, for a site."""
    contents = [yaml.safe_load((folder / name).read_text()) for name in files]
    rendered = next(
        each["annotations"]
        for text in contents
        for group in text["groups"]
        for each in group["rules"]
        if each.get("alert") == rule["alert"]
    )
    return {
        name: re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda m: site.get(m[1], ""), text)
        for name, text in rendered.items()
    }


def test_a_release_reads_its_own_series_and_those_without_labels() -> None:
    objects = template("--namespace", "ran", *WATCHED, release="first.second")
    rules = [
        rule
        for each in objects
        if each["kind"] == "PrometheusRule"
        for group in each["spec"]["groups"]
        for rule in group["rules"]
    ]
    own = 'namespace=~"ran|", release=~"first[.]second|"'
    assert rules
    assert [rule["expr"] for rule in rules if own not in rule["expr"]] == []
    monitors = [each for each in objects if each["kind"] == "ServiceMonitor"]
    relabelings = [m["spec"]["endpoints"][0]["relabelings"][0] for m in monitors]
    assert relabelings
    assert {tuple(r.values()) for r in relabelings} == {("release", "first.second")}
