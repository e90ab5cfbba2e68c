"""The xApp with a fake RIC and a gRPC consumer."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
import tiny_model
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from ric.sm import rlc
from ric.testing import ran_function
from rlc_forecaster import app
from rlc_forecaster.hub import MAX_QUEUED
from rlc_forecaster.metrics import Growth
from rlc_model import write_contract
from running_forecaster import NODE, running, time_us
from sojourn_interfaces import forecast_pb2 as pb


async def test_a_consumer_gets_every_bearers_forecast() -> None:
    async with running() as r:
        stream = r.stub.Subscribe(pb.ForecastRequest(node_id=NODE))
        await r.subscribed()
        while r.forecaster.hub.consumers == 0:
            await asyncio.sleep(0.005)
        r.report(1, {17: 4_000, 18: 90_000})
        batch = await stream.read()
        assert batch.node_id == NODE
        assert [f.bearer.rnti for f in batch.forecasts] == [17, 18]
        forecast = batch.forecasts[0]
        assert forecast.origin_us == 1_700_000_000_001_000
        assert (batch.points_us[0], batch.points_us[-1]) == (11_000, 100_000)
        assert forecast.source == pb.Forecast.PERSISTENCE
        (series,) = forecast.series
        assert series.quantity == pb.OCCUPANCY_BYTES
        assert list(series.values) == [4_000.0] * 60
        stream.cancel()


async def test_predict_returns_the_selected_bearers() -> None:
    async with running() as r:
        request = pb.ForecastRequest(
            bearers=[pb.Bearer(rnti=18, drb=1), pb.Bearer(rnti=99, drb=1)],
            quantities=[pb.DRAIN_BYTES, pb.OCCUPANCY_BYTES],
            quantiles=[0.25, 0.5],
        )
        with pytest.raises(grpc.aio.AioRpcError) as none_yet:
            await r.stub.Predict(request)
        assert none_yet.value.code() is grpc.StatusCode.NOT_FOUND
        await r.subscribed()
        for k in range(1, 4):
            r.report(k, {17: 1, 18: 3_000})
        await r.seen(3)
        batch = await r.stub.Predict(request)
        assert list(batch.quantiles) == [0.25, 0.5]
        (forecast,) = batch.forecasts
        assert [s.quantity for s in forecast.series] == [pb.DRAIN_BYTES, pb.OCCUPANCY_BYTES]
        # 1000 bytes a ms at two quantiles: of 1 to 10 ms between the points.
        spans_ms = np.diff(batch.points_us, prepend=10_000) / 1_000
        assert list(forecast.series[0].values) == np.repeat(1_000 * spans_ms, 2).tolist()
        assert list(forecast.series[1].values) == [3_000.0] * 40


@pytest.mark.parametrize(
    ("request_", "detail"),
    [
        (
            pb.ForecastRequest(quantities=[pb.LIMIT_BYTES]),
            "quantities[0]: LIMIT_BYTES is not forecast; expected OCCUPANCY_BYTES, DRAIN_BYTES",
        ),
        (pb.ForecastRequest(quantiles=[0.5, 1.0]), "quantiles[1]: 1 is not within (0, 1)"),
        (
            pb.ForecastRequest(quantiles=[0.5, 0.99]),
            "quantiles: 0.99 is beyond those of the forecasts; expected 0.1 to 0.9",
        ),
        (
            pb.ForecastRequest(quantiles=[0.05]),
            "quantiles: 0.05 is beyond those of the forecasts; expected 0.1 to 0.9",
        ),
        (pb.ForecastRequest(quantities=[77]), "quantities[0]: 77 is not forecast"),  # type: ignore[list-item]
    ],
)
async def test_the_error_of_a_wrong_request_names_the_field(
    request_: pb.ForecastRequest, detail: str
) -> None:
    async with running() as r:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await r.stub.Predict(request_)
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert detail in (refused.value.details() or "")
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await r.stub.Subscribe(request_).read()
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_model_makes_the_forecasts_and_is_swapped_when_its_directory_changes(
    tmp_path: Path,
) -> None:
    tiny_model.write(tmp_path)
    async with running(model=tmp_path, model_check_s=0.02) as r:
        await r.subscribed()
        for k in range(1, 12):
            r.report(k, {17: 5_000 + 10 * k})
        await r.seen(11)
        batch = await r.stub.Predict(pb.ForecastRequest(node_id=NODE))
        (forecast,) = batch.forecasts
        assert forecast.source == pb.Forecast.MODEL
        assert forecast.model == "tiny:1"
        assert list(batch.points_us) == [2_000, 3_000, 4_000, 5_000, 6_000]
        assert 'sojourn_forecaster_model_info{model="tiny:1"} 1.0' in r.metrics()
        assert "sojourn_forecaster_skill_ratio{" in r.metrics()
        assert "sojourn_forecaster_model_written_timestamp_seconds 1" in r.metrics()

        (tmp_path / "model.onnx").write_bytes(b"not a graph")
        (tmp_path / "SHA256SUMS").write_text("0" * 64 + "  model.onnx\n")
        while "sojourn_forecaster_model_refusals_total 1.0" not in r.metrics():
            await asyncio.sleep(0.01)
        assert 'model_info{model="tiny:1"} 1.0' in r.metrics()

        refused = 'model_refused_info{reason="SHA256SUMS: has no digest of manifest.json"} 1.0'
        assert refused in r.metrics()

        tiny_model.write(tmp_path, version="2")
        while 'sojourn_forecaster_model_info{model="tiny:2"} 1.0' not in r.metrics():
            await asyncio.sleep(0.01)
        assert "model_refused_info{" not in r.metrics()
        models = []
        for k in range(12, 30):
            r.report(k, {17: 5_000})
            await r.seen(k)
            batch = await r.stub.Predict(pb.ForecastRequest(node_id=NODE))
            assert batch.forecasts[0].source == pb.Forecast.MODEL
            models.append(batch.forecasts[0].model)
        assert models == sorted(models)
        assert models[-1] == "tiny:2"
        info = f'node_model_info{{model="tiny:2",node="{NODE}",warming_up=""}} 1.0'
        assert info in r.metrics()


async def test_a_stream_ends_when_a_new_model_lacks_its_quantiles(tmp_path: Path) -> None:
    async def all_of(call: Any) -> str:
        try:
            async for batch in call:
                seen.append((list(batch.quantiles), batch.points_us[0]))  # noqa: PERF401
        except grpc.aio.AioRpcError as error:
            return f"{error.code().name}: {error.details()}"
        return "ended"

    seen: list[tuple[list[float], int]] = []
    async with running(model=tmp_path, model_check_s=0.01) as r:
        await r.subscribed()
        wide, within = (
            asyncio.create_task(all_of(r.stub.Subscribe(pb.ForecastRequest(quantiles=[level]))))
            for level in (0.9, 0.75)
        )
        while r.forecaster.hub.consumers < 2:
            await asyncio.sleep(0.005)
        narrow = tiny_model.manifest().model_copy(update={"quantiles": [0.2, 0.5, 0.8]})
        write_contract(tmp_path, narrow, tiny_model.graph(tiny_model.weights()))
        k = 0
        while not wide.done() or ([0.75], 2_000) not in seen:
            k += 1
            r.report(k, {17: 5_000})
            await asyncio.sleep(0.005)
        expected = "INVALID_ARGUMENT: quantiles: 0.9 is beyond those of the forecasts"
        assert (await wide).startswith(expected)
        assert not within.done()
        within.cancel()
    points_of_wide = {points for levels, points in seen if levels != [0.75]}
    assert points_of_wide == {11_000}, "no value of the new model has its label"


async def test_a_stale_model_is_reported_until_it_is_touched(tmp_path: Path) -> None:
    tiny_model.write(tmp_path)
    digests = tmp_path / "SHA256SUMS"
    long_ago = digests.stat().st_mtime - 7_200
    os.utime(digests, (long_ago, long_ago))
    async with running(model=tmp_path, model_check_s=0.02, model_max_age_h=1.0) as r:
        await r.subscribed()
        for k in range(1, 12):
            r.report(k, {17: 5_000})
        await r.seen(11)
        (forecast,) = (await r.stub.Predict(pb.ForecastRequest())).forecasts
        assert forecast.source == pb.Forecast.PERSISTENCE
        assert forecast.fallback == pb.Forecast.MODEL_STALE
        assert forecast.model == ""
        metrics = r.metrics()
        assert 'fallback_bearers{reason="model_stale"} 1.0' in metrics
        assert "sojourn_forecaster_model_stale 1.0" in metrics
        digests.touch()
        while "sojourn_forecaster_model_stale 0.0" not in r.metrics():
            await asyncio.sleep(0.01)
        r.report(12, {17: 5_000})
        await r.seen(12)
        (forecast,) = (await r.stub.Predict(pb.ForecastRequest())).forecasts
        assert forecast.source == pb.Forecast.MODEL
        assert forecast.fallback == pb.Forecast.FALLBACK_UNSPECIFIED


async def test_t_m_is_measured_for_each_report() -> None:
    async with running() as r:
        await r.subscribed()
        for k in range(1, 6):
            r.report(k, {17: 5_000})
        r.report(5, {17: 5_000})
        await r.seen(5)
        assert "sojourn_forecaster_step_seconds_count 5.0" in r.metrics()
        assert 'step_seconds_bucket{le="5e-05"}' in r.metrics()
        assert 'sojourn_forecaster_reports_total{result="duplicate"} 1.0' in r.metrics()


async def test_predict_refuses_samples_that_are_too_old() -> None:
    http = {"listen": "", "fresh_within_s": 0.05}
    async with running(http=http) as r:
        await r.subscribed()
        r.report(1, {17: 5_000})
        await r.seen(1)
        while r.forecaster.hub.age_s(NODE) < 0.06:
            await asyncio.sleep(0.01)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await r.stub.Predict(pb.ForecastRequest())
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
        assert f"the newest sample of {NODE} is" in (refused.value.details() or "")


async def test_a_consumer_that_stalls_briefly_misses_nothing() -> None:
    async with running() as r:
        await r.subscribed()
        with r.forecaster.hub.queue() as queue:
            for k in range(1, MAX_QUEUED + 1):
                r.report(k, {17: 100 * k})
            await r.seen(MAX_QUEUED)
            batches = queue.batches()
            found = [(await anext(batches)).origin_us for _ in range(MAX_QUEUED)]
            assert found == [time_us(k) for k in range(1, MAX_QUEUED + 1)]
        assert r.forecaster.hub.skipped == 0


async def test_a_slow_consumer_gets_the_newest_and_what_it_missed_is_counted() -> None:
    async with running() as r:
        await r.subscribed()
        with r.forecaster.hub.queue() as queue:
            for k in range(1, MAX_QUEUED + 3):
                r.report(k, {17: 100 * k})
            await r.seen(MAX_QUEUED + 2)
            batches = queue.batches()
            found = [(await anext(batches)).origin_us for _ in range(2)]
            assert found == [time_us(MAX_QUEUED + 1), time_us(MAX_QUEUED + 2)]
        assert r.forecaster.hub.skipped == MAX_QUEUED
        assert f"sojourn_forecaster_batches_skipped_total {MAX_QUEUED:.1f}" in r.metrics()


async def test_without_a_model_forecasts_are_served_and_say_why_until_its_trial_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process of the trial is stopped for longer than the start waits for it, then goes on."""
    stopped, python = tmp_path / "pid", tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\necho $$ > {stopped}\nkill -STOP $$\nexec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    monkeypatch.setattr(app, "MODEL_WAIT_S", 0.1)
    monkeypatch.setattr(sys, "executable", str(python))
    model = tiny_model.write(tmp_path / "model")
    async with running(model=model, model_check_s=0.01) as r:
        await r.subscribed()
        r.report(1, {17: 5_000})
        await r.seen(1)
        (forecast,) = (await r.stub.Predict(pb.ForecastRequest())).forecasts
        assert forecast.fallback == pb.Forecast.NO_MODEL
        assert r.readiness.degraded() == {
            "model": "serves naive forecasts: the model is being tried"
        }
        assert "sojourn_forecaster_model_missing 1.0" in r.metrics()
        while not stopped.exists():
            await asyncio.sleep(0.005)
        os.kill(int(stopped.read_text()), signal.SIGCONT)
        k = 1
        while forecast.fallback != pb.Forecast.FALLBACK_UNSPECIFIED:
            await asyncio.sleep(0.005)
            k += 1
            r.report(k, {17: 5_000})
            await r.seen(k)
            (forecast,) = (await r.stub.Predict(pb.ForecastRequest())).forecasts
        assert forecast.model == "tiny:1"
        assert r.readiness.degraded() == {}
        assert "sojourn_forecaster_model_missing 0.0" in r.metrics()


async def test_a_model_that_is_not_there_yet_is_named_and_then_served(tmp_path: Path) -> None:
    model = tmp_path / "model"
    async with running(model=model, model_check_s=0.01) as r:
        while "tried again after" not in (why := r.readiness.degraded()["model"]):
            await asyncio.sleep(0.005)
        assert why.startswith("serves naive forecasts: ")
        assert "SHA256SUMS" in why
        assert "sojourn_forecaster_model_refusals_total 1.0" in r.metrics()
        tiny_model.write(model)
        while r.readiness.degraded():
            await asyncio.sleep(0.005)
        assert 'sojourn_forecaster_model_info{model="tiny:1"} 1.0' in r.metrics()


async def test_a_stop_does_not_wait_for_a_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped, python = tmp_path / "pid", tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho $$ > {stopped}\nkill -STOP $$\n")
    python.chmod(0o755)
    monkeypatch.setattr(app, "MODEL_WAIT_S", 0.1)
    monkeypatch.setattr(sys, "executable", str(python))
    async with running(model=tiny_model.write(tmp_path / "model")) as r:
        while not stopped.exists():
            await asyncio.sleep(0.005)
        assert r.readiness.degraded()
    await asyncio.get_running_loop().shutdown_default_executor()


@pytest.mark.parametrize("turns", range(5))
async def test_a_stop_as_the_first_model_is_tried_is_kept(
    turns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()

    class HeldSource:
        def __init__(self, *_: object) -> None: ...

        def poll(self, _: float) -> None:
            ended.wait(20)

        def close(self) -> None: ...

    monkeypatch.setattr(app, "ModelSource", HeldSource)
    async with running(model="anywhere") as r:
        polled = r.forecaster._model_polled

        async def tried() -> None:
            polled.set()
            for _ in range(turns):
                await asyncio.sleep(0)

        # The last callback of the stop: then the wait is cancelled.
        r.forecaster._app._on_stop.insert(0, tried)
    ended.set()


async def test_health_follows_the_samples() -> None:
    async with running() as r:
        health = health_pb2_grpc.HealthStub(r.channel)
        request = health_pb2.HealthCheckRequest(service="sojourn.forecast.v1.Forecaster")
        answer = await health.Check(request)
        assert answer.status == health_pb2.HealthCheckResponse.NOT_SERVING
        await r.subscribed()
        r.report(1, {17: 1})
        await r.seen(1)
        while answer.status != health_pb2.HealthCheckResponse.SERVING:
            await asyncio.sleep(0.05)
            r.report(2, {17: 1})
            answer = await health.Check(request)


async def test_reflection_lists_the_forecaster() -> None:
    async with running() as r:
        stub = reflection_pb2_grpc.ServerReflectionStub(r.channel)
        call = stub.ServerReflectionInfo()
        await call.write(reflection_pb2.ServerReflectionRequest(list_services=""))
        answer = await call.read()
        names = {service.name for service in answer.list_services_response.service}
        assert {"sojourn.forecast.v1.Forecaster", "grpc.health.v1.Health"} <= names
        call.cancel()


def test_a_sum_over_nodes_never_decreases() -> None:
    growth = Growth()
    growth.update({("gnb-1", ("gaps",)): 5, ("gnb-2", ("gaps",)): 7})
    assert growth.sums["gaps",] == 12
    growth.update({("gnb-1", ("gaps",)): 2, ("gnb-2", ("gaps",)): 8})
    assert growth.sums["gaps",] == 15, "gnb-1 began anew and has counted 2 since"
    growth.update({("gnb-2", ("gaps",)): 8})
    assert growth.sums["gaps",] == 15, "gnb-1 left"


async def test_garbage_is_counted_and_the_next_report_is_served() -> None:
    async with running() as r:
        await r.subscribed()
        r.node.report(rlc.OID, b"\x01\x00\x00\x00garbage")
        r.report(1, {17: 7})
        await r.seen(1)
        assert 'sojourn_e2_indications_bad_total{ran_function="rlc"' in r.metrics()


async def test_forecasts_of_a_node_that_leaves_are_dropped() -> None:
    async with running() as r:
        await r.subscribed()
        r.report(1, {17: 7})
        await r.seen(1)
        r.ric.remove_node(NODE)
        while r.forecaster.hub.latest:
            await asyncio.sleep(0.005)
        r.node = r.ric.add_node(NODE, ran_function(rlc.OID))
        await r.subscribed()
        r.report(2, {17: 9})
        await r.seen(2)
        batch = await r.stub.Predict(pb.ForecastRequest())
        assert batch.forecasts[0].series[0].values[0] == 9
