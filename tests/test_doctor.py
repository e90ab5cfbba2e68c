"""`ric doctor` against the emulated gNB and the forecaster, as an operator runs it."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from flexric_bridge.app import Bridge
from flexric_bridge.settings import BridgeSettings
from loop import loop_in, pipeline_status
from ric.sm import RLC_OID
from ric_doctor.judge.metrics import BRIDGE_UP, BUDGET, BUDGET_LEFT, GROWTHS, REQUESTS

RIC = Path(sys.executable).parent / "ric"


async def doctor(*arguments: str) -> tuple[int, dict[str, Any]]:
    """Exit status and what was found."""
    process = await asyncio.create_subprocess_exec(
        str(RIC), "doctor", "--json", *arguments, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    shown: dict[str, Any] = json.loads(out)
    assert process.returncode == shown["status"]
    return shown["status"], shown


def levels(shown: dict[str, Any], *checks: str) -> dict[str, set[str]]:
    return {
        check: {f["level"] for f in shown["findings"] if f["check"] == check} for check in checks
    }


async def test_an_emulated_gnb_and_its_forecaster_are_examined(tmp_path: Path) -> None:
    """Rates and ages are the machine's; everything else must be in order."""
    async with loop_in(tmp_path) as loop:
        gnb = await loop.gnb("--metrics-listen", "127.0.0.1:0")
        gateway = gnb.ready["listen"]
        forecaster = await loop.forecaster(gateway)
        before = await pipeline_status(gateway, lambda status: True)
        _, shown = await doctor(
            *("--gateway", gateway, "--seconds", "1.5"),
            *("--forecaster", forecaster.ready["listen"]),
            *("--metrics", f"{gnb.ready['metrics']},{forecaster.ready['metrics']}"),
        )
        after = await pipeline_status(gateway, lambda status: True)
    in_order = ("nodes", "functions", "definition", "clocks")
    assert levels(shown, *in_order) == {key: {"ok"} for key in in_order}, shown["findings"]
    (tried,) = shown["facts"]["dry_runs"]
    assert (tried["tried"], tried["bearer"]) == ("accepted", "rnti 17 drb 1")
    assert tried["revision"] == tried["expected_revision"]
    assert (after["revision"], after["name"]) == (before["revision"], before["name"])
    streams = {(s["oid"], s["style"]): s for s in shown["facts"]["streams"]}
    assert len(streams) == 6
    for stream in streams.values():
        assert stream["received"] > 3
        assert (stream["ended"], stream["undecodable"], stream["disordered"]) == ("", 0, 0)
        assert stream["tstamp_off_us"] == 0
    rows = streams[RLC_OID, ""]["rows"]
    assert rows["steps_back"] == 0
    assert rows["delays"] > 0
    assert all(endpoint["error"] == "" for endpoint in shown["facts"]["metrics"])
    exported = {sample[0] for endpoint in shown["facts"]["metrics"] for sample in endpoint["after"]}
    watched = {name for name in GROWTHS if not name.startswith("sojourn_flexric_")}
    assert watched <= exported | {TASK_RESTARTS}, "a counter without restarts has no series"
    assert shown["facts"]["forecasts"]["batches"] > 0


async def test_a_gnb_that_is_gone_is_a_failure(tmp_path: Path) -> None:
    async with loop_in(tmp_path) as loop:
        gnb = await loop.gnb()
        gnb.kill()
        status, shown = await doctor("--gateway", gnb.ready["listen"])
    assert status == 2
    (finding,) = shown["findings"]
    assert "nothing listens there" in finding["what"]


TASK_RESTARTS = "sojourn_task_restarts_total"


async def test_the_bridges_metrics_that_are_read_exist() -> None:
    families = Bridge(BridgeSettings()).registry.collect()
    exported = {f.name + ("_total" if f.type == "counter" else "") for f in families}
    read = {name for name in GROWTHS if name.startswith("sojourn_flexric_")}
    assert read | {BRIDGE_UP, BUDGET, BUDGET_LEFT, REQUESTS} <= exported


GREEDY = {
    "flow": {
        "source": "10.0.0.1",
        "destination": "10.0.0.2",
        "source_port": 5201,
        "destination_port": 40_000,
        "protocol": 6,
    },
    "qfi": None,
    "dscp": 0,
    "ecn": "not-ect",
    "rate_kbps": 40_000,
    "mean_packet_bytes": 1_500,
    "backlog_bytes": 1_000_000,
    "queue": 0,
}


def kind_of(element: Any) -> str:
    """The alternative of a CHOICE."""
    return element if isinstance(element, str) else str(next(iter(element)))
