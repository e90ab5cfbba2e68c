"""A Prometheus with the rules, made quick, over programs whose faults raise alerts."""

from __future__ import annotations

import asyncio
import re
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from loop import ROOT
from sojourn_dashboards import check
from sojourn_demo.ops.stack import PROMETHEUS, Prometheus, start_prometheus
from sojourn_demo.programs import Programs

RULES = ROOT / "dashboards" / "rules"
QUICK = {
    # Alerts are active as soon as their expression holds.
    r"^ +for: \w+\n": "",
    r"^    interval: \w+\n": "",
    r"30 \* sum_over_time": "1 * sum_over_time",
    r"(measured_bearer_seconds:\w+\{.*\}) >= \d+": r"\1 >= 3",
    r"\) > 300$": ") > 3",
    r"\[(2|5|15)m\]": "[30s]",
}
"""What a test does not wait for: durations and minima of traffic. Conditions stay."""
SILENCED = {r"^ +unless on \([\w, ]*\) (ALERTS|site:cause:active)\{.*\}\n": ""}
"""Consequences that do not alarm because their cause does: left out of tests of single alerts."""
PATIENCE_S = 45.0

needs_prometheus = pytest.mark.skipif(
    not any(map(shutil.which, PROMETHEUS)), reason="needs prometheus on PATH (Debian: prometheus)"
)


def quick_rules(folder: Path, *, silenced: bool) -> list[Path]:
    """The rule files with durations taken out, with or without silenced consequences."""
    folder.mkdir(exist_ok=True)
    texts = {path.name: path.read_text() for path in RULES.glob("*.yaml")}
    for pattern, quick in (QUICK if silenced else QUICK | SILENCED).items():
        changed = {n: re.sub(pattern, quick, t, flags=re.MULTILINE) for n, t in texts.items()}
        assert changed != texts, f"no rule has {pattern}"
        texts = changed
    for name, text in texts.items():
        (folder / name).write_text(text)
    return [folder / name for name in texts]


@dataclass(slots=True)
class AlertWorld:
    """The alerts of a Prometheus that scrapes the given programs each second."""

    prometheus: Prometheus

    @classmethod
    async def over(
        cls,
        programs: Programs,
        folder: Path,
        targets: Mapping[str, str],
        scrape: Mapping[str, Any] | None = None,
        silenced: bool = False,
    ) -> AlertWorld:
        """Starts Prometheus over the addresses of jobs, and waits until all are up. With `silenced`
        the consequences of a cause that alarms do not alarm, as in the shipped rules."""
        binary = Path(next(filter(None, map(shutil.which, PROMETHEUS))))
        prometheus = await start_prometheus(
            programs,
            binary,
            folder,
            targets=targets,
            rules=quick_rules(folder / "rules", silenced=silenced),
            interval="1s",
            scrape=scrape,
        )
        world = cls(prometheus)
        await world.until(
            lambda: len(prometheus.query("up == 1")) == len(targets),
            lambda: f"not all are up: {targets}",
        )
        return world

    def active(self) -> set[str]:
        """Names of the alerts whose expression holds."""
        return {alert["labels"]["alertname"] for alert in self.prometheus.alerts()}

    def pages(self) -> list[str]:
        """Names of the alerts that call somebody now, one for each."""
        labels = [alert["labels"] for alert in self.prometheus.alerts()]
        return [each["alertname"] for each in labels if each["severity"] == "critical"]

    async def raised(self, *names: str) -> None:
        """Waits until all these alerts are active, now or before."""
        missing = set(names)

        def done() -> bool:
            missing.difference_update(self.active())
            return not missing

        await self.until(done, lambda: f"not raised: {sorted(missing)}; active: {self.active()}")

    async def ended(self, *names: str) -> None:
        """Waits until none of these alerts is active."""
        await self.until(
            lambda: not self.active() & set(names), lambda: f"still active: {self.active()}"
        )

    def unread(self) -> list[str]:
        """Rules that read a series that is not there."""
        api = check.Prometheus(f"http://{self.prometheus.address}", time.time(), 60)
        files = [yaml.safe_load(path.read_text()) for path in RULES.glob("*.yaml")]
        findings = [finding for file in files for finding in check.rule_findings(api, file)]
        return [str(finding) for finding in findings if not finding.good]

    @staticmethod
    async def until(condition: Callable[[], object], what: Callable[[], object]) -> None:
        """Waits for a condition; `what` is missing if it does not come."""
        give_up_s = time.monotonic() + PATIENCE_S
        while not await asyncio.to_thread(condition):
            assert time.monotonic() < give_up_s, what()
            await asyncio.sleep(0.3)
