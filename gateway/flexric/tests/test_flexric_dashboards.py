"""Every query of the dashboards and rules returns data from a loop through a real near-RT RIC."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml
from dashboard_queries import findings_of, prometheus_binary, quick_rules
from loop import ANY_PORT, SCENARIO
from sojourn_demo.gateways import policy_of, start_gateway
from sojourn_demo.ops.stack import start_prometheus
from sojourn_demo.programs import Programs, free_address

pytestmark = pytest.mark.shows("dashboards")

FLOWS = [
    {"name": "bulk", "kind": "tcp", "start_s": 25},
    {"name": "ping", "kind": "ping", "interval_ms": 100},
]
NOT_WITH_V0 = ("Sojourn / Gateway: Forecast stream",)
"""E2SM-TC v0 has no pacer that uses forecasts: the node asks for none."""


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder with a short name, because FlexRIC limits paths to 127 bytes."""
    with TemporaryDirectory(prefix="sojourn-") as name:
        yield Path(name)


@pytest.mark.timeout(400)
async def test_every_query_returns_data_from_a_loop_through_flexric(
    tmp_path: Path, scratch: Path
) -> None:
    binary = prometheus_binary()
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(yaml.safe_dump(SCENARIO | {"flows": FLOWS}))
    metrics = free_address()
    async with Programs(tmp_path) as programs:
        gnb, gateway = await start_gateway(
            "flexric", programs, scenario, tmp_path / "recorded", scratch
        )
        (bridge,) = (each for each in programs.started if each.name == "flexric-bridge")
        forecaster = await programs.start(
            *("rlc-forecaster", "--gateway", gateway),
            *("--listen", ANY_PORT, "--metrics-listen", ANY_PORT),
        )
        prometheus = await start_prometheus(
            programs,
            binary,
            tmp_path,
            targets={
                "gnb-lab": gnb.ready["metrics"],
                "flexric-bridge": bridge.ready["metrics"],
                "rlc-forecaster": forecaster.ready["metrics"],
                "tc-controller": metrics,
            },
            rules=quick_rules(tmp_path),
        )
        # Started last, so that Prometheus sees the first violation and decision.
        began_s = time.time()
        await programs.start(
            *("tc-controller", "--gateway", gateway, "--metrics-listen", metrics),
            *(("--policy", str(policy)) if (policy := policy_of("flexric")) else ()),
            *("--state", str(tmp_path / "state.json")),
            *("--decision-log", str(tmp_path / "decisions.jsonl")),
            *("--forecasts", forecaster.ready["listen"]),
        )
        findings = await findings_of(programs, prometheus, began_s, NOT_WITH_V0)
    assert [str(finding) for finding in findings if not finding.good] == []
    of_flexric = [finding.text for finding in findings if "FlexRIC" in finding.text]
    assert of_flexric == [], "the bridge is scraped: none may be empty for want of it"
