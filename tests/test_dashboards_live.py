"""Every query of the dashboards and rules returns data from a running loop."""

from __future__ import annotations

import time
from pathlib import Path

import yaml
from dashboard_queries import findings_of, prometheus_binary, quick_rules, scraped
from loop import ANY_PORT, SCENARIO
from sojourn_dashboards.kpi.totals import QUERIES
from sojourn_demo.ops.stack import start_prometheus
from sojourn_demo.programs import Programs, free_address

FLOWS = [
    {"name": "bulk", "kind": "tcp", "start_s": 2},
    {"name": "ping", "kind": "ping", "interval_ms": 100},
]
POLICY = {
    "version": 1,
    "rules": [{"name": "all", "ladder": [{"template": "fq_codel", "pacer": "forecast"}]}],
}


async def test_every_query_returns_data_from_a_running_loop(tmp_path: Path) -> None:
    binary = prometheus_binary()
    (tmp_path / "scenario.yaml").write_text(yaml.safe_dump(SCENARIO | {"flows": FLOWS}))
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    gateway, forecasts, gnb, metrics = (free_address() for _ in range(4))
    async with Programs(tmp_path) as programs:
        began_s = time.time()
        forecaster = await programs.start(
            *("rlc-forecaster", "--gateway", gateway, "--listen", forecasts),
            *("--metrics-listen", ANY_PORT),
        )
        await programs.start(
            *("tc-controller", "--gateway", gateway, "--forecasts", forecasts),
            *("--metrics-listen", metrics, "--policy", str(tmp_path / "policy.yaml")),
            *("--state", str(tmp_path / "state.json")),
            *("--decision-log", str(tmp_path / "decisions.jsonl")),
        )
        prometheus = await start_prometheus(
            programs,
            binary,
            tmp_path,
            targets={
                "gnb-lab": gnb,
                "rlc-forecaster": forecaster.ready["metrics"],
                "tc-controller": metrics,
            },
            rules=quick_rules(tmp_path),
        )
        # The gNB comes last: the first violation and decision are counted between two scrapes.
        await scraped(prometheus, "tc-controller")
        await programs.start(
            *("gnb-lab", "serve", str(tmp_path / "scenario.yaml"), "--listen", gateway),
            *("--metrics-listen", gnb, "--forecasts", forecasts),
        )
        findings = await findings_of(programs, prometheus, began_s)
        unread = [name for name, (query, _) in QUERIES.items() if not prometheus.query(query)]
    assert unread == [], "ric report reads no such series"
    assert [str(finding) for finding in findings if not finding.good] == []
    assert len(findings) > 300
