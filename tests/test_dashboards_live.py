"""Every query of the dashboards and rules returns data from a running loop."""

from __future__ import annotations

import asyncio
import re
import shutil
import time
from pathlib import Path

import pytest
import yaml
from loop import ANY_PORT, ROOT, SCENARIO
from sojourn_dashboards import check
from sojourn_demo.ops.stack import free_address, start_prometheus
from sojourn_demo.programs import Programs

PATIENCE_S = 150.0
FIRST_S = 30.0
"""Rates of recorded series need samples of two evaluations."""
AGAIN_S = 10.0
# The download starts when Prometheus has seen the controller: violation and decision are counted.
FLOWS = [
    {"name": "bulk", "kind": "tcp", "start_s": 25},
    {"name": "ping", "kind": "ping", "interval_ms": 100},
]
POLICY = {
    "version": 1,
    "rules": [{"name": "all", "ladder": [{"template": "fq_codel", "pacer": "forecast"}]}],
}
RULES = ROOT / "dashboards" / "rules"


def quick_rules(folder: Path) -> list[Path]:
    """Copies of the rules in which all groups are evaluated at the global interval."""
    copies = []
    for path in sorted(RULES.glob("*.yaml")):
        copies.append(folder / path.name)
        copies[-1].write_text(re.sub(r"\n    interval: \w+", "", path.read_text()))
    return copies


async def test_every_query_returns_data_from_a_running_loop(tmp_path: Path) -> None:
    binary = shutil.which("prometheus")
    if binary is None:
        pytest.skip("queries are not run: no prometheus on PATH (Debian: apt install prometheus)")
    (tmp_path / "scenario.yaml").write_text(yaml.safe_dump(SCENARIO | {"flows": FLOWS}))
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    forecasts, metrics = free_address(), free_address()
    async with Programs(tmp_path) as programs:
        gnb = await programs.start(
            *("gnb-lab", "serve", str(tmp_path / "scenario.yaml"), "--listen", ANY_PORT),
            *("--metrics-listen", ANY_PORT, "--forecasts", forecasts),
        )
        gateway = ("--gateway", gnb.ready["listen"])
        forecaster = await programs.start(
            *("rlc-forecaster", *gateway, "--listen", forecasts, "--metrics-listen", ANY_PORT)
        )
        prometheus = await start_prometheus(
            programs,
            Path(binary),
            tmp_path,
            targets={
                "gnb-lab": gnb.ready["metrics"],
                "rlc-forecaster": forecaster.ready["metrics"],
                "tc-controller": metrics,
            },
            rules=quick_rules(tmp_path),
        )
        # Started last, so that Prometheus sees the first violation and decision.
        began_s = time.time()
        await programs.start(
            *("tc-controller", *gateway, "--metrics-listen", metrics, "--forecasts", forecasts),
            *("--policy", str(tmp_path / "policy.yaml"), "--state", str(tmp_path / "state.json")),
            *("--decision-log", str(tmp_path / "decisions.jsonl")),
        )
        await asyncio.sleep(FIRST_S)
        while True:
            programs.check()
            now_s = time.time()
            url = f"http://{prometheus.address}"
            asked = check.Prometheus(url, now_s, round(now_s - began_s + 5))
            findings = await asyncio.to_thread(list, check.check(asked))
            failed = [str(finding) for finding in findings if not finding.good]
            if not failed or now_s > began_s + PATIENCE_S:
                break
            await asyncio.sleep(AGAIN_S)
    assert failed == []
    assert len(findings) > 300
