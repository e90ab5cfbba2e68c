"""Runs every query of dashboards and rules against a Prometheus until all return data."""

from __future__ import annotations

import asyncio
import re
import shutil
import time
from collections.abc import Collection
from pathlib import Path

import pytest
from loop import ROOT
from sojourn_dashboards import check
from sojourn_demo.ops.stack import PROMETHEUS, Prometheus
from sojourn_demo.programs import Programs

PATIENCE_S = 150.0
FIRST_S = 30.0
"""Rates of recorded series need samples of two evaluations."""
AGAIN_S = 10.0
RULES = ROOT / "dashboards" / "rules"


def prometheus_binary() -> Path:
    """Prometheus on PATH; without it, the test is skipped."""
    binary = next(filter(None, map(shutil.which, PROMETHEUS)), None)
    if binary is None:
        pytest.skip("queries are not run: no prometheus on PATH (Debian: apt install prometheus)")
    return Path(binary)


def quick_rules(folder: Path) -> list[Path]:
    """Copies of the rules in which all groups are evaluated at the global interval."""
    copies = []
    for path in sorted(RULES.glob("*.yaml")):
        copies.append(folder / path.name)
        copies[-1].write_text(re.sub(r"\n    interval: \w+", "", path.read_text()))
    return copies


async def scraped(prometheus: Prometheus, job: str) -> None:
    """Waits until Prometheus has samples of a job."""
    while True:
        asked = check.Prometheus(f"http://{prometheus.address}", time.time(), 60)
        if await asyncio.to_thread(asked.query, f'up{{job="{job}"}} == 1'):
            return
        await asyncio.sleep(0.5)


async def findings_of(
    programs: Programs, prometheus: Prometheus, began_s: float, but: Collection[str] = ()
) -> list[check.Finding]:
    """The outcome of every query over the time from `began_s`, once all are good or too late.

    Queries whose place contains one of `but` are left out.
    """
    await asyncio.sleep(FIRST_S)
    while True:
        programs.check()
        now_s = time.time()
        url = f"http://{prometheus.address}"
        asked = check.Prometheus(url, now_s, round(now_s - began_s + 5))
        every = await asyncio.to_thread(list, check.check(asked))
        findings = [each for each in every if not any(part in each.where for part in but)]
        if all(finding.good for finding in findings) or now_s > began_s + PATIENCE_S:
            return findings
        await asyncio.sleep(AGAIN_S)
