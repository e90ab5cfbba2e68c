"""The demo on real network stacks: what needs neither root nor a gNB."""

from __future__ import annotations

import http.client
import json
import mimetypes
import re
import shutil
import socket
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from sojourn_demo import DemoError
from sojourn_demo.kernel import page, quality, setup, site, tools
from sojourn_demo.kernel.__main__ import main
from sojourn_demo.kernel.browser import launched
from sojourn_demo.kernel.lateness import Lateness
from sojourn_demo.kernel.media import LADDER_KBPS, MANIFEST
from sojourn_demo.kernel.pages import load_pages
from sojourn_demo.kernel.qoe import Session, page_figures
from sojourn_demo.kernel.run import Run, conclude_runs
from sojourn_demo.kernel.setup import Schedule
from sojourn_demo.kernel.tools import Tools
from sojourn_demo.kernel.video import SESSION
from sojourn_demo.load import network_quality
from sojourn_demo.load.radio_clock import RadioClock
from sojourn_demo.load.rows import Row, write_rows
from sojourn_demo.programs import free_address

BEGAN_MS = 1_700_000_000_000.0
EPOCH_US = 1_700_000_000_000_000 - 8_000_000
"""The gNB of the recordings started 8 s before the first click."""


def sample(event: str, at_s: float, buffer_s: float, position_s: float) -> dict[str, Any]:
    return {
        "event": event,
        "at_ms": BEGAN_MS + 1e3 * at_s,
        "buffer_s": buffer_s,
        "position_s": position_s,
    }


def segment(index: int, rate: int, *, received_s: float) -> dict[str, Any]:
    """A segment of 2 s at exactly the rate of the ladder."""
    return {
        "event": "segment",
        "at_ms": BEGAN_MS + 1e3 * received_s,
        "requested_ms": BEGAN_MS + 1e3 * received_s - 100,
        "index": index,
        "rate": rate,
        "bytes": LADDER_KBPS[rate] * 2 * 125,
        "from_s": 2.0 * index,
        "to_s": 2.0 * index + 2,
    }


STALLED = [
    segment(0, 0, received_s=0.9),
    sample("waiting", 0.2, 0.0, 0.0),
    sample("playing", 1.0, 2.0, 0.0),
    sample("sample", 2.0, 1.0, 1.0),
    sample("waiting", 3.0, 0.0, 2.0),
    segment(1, 2, received_s=4.4),
    sample("playing", 4.5, 2.0, 2.0),
    # The decoder takes over a segment, with data enough.
    sample("waiting", 5.0, 1.5, 2.5),
    sample("playing", 5.1, 1.5, 2.5),
    segment(2, 2, received_s=5.2),
    sample("sample", 6.5, 2.1, 3.9),
    segment(3, 5, received_s=7.0),
    sample("sample", 7.6, 3.0, 5.0),
]
"""A start after 1 s, one stall of 1.5 s; 5 s of video were shown, 2 of them at the lowest rate."""


def session(log: list[dict[str, Any]], seconds: float = 8.0) -> Session:
    began_us = round(1e3 * BEGAN_MS)
    return Session(began_us, began_us + round(1e6 * seconds), log)


def test_start_stalls_rate_and_switches_of_a_video_are_those_of_its_log() -> None:
    assert session(STALLED).figures() == {
        "startup_ms": 1000,
        "stalls": 1,
        "stalled_s": 1.5,
        "played_s": 5.0,
        "watched_s": 8.0,
        "mean_mbps": pytest.approx((2 * 0.3 + 3 * 1.2) / 5, abs=1e-3),
        "switches": 1,
    }


def test_a_stall_lasts_until_the_end_where_nothing_ends_it() -> None:
    log = [*STALLED, sample("waiting", 7.7, 0.1, 5.1)]
    figures = session(log, seconds=12.0).figures()
    assert (figures["stalls"], figures["stalled_s"]) == (2, pytest.approx(1.5 + 4.3))


@pytest.mark.parametrize("log", [[], [sample("waiting", 0.2, 0.0, 0.0)]])
def test_a_video_that_never_started_has_no_stalls(log: list[dict[str, Any]]) -> None:
    figures = session(log).figures()
    assert figures["startup_ms"] is figures["stalls"] is figures["mean_mbps"] is None
    (shown,) = session(log).shown()
    assert (shown.to_ms - shown.from_ms, shown.rate) == (8000, None)


def test_the_strip_covers_the_whole_session_with_rates_and_waits() -> None:
    shown = list(session(STALLED).shown())
    edges = [span.from_ms for span in shown] + [shown[-1].to_ms]
    assert edges[0] == BEGAN_MS
    assert edges[-1] == BEGAN_MS + 8000
    assert edges == sorted(edges)
    assert [span.rate for span in shown] == [None, 0, 0, None, 2, 2, 2, 2, 2]


def test_pages_that_did_not_load_are_counted_and_have_no_time() -> None:
    loads: list[dict[str, Any]] = [
        {"started_us": 1, "load_ms": 400.0, "first_byte_ms": 30.0, "objects": 48},
        {"started_us": 2, "load_ms": 600.0, "first_byte_ms": 50.0, "objects": 48},
        {"started_us": 3, "waited_ms": 9000.0},
    ]
    figures = page_figures(loads)
    assert figures["page_load_ms"]["p50"] == 500
    assert figures["page_first_byte_ms"]["p50"] == 40
    assert (figures["pages_begun"], figures["pages_loaded"]) == (3, 2)
    assert page_figures([])["page_load_ms"]["p50"] is None


# ------------------------------------------------------------------------- the report


def record(folder: Path, *, switched_s: float | None) -> Path:
    """30 s of a gNB: a video and pages in two phases, from 8 and 18 s on, after the change fast."""
    folder.mkdir()
    time_us = np.arange(0, 30_000_001, 10_000)
    count = len(time_us)
    after = time_us >= 1e6 * (1e9 if switched_s is None else switched_s)
    bearers = {
        **{"time_us": time_us, "rnti": np.full(count, 17), "drb": np.ones(count, int)},
        **{"rlc_hol_us": np.where(after, 2_000, 700_000), "rlc_occupancy_bytes": time_us * 0},
        **{"tc_backlog_bytes": time_us * 0, "drained_bytes": time_us * 5},
        **{"cell_used_prb": np.arange(count), "cell_available_prb": np.arange(count)},
        "tc_revision": np.where(after, 2, 1),
    }
    pq.write_table(pa.table(bearers), folder / "bearers.parquet")
    host = ([0], ["hosts"], ["host"], ["one_way"], [5_000.0])
    names = ("time_us", "flow", "kind", "quantity", "value")
    pq.write_table(pa.table(dict(zip(names, host, strict=True))), folder / "flows.parquet")
    lateness = {"late_slots": 30, "busy_slots": 1000, "delivery_us": {"p99": 1234}}
    (folder / setup.GNB).write_text(json.dumps({"live": {"lateness": lateness}}))
    summary = {"epoch_us": EPOCH_US, "duration_s": 30.0}
    (folder / "summary.json").write_text(json.dumps(summary))
    # The ping started before the gNB's clock did.
    rows: list[Row] = [("ping", "ping", "rtt", EPOCH_US - 100_000, 9.0)]
    for at_us in range(100_000, 30_000_000, 100_000):
        rtt_us = 12_000 if switched_s is not None and at_us >= switched_s * 1e6 else 800_000
        rows.append(("ping", "ping", "rtt", EPOCH_US + at_us + rtt_us, rtt_us))
        rows.append(("cubic", "tcp", "goodput_bytes", EPOCH_US + at_us, at_us * 3.0))
        rows.append(("bbr", "tcp", "goodput_bytes", EPOCH_US + at_us, at_us * 2.0))
        rows.append(("voip", "voip", "one_way", EPOCH_US + at_us, 5_000))
    write_rows(folder / setup.MEASURED, rows)
    began_us = round(1e3 * BEGAN_MS)
    slow = {
        "video": {"started_us": began_us, "ended_us": began_us + 8_000_000, "log": STALLED},
        "pages": [{"started_us": began_us, "waited_ms": 9_900.0}],
    }
    shown = [e for e in STALLED if e["at_ms"] >= BEGAN_MS + 900 and e["event"] != "waiting"]
    fast = {
        "video": {"started_us": began_us, "ended_us": began_us + 8_000_000, "log": shown},
        "pages": [{"started_us": began_us, "load_ms": 420.0, "first_byte_ms": 31.0, "objects": 48}],
    }
    phases = [slow, slow if switched_s is None else fast]
    (folder / setup.BROWSER).write_text(json.dumps({"phases": phases}))
    return folder


def read(folder: Path) -> Run:
    """The run of a folder, whose gNB kept to the wall."""
    clock = RadioClock()
    clock.add(EPOCH_US, 0)
    schedule = Schedule(EPOCH_US + 8_000_000, EPOCH_US + 18_000_000, EPOCH_US + 28_000_000)
    return Run.read(folder, schedule, clock)


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Run, Run]:
    """Scores with control and without."""
    return (
        read(record(tmp_path / "with", switched_s=18.1)),
        read(record(tmp_path / "without", switched_s=None)),
    )


def conclude(out: Path, runs: tuple[Run, Run], skipped: tuple[str, ...] = ()) -> dict[str, Any]:
    answered = {"accepted": {"revision": 2}}
    decision = {"id": "d-1", "at_us": EPOCH_US + 18_100_000, "bearer": {}, "trigger": "base"}
    decided = {"event": "decided", "rung": {"template": "low_latency"}, "reasons": ["base"]}
    acknowledged = {"event": "answered", "detect_to_ack_us": 1500, "outcome": answered}
    lines = [json.dumps({**decision, **more}) for more in (decided, acknowledged)]
    (out / "decisions.jsonl").write_text("\n".join(lines) + "\n")
    here = Tools(("cubic", "bbr"), irtt=True, chromium="/usr/bin/chromium", skipped=skipped)
    conclude_runs(Namespace(out=out, trace=Path("radio.down")), Console(quiet=True), here, *runs)
    summary: dict[str, Any] = json.loads((out / "summary.json").read_text())
    return summary


def test_the_summary_has_what_applications_had_in_each_phase(
    tmp_path: Path, runs: tuple[Run, Run]
) -> None:
    summary = conclude(tmp_path, runs)
    before, after = summary["phases"]
    alone = summary["without_control"]
    assert (before["from_s"], before["to_s"]) == (8.0, 18.1)
    assert (after["from_s"], after["to_s"]) == (18.1, 28.0)
    assert (before["video"]["stalls"], after["video"]["stalls"], alone["video"]["stalls"]) == (
        *(1, 0, 1),
    )
    assert after["page_load_ms"]["p50"] == 420
    assert (alone["pages_begun"], alone["pages_loaded"]) == (1, 0)
    assert after["downloads_mbps"] == pytest.approx({"cubic": 24.0, "bbr": 16.0})
    assert after["goodput_mbps"] == pytest.approx(40.0)
    assert before["ping_rtt_ms"]["p95"] == 800
    assert after["ping_rtt_ms"]["p95"] == 12
    assert summary["runs"]["with_control"] == {
        **{"begin_s": 8.0, "late_slots": 30, "busy_slots": 1000},
        "delivered_late_p99_us": 1234,
    }


def test_the_run_without_control_is_laid_over_the_other(
    tmp_path: Path, runs: tuple[Run, Run]
) -> None:
    """Its programs took half a second longer to start."""
    clock = RadioClock()
    clock.add(EPOCH_US - 500_000, 0)
    schedule = Schedule(EPOCH_US + 8_000_000, EPOCH_US + 18_000_000, EPOCH_US + 28_000_000)
    late = Run.read(tmp_path / "without", schedule, clock)
    assert (late.begin_s, late.measured.s(BEGAN_MS)) == (8.5, 8.5)
    moved = late.beginning(8.0)
    assert (moved.begin_s, moved.switch_s, moved.recording.duration_s) == (8.0, 18.0, 28.0)
    assert moved.measured.s(BEGAN_MS) == 8.0
    summary = conclude(tmp_path, (runs[0], late))
    assert summary["runs"]["without_control"]["begin_s"] == 8.5
    assert summary["without_control"]["downloads_mbps"] == pytest.approx(
        {"cubic": 24.0, "bbr": 16.0}
    )
    assert "the other run is moved by -0.5 s" in (tmp_path / "report.html").read_text()


def test_the_page_says_it_in_words_tables_and_plots(tmp_path: Path, runs: tuple[Run, Run]) -> None:
    conclude(tmp_path, runs, skipped=("No irtt & so on.",))
    text = (tmp_path / "report.html").read_text()
    assert "by real network stacks (radio.down)" in text
    assert (
        "The video started after <b>1.0 s</b>, never stalled and had <b>0.84 Mbit/s</b>; without"
        " control it started after <b>1.0 s</b>, stalled once for <b>1.5 s</b> and had"
        " <b>0.84 Mbit/s</b>. Pages loaded in <b>0.4 s</b> (median, 1 of 1); without control they"
        " had not loaded by the end (0 of 1). All flows together had <b>100%</b> of the bytes"
        " without control."
    ) in text
    assert "No irtt &amp; so on." in text
    assert (
        "Without control, 3.0% of the slots with packets ran late on this machine, and 99% of the"
        " packets reached the kernel at most 1.2 ms late."
    ) in text
    for caption in ("What the video showed", "Buffer of the video player", "Page loads by"):
        assert caption in text
    assert '<td>video: stalled, s</td><td class="n">1.5</td><td class="n c">0.0</td>' in text
    assert not re.search(r"""(src|href)=["']?https?:""", text)


def test_a_run_without_a_browser_has_no_video_in_its_report(
    tmp_path: Path, runs: tuple[Run, Run]
) -> None:
    for name in ("with", "without"):
        (tmp_path / name / setup.BROWSER).unlink()
    bare = (read(tmp_path / "with"), read(tmp_path / "without"))
    summary = conclude(tmp_path, bare)
    assert "video" not in summary["phases"][1]
    _, _, text = (tmp_path / "report.html").read_text().partition("</style>")
    assert "ideo" not in text
    assert "download by BBR" in text
    assert summary["ratios"] == conclude(tmp_path, runs)["ratios"]


def test_measurements_that_are_missing_give_one_line(tmp_path: Path) -> None:
    folder = record(tmp_path / "run", switched_s=None)
    (folder / setup.MEASURED).unlink()
    with pytest.raises(DemoError, match=r"run: no measurements of applications: FileNotFound"):
        read(folder)
    (folder / setup.GNB).write_text("{}")
    with pytest.raises(DemoError, match=r"gnb.json: KeyError.*expected a summary of gnb-lab live"):
        Lateness.read(folder)


# ---------------------------------------------------------------------- what is missing


def on_path(monkeypatch: pytest.MonkeyPatch, *names: str, kernel: str = "reno cubic bbr") -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}" if name in names else None)
    monkeypatch.setattr(tools, "kernel_controls", lambda: tuple(kernel.split()))


def test_each_missing_program_has_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    server = ("nginx", "openssl")
    on_path(
        monkeypatch,
        *("iperf3", "ping", "setpriv", "irtt", "google-chrome", "goresponsiveness", *server),
    )
    found = Tools.found()
    assert (found.skipped, found.chromium) == ((), "/bin/google-chrome")
    assert found.quality == "/bin/goresponsiveness"
    on_path(monkeypatch, "iperf3", "ping", "setpriv", kernel="reno cubic")
    found = Tools.found()
    assert found.controls == ("cubic",)
    assert found.skipped == (
        "No download by bbr: this kernel offers reno, cubic (`modprobe tcp_bbr`).",
        "No irtt (Debian: apt install irtt): numbered UDP packets of the demo's own are the"
        " VoIP-like flow.",
        "No video and no pages: no chromium on PATH (Debian: apt install chromium).",
        "No RPM: no networkQuality on PATH, the IETF community's client for responsiveness"
        " (docs/kernel-traffic.md says where it is from).",
    )
    on_path(monkeypatch, "iperf3", "ping", "setpriv", "irtt", "chromium", "networkQuality")
    found = Tools.found()
    assert found.quality is None
    assert found.skipped == (
        "No RPM: no nginx, openssl on PATH (Debian: apt install nginx-light openssl).",
    )


def test_client_and_server_of_the_test_of_responsiveness_speak_of_the_same_place(
    tmp_path: Path,
) -> None:
    words = network_quality.client("networkQuality", f"198.51.100.1:{quality.PORT}", tmp_path)
    assert words[1:3] == ("-url", "https://198.51.100.1:8443/.well-known/nq")
    found = quality.configuration(f"198.51.100.1:{quality.PORT}")
    assert found["version"] == 1
    assert found["urls"] == {
        "small_https_download_url": "https://198.51.100.1:8443/small",
        "large_https_download_url": "https://198.51.100.1:8443/large",
        "https_upload_url": "https://198.51.100.1:8443/upload",
    }
    assert "listen 8443 ssl http2;" in quality.settings(tmp_path)


def test_connections_of_the_server_hold_a_frame_back_whatever_the_machines_default() -> None:
    with quality.listener(0, "reno") as listening:
        port = listening.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)), listening.accept()[0] as accepted:
            held = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT)
            control = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    assert held == 16_384
    assert control.rstrip(b"\0") == b"reno"


def quality_probes(folder: Path, foreign_s: float, loaded_s: float) -> None:
    """Probes of a test in a run."""
    heads = (network_quality.ROUND_TRIPS, network_quality.DURATION_S, network_quality.TYPE)
    logs = folder / setup.QUALITY
    logs.mkdir()
    for name, row in (
        ("foreign", (3, 3 * foreign_s, "Foreign")),
        ("self", (1, loaded_s, "SelfDown")),
    ):
        lines = (", ".join(map(str, line)) for line in (heads, row))
        (logs / f"probes-{name}-now.csv").write_text("\n".join(lines) + "\n")


def test_responsiveness_by_real_connections_is_in_summary_and_report(
    tmp_path: Path, runs: tuple[Run, Run]
) -> None:
    assert "responsiveness" not in conclude(tmp_path, runs)
    quality_probes(tmp_path / "with", 0.015, 0.06)
    summary = conclude(tmp_path, (read(tmp_path / "with"), runs[1]))
    assert summary["responsiveness"]["with_control"] == {
        **{"rpm": 2500.0, "foreign_rpm": 4000.0, "loaded_rpm": 1000.0}
    }
    # Of 1.2 s of queue no probe came back in time.
    assert summary["responsiveness"]["without_control"] is None
    text = (tmp_path / "report.html").read_text()
    assert (
        "Responsiveness under load was <b>2,500 RPM</b>; without control it could not be measured,"
        " as too few probes were answered."
    ) in text
    quality_probes(tmp_path / "without", 1.2, 1.5)
    conclude(tmp_path, (read(tmp_path / "with"), read(tmp_path / "without")))
    text = (tmp_path / "report.html").read_text()
    row = "<tr><td>RPM in a loading connection (loaded)</td>"
    assert f'{row}<td class="n c">1,000</td><td class="n">40</td></tr>' in text


def test_without_a_load_there_is_nothing_to_show(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    on_path(monkeypatch, "ping", "setpriv")
    assert main(["--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err == "demo-live: no iperf3 on PATH; Debian: apt install iperf3\n"
    on_path(monkeypatch, "iperf3", "ping", "setpriv", kernel="reno")
    with pytest.raises(DemoError, match="this kernel: reno; expected cubic or bbr"):
        Tools.found()


def test_a_phase_too_short_for_a_video_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--before", "1"])
    assert "argument --before: 1; expected 5 to 3600 seconds" in capsys.readouterr().err


def test_the_reason_of_gnb_lab_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(DemoError, match="no such program; run `make setup` first"):
        tools.check_namespaces(Path("live.yaml"))
    program = tmp_path / "gnb-lab"
    program.write_text("#!/bin/sh\necho 'gnb-lab: network namespaces: denied' >&2; exit 1\n")
    program.chmod(0o755)
    with pytest.raises(DemoError, match=r"^network namespaces: denied$"):
        tools.check_namespaces(Path("live.yaml"))


async def test_what_fails_at_server_or_ue_is_raised_where_its_files_are_awaited(
    tmp_path: Path,
) -> None:
    setup.tell_failure(tmp_path, DemoError("iperf3-bbr ended with status 1"))
    setup.tell_failure(tmp_path, DemoError("a consequence"))
    with pytest.raises(DemoError, match=r"^iperf3-bbr ended with status 1$"):
        await setup.appeared(tmp_path / setup.DONE)
    setup.Setup(("cubic",), irtt=False, chromium=None).write(tmp_path)
    assert setup.Setup.read(tmp_path) == setup.Setup(("cubic",), irtt=False, chromium=None)
    Schedule(1, 2, 3).write(tmp_path)
    assert await Schedule.awaited(tmp_path) == Schedule(1, 2, 3)


# ------------------------------------------------------------------ page, video, player


def test_the_page_is_the_same_each_time_and_its_objects_are_served(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        page.write(tmp_path / name / site.PAGE)
    contents, again = (
        {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.*")}
        for folder in (tmp_path / "one", tmp_path / "other")
    )
    assert contents == again
    assert len(contents) == page.OBJECTS + 1
    assert 1.2e6 < sum(map(len, contents.values())) < 1.8e6
    linked = re.findall(r'(?:src|href)="([^"]+)"', contents[site.PAGE].decode())
    assert sorted([*linked, site.PAGE]) == sorted(contents)
    with site.served(tmp_path / "one") as port:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for path in (*linked[:4], linked[-1]):
            connection.request("GET", f"/{path}")
            answer = connection.getresponse()
            kind, _ = mimetypes.guess_type(path)
            assert (answer.status, answer.getheader("Content-Type")) == (200, kind)
            assert answer.read() == contents[path]
        connection.request("GET", "/none")
        assert connection.getresponse().status == 404
        connection.close()


CHROMIUM = next(filter(None, map(shutil.which, tools.CHROMIUM)), None)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on PATH (Debian: apt install chromium)"
)


def is_empty(folder: Path) -> bool:
    return not any(folder.iterdir())


PLAYS_A_HIGHER_RATE = """log.some(({ event, rate, from_s }) =>
  event === "segment" && rate > 0 && document.querySelector("video").currentTime > from_s + 0.5)"""


@needs_chromium
async def test_the_player_chooses_the_rates_of_bba0_and_the_lab() -> None:
    """The page's player and the lab's `video` flows agree on one ladder."""
    assert CHROMIUM is not None
    low_s = MANIFEST["reservoir_s"]
    high_s = low_s + MANIFEST["cushion_s"]
    cases: list[tuple[float, int | None, int]] = [
        *((0.0, None, 0), (low_s, 5, 0), (high_s, 0, 5), (60.0, None, 5)),
        # f(10 s) = 2300 kbit/s.
        *((10.0, 0, 3), (10.0, 3, 3), (10.0, 4, 4), (10.0, 5, 4)),
        # f(6.5 s) = 900 kbit/s.
        *((6.5, 0, 1), (6.5, 2, 2), (6.5, 3, 2)),
    ]
    async with launched(Path(CHROMIUM)) as browser, await browser.new_page() as tab:
        await tab.add_script_tag(path=Path(site.__file__).with_name("static") / "player.js")
        chosen = [
            await tab.evaluate("([...words]) => choose(...words)", [MANIFEST, ahead_s, last])
            for ahead_s, last, _ in cases
        ]
    assert chosen == [rate for *_, rate in cases]


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder whose path leaves room for Chromium's socket: 107 bytes in all (unix(7))."""
    with TemporaryDirectory(prefix="demo-") as folder:
        yield Path(folder)


@needs_chromium
async def test_what_the_browser_refuses_is_one_line_and_its_profile_is_removed(
    short_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert CHROMIUM is not None
    monkeypatch.setenv("TMPDIR", str(short_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with pytest.raises(DemoError, match=r"^Chromium: .*Error: on purpose$"):
        async with launched(Path(CHROMIUM)) as browser, await browser.new_page() as tab:
            await tab.evaluate("Promise.reject(new Error('on purpose'))")
    soon_us = time.time_ns() // 1000 + 60_000_000
    with pytest.raises(DemoError, match=r"^Chromium: .*ERR_CONNECTION_REFUSED"):
        async with launched(Path(CHROMIUM)) as browser:
            await load_pages(browser, f"http://{free_address()}/", soon_us)
    assert is_empty(short_path)
    with pytest.raises(DemoError, match=r"^Chromium: .*no-such-browser"):
        async with launched(Path("/no-such-browser")):
            pass


@needs_chromium
@pytest.mark.timeout(120)
async def test_the_recorded_video_has_its_rates_and_plays_across_segments(tmp_path: Path) -> None:
    assert CHROMIUM is not None
    await site.make(tmp_path / "site", Path(CHROMIUM))
    sizes = [(tmp_path / "site/video" / f"{rate}.webm").stat().st_size for rate in range(6)]
    rates_kbps = [8e-3 * size / MANIFEST["segment_s"] for size in sizes]
    assert rates_kbps == pytest.approx(LADDER_KBPS, rel=0.3)
    with site.served(tmp_path / "site") as port:
        async with launched(Path(CHROMIUM)) as browser, await browser.new_page() as tab:
            started_us = time.time_ns() // 1000
            await tab.goto(f"http://127.0.0.1:{port}/{site.PLAYER}")
            await tab.wait_for_function(PLAYS_A_HIGHER_RATE, timeout=60_000)
            found = await tab.evaluate(SESSION)
    session = Session(started_us, time.time_ns() // 1000, found["log"])
    assert session.stalls() == []
    assert session.switches() > 0
