"""Speed of the forecaster: T_m, and latency and throughput end to end over gRPC.

T_m is the time from the bytes of an RLC report to the forecasts of all its bearers on one core,
without the learning that follows each report. Reports are from the committed sample, with MAC and
queue limit every 20 ms. For comparison: the windowed LSTM(1000) of stolidis2024. End to end:
`gnb-lab serve` with 256 bearers reports every millisecond to `rlc-forecaster`, and a consumer
receives every forecast; also measures start time, memory and whether TensorFlow is imported.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import grpc
import numpy as np
import onnxruntime
from clients import forecasts, serving
from measuring import cpu_s, memory_mib, percentiles, write
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from ric.sm import rlc
from rlc_dataset.reader import Dataset
from rlc_forecaster.core import Forecaster, Source
from rlc_forecaster.onnx_step import OnnxStep
from rlc_forecaster.settings import DEFAULT_MODEL
from sojourn_demo.programs import Programs
from sojourn_interfaces import forecast_pb2 as pb

SIZES = (1, 32, 256, 1000)
T_M = "sojourn_forecaster_step_seconds"
START_US = 1_700_000_000_000_000
SAMPLE = Path(__file__).parent.parent / "datasets" / "sample"
LATER = 29
"""Offset in samples between two bearers from the same series; coprime to TDD periods."""
WARM_UP = 600
CONTEXT_EVERY = 20


@dataclass(frozen=True, slots=True)
class StepRow:
    """Results of T_m for one size."""

    bearers: int
    reports: int
    t_m_p50_us: float
    t_m_p99_us: float
    learn_mean_us: float
    from_model: float


@dataclass(frozen=True, slots=True)
class EndToEnd:
    """Results end to end."""

    bearers: int
    seconds: float
    reports: int
    handled: int
    received: int
    from_model: float
    latency_p50_us: float
    latency_p99_us: float
    t_m_mean_us: float
    cpu_per_report_us: float
    start_s: float
    rss_mb: float
    tensorflow: bool


class Recorded:
    """Reports of any number of bearers from the committed sample, reused with an offset."""

    def __init__(self, bearers: int) -> None:
        series = [s for run in Dataset.open(SAMPLE) for s in run.series()]
        self._first = np.arange(bearers) // len(series) * LATER
        self._series = [series[b % len(series)] for b in range(bearers)]
        self._records = rlc.zeros(bearers)
        self._records["rnti"], self._records["rbid"] = np.arange(bearers) + 1, 1

    def report(self, k: int) -> bytes:
        """The RLC message of millisecond `k`."""
        rows = [s.report[f + k] for s, f in zip(self._series, self._first, strict=True)]
        records = np.array(rows, self._series[0].report.dtype)
        for name in records.dtype.names or ():
            self._records[name] = records[name]
        return rlc.encode(self._records, START_US + 1_000 * k)

    def context(self, k: int) -> NDArray[np.float64]:
        """``(3, B)`` queue limit, MCS and block size at millisecond `k`; NaN if unknown."""
        columns = ("limit_bytes", "mcs", "tbs_bytes")
        return np.array(
            [
                [getattr(s, name)[f + k] for s, f in zip(self._series, self._first, strict=True)]
                for name in columns
            ]
        )


def step_row(model: OnnxStep, bearers: int, count: int) -> StepRow:
    """T_m over `count` reports after a warm-up."""
    engine, recorded = Forecaster("gnb", model), Recorded(bearers)
    t_m_us, learn_us, from_model = [], [], []
    rnti, drb = np.arange(bearers) + 1, np.ones(bearers, np.int64)
    for k in range(WARM_UP + count):
        message = recorded.report(k)
        if k % CONTEXT_EVERY == 0:
            reported_us = START_US + 1_000 * k - 500
            limit, mcs, tbs = recorded.context(k)
            engine.update_mac(rnti, np.nan_to_num(mcs), np.nan_to_num(tbs), reported_us)
            engine.update_limits(rnti, drb, limit, reported_us)
        began_ns = time.perf_counter_ns()
        table = rlc.decode(message)
        batch = engine.on_report(table.records, table.tstamp_us)
        out_ns = time.perf_counter_ns()
        engine.learn()
        if k >= WARM_UP:
            t_m_us.append((out_ns - began_ns) / 1_000)
            learn_us.append((time.perf_counter_ns() - out_ns) / 1_000)
            from_model.append(0.0 if batch is None else np.mean(batch.source == Source.MODEL))
    if batch is None or len(batch) != bearers:
        raise RuntimeError(f"{bearers} bearers: the last report has no forecast")
    return StepRow(
        bearers,
        count,
        *percentiles(t_m_us),
        float(np.mean(learn_us)),
        float(np.mean(from_model)),
    )


def windowed_lstm(units: int, window: int, points: int) -> bytes:
    """The model of stolidis2024 (§III-B) with random weights: one LSTM layer and a dense layer."""
    rng = np.random.default_rng(2)
    shapes = {"w": (1, 4 * units, 1), "r": (1, 4 * units, units), "head": (units, points)}
    weights = [
        numpy_helper.from_array((0.05 * rng.standard_normal(shape)).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    graph = helper.make_graph(
        [
            helper.make_node("LSTM", ["window", "w", "r"], ["", "last"], hidden_size=units),
            helper.make_node("Squeeze", ["last", "axis"], ["hidden"]),
            helper.make_node("MatMul", ["hidden", "head"], ["forecast"]),
        ],
        "step",
        [helper.make_tensor_value_info("window", TensorProto.FLOAT, [window, 1, 1])],
        [helper.make_tensor_value_info("forecast", TensorProto.FLOAT, [1, points])],
        [*weights, numpy_helper.from_array(np.array([0], np.int64), "axis")],
    )
    opset = [helper.make_opsetid("", 18)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=9)
    return bytes(model.SerializeToString())


def paper_ms(runs: int = 3) -> float:
    """One inference of stolidis2024's LSTM(1000), N 1000, M 400, on one thread of this machine."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        windowed_lstm(1_000, 1_000, 400), options, providers=["CPUExecutionProvider"]
    )
    window = np.random.default_rng(3).random((1_000, 1, 1), np.float32)
    times_ms = []
    for _ in range(runs):
        began_ns = time.perf_counter_ns()
        session.run(["forecast"], {"window": window})
        times_ms.append((time.perf_counter_ns() - began_ns) / 1e6)
    return float(np.median(times_ms))


@dataclass(frozen=True, slots=True)
class Service:
    """A started forecaster."""

    pid: int
    listen: str
    metrics: str
    start_s: float


@asynccontextmanager
async def forecaster(gateway: str, model: Path) -> AsyncIterator[Service]:
    """`rlc-forecaster` on free ports."""
    with tempfile.TemporaryDirectory() as folder:
        async with Programs(Path(folder)) as programs:
            began_s = time.monotonic()
            program = await programs.start(
                *("rlc-forecaster", "--gateway", gateway, "--model", str(model)),
                *("--metrics-listen", "127.0.0.1:0", "--listen", "127.0.0.1:0"),
                *("--log-level", "warning"),
            )
            start_s = time.monotonic() - began_s
            ready = program.ready
            yield Service(program.process.pid, ready["listen"], ready["metrics"], start_s)


async def end_to_end(model: Path, bearers: int, seconds: float) -> EndToEnd:
    """A cell and a forecaster in their own processes; this process is the consumer."""
    async with (
        serving(bearers) as gateway,
        forecaster(gateway, model) as service,
        grpc.aio.insecure_channel(
            service.listen, options=[("grpc.max_receive_message_length", 64 * 2**20)]
        ) as channel,
    ):
        loop = asyncio.get_running_loop()
        warm_s = loop.time() + 2
        origins: list[int] = []
        latency_us: list[float] = []
        from_model, received, begun_cpu_us = 0, 0, 0.0
        begun: asyncio.Task[dict[str, float]] | None = None
        async for now_us, batch in forecasts(channel):
            now_s = loop.time()
            if now_s < warm_s:
                continue
            if begun is None:
                begun_cpu_us = 1e6 * cpu_s(service.pid)
                begun = asyncio.create_task(_metrics(service.metrics))
            received += 1
            if batch is None:
                continue
            if origins and batch.forecasts[0].origin_us <= origins[-1]:
                raise RuntimeError("forecasts are out of order")
            origins.append(batch.forecasts[0].origin_us)
            latency_us.append(now_us - batch.forecasts[0].origin_us)
            from_model += batch.forecasts[0].source == pb.Forecast.MODEL
            if now_s > warm_s + seconds:
                break
        if begun is None:
            raise RuntimeError(f"{bearers} bearers: no forecast")
        metrics = await _metrics(service.metrics)
        cpu_us = 1e6 * cpu_s(service.pid) - begun_cpu_us
        rss_mb = memory_mib(service.pid)
    before = await begun
    handled, spent_s = (metrics[name] - before[name] for name in (f"{T_M}_count", f"{T_M}_sum"))
    return EndToEnd(
        bearers,
        seconds,
        round((origins[-1] - origins[0]) / 1_000) + 1,
        int(handled),
        received,
        from_model / len(origins),
        *percentiles(latency_us),
        spent_s / handled * 1e6,
        cpu_us / handled,
        service.start_s,
        rss_mb,
        imports_tensorflow(),
    )


def imports_tensorflow() -> bool:
    """Whether starting the service would load TensorFlow or Keras."""
    program = (
        "import sys, rlc_forecaster.app, rlc_forecaster.cli;"
        "sys.exit(any(m in sys.modules for m in ('tensorflow', 'keras')))"
    )
    return subprocess.run([sys.executable, "-c", program], check=False).returncode != 0


async def _metrics(address: str) -> dict[str, float]:
    def scrape() -> str:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=5) as answer:
            return str(answer.read(), "utf-8")

    lines = (await asyncio.to_thread(scrape)).splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in pairs}


def show(rows: list[StepRow], paper: float, whole: list[EndToEnd]) -> None:
    """Prints the tables."""
    print(
        f"{'bearers':>8} {'T_m p50 µs':>11} {'p99 µs':>8} {'per bearer':>11} {'learn mean':>10}"
        f" {'from the model':>14}"
    )
    for r in rows:
        print(
            f"{r.bearers:>8} {r.t_m_p50_us:>11.1f} {r.t_m_p99_us:>8.0f}"
            f" {r.t_m_p50_us / r.bearers:>11.2f} {r.learn_mean_us:>10.0f}"
            f" {r.from_model:>14.0%}"
        )
    print(f"stolidis2024's LSTM(1000), N 1000, M 400, one bearer: {paper:.0f} ms")
    for e in whole:
        print(
            f"end to end, {e.bearers} bearers for {e.seconds:g} s: {e.reports} reports,"
            f" {e.handled} forecast from, {e.received} with the consumer,"
            f" {e.from_model:.0%} from the model; report to consumer"
            f" p50 {e.latency_p50_us:.0f} µs, p99 {e.latency_p99_us:.0f} µs; mean T_m"
            f" {e.t_m_mean_us:.0f} µs, CPU per report {e.cpu_per_report_us:.0f} µs;"
            f" start {e.start_s:.2f} s, {e.rss_mb:.0f} MB,"
            f" {'TensorFlow imported' if e.tensorflow else 'no TensorFlow'}"
        )


def main() -> int:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, help="model directory; default: the forecaster's")
    parser.add_argument("--bearers", type=int, nargs="+", default=SIZES)
    parser.add_argument("--reports", type=int, default=2_000, help="measured reports per size")
    parser.add_argument("--end-to-end", type=int, nargs="*", default=[256], metavar="BEARERS")
    parser.add_argument("--seconds", type=float, default=8.0, help="duration of end-to-end runs")
    parser.add_argument("--out", type=Path, help="folder for forecaster.json")
    arguments = parser.parse_args()
    cores = os.sched_getaffinity(0)
    directory = arguments.model or DEFAULT_MODEL
    model = OnnxStep.load(directory)
    os.sched_setaffinity(0, {min(cores)})
    rows = [step_row(model, n, arguments.reports) for n in arguments.bearers]
    paper = paper_ms()
    os.sched_setaffinity(0, cores)
    whole = [asyncio.run(end_to_end(directory, n, arguments.seconds)) for n in arguments.end_to_end]
    show(rows, paper, whole)
    measured = {
        "t_m": [asdict(row) for row in rows],
        "paper_ms": paper,
        "end_to_end": [asdict(row) for row in whole],
    }
    write(arguments.out, "forecaster.json", measured)
    return 0


if __name__ == "__main__":
    sys.exit(main())
