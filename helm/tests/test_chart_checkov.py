"""checkov finds no fault in any example but those that helm/checkov.yaml gives a reason for."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from chart_readme import CHART
from chart_tools import VALUES_FILES, template, tool

CONFIG = CHART.parent / "checkov.yaml"
OF_A_FILE = {
    # The SCC gives UIDs of the namespace's range, and refuses others.
    ("CKV_K8S_40", "/examples-openshift.yaml"),
}
"""Checks that fail on purpose in one example alone."""
DIGESTS = [
    f"--set={component}.image.digest=sha256:{'0' * 64}"
    for component in (
        "controller",
        "forecaster",
        "flexricBridge",
        "flexricBridge.sdk",
        "lab",
        "training",
    )
]


def test_every_exception_has_a_reason() -> None:
    lines = CONFIG.read_text(encoding="utf-8").splitlines()
    checks = [number for number, line in enumerate(lines) if re.match(r" +- CKV", line)]
    assert len(checks) == len(yaml.safe_load(CONFIG.read_text())["skip-check"])
    for number in checks:
        above = next(line for line in reversed(lines[:number]) if "- CKV" not in line)
        assert above.lstrip().startswith("# "), lines[number]


def test_checkov_finds_nothing(tmp_path: Path) -> None:
    checkov = tool("checkov")
    for values in VALUES_FILES:
        objects = template("--values", values, *DIGESTS)
        # Dashboards and rules are large, and text to checkov.
        kept = [each for each in objects if "dashboard" not in each["metadata"]["name"]]
        file = tmp_path / f"{values.parent.name}-{values.stem}.yaml"
        file.write_text(yaml.safe_dump_all(kept))
    command = [
        *(checkov, "--directory", str(tmp_path), "--framework", "kubernetes", "--output", "json"),
        *("--config-file", str(CONFIG), "--quiet", "--compact", "--skip-download"),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(ran.stdout)
    failed = {
        f"{each['check_id']} {each['file_path']} {each['resource']}: {each['check_name']}"
        for each in report.get("results", {}).get("failed_checks", [])
        if (each["check_id"], each["file_path"]) not in OF_A_FILE
    }
    assert sorted(failed) == []
    assert report.get("summary", report)["passed"] > len(VALUES_FILES)


@pytest.mark.parametrize("secret", [True, False])
def test_checkov_would_find_a_privileged_container(tmp_path: Path, *, secret: bool) -> None:
    """The exceptions hide nothing else."""
    context = {"privileged": True} if secret else {"allowPrivilegeEscalation": True}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "bad", "namespace": "x"},
        "spec": {"containers": [{"name": "c", "image": "i", "securityContext": context}]},
    }
    file = tmp_path / "pod.yaml"
    file.write_text(yaml.safe_dump(pod))
    command = [
        *(tool("checkov"), "--file", str(file), "--framework", "kubernetes", "--output", "json"),
        *("--config-file", str(CONFIG), "--quiet", "--compact", "--skip-download"),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    found = {each["check_id"] for each in json.loads(ran.stdout)["results"]["failed_checks"]}
    assert ("CKV_K8S_16" if secret else "CKV_K8S_20") in found
