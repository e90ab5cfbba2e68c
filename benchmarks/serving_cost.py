"""CPU of a Python program's gRPC server per message and per call, with `sojourn_serving` and with
gRPC for Python alone, without a guard, in turns; TLS, messages of 1 kB.

    python benchmarks/serving_cost.py --out out/bench
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import statistics
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from pki import Authority
from ric.lifecycle import prompt_runner
from sojourn_serving import Call, Certificates, GrpcServer, Guard, Procedure

SERVICE = "sojourn.bench.v1.Bench"
MESSAGE = bytes(1000)
PERIOD_S = 0.001
SECONDS = 5.0
TURNS = 3
PARALLEL = 8


async def _stream(write: object) -> None:
    """A message each millisecond."""
    loop = asyncio.get_running_loop()
    due_s = loop.time()
    while True:
        await write(MESSAGE)  # type: ignore[operator]
        due_s = max(due_s + PERIOD_S, loop.time() - 10 * PERIOD_S)
        await asyncio.sleep(max(0.0, due_s - loop.time()))


async def _serve_module(pem: Path, key: Path, ready: Connection) -> None:
    async def stream(call: Call) -> None:
        await call.receive()
        await _stream(call.write)

    async def one(call: Call) -> bytes | None:
        return await call.receive()

    server = GrpcServer(
        Guard(),
        section="server",
        listen="127.0.0.1:0",
        service=SERVICE,
        procedures={
            "Stream": Procedure(stream, "read", many_responses=True),
            "One": Procedure(one, "read"),
        },
        descriptors=b"",
        certificates=Certificates(pem, key),
    )
    await server.start()
    ready.send(server.port)
    await asyncio.Event().wait()


async def _serve_grpc(pem: Path, key: Path, ready: Connection) -> None:
    pair = await asyncio.to_thread(lambda: (key.read_bytes(), pem.read_bytes()))

    async def stream(_request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
        await _stream(context.write)

    async def one(request: bytes, _context: object) -> bytes:
        return request

    server = grpc.aio.server()
    handlers: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
        "Stream": grpc.unary_stream_rpc_method_handler(stream),
        "One": grpc.unary_unary_rpc_method_handler(one),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair]))
    await server.start()
    ready.send(port)
    await asyncio.Event().wait()


SERVERS = {"sojourn_serving": _serve_module, "grpc.aio": _serve_grpc}


def _server(kind: str, pem: Path, key: Path, ready: Connection) -> None:
    # The loop of the programs.
    with prompt_runner() as runner:
        runner.run(SERVERS[kind](pem, key, ready))


def _cpu_s(process: int) -> float:
    """User and system time of all threads of a process."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


async def _messages(channels: list[grpc.aio.Channel], process: int) -> float:
    """CPU of the server for a message, µs."""
    count = 0

    async def read(channel: grpc.aio.Channel) -> None:
        nonlocal count
        stream: Any = channel.unary_stream(f"/{SERVICE}/Stream")
        async for _ in stream(b""):
            count += 1

    readers = [asyncio.create_task(read(channel)) for channel in channels]
    await asyncio.sleep(1)
    before, cpu_s = count, _cpu_s(process)
    await asyncio.sleep(SECONDS)
    used_s, made = _cpu_s(process) - cpu_s, count - before
    for reader in readers:
        reader.cancel()
    await asyncio.gather(*readers, return_exceptions=True)
    return 1e6 * used_s / made


async def _calls(channels: list[grpc.aio.Channel], process: int) -> float:
    """CPU of the server for a call, µs; within the rate of each client."""

    async def ask(channel: grpc.aio.Channel) -> int:
        one: Any = channel.unary_unary(f"/{SERVICE}/One")
        made = 0
        while time.monotonic() < end_s:
            await one(MESSAGE)
            made += 1
            await asyncio.sleep(0.011)
        return made

    end_s = time.monotonic() + SECONDS
    cpu_s = _cpu_s(process)
    made = sum(await asyncio.gather(*(ask(channel) for channel in channels)))
    return 1e6 * (_cpu_s(process) - cpu_s) / made


async def _measure(kind: str, authority: Authority, pem: Path, key: Path) -> dict[str, float]:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_server, args=(kind, pem, key, there))
    process.start()
    try:
        port = await asyncio.to_thread(here.recv)
        credentials = grpc.ssl_channel_credentials(authority.file.read_bytes())
        options = (
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.ssl_target_name_override", "localhost"),
        )
        channels = [
            grpc.aio.secure_channel(f"127.0.0.1:{port}", credentials, options=options)
            for _ in range(PARALLEL)
        ]
        number = process.pid or 0
        found = {
            "message, 1 stream": await _messages(channels[:1], number),
            f"message, {PARALLEL} streams": await _messages(channels, number),
            "call": await _calls(channels, number),
        }
        for channel in channels:
            await channel.close()
        return found
    finally:
        process.kill()
        process.join()


def main() -> None:
    """Measure, print and write `serving_cost.json`."""
    parser = argparse.ArgumentParser(description="CPU of a gRPC server per message and call.")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {kind: [] for kind in SERVERS}
    with tempfile.TemporaryDirectory() as folder:
        authority = Authority(Path(folder))
        pem, key = authority.issue("server", dns=("localhost",))
        for _ in range(TURNS):
            for kind, turns in found.items():
                turns.append(asyncio.run(_measure(kind, authority, pem, key)))
    cpu_us = {
        kind: {name: statistics.median(turn[name] for turn in turns) for name in turns[0]}
        for kind, turns in found.items()
    }
    ratios = {
        name: cpu_us["grpc.aio"][name] / cpu_us["sojourn_serving"][name]
        for name in cpu_us["grpc.aio"]
    }
    for name, ratio in ratios.items():
        shown = ", ".join(f"{kind} {each[name]:.0f} µs" for kind, each in cpu_us.items())
        print(f"{name}: {shown}, ratio {ratio:.1f}")
    given.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"cpu_us": cpu_us, "ratio": ratios}, indent=2) + "\n"
    (given.out / "serving_cost.json").write_text(text)


if __name__ == "__main__":
    main()
