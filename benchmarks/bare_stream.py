"""A bare gRPC stream, the reference of latencies: as many bytes each millisecond, nothing else.

As a program it serves the stream on a free port of the loopback and prints the port.
"""

from __future__ import annotations

# First: gRPC's core takes its settings while it is loaded, and xApps load it through the SDK.
import ric  # noqa: F401

# isort: split
import asyncio
import sys
import time
from collections.abc import AsyncIterator
from typing import Any, Final

import grpc
from measuring import percentiles

PERIOD_S: Final = 0.001
METHOD: Final = "/sojourn.benchmark.Bare/Subscribe"
TIME_BYTES: Final = 8
MOST_BYTES: Final = 64 * 2**20


class _Bare(grpc.GenericRpcHandler):
    """Answers any call with messages that begin with the time at which they were made."""

    def __init__(self, size: int) -> None:
        self._rest = bytes(max(0, size - TIME_BYTES))

    def service(self, _details: grpc.HandlerCallDetails) -> Any:
        return grpc.unary_stream_rpc_method_handler(self._stream)

    async def _stream(self, _request: bytes, _context: Any) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        due_s = loop.time()
        while True:
            due_s = max(due_s + PERIOD_S, loop.time())
            await asyncio.sleep(due_s - loop.time())
            yield time.time_ns().to_bytes(TIME_BYTES, "little") + self._rest


async def serve(size: int) -> None:
    """Serves until the process is ended."""
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((_Bare(size),))
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    await server.start()
    await server.wait_for_termination()


async def bare_latency_us(size: int, seconds: float) -> tuple[float, float]:
    """p50 and p99 from the making of a message to its reader in another process."""
    command = (sys.executable, __file__, str(size))
    server = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        if server.stdout is None:
            raise RuntimeError("the bare stream has no standard output")
        port = int(await server.stdout.readline())
        options = [("grpc.max_receive_message_length", MOST_BYTES)]
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
            return await _read(channel, seconds)
    finally:
        server.terminate()
        await server.wait()


async def _read(channel: grpc.aio.Channel, seconds: float) -> tuple[float, float]:
    loop = asyncio.get_running_loop()
    warm_s = loop.time() + 1
    latency_us: list[float] = []
    subscribe: Any = channel.unary_stream(METHOD)
    call = subscribe(b"", wait_for_ready=True)
    async for message in call:
        now_ns = time.time_ns()
        if loop.time() > warm_s:
            latency_us.append((now_ns - int.from_bytes(message[:TIME_BYTES], "little")) / 1e3)
        if loop.time() > warm_s + seconds:
            break
    call.cancel()
    return percentiles(latency_us)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
