"""The shipped part of Alertmanager's configuration: what it groups and what a cause silences."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from loop import ROOT
from sojourn_demo.ops.stack import ALERTMANAGER, start_alertmanager
from sojourn_demo.ops.timeline import Receiver, Timeline
from sojourn_demo.programs import Programs

SHIPPED = ROOT / "dashboards" / "alertmanager.yaml"
RULES = ROOT / "dashboards" / "rules"
SITE = {"cluster": "east", "namespace": "ran", "release": "first"}
OTHER = SITE | {"cluster": "west"}

needs_alertmanager = pytest.mark.skipif(
    not any(map(shutil.which, ALERTMANAGER)),
    reason="needs Alertmanager on PATH (Debian: prometheus-alertmanager)",
)


def alert(name: str, severity: str, site: dict[str, str], **labels: str) -> dict[str, Any]:
    begin = datetime.now(UTC)
    return {
        "labels": {"alertname": name, "severity": severity, **site, **labels},
        "startsAt": begin.isoformat(),
        "endsAt": (begin + timedelta(hours=1)).isoformat(),
    }


def call(address: str, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"http://{address}/api/v2/{path}", data, headers)
    with urllib.request.urlopen(request, timeout=5) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def test_every_alert_that_it_names_is_an_alert() -> None:
    text = "".join(path.read_text() for path in RULES.glob("*.yaml"))
    alerts = set(re.findall(r"- alert: (\w+)", text))
    named = set()
    for matcher in re.findall(r'alertname!?=~?"([^"]+)"', SHIPPED.read_text()):
        if found := re.fullmatch(r"Sojourn\(([\w|]+)\)(\w*)", matcher):
            named |= {f"Sojourn{part}{found[2]}" for part in found[1].split("|")}
        elif matcher != "Sojourn.+":
            named.add(matcher)
    assert named
    assert named - alerts == set()


@needs_alertmanager
async def test_a_cause_silences_what_follows_from_it_at_its_site_alone(tmp_path: Path) -> None:
    binary = Path(next(filter(None, map(shutil.which, ALERTMANAGER))))
    cause = alert("SojournGatewayDown", "critical", SITE)
    ticket = alert("SojournGatewayDown", "warning", SITE, instance="c:9100")
    follows = alert("SojournNodeLost", "warning", SITE, node="gnb-1")
    elsewhere = alert("SojournNodeLost", "warning", OTHER, node="gnb-1")
    apart = alert("SojournPolicyRejected", "warning", SITE)
    async with Programs(tmp_path) as programs:
        with Receiver(Timeline()) as receiver:
            _, address = await start_alertmanager(programs, binary, tmp_path, receiver.url, SHIPPED)
            call(address, "alerts", [cause, ticket, follows, elsewhere, apart])
            silenced: set[str] = set()
            for _ in range(50):
                found = call(address, "alerts")
                silenced = {
                    f"{a['labels']['alertname']} {a['labels']['severity']} {a['labels']['cluster']}"
                    for a in found
                    if a["status"]["inhibitedBy"]
                }
                if len(found) == 5 and silenced:
                    break
                await asyncio.sleep(0.2)
            groups = call(address, "alerts/groups")
    assert silenced == {"SojournGatewayDown warning east", "SojournNodeLost warning east"}
    by = [tuple(sorted(group["labels"])) for group in groups]
    assert set(by) == {("alertname", "cluster", "namespace", "release")}


def test_it_groups_by_fault_and_site() -> None:
    shipped = yaml.safe_load(SHIPPED.read_text())
    assert shipped["route"]["group_by"] == ["alertname", *SITE]
    assert all({*SITE} <= set(rule["equal"]) for rule in shipped["inhibit_rules"])
