"""The demo as a person runs it, shortened: what it leaves, and what Ctrl-C leaves: nothing."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from pathlib import Path

import pytest
from loop import PATIENCE_S, ROOT

CHROMIUM = Path("/usr/bin/chromium")
DEMO = str(Path(sys.executable).parent / "sojourn-demo")


async def start(out: Path, *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(DEMO, "--out", str(out), *arguments),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        process_group=0,
    )


def running_with(argument: str) -> list[str]:
    """Command lines of all processes that name `argument`."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if argument in command and int(process.name) != os.getpid():
            found.append(command.replace("\0", " "))
    return found


@pytest.mark.skipif(
    not CHROMIUM.exists(), reason=f"no {CHROMIUM}: install Debian's package chromium"
)
async def test_the_live_page_shows_the_bearer_bloat_heal_and_the_end_of_the_controller(
    tmp_path: Path,
) -> None:
    playwright = pytest.importorskip("playwright.async_api")
    expect = playwright.expect
    demo = await start(tmp_path, "--before", "8", "--after", "8", "--rpm", "0")
    assert demo.stdout is not None
    async with playwright.async_playwright() as driver, asyncio.timeout(4 * PATIENCE_S):
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = await browser.new_page()
        while not (found := re.search(rb"http://\S+/live/", await demo.stdout.readline())):
            pass
        await page.goto(found.group().decode())
        state = page.locator(".verdict .badge")
        for text in ("Violated", "Met"):
            await expect(state).to_contain_text(text, timeout=1000 * PATIENCE_S)
        await expect(page.locator("#bearer .decisions")).to_contain_text(
            "satisfied: sojourn", timeout=1000 * PATIENCE_S
        )
        await expect(page.locator("#notice")).to_contain_text(
            "Disconnected since", timeout=1000 * PATIENCE_S
        )
        await browser.close()
        await demo.communicate()
    assert demo.returncode == 0


async def test_a_short_demo_leaves_a_report_and_a_summary(tmp_path: Path) -> None:
    demo = await start(tmp_path, "--before", "2", "--after", "15", "--rpm", "6")
    output, _ = await asyncio.wait_for(demo.communicate(), 4 * PATIENCE_S)
    text = output.decode()
    assert demo.returncode == 0, text
    assert "metrics http://127.0.0.1:" in text
    assert re.search(r"live page +http://127.0.0.1:\d+/live/", text)
    assert "Before and after" in text
    summary = json.loads((tmp_path / "summary.json").read_text())
    before, after = summary["phases"]
    assert (before["name"], after["name"]) == ("uncontrolled", "controlled")
    assert after["ping_rtt_ms"]["p95"] < before["ping_rtt_ms"]["p95"]
    assert summary["loop"]["indication_latency_us"]["p50"] > 0
    # The base of the default policy, applied as soon as the controller may act.
    first = summary["decisions"][0]
    assert (first["template"], first["trigger"]) == ("low_latency", "base")
    assert first["at_s"] == summary["switched_s"] == after["from_s"] == before["to_s"]
    assert len(summary["first_seconds"]) == 6
    # The test of responsiveness follows the phases, is of both runs and sees what they did.
    assert after["to_s"] == pytest.approx(19.0)
    scores = summary["responsiveness"]
    for score in ("rpm", "foreign_rpm", "loaded_rpm"):
        assert scores["with_control"][score] > 3 * scores["without_control"][score] > 0
    assert "Responsiveness under load" in text
    lengths = [
        json.loads((tmp_path / run / "summary.json").read_text())["duration_s"]
        for run in ("with_control", "without_control")
    ]
    assert lengths[0] == pytest.approx(lengths[1], abs=0.001)
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    assert running_with(str(tmp_path)) == []


async def test_ctrl_c_stops_everything(tmp_path: Path) -> None:
    demo = await start(tmp_path)
    async with asyncio.timeout(PATIENCE_S):
        # All three name the folder; the controller is the last to start.
        while not any("tc-controller" in line for line in running_with(str(tmp_path))):
            await asyncio.sleep(0.05)
    demo.send_signal(signal.SIGINT)
    output, _ = await asyncio.wait_for(demo.communicate(), PATIENCE_S)
    assert demo.returncode == 130, output.decode()
    assert "interrupted, all programs stopped" in output.decode()
    assert "Traceback" not in output.decode()
    assert running_with(str(tmp_path)) == []
