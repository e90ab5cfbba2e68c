"""`ric report` over a real Prometheus with two days of two sites, of which one gets control."""

from __future__ import annotations

import argparse
import csv
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from ric.cli import ric
from sojourn_dashboards.api import Api
from sojourn_dashboards.kpi.command import periods, span_s
from sojourn_dashboards.kpi.measures import MEASURES, quantile_s
from sojourn_dashboards.kpi.totals import PIECE_S, QUERIES, Totals, read_piece

DAY_S = 86_400
STEP_S = 150
Site = tuple[str, str, str]
EAST, WEST = ("east", "ran", "first"), ("west", "ran", "first")
WITHOUT = {
    'acting{instance="I"}': 0,
    'sdu_delay_dl_5m_seconds{B,kind="sparse"}': 1.6,
    'sdu_delay_dl_5m_seconds{B,kind="bulk"}': 1.5,
    'sojourn_seconds_bucket{B,le="0.01"}': 10,
    'sojourn_seconds_bucket{B,le="1.0"}': 20,
    'sojourn_seconds_bucket{B,le="+Inf"}': 100,
    "pdcp_sdu_delay_dl_seconds_sum{B}": 0,
    "pdcp_sdu_delay_dl_seconds_count{B}": 10,
    "rlc_sdu_delay_dl_seconds_sum{B}": 15,
    "rlc_sdu_delay_dl_seconds_count{B}": 10,
    'dropped_packets_total{B,cause="queue"}': 0,
    'compliance_seconds_total{B,state="met"}': 10,
    'compliance_seconds_total{B,state="violated"}': 90,
}
"""Value of a gauge, growth of a counter a step. `I`: an instance; `B`: it and labels of bearers."""
WITH = WITHOUT | {
    'acting{instance="I"}': 1,
    'sdu_delay_dl_5m_seconds{B,kind="sparse"}': 0.004,
    'sdu_delay_dl_5m_seconds{B,kind="bulk"}': 0.02,
    'sojourn_seconds_bucket{B,le="0.01"}': 100,
    'sojourn_seconds_bucket{B,le="1.0"}': 100,
    "pdcp_sdu_delay_dl_seconds_sum{B}": 0.18,
    "rlc_sdu_delay_dl_seconds_sum{B}": 0.02,
    'dropped_packets_total{B,cause="queue"}': 50,
    'compliance_seconds_total{B,state="met"}': 99,
    'compliance_seconds_total{B,state="violated"}': 1,
}
needs_prometheus = pytest.mark.skipif(
    not (shutil.which("prometheus") and shutil.which("promtool")),
    reason="needs prometheus and promtool on PATH (Debian: prometheus)",
)


def lines(site: Site, instance: str, now_s: int, controlled_from_s: int) -> Iterator[str]:
    """OpenMetrics of a controller over two days."""
    place = ",".join(
        f'{label}="{value}"'
        for label, value in zip(("cluster", "namespace", "release"), site, strict=True)
    )
    for name, before in WITHOUT.items():
        own = f'instance="{instance}",{place}'
        series = name.replace('instance="I"', own).replace("B", f'{own},node="n",slice="",rule="r"')
        counted = 0.0
        for at_s in range(now_s - 2 * DAY_S - STEP_S, now_s + 1, STEP_S):
            value = WITH[name] if at_s > controlled_from_s else before
            counted += value
            gauge = name.startswith(("acting", "sdu_"))
            yield f"sojourn_controller_{series} {value if gauge else counted} {at_s}\n"


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a Prometheus. East has two controllers, which count the same bearers."""
    folder = tmp_path_factory.mktemp("prometheus")
    now_s = int(time.time()) // 300 * 300
    with (folder / "series.txt").open("w") as file:
        for instance in ("a", "b"):
            file.writelines(lines(EAST, instance, now_s, now_s - DAY_S))
        file.writelines(lines(WEST, "c", now_s, now_s + 1))
        file.write("# EOF\n")
    data = folder / "data"
    make = ("promtool", "tsdb", "create-blocks-from", "openmetrics", folder / "series.txt", data)
    subprocess.run(make, check=True, capture_output=True)
    (folder / "prometheus.yml").write_text("global: {scrape_interval: 1m}\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    running = subprocess.Popen(
        [
            *("prometheus", f"--config.file={folder / 'prometheus.yml'}"),
            *(f"--storage.tsdb.path={data}", f"--web.listen-address={address}"),
        ],
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://{address}/-/ready", timeout=5).close()
                break
            except (urllib.error.URLError, ConnectionError):
                assert running.poll() is None
                time.sleep(0.1)
        yield f"http://{address}"
    finally:
        running.terminate()
        running.wait()


def report(url: str, out: Path, *arguments: str) -> dict[Site, dict[str, tuple[str, str]]]:
    """The table: figures before and after of each site, by name; sites in their order."""
    given = ["report", "--prometheus", url, "--since", "1d", "--out", str(out), *arguments]
    assert ric.main(given) == 0
    found: dict[Site, dict[str, tuple[str, str]]] = {}
    with (out / "kpi.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            site = (row["cluster"], row["namespace"], row["release"])
            found.setdefault(site, {})[row["kpi"]] = (row["before"], row["after"])
    return found


EXPECTED = {
    "time above the bound": (90, 1),
    "sparse packets, 95th percentile": (1000, 9.5),
    "sparse packets, mean": (1600, 4),
    "bulk packets, mean": (1500, 20),
    "delay in the CU-UP": (0, 180),
    "delay in the gNB-DU": (15_000, 20),
    "both delays": (15_000, 200),
    "dropped packets": (0, 0.5),
}


@needs_prometheus
def test_sites_are_compared_with_the_time_before_worst_first(
    prometheus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = report(prometheus, tmp_path)
    assert list(found) == [WEST, EAST]
    assert found[EAST].keys() == {measure.name for measure in MEASURES}
    assert found[EAST]["inherited packets, mean"] == ("", "")
    for name, values in EXPECTED.items():
        shown = tuple(map(float, found[EAST][name]))
        # A window of rates lies across the change.
        assert shown == pytest.approx(values, rel=0.05, abs=0.6), name
    assert {float(value) for value in found[WEST]["time above the bound"]} == {90}
    first, _ = capsys.readouterr().out.splitlines()
    assert first.startswith("west / ran / first: sparse packets, 95th percentile 1,000 → 1,000 ms")
    page = (tmp_path / "kpi.html").read_text(encoding="utf-8")
    assert page.index("west / ran / first") < page.index("east / ran / first")
    assert "DRB.PdcpSduDelayDl (5.1.3.3.1)" in page
    assert "<script" not in page


@needs_prometheus
def test_with_the_mode_before_is_the_time_without_control(prometheus: str, tmp_path: Path) -> None:
    found = report(prometheus, tmp_path, "--since", "2d", "--compare-to", "mode")
    for name, values in EXPECTED.items():
        assert tuple(map(float, found[EAST][name])) == pytest.approx(values, rel=0.05, abs=0.6)
    assert found[WEST]["sparse packets, mean"] == ("1600", "")


class Answering(BaseHTTPRequestHandler):
    """A server with one answer, of its class."""

    status, body = 200, b""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (200, b'{"data": {"result": []}}', "no series sojourn_controller_acting in URL since "),
        (200, b"<html>", "URL: answers without data; expected a Prometheus"),
        (404, b"nothing", "URL: HTTP 404 Not Found; expected a Prometheus"),
        (422, b'{"error": "too many samples"}', "URL: too many samples"),
        (200, b'{"data": {"result": [7]}}', "URL: kind_sum: no vector; expected a Prometheus"),
    ],
)
def test_what_is_no_prometheus_with_controllers_is_an_error_in_words(
    status: int, body: bytes, error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handler = type("One", (Answering,), {"status": status, "body": body})
    server = HTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever).start()
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        assert ric.main(["report", "--prometheus", url, "--out", str(tmp_path)]) == 1
    finally:
        server.shutdown()
        server.server_close()
    shown = capsys.readouterr().err
    assert shown.startswith("ric report: " + error.replace("URL", url))
    assert list(tmp_path.iterdir()) == []


def test_controllers_that_had_no_bearer_are_an_error_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(_: Api, path: str, **parameters: str) -> dict[str, list[object]]:
        exists = parameters["query"].startswith("count(")
        return {"result": [{"metric": {}, "value": [0, "2"]}] if exists else []}

    monkeypatch.setattr(Api, "get", answer)
    arguments = ["--prometheus", "http://127.0.0.1:9090", "--out", str(tmp_path)]
    assert ric.main(["report", *arguments]) == 1
    assert "controllers without a bearer; expected" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "error"),
    [("http://127.0.0.1:1", "Connection refused; expected a Prometheus"), ("nine", "not an addr")],
)
def test_an_address_that_nobody_serves_is_named(
    url: str, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ric.main(["report", "--prometheus", url]) == 1
    shown = capsys.readouterr().err
    assert url in shown
    assert error in shown


@pytest.mark.parametrize("text", ["7", "0d", "93d", "1w", "7d "])
def test_a_span_is_of_hours_or_days(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="expected 1h to 92d"):
        span_s(text)


class Recorded:
    """An API that answers nothing and keeps what it was asked."""

    url = "http://recorded"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def get(self, path: str, **parameters: str) -> dict[str, list[object]]:
        self.asked.append(parameters["query"])
        return {"result": []}


def test_no_query_reads_more_than_a_piece() -> None:
    recorded = Recorded()
    for period in periods(100 * DAY_S, 7 * DAY_S, None):
        spans = list(period.pieces())
        assert spans[0][0] == period.start_s
        assert spans[-1][1] == period.end_s
        for start_s, end_s in spans:
            assert end_s - start_s <= PIECE_S
            read_piece(recorded, period, start_s, end_s)  # type: ignore[arg-type]
    assert len(recorded.asked) == 2 * 28 * len(QUERIES)
    assert all(f"[{PIECE_S - 1}s:300s]" in query for query in recorded.asked)


def test_a_percentile_beyond_the_last_bound_is_that_bound() -> None:
    totals = Totals()
    for le, count in (("0.01", 0.0), ("1.0", 10.0), ("+Inf", 100.0)):
        totals.sums["sojourn", le] = count
    assert quantile_s(totals, 0.95) == 1
    assert quantile_s(totals, 0.05) == pytest.approx(0.505)
    assert quantile_s(Totals(), 0.95) is None
