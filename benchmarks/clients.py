"""Clients of gateway and forecaster for benchmarks and tests: messages, reports, transactions."""

from __future__ import annotations

# First: gRPC's core takes its settings while it is loaded, and xApps load it through the SDK.
import ric  # noqa: F401

# isort: split
import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import e2sm_tc
import grpc
import yaml
from measuring import percentiles
from ric import E2GatewayClient, Reading
from ric.sm import TC_V1_OID, rlc
from sojourn_demo.programs import Programs
from sojourn_interfaces import forecast_pb2 as pb

PARSED_EVERY: Final = 16
SUBSCRIBE: Final = "/sojourn.forecast.v1.Forecaster/Subscribe"
CONTROL_PERIOD_S: Final = 0.05
HEADER: Final = e2sm_tc.encode("control-header", {"style": 1, "correlation_id": 1})
"""Control header of a transaction."""
FLEXRIC_PIPELINE: Final = e2sm_tc.pipeline(
    "fq_codel", {"queues": 8, "scheduler": "round_robin", "pacer": "bdp5g", "codel": {"ecn": False}}
)
"""That of `policies/flexric.yaml`: one control of v1, ten of v0."""


def bearer_of(status: Mapping[str, Any]) -> dict[str, Any]:
    """The only bearer of a connected UE in the status file of an OpenAirInterface gNB."""
    (bearer,) = (each for each in status["bearers"] if each["rnti"] is not None)
    return {"ue": {"rnti": bearer["rnti"]}, "drb": bearer["drb"]}


def transaction(bearer: Mapping[str, Any], change: Any, **other: Any) -> bytes:
    """A transaction; by default for any revision, without lease and owner."""
    content = {
        "bearer": bearer,
        "expected_revision": None,
        "lease_ms": None,
        "dry_run": False,
        "as_safe": False,
        "owner": None,
        "change": change,
        **other,
    }
    return e2sm_tc.encode("control", {"transaction": content})


async def change_pipeline(
    client: E2GatewayClient, node: str, bearer: Mapping[str, Any], change: Any
) -> int:
    """One transaction; its time from request to answer, µs. Ends the program if it is refused."""
    answer = await client.control(node, TC_V1_OID, HEADER, transaction(bearer, change))
    if not answer.acknowledged:
        raise SystemExit(f"refused: {answer.detail}")
    return answer.answered_at_us - answer.sent_at_us


def durations(name: str, took_us: Sequence[int]) -> dict[str, Any]:
    """A row about transactions of one kind."""
    p50_us, p99_us = percentiles(took_us)
    return {
        "version": name,
        "rounds": len(took_us),
        "p50_us": p50_us,
        "p99_us": p99_us,
        "least_us": min(took_us),
    }


async def control_forever(client: E2GatewayClient, node: str, times_us: list[float]) -> None:
    """Sends dry-run transactions one after the other."""
    message = transaction({"ue": {"rnti": 1}, "drb": 1}, "safe", dry_run=True)
    while True:
        answer = await client.control(node, TC_V1_OID, HEADER, message)
        times_us.append(answer.answered_at_us - answer.sent_at_us)
        await asyncio.sleep(CONTROL_PERIOD_S)


@dataclass(slots=True)
class Reports:
    """The reports that a client gets of one service model, of all nodes."""

    oid: str
    period_ms: int
    measurements: tuple[str, ...] = ()
    """Names of the KPM measurements."""
    reports: int = 0
    missed: int = 0
    """Reports dropped because a reader was slow."""
    coalesced: int = 0
    """Reports replaced by newer ones, if `reading` is `Reading.NEWEST`."""
    reading: Reading = Reading.HISTORY
    stalls: int = 0
    """Number of gaps longer than 100 periods."""
    latency_us: list[int] = field(default_factory=list)

    async def read(self, client: E2GatewayClient, node: str, counting: asyncio.Event) -> None:
        """Reads a subscription until cancelled; counts while `counting` is set."""
        last_us = 0
        stream = client.subscribe(
            node,
            self.oid,
            rlc.event_trigger(self.period_ms),
            kpm_measurements=self.measurements,
            reading=self.reading,
        )
        coalesced = 0
        async with aclosing(stream) as indications:
            async for indication in indications:
                gap_us, last_us = indication.received_at_us - last_us, indication.received_at_us
                replaced, coalesced = indication.coalesced - coalesced, indication.coalesced
                if counting.is_set():
                    self.reports += 1
                    self.missed += indication.missed
                    self.coalesced += replaced
                    self.stalls += gap_us > 100_000 * self.period_ms
                    self.latency_us.append(indication.handled_at_us - indication.collected_at_us)

    def figures(self, node_seconds: float) -> dict[str, object]:
        """Counts and latencies of so many seconds, those of all nodes added up."""
        p50_us, p99_us = percentiles(self.latency_us)
        return {
            "reports": self.reports,
            "of_expected": self.reports * self.period_ms / (1000 * node_seconds),
            "missed": self.missed,
            "coalesced": self.coalesced,
            "stalls": self.stalls,
            "p50_us": p50_us,
            "p99_us": p99_us,
            "longest_us": max(self.latency_us, default=0),
        }


async def forecasts(channel: grpc.aio.Channel) -> AsyncIterator[tuple[float, Any]]:
    """The time at which each message of forecasts came, Unix µs, and what it holds.

    Most come undecoded, as `None`: to parse all in Python takes longer than to make them.
    """
    subscribe: Any = channel.unary_stream(
        SUBSCRIBE, request_serializer=pb.ForecastRequest.SerializeToString
    )
    received = 0
    async for message in subscribe(pb.ForecastRequest(), wait_for_ready=True):
        now_us = time.time_ns() / 1e3
        received += 1
        is_parsed = received % PARSED_EVERY == 0
        yield now_us, pb.ForecastBatch.FromString(message) if is_parsed else None


def scenario(bearers: int) -> str:
    """The default cell with a VoIP flow per bearer."""
    return yaml.safe_dump(
        {
            "name": f"{bearers} bearers",
            "duration_s": 3600,
            "cell": {"rat": "nr", "n_prb": 106, "scs_khz": 30, "tdd": {"pattern": "DDDDDDDMUU"}},
            "ues": [
                {"rnti": 1, "count": bearers, "channel": {"fixed_mcs": 10}, "drbs": [{"id": 1}]}
            ],
            "flows": [{"name": "voip", "kind": "voip", "rnti": "each"}],
        }
    )


@asynccontextmanager
async def serving(bearers: int, *options: str) -> AsyncIterator[str]:
    """`gnb-lab serve` on a free port, with further options; its address."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scenario.yaml"
        path.write_text(scenario(bearers))
        async with Programs(Path(folder)) as programs:
            command = ("gnb-lab", "serve", str(path), "--listen", "127.0.0.1:0", *options)
            gnb = await programs.start(*command)
            yield gnb.ready["listen"]
