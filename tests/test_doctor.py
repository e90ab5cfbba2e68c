"""`ric doctor` against the emulated gNB and the forecaster, as an operator runs it."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from loop import loop_in, pipeline_status
from ric.sm import RLC_OID

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
    """Ages are the machine's; everything else must be in order."""
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
    in_order = ("gateway", "forecaster", "metrics", "nodes", "functions", "definition", "reports")
    assert levels(shown, *in_order) == {key: {"ok"} for key in in_order}, shown["findings"]
    (tried,) = shown["facts"]["dry_runs"]
    assert (tried["tried"], tried["bearer"]) == ("accepted", "rnti 17 drb 1")
    assert tried["revision"] == tried["expected_revision"]
    assert (after["revision"], after["name"]) == (before["revision"], before["name"])
    streams = {(s["oid"], s["style"]): s for s in shown["facts"]["streams"]}
    assert len(streams) == 6
    for stream in streams.values():
        assert stream["received"] > 3
        assert (stream["ended"], stream["undecodable"], stream["tstamp_off_us"]) == ("", 0, 0)
    assert streams[RLC_OID, ""]["delays"] > 0


async def test_a_gnb_that_is_gone_is_a_failure(tmp_path: Path) -> None:
    async with loop_in(tmp_path) as loop:
        gnb = await loop.gnb()
        gnb.kill()
        status, shown = await doctor("--gateway", gnb.ready["listen"])
    assert status == 2
    (finding,) = shown["findings"]
    assert "nothing listens there" in finding["what"]
