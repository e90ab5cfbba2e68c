"""Speed of the forecaster: T_m, and latency and throughput end to end over gRPC.

T_m is the time from the bytes of an RLC report to the forecasts of all its bearers on one core,
without the learning that follows each report. Beside it the step of the model alone, of as many
bearers, after each report, and the ratio of the medians. Reports are from the committed
sample, with MAC and queue limit every 20 ms. For comparison: the windowed LSTM(1000) of
stolidis2024. End to end:
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
from pathlib import Path

import grpc
import numpy as np
import onnxruntime
from clients import forecasts, serving
from measuring import counted, cpu_s, memory_mib, percentiles, show, write
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from ric.sm import rlc
from rlc_dataset.reader import Dataset
from rlc_forecaster.core import Forecaster, Source
from rlc_forecaster.onnx_step import OnnxStep
from rlc_forecaster.settings import DEFAULT_MODEL
from sojourn_demo.programs import Program, Programs
from sojourn_interfaces import forecast_pb2 as pb

SIZES = (1, 32, 256, 1000)
T_M = "sojourn_forecaster_step_seconds"
START_US = 1_700_000_000_000_000
SAMPLE = Path(__file__).parent.parent / "datasets" / "sample"
LATER = 29
"""Offset in samples between two bearers from the same series; coprime to TDD periods."""
WARM_UP = 600
CONTEXT_EVERY = 20


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


class BareStep:
    """The step of a model alone."""

    def __init__(self, model: OnnxStep, bearers: int) -> None:
        self._stepper = model.stepper(np.zeros((bearers, model.state_size), np.float32))
        self._samples = np.tile(model.feature_range[0], (bearers, 1)).astype(np.float32)

    def time_us(self) -> float:
        """Time of one step."""
        began_ns = time.perf_counter_ns()
        self._stepper.step(self._samples)
        return (time.perf_counter_ns() - began_ns) / 1_000


def step_row(model: OnnxStep, bearers: int, count: int) -> dict[str, object]:
    """T_m over `count` reports after a warm-up."""
    engine, recorded = Forecaster("gnb", model), Recorded(bearers)
    t_m_us, learn_us, from_model, bare, bare_us = [], [], [], BareStep(model, bearers), []
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
            bare_us.append(bare.time_us())
            from_model.append(0.0 if batch is None else np.mean(batch.source == Source.MODEL))
    if batch is None or len(batch) != bearers:
        raise RuntimeError(f"{bearers} bearers: the last report has no forecast")
    p50_us, p99_us = percentiles(t_m_us)
    step_us, _ = percentiles(bare_us)
    return {
        "bearers": bearers,
        "reports": count,
        "t_m_p50_us": p50_us,
        "t_m_p99_us": p99_us,
        "step_p50_us": step_us,
        "t_m_over_step": p50_us / step_us,
        "learn_mean_us": float(np.mean(learn_us)),
        "from_model": float(np.mean(from_model)),
    }


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


async def end_to_end(model: Path, bearers: int, seconds: float) -> dict[str, object]:
    """A cell and a forecaster in their own processes; this process is the consumer."""
    with tempfile.TemporaryDirectory() as folder:
        async with serving(bearers) as gateway, Programs(Path(folder)) as programs:
            began_s = time.monotonic()
            forecaster = await programs.start(
                *("rlc-forecaster", "--gateway", gateway, "--model", str(model)),
                *("--metrics-listen", "127.0.0.1:0", "--listen", "127.0.0.1:0"),
                *("--log-level", "warning"),
            )
            start_s = time.monotonic() - began_s
            return {
                "bearers": bearers,
                "seconds": seconds,
                **await consume(forecaster, seconds),
                "start_s": start_s,
                "rss_mb": memory_mib(forecaster.process.pid),
                "tensorflow": imports_tensorflow(),
            }


async def consume(forecaster: Program, seconds: float) -> dict[str, object]:
    """What a consumer of all forecasts gets after a warm-up, and what they cost."""
    pid, address = forecaster.process.pid, forecaster.ready["listen"]
    options = [("grpc.max_receive_message_length", 64 * 2**20)]
    async with grpc.aio.insecure_channel(address, options=options) as channel:
        loop = asyncio.get_running_loop()
        warm_s = loop.time() + 2
        origins: list[int] = []
        latency_us: list[float] = []
        from_model, received, begun_cpu_us = 0, 0, 0.0
        begun: asyncio.Task[str] | None = None
        async for now_us, batch in forecasts(channel):
            now_s = loop.time()
            if now_s < warm_s:
                continue
            if begun is None:
                begun_cpu_us = 1e6 * cpu_s(pid)
                begun = asyncio.create_task(asyncio.to_thread(forecaster.metrics))
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
            raise RuntimeError("no forecast")
        after = await asyncio.to_thread(forecaster.metrics)
        cpu_us = 1e6 * cpu_s(pid) - begun_cpu_us
    before = await begun
    handled, spent_s = (
        counted(after, name) - counted(before, name) for name in (f"{T_M}_count", f"{T_M}_sum")
    )
    p50_us, p99_us = percentiles(latency_us)
    return {
        "reports": round((origins[-1] - origins[0]) / 1_000) + 1,
        "handled": int(handled),
        "received": received,
        "from_model": from_model / len(origins),
        "latency_p50_us": p50_us,
        "latency_p99_us": p99_us,
        "t_m_mean_us": spent_s / handled * 1e6,
        "cpu_per_report_us": cpu_us / handled,
    }


def imports_tensorflow() -> bool:
    """Whether starting the service would load TensorFlow or Keras."""
    program = (
        "import sys, rlc_forecaster.app, rlc_forecaster.cli;"
        "sys.exit(any(m in sys.modules for m in ('tensorflow', 'keras')))"
    )
    return subprocess.run([sys.executable, "-c", program], check=False).returncode != 0


def main() -> None:
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
    show(rows)
    print(f"stolidis2024's LSTM(1000), N 1000, M 400, one bearer: {paper:.0f} ms")
    show(whole)
    measured = {"t_m": rows, "paper_ms": paper, "end_to_end": whole}
    write(arguments.out, "forecaster.json", measured)


if __name__ == "__main__":
    main()
