"""A consumer that asks for too much, beside one that gets every forecast."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import grpc
import numpy as np
import pytest
from rlc_forecaster.encodings import Encodings
from rlc_forecaster.selection import MAX_BEARERS, MAX_QUANTILES, MAX_QUANTITIES, Selection
from running_forecaster import NODE, Running, running
from sojourn_interfaces import forecast_pb2 as pb
from sojourn_interfaces import forecast_pb2_grpc as pb_grpc
from test_wire import LAYOUT, batch_of

MANY = 12_000
START_US = 1_700_000_000_000_000
LEVELS = [float(x) for x in np.linspace(0.001, 0.999, MANY)]


def another_client(r: Running) -> grpc.aio.Channel:
    """A connection of its own, which on loopback is a client."""
    return grpc.aio.insecure_channel(
        f"127.0.0.1:{r.forecaster.server.port}", (("grpc.use_local_subchannel_pool", 1),)
    )


async def consumers(r: Running, count: int) -> None:
    while r.forecaster.hub.consumers < count:
        await asyncio.sleep(0.005)


@pytest.mark.parametrize(
    ("request_", "detail"),
    [
        (pb.ForecastRequest(quantiles=LEVELS), f"quantiles: {MANY}; expected at most 16"),
        (
            pb.ForecastRequest(quantities=[pb.OCCUPANCY_BYTES] * MANY),
            f"quantities: {MANY}; expected at most 16",
        ),
        (
            pb.ForecastRequest(bearers=[pb.Bearer(rnti=n, drb=1) for n in range(MANY)]),
            f"bearers: {MANY}; expected at most 4096",
        ),
        (
            pb.ForecastRequest(node_id="n" * MANY),
            f"node_id: {MANY} bytes; expected at most 256 bytes without control characters",
        ),
    ],
    ids=["quantiles", "quantities", "bearers", "node_id"],
)
async def test_a_request_for_too_much_is_refused_and_others_lose_nothing(
    request_: pb.ForecastRequest, detail: str
) -> None:
    async with running() as r:
        await r.subscribed()
        stream = r.stub.Subscribe(pb.ForecastRequest(node_id=NODE))
        await consumers(r, 1)
        async with another_client(r) as channel:
            hostile: Any = pb_grpc.ForecasterStub(channel)
            # As many as are answered at once: a failed call counts for twenty of 200.
            for k in range(1, 6):
                r.report(k, {17: 100 * k})
                for call in (hostile.Subscribe(request_).read(), hostile.Predict(request_)):
                    with pytest.raises(grpc.aio.AioRpcError) as refused:
                        await call
                    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
                    assert refused.value.details() == detail
                batch = await stream.read()
                assert batch.forecasts[0].origin_us == START_US + 1_000 * k
        assert r.forecaster.hub.skipped == 0
        stream.cancel()


async def test_many_streams_of_one_client_leave_another_every_forecast() -> None:
    async with running(server={"listen": "127.0.0.1:0", "max_streams": 64}) as r:
        await r.subscribed()
        stream = r.stub.Subscribe(pb.ForecastRequest(node_id=NODE))
        await consumers(r, 1)
        async with another_client(r) as channel:
            hostile: Any = pb_grpc.ForecasterStub(channel)
            open_, refused = [], []
            for n in range(40):
                before = r.forecaster.hub.consumers
                different = pb.ForecastRequest(node_id=NODE, quantiles=[0.1 + 0.001 * n])
                call = hostile.Subscribe(different)
                while r.forecaster.hub.consumers == before and not call.done():
                    await asyncio.sleep(0)
                (refused if call.done() else open_).append(call)
            assert (len(open_), len(refused)) == (32, 8), "half of what the first client left"
            codes = {await call.code() for call in refused}
            assert codes == {grpc.StatusCode.RESOURCE_EXHAUSTED}
            for k in range(1, 41):
                r.report(k, {17: 100 * k})
                batch = await stream.read()
                assert batch.forecasts[0].origin_us == START_US + 1_000 * k
            late = r.stub.Subscribe(pb.ForecastRequest(node_id=NODE))
            await consumers(r, 34)
            r.report(41, {17: 4_100})
            assert (await late.read()).node_id == NODE
            for call in (late, *open_):
                call.cancel()
        limited = [line for line in r.metrics().splitlines() if 'limit="streams"' in line]
        assert sum(float(line.rpartition(" ")[2]) for line in limited) == 8
        stream.cancel()


async def test_equal_selections_are_encoded_once() -> None:
    async with running() as r:
        await r.subscribed()
        spelled = [
            pb.ForecastRequest(node_id=NODE, quantiles=[0.9, 0.5]),
            pb.ForecastRequest(node_id=NODE, quantiles=[0.5, 0.9, 0.5]),
            pb.ForecastRequest(
                node_id=NODE, quantiles=[0.5, 0.9], quantities=[pb.OCCUPANCY_BYTES] * 2
            ),
        ]
        calls = [r.stub.Subscribe(each) for each in spelled for _ in range(5)]
        await consumers(r, 15)
        for k in range(1, 11):
            r.report(k, {17: 100 * k})
            batches = [await call.read() for call in calls]
            assert {batch.SerializeToString() for batch in batches} == {
                batches[0].SerializeToString()
            }
        assert "sojourn_forecaster_batches_encoded_total 10.0" in r.metrics()
        for call in calls:
            call.cancel()


async def test_a_reader_that_stalls_loses_its_own_forecasts_alone() -> None:
    async with running() as r:
        await r.subscribed()
        stream = r.stub.Subscribe(pb.ForecastRequest(node_id=NODE))
        await consumers(r, 1)
        with r.forecaster.hub.queue(NODE) as stalled:
            for k in range(1, 101):
                r.report(k, {17: 100 * k})
                batch = await stream.read()
                assert batch.forecasts[0].origin_us == START_US + 1_000 * k
            assert stalled.skipped > 0
            assert r.forecaster.hub.skipped == stalled.skipped
        stream.cancel()


async def test_a_stream_beyond_the_assured_load_gets_the_newest_at_its_turn() -> None:
    # 15 messages a second, of 1000 that it wants.
    server = {"listen": "127.0.0.1:0", "max_load_bytes_per_s": 1e6}
    async with running(server=server) as r:
        await r.subscribed()
        stream = r.stub.Subscribe(pb.ForecastRequest(node_id=NODE))
        await consumers(r, 1)
        r.report(1, {17: 100})
        assert (await stream.read()).forecasts[0].origin_us == START_US + 1_000
        for k in range(2, 12):
            r.report(k, {17: 100 * k})
        await r.seen(11)
        assert (await stream.read()).forecasts[0].origin_us == START_US + 11_000
        assert r.forecaster.hub.skipped == 9
        stream.cancel()


def test_bounds_are_those_of_a_request_with_duplicates() -> None:
    fits = pb.ForecastRequest(
        quantities=[pb.OCCUPANCY_BYTES] * MAX_QUANTITIES,
        quantiles=[0.5] * MAX_QUANTILES,
        bearers=[pb.Bearer(rnti=7, drb=1)] * MAX_BEARERS,
    )
    selection = Selection.of(fits, LAYOUT)
    assert len(selection.quantities) == len(selection.quantiles) == len(selection.bearers) == 1


def test_messages_kept_for_others_are_bounded() -> None:
    encodings = Encodings(lambda: 1, kept_bytes=50_000)
    encoder = encodings.encoder(Selection.of(pb.ForecastRequest(), LAYOUT))
    batches = [
        replace(batch_of([(rnti, 1, True, True) for rnti in range(9)]), origin_us=k)
        for k in range(100)
    ]
    messages = [encodings.get(encoder, batch) for batch in batches]
    assert encodings.get(encoder, batches[-1]) is messages[-1]
    assert bytes(encodings.get(encoder, batches[0])) == bytes(messages[0])
    assert encodings.made == 101, "the newest was kept, the oldest was encoded again"
    assert 1 < len(encodings._kept) < 20


def test_the_size_of_a_message_is_known_before_it_is_encoded() -> None:
    batch = batch_of([(rnti, 1, True, True) for rnti in range(200)])
    for request in (
        pb.ForecastRequest(),
        pb.ForecastRequest(quantiles=[0.1 + 0.05 * n for n in range(16)]),
        pb.ForecastRequest(quantities=[pb.OCCUPANCY_BYTES, pb.DRAIN_BYTES]),
        pb.ForecastRequest(bearers=[pb.Bearer(rnti=n, drb=1) for n in range(50)]),
    ):
        selection = Selection.of(request, LAYOUT)
        encodings = Encodings(lambda: 1)
        message = encodings.get(encodings.encoder(selection), batch)
        bearers = len(selection.bearers) or 200
        assert 0 < len(message) - selection.message_bytes(batch) <= 80 * bearers + 100
