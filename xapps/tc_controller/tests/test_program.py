"""The program itself, and the forecast stream, over real sockets."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np
from ric.clock import SystemClock
from ric.grpc_server import GrpcServer, GrpcServerSettings
from ric.procedures import Call
from ric.security import Security
from sojourn_interfaces import forecast_pb2 as pb
from tc_controller.core.inputs import ForecastReport
from tc_controller.forecasts import follow_forecasts
from tc_controller.settings import ForecastsSettings


def test_the_program_starts_without_a_gateway_and_stops_cleanly(tmp_path: Path) -> None:
    """It waits for the gateway; readiness is false, metrics are served."""
    log = tmp_path / "decisions.jsonl"
    command = [
        *(sys.executable, "-m", "tc_controller.cli"),
        *("--gateway", f"unix:{tmp_path}/none.sock", "--metrics-listen", "127.0.0.1:0"),
        *("--decision-log", str(log), "--stats", str(tmp_path / "stats.json")),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        assert ready["event"] == "ready"
        with urllib.request.urlopen(f"http://{ready['metrics']}/metrics", timeout=30) as answer:
            text = answer.read().decode()
        assert "sojourn_controller_acting 1.0" in text
        assert "sojourn_controller_detect_to_ack_seconds_count 0.0" in text
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, errors
    assert output == ""
    assert [json.loads(line)["event"] for line in log.read_text().splitlines()] == ["stats"]
    assert json.loads((tmp_path / "stats.json").read_text())["detect_to_ack_us"]["count"] == 0


class _Forecaster:
    """Ends each stream after one batch."""

    def __init__(self) -> None:
        self.streams = 0

    async def subscribe(self, request: pb.ForecastRequest, call: Call) -> None:
        assert list(request.quantities) == [pb.OCCUPANCY_BYTES]
        self.streams += 1
        good = pb.Forecast(bearer=pb.Bearer(rnti=7, drb=1), source=pb.Forecast.MODEL)
        good.series.add(quantity=pb.OCCUPANCY_BYTES, values=[1, 2, 3, 4])
        odd = pb.Forecast(bearer=pb.Bearer(rnti=8, drb=1))
        odd.series.add(quantity=pb.OCCUPANCY_BYTES, values=[1, 2, 3])
        short = pb.Forecast(bearer=pb.Bearer(rnti=10, drb=1))
        short.series.add(quantity=pb.OCCUPANCY_BYTES, values=[1, 2])
        other = pb.Forecast(bearer=pb.Bearer(rnti=9, drb=1))
        other.series.add(quantity=pb.DRAIN_BYTES, values=[1, 2])
        batch = pb.ForecastBatch(
            node_id="n",
            quantiles=[0.1, 0.9],
            points_us=[11_000, 20_000],
            forecasts=[good, odd, short, other],
        )
        await call.write(batch.SerializeToString())


async def test_forecasts_are_followed_over_the_ends_of_the_stream() -> None:
    forecaster = _Forecaster()
    server = GrpcServer(
        pb.DESCRIPTOR.services_by_name["Forecaster"],
        {"Subscribe": ("subscribe", forecaster.subscribe)},
        GrpcServerSettings(listen="127.0.0.1:0"),
        security=Security(),
    )
    await server.start()
    reports: list[ForecastReport] = []
    enough = asyncio.Event()

    def handle(report: ForecastReport) -> None:
        reports.append(report)
        if len(reports) == 2:
            enough.set()

    settings = ForecastsSettings(address=f"127.0.0.1:{server.port}")
    following = asyncio.create_task(follow_forecasts(settings, SystemClock(), handle))
    await asyncio.wait_for(enough.wait(), 60)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    await server.stop(0)
    assert forecaster.streams >= 2
    assert reports[0].points_us == (11_000, 20_000)
    (forecast,) = reports[0].forecasts
    assert forecast.rnti == 7
    assert forecast.from_model
    np.testing.assert_array_equal(forecast.occupancy_bytes, [[1, 2], [3, 4]])
