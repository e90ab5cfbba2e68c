"""`make demo-live` as a person runs it, shortened: what it shows, and that it leaves nothing."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from loop import PATIENCE_S, ROOT
from sojourn_demo import DemoError
from sojourn_demo.kernel.tools import Tools
from test_demo import running_with
from test_kernel_traffic import LACKS


def missing() -> str | None:
    """What this machine lacks for the demo."""
    if LACKS is not None:
        return LACKS
    if os.geteuid() != 0:
        return "not root: kernels let others choose fewer congestion controls"
    try:
        Tools.found()
    except DemoError as error:
        return str(error)
    return None


LACKING = missing()
pytestmark = [
    pytest.mark.skipif(LACKING is not None, reason=f"the demo cannot run here: {LACKING}"),
    pytest.mark.timeout(900),
]


async def start(out: Path, *arguments: str, path: str | None = None) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "sojourn_demo.kernel", "--out", str(out), *arguments),
        cwd=ROOT,
        env={**os.environ, **({"PATH": path} if path is not None else {})},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        process_group=0,
    )


async def finished(demo: asyncio.subprocess.Process) -> str:
    output, _ = await asyncio.wait_for(demo.communicate(), 25 * PATIENCE_S)
    text = output.decode()
    assert demo.returncode == 0, text
    return text


def only(folder: Path, *names: str) -> str:
    """A PATH with these programs alone."""
    folder.mkdir()
    for name in names:
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    return str(folder)


def results(out: Path) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Phases before and after, and the seconds of the latter without control."""
    summary = json.loads((out / "summary.json").read_text())
    before, after = summary["phases"]
    return before, after, summary["without_control"]


@pytest.mark.skipif(
    LACKING is None and Tools.found().chromium is None,
    reason="no chromium on PATH (Debian: apt install chromium)",
)
async def test_control_gives_a_ping_a_video_and_pages_their_delay_back(tmp_path: Path) -> None:
    demo = await start(tmp_path, "--before", "12", "--after", "20")
    text = await finished(demo)
    assert "Before and after" in text
    before, after, alone = results(tmp_path)
    assert before["ping_rtt_ms"]["p50"] > 4 * after["ping_rtt_ms"]["p50"]
    assert alone["ping_rtt_ms"]["p50"] > 4 * after["ping_rtt_ms"]["p50"]
    assert alone["voip_one_way_ms"]["p50"] > after["voip_one_way_ms"]["p50"]
    assert after["goodput_mbps"] > 0
    assert after["video"]["startup_ms"] is not None
    assert after["video"]["played_s"] > 0
    assert after["pages_loaded"] > 0
    late_ms = alone["video"]["startup_ms"]
    assert late_ms is None or after["video"]["startup_ms"] < late_ms
    assert alone["pages_begun"] <= after["pages_begun"]
    # Each load has all objects of the page.
    recorded = json.loads((tmp_path / "with_control" / "browser.json").read_text())
    loads = [load for phase in recorded["phases"] for load in phase["pages"]]
    assert {load["objects"] for load in loads if "load_ms" in load} == {48}
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    assert running_with(str(tmp_path)) == []


async def test_without_irtt_and_browser_the_rest_is_shown(tmp_path: Path) -> None:
    path = only(tmp_path / "bin", "iperf3", "ping", "setpriv", "stdbuf", "sh")
    demo = await start(tmp_path / "out", "--before", "5", "--after", "6", path=path)
    text = await finished(demo)
    assert "No irtt (Debian: apt install irtt)" in text
    assert "No video and no pages: no chromium on PATH" in text
    assert "No RPM: no networkQuality on PATH" in text
    before, after, _ = results(tmp_path / "out")
    assert before["ping_rtt_ms"]["p50"] > 2 * after["ping_rtt_ms"]["p50"]
    assert after["voip_one_way_ms"]["p50"] is not None
    assert "video" not in after
    assert running_with(str(tmp_path)) == []


@pytest.mark.skipif(
    LACKING is None and Tools.found().quality is None,
    reason="no networkQuality (goresponsiveness), nginx and openssl on PATH",
)
async def test_the_communitys_client_sees_that_control_makes_the_path_responsive(
    tmp_path: Path,
) -> None:
    client = Tools.found().quality
    assert client is not None
    programs = ("iperf3", "ping", "setpriv", "stdbuf", "sh", "nginx", "openssl", Path(client).name)
    path = only(tmp_path / "bin", *programs)
    demo = await start(tmp_path / "out", "--before", "5", "--after", "6", path=path)
    text = await finished(demo)
    assert "Responsiveness under load" in text
    scores = json.loads((tmp_path / "out" / "summary.json").read_text())["responsiveness"]
    with_control, without = scores["with_control"], scores["without_control"]
    assert 60_000 / 1_000 < with_control["loaded_rpm"] < with_control["foreign_rpm"]
    # Behind a queue of more than a second the client may have no answer at all.
    assert without is None or with_control["rpm"] > 4 * without["rpm"]
    assert running_with(str(tmp_path)) == []


async def test_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    path = only(tmp_path / "bin", "iperf3", "ping", "setpriv", "stdbuf", "sh")
    out = tmp_path / "out"
    demo = await start(out, path=path)
    async with asyncio.timeout(4 * PATIENCE_S):
        while not any("tc-controller" in line for line in running_with(str(tmp_path))):
            await asyncio.sleep(0.05)
    demo.send_signal(signal.SIGINT)
    output, _ = await asyncio.wait_for(demo.communicate(), PATIENCE_S)
    assert demo.returncode == 130, output.decode()
    assert "demo-live: interrupted, all programs stopped" in output.decode()
    assert "Traceback" not in output.decode()
    assert running_with(str(tmp_path)) == []
