"""The operator's demo as a person runs it, with shorter `for`: a fault fires alerts, its repair
resolves them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import sys
from pathlib import Path

import pytest
from loop import PATIENCE_S, ROOT
from sojourn_demo import DemoError
from sojourn_demo.ops.stack import ALERTMANAGER, GRAFANA, PROMETHEUS, Tools
from test_demo import running_with

RULES = ROOT / "dashboards" / "rules"
needs_tools = pytest.mark.skipif(
    not all(any(map(shutil.which, names)) for names in (PROMETHEUS, ALERTMANAGER)),
    reason="needs prometheus and alertmanager (Debian: prometheus-alertmanager) on PATH",
)


def quick_rules(folder: Path) -> Path:
    """The rules, each `for` shortened to 3 s, and Alertmanager's part beside them."""
    folder.mkdir()
    shutil.copy(RULES.parent / "alertmanager.yaml", folder.parent)
    for path in RULES.glob("*.yaml"):
        (folder / path.name).write_text(re.sub(r"for: \w+", "for: 3s", path.read_text()))
    return folder


async def start(out: Path, *arguments: str, path: str | None = None) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "sojourn_demo.ops", "--out", str(out), *arguments),
        cwd=ROOT,
        env={**os.environ, **({"PATH": path} if path is not None else {})},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        process_group=0,
    )


def fake_grafana(folder: Path) -> Path:
    """A `grafana-server` that answers its health check and writes its environment."""
    folder.mkdir()
    program = folder / "grafana-server"
    program.write_text(
        f"""#!{sys.executable}
import http.server, json, os, pathlib
class Healthy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
settings = {{k: v for k, v in os.environ.items() if k.startswith("GF_")}}
pathlib.Path("grafana.json").write_text(json.dumps(settings))
address = settings["GF_SERVER_HTTP_ADDR"], int(settings["GF_SERVER_HTTP_PORT"])
http.server.HTTPServer(address, Healthy).serve_forever()
"""
    )
    program.chmod(0o755)
    return folder


@needs_tools
async def test_a_stopped_controller_fires_alerts_that_its_start_resolves(tmp_path: Path) -> None:
    out, rules = tmp_path / "out", quick_rules(tmp_path / "rules")
    path = f"{fake_grafana(tmp_path / 'bin')}:{os.environ['PATH']}"
    demo = await start(out, "--rules", str(rules), "--healthy", "3", "--patience", "60", path=path)
    output, _ = await asyncio.wait_for(demo.communicate(), 5 * PATIENCE_S)
    text = output.decode()
    assert demo.returncode == 0, text
    assert "SojournControllerDown FIRING" in text
    assert "SojournBearerDelayHigh NOC notified: resolved" in text
    result = json.loads((out / "ops.json").read_text())
    assert result["passed"]
    assert [each["alert"] for each in result["alerts"]] == [
        "SojournControllerDown",
        "SojournBearerDelayHigh",
    ]
    phases = [event["name"] for event in result["events"] if event["kind"] == "phase"]
    assert phases == ["healthy", "fault", "repair", "end"]
    page = (out / "ops.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "Every expected alert fired and was resolved" in page
    settings = json.loads((out / "grafana.json").read_text())
    provisioned = Path(settings["GF_PATHS_PROVISIONING"])
    assert "type: prometheus" in (provisioned / "datasources" / "prometheus.yaml").read_text()
    assert running_with(str(tmp_path)) == []


@needs_tools
async def test_ctrl_c_stops_all_programs(tmp_path: Path) -> None:
    demo = await start(tmp_path)
    async with asyncio.timeout(PATIENCE_S):
        while not any("prometheus.yml" in line for line in running_with(str(tmp_path))):
            await asyncio.sleep(0.05)
    demo.send_signal(signal.SIGINT)
    output, _ = await asyncio.wait_for(demo.communicate(), PATIENCE_S)
    assert demo.returncode == 130, output.decode()
    assert "interrupted, all programs stopped" in output.decode()
    assert running_with(str(tmp_path)) == []


async def test_missing_tools_are_named_with_the_way_to_get_them(tmp_path: Path) -> None:
    demo = await start(tmp_path, path=str(tmp_path))
    output, _ = await asyncio.wait_for(demo.communicate(), PATIENCE_S)
    assert demo.returncode == 2
    assert output.decode() == (
        "demo-ops: prometheus is not on PATH (Debian: apt install prometheus; or a release of"
        " github.com/prometheus/prometheus); alertmanager is not on PATH (Debian: apt install"
        " prometheus-alertmanager; or a release of github.com/prometheus/alertmanager)\n"
    )


def test_grafana_is_optional(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("prometheus", "prometheus-alertmanager"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    tools = Tools.found()
    assert (tools.alertmanager.name, tools.grafana) == ("prometheus-alertmanager", None)
    (tmp_path / GRAFANA[1]).write_text("#!/bin/sh\n")
    (tmp_path / GRAFANA[1]).chmod(0o755)
    assert Tools.found().grafana == tmp_path / "grafana"
    (tmp_path / "prometheus").unlink()
    with pytest.raises(DemoError, match="prometheus is not on PATH"):
        Tools.found()
