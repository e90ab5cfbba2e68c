"""Metrics as a scraper reads them; readiness; the HTTP server against good and bad clients."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from ric.access import Right
from ric.health import Condition, Readiness, add_health_routes
from ric.http import HttpServer, Request, Response, text_response
from ric.metrics import LATENCY_BOUNDS_US, GatewayCollector, GatewayMetrics, Histogram
from ric.security import Security
from ric.settings import HttpSettings
from ric.sm import RLC_OID, TC_V1_OID


class StoppedClock:
    """Shows the time it is set to."""

    def __init__(self, now_us: int = 0) -> None:
        self.us = now_us

    def now_us(self) -> int:
        return self.us

    def monotonic_ns(self) -> int:
        return self.us * 1000

    async def sleep(self, seconds: float) -> None:
        self.us += round(seconds * 1e6)


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


def scrape(registry: CollectorRegistry) -> dict[str, float]:
    """Sample name with labels → value."""
    samples = {}
    for family in text_string_to_metric_families(generate_latest(registry).decode()):
        for sample in family.samples:
            labels = ",".join(f"{k}={v}" for k, v in sorted(sample.labels.items()))
            samples[f"{sample.name}{{{labels}}}"] = sample.value
    return samples


def test_a_scrape_shows_what_was_counted(registry: CollectorRegistry) -> None:
    metrics = GatewayMetrics()
    GatewayCollector(metrics, registry)
    metrics.connected, metrics.nodes, metrics.losses = True, {"gnb-1", "gnb-2"}, 3
    stats = metrics.indication_stats("gnb-1", RLC_OID)
    stats.received, stats.missed_at_gateway, stats.missed_by_slow_handler = 10, 4, 5
    stats.last_handled_at_us = 1_700_000_000_500_000
    stats.node_to_handler.observe_us(250)
    stats.node_to_handler.observe_us(700)
    stats.gateway_to_handler.observe_us(300)
    stats.handling.observe_us(100)
    metrics.indication_stats("gnb-1", TC_V1_OID).received = 7
    metrics.count_bad_message("gnb-1", RLC_OID)
    metrics.subscriptions["gnb-1", RLC_OID, "started"] += 1
    metrics.count_control("gnb-1", TC_V1_OID, "timeout", 1_000_000)

    found = scrape(registry)

    age = "sojourn_e2_indication_latency_seconds"
    expected = {
        "sojourn_e2_gateway_connected{}": 1,
        "sojourn_e2_gateway_losses_total{}": 3,
        "sojourn_e2_nodes{}": 2,
        "sojourn_e2_indications_total{node=gnb-1}": 17,
        "sojourn_e2_last_indication_timestamp_seconds{node=gnb-1}": 1_700_000_000.5,
        "sojourn_e2_indications_missed_total{reason=gateway}": 4,
        "sojourn_e2_indications_missed_total{reason=slow_handler}": 5,
        "sojourn_e2_indications_bad_total{ran_function=rlc}": 1,
        f"{age}_count{{}}": 2,
        f"{age}_sum{{}}": 0.00095,
        f"{age}_bucket{{le=0.0004}}": 1,
        f"{age}_bucket{{le=0.001}}": 2,
        "sojourn_e2_indication_leg_seconds_count{leg=gateway_to_handler}": 1,
        "sojourn_e2_indication_leg_seconds_sum{leg=gateway_to_handler}": 0.0003,
        "sojourn_e2_indication_handling_seconds_sum{}": 0.0001,
        "sojourn_e2_subscriptions_total{outcome=started,ran_function=rlc}": 1,
        "sojourn_e2_controls_total{outcome=timeout}": 1,
        "sojourn_e2_control_seconds_sum{}": 1,
    }
    assert {name: found.get(name) for name in expected} == pytest.approx(expected)


@given(durations=st.lists(st.floats(-1e3, 1e8)))
def test_a_histogram_counts_each_duration_once(durations: list[float]) -> None:
    histogram = Histogram()
    for duration_us in durations:
        histogram.observe_us(duration_us)
    buckets = histogram.buckets_seconds()
    assert histogram.count == len(durations) == buckets[-1][1]
    assert histogram.sum_us == pytest.approx(sum(max(d, 0) for d in durations))
    for (bound, cumulative), bound_us in zip(buckets[:-1], LATENCY_BOUNDS_US, strict=True):
        assert float(bound) == pytest.approx(bound_us / 1e6)
        assert cumulative == sum(d <= bound_us for d in durations)


# -------------------------------------------------------------------- readiness


def test_ready_means_connected_and_a_fresh_indication() -> None:
    metrics, clock = GatewayMetrics(), StoppedClock(1_000_000_000)
    readiness = Readiness()
    readiness.require_gateway(metrics, clock, fresh_within_s=2.0)
    assert not readiness.ready
    metrics.connected = True
    assert not readiness.ready, "no indication yet"
    metrics.indication_stats("gnb-1", RLC_OID).last_handled_at_us = clock.us
    assert readiness.ready
    clock.us += 2_000_001
    assert not readiness.ready, "the indication is stale"
    metrics.indication_stats("gnb-2", RLC_OID).last_handled_at_us = clock.us
    assert readiness.ready
    metrics.connected = False
    assert not readiness.ready


def test_an_xapp_may_add_conditions() -> None:
    metrics, clock = GatewayMetrics(), StoppedClock(1_000)
    metrics.connected = True
    metrics.indication_stats("gnb-1", RLC_OID).last_handled_at_us = 1_000
    readiness = Readiness()
    readiness.require_gateway(metrics, clock, 1.0)
    readiness.require("model", lambda: Condition(False, "no model loaded"))
    assert not readiness.ready
    assert readiness.conditions()["model"].detail == "no model loaded"


def test_a_condition_that_holds_may_be_degraded() -> None:
    readiness = Readiness()
    readiness.note("model", lambda: "tried again after 15 s")
    readiness.require("state", lambda: Condition(True, "not saved", degraded=True))
    readiness.require("policy", lambda: Condition(True, "used"))
    assert readiness.ready
    assert readiness.degraded() == {"state": "not saved", "model": "tried again after 15 s"}


# ------------------------------------------------------------------------- HTTP


@pytest.fixture
def gateway_metrics() -> GatewayMetrics:
    return GatewayMetrics()


@pytest.fixture
async def address(
    registry: CollectorRegistry, gateway_metrics: GatewayMetrics
) -> AsyncIterator[str]:
    GatewayCollector(gateway_metrics, registry)
    readiness = Readiness()
    readiness.require_gateway(gateway_metrics, StoppedClock(1), 1.0)
    server = HttpServer(HttpSettings(listen="127.0.0.1:0"), Security())
    add_health_routes(server, registry, readiness)
    yield await server.start()
    await server.stop()


async def ask(address: str, request: bytes) -> tuple[int, str, bytes]:
    """Status, head and body of the answer."""
    host, port = address.rsplit(":", 1)
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request)
    async with asyncio.timeout(5):
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    return (int(head.split()[1]) if head else 0), head.decode(), body


def get(path: str, *headers: str) -> bytes:
    lines = [f"GET {path} HTTP/1.1", "Host: localhost", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode()


async def test_metrics_in_the_requested_format(address: str) -> None:
    status, head, body = await ask(address, get("/metrics"))
    assert (status, b"sojourn_e2_gateway_connected 0.0" in body) == (200, True)
    assert "text/plain" in head
    openmetrics = "Accept: application/openmetrics-text; version=1.0.0"
    _, head, body = await ask(address, get("/metrics", openmetrics))
    assert "application/openmetrics-text" in head
    assert body.endswith(b"# EOF\n")


async def test_liveness_and_readiness(address: str, gateway_metrics: GatewayMetrics) -> None:
    assert (await ask(address, get("/healthz")))[0] == 200
    status, _, body = await ask(address, get("/readyz"))
    assert status == 503
    assert json.loads(body)["conditions"]["gateway"] == {"ok": False, "detail": "not connected"}
    gateway_metrics.problem = "E2 gateway 10.0.0.1:36421: not available: Connection refused"
    _, _, body = await ask(address, get("/readyz"))
    assert json.loads(body)["conditions"]["gateway"]["detail"].endswith("Connection refused")
    gateway_metrics.connected = True
    gateway_metrics.indication_stats("gnb-1", RLC_OID).last_handled_at_us = 1
    status, _, body = await ask(address, get("/readyz?verbose"))
    assert (status, json.loads(body)["ready"]) == (200, True)


async def test_a_program_adds_routes_while_it_runs() -> None:
    async def page(request: Request) -> Response:
        return text_response(f"page of {request.argument('node')}")

    server = HttpServer(HttpSettings(listen="127.0.0.1:0"), Security())
    address = await server.start()
    try:
        assert (await ask(address, get("/page?node=gnb-1")))[0] == 404
        server.route("GET", "/page", page, Right.READ)
        status, _, body = await ask(address, get("/page?node=gnb-1"))
        assert (status, body) == (200, b"page of gnb-1")
    finally:
        await server.stop()


async def test_head_has_no_body(address: str) -> None:
    status, head, body = await ask(address, b"HEAD /healthz HTTP/1.0\r\n\r\n")
    assert (status, body) == (200, b"")
    assert "content-length: 3" in head.lower()


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (get("/"), 404),
        (b"POST /metrics HTTP/1.0\r\n\r\n", 405),
        (b"\x16\x03\x01\x02\x00\r\n\r\n", 400),
        (b"GET\r\n\r\n", 400),
        (b"GET /metrics SPDY/9\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * 40_000 + b"\r\n\r\n", 431),
    ],
)
async def test_bad_requests(address: str, request_: bytes, status: int) -> None:
    assert (await ask(address, request_))[0] == status


async def test_a_client_that_hangs_up_does_not_affect_others(address: str) -> None:
    host, port = address.rsplit(":", 1)
    _, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"GET /met")
    writer.close()
    await writer.wait_closed()
    assert (await ask(address, get("/healthz")))[0] == 200
