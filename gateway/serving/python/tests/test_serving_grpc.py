"""gRPC servers of the module, with gRPC's own client."""

from __future__ import annotations

import asyncio
import gc
import resource
from pathlib import Path

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from serving_world import (
    PATIENCE_S,
    SERVICE,
    Guarded,
    channel,
    grpc_server,
    status,
    unary,
    until,
)
from sojourn_serving import Call, GrpcServer, Message, Procedure, SetupError

CODE = grpc.StatusCode


async def test_calls_of_each_kind_are_answered() -> None:
    async with grpc_server(Guarded()) as server, channel(server) as client:
        assert await unary(client)(b"hello") == b"hello"
        assert await unary(client)(b"") == b""
        counted = client.unary_stream(f"/{SERVICE}/Count")(b"100 10")
        assert [message[:4] async for message in counted] == [n.to_bytes(4) for n in range(100)]

        async def requests() -> object:
            for number in range(50):
                yield b"%d" % number

        echoed = client.stream_stream(f"/{SERVICE}/Echo")(requests())
        assert [message async for message in echoed] == [b"%d" % n for n in range(50)]


async def test_a_handler_ends_its_call_with_a_status_and_a_failure_is_logged() -> None:
    async def aborts(call: Call) -> bytes:
        call.abort(CODE.NOT_FOUND.value[0], "no such node ünd")

    async def fails(call: Call) -> None:
        await call.write(b"first")
        raise ValueError("a fault of the program")

    guarded = Guarded()
    procedures = {
        "One": Procedure(aborts, "read"),
        "Fail": Procedure(fails, "read", many_responses=True),
    }
    async with grpc_server(guarded, procedures) as server, channel(server) as client:
        assert await status(unary(client)(b"")) == (CODE.NOT_FOUND, "no such node ünd")
        failing = client.unary_stream(f"/{SERVICE}/Fail")(b"")
        assert await failing.read() == b"first"
        assert (await status(failing))[0] is CODE.UNKNOWN
        absent = client.unary_unary(f"/{SERVICE}/Absent")(b"")
        assert (await status(absent))[0] is CODE.UNIMPLEMENTED
    failed = [record for record in guarded.records if record.event == "call failed"]
    assert [record.fields["procedure"] for record in failed] == ["Fail"]
    assert "a fault of the program" in str(failed[0].fields["exception"])


async def test_a_request_that_is_too_long_is_refused_and_counts_as_twenty_calls() -> None:
    guarded = Guarded()
    async with grpc_server(guarded) as server, channel(server) as client:
        details = []
        # Eleven, but for what comes back while they take place; of one call each 200 were admitted.
        while len(details) < 100 and not (details and "calls/s" in details[-1]):
            code, detail = await status(unary(client)(bytes((1 << 16) + 1)))
            assert code is CODE.RESOURCE_EXHAUSTED
            details.append(detail)
        assert len(details) > 10
        assert all("65536" in detail for detail in details[:-1])
        assert "more than 100 calls/s (burst 200)" in details[-1]
        assert guarded.value("sojourn_limited", "127.0.0.1", "calls") > 0
    async with grpc_server(Guarded()) as server, channel(server) as client:
        call = client.stream_stream(f"/{SERVICE}/Echo")()
        await call.write(b"short")
        assert await call.read() == b"short"
        await call.write(bytes((1 << 16) + 1))
        assert (await status(call))[0] is CODE.RESOURCE_EXHAUSTED


async def test_a_client_that_leaves_ends_its_handler_and_one_that_stays_is_served() -> None:
    left = asyncio.Event()

    async def waits(call: Call) -> None:
        try:
            await call.write(b"here")
            await asyncio.Event().wait()
        finally:
            left.set()

    procedures = {"Wait": Procedure(waits, "read", many_responses=True)}
    async with grpc_server(Guarded(), procedures) as server, channel(server) as client:
        waiting = client.unary_stream(f"/{SERVICE}/Wait")
        call = waiting(b"")
        assert await call.read() == b"here"
        call.cancel()
        await asyncio.wait_for(left.wait(), PATIENCE_S)
        left.clear()
        assert (await status(waiting(b"", timeout=0.3)))[0] is CODE.DEADLINE_EXCEEDED
        await asyncio.wait_for(left.wait(), PATIENCE_S)


async def test_a_slow_reader_is_waited_for() -> None:
    written = 0

    async def writes(call: Call) -> None:
        nonlocal written
        for written in range(1, 10_001):  # noqa: B007 - read by the test
            await call.write(bytes(10_000))

    procedures = {"Write": Procedure(writes, "read", many_responses=True)}
    async with grpc_server(Guarded(), procedures) as server, channel(server) as client:
        call = client.unary_stream(f"/{SERVICE}/Write")(b"")
        await call.read()
        before = -1
        while before != written:
            before = written
            await asyncio.sleep(0.3)
        # Windows of HTTP/2 and buffers of sockets, of 100 MB.
        assert 0 < written < 2_000
        for _ in range(9_999):
            assert len(await call.read()) == 10_000
        assert await call.read() is grpc.aio.EOF
        assert written == 10_000


async def test_one_message_is_sent_to_many_calls() -> None:
    async def sends(call: Call) -> None:
        await call.write(message)

    message = Message(bytes(range(256)) * 100)
    assert len(message) == 25_600
    procedures = {"Send": Procedure(sends, "read", many_responses=True)}
    async with grpc_server(Guarded(), procedures) as server, channel(server) as client:
        calls = [client.unary_stream(f"/{SERVICE}/Send")(b"") for _ in range(20)]
        for call in calls:
            assert await call.read() == bytes(range(256)) * 100


async def test_health_and_reflection() -> None:
    async with grpc_server(Guarded()) as server, channel(server) as client:
        stub = health_pb2_grpc.HealthStub(client)
        serving = health_pb2.HealthCheckResponse
        for service in ("", SERVICE):
            request = health_pb2.HealthCheckRequest(service=service)
            assert (await stub.Check(request)).status == serving.SERVING
        server.set_ready(False)
        answer = await stub.Check(health_pb2.HealthCheckRequest())
        assert answer.status == serving.NOT_SERVING
        asked = reflection_pb2.ServerReflectionRequest(list_services="")
        for package in ("v1", "v1alpha"):
            call = client.stream_stream(
                f"/grpc.reflection.{package}.ServerReflection/ServerReflectionInfo",
                request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
                response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
            )(iter([asked]))
            names = [each.name for each in (await call.read()).list_services_response.service]
            assert SERVICE in names
        stub = reflection_pb2_grpc.ServerReflectionStub(client)
        asked = reflection_pb2.ServerReflectionRequest(file_containing_symbol=SERVICE)
        found = await stub.ServerReflectionInfo(iter([asked])).read()
        assert found.file_descriptor_response.file_descriptor_proto


async def test_a_stream_makes_room_for_a_client_with_fewer() -> None:
    async def waits(call: Call) -> None:
        await call.write(b"here")
        await asyncio.Event().wait()

    guarded = Guarded()
    procedures = {"Wait": Procedure(waits, "read", many_responses=True)}
    async with grpc_server(guarded, procedures, max_streams=3) as server:
        # On loopback each connection is a client.
        clients = [channel(server, ("grpc.use_local_subchannel_pool", 1)) for _ in range(3)]
        first = []
        for _ in range(2):
            first.append(clients[0].unary_stream(f"/{SERVICE}/Wait")(b""))
            assert await first[-1].read() == b"here"
        others = []
        for client in clients[1:]:
            call = client.unary_stream(f"/{SERVICE}/Wait")(b"")
            assert await call.read() == b"here"
            others.append(call)
        code, detail = await status(first[1])
        assert code is CODE.RESOURCE_EXHAUSTED
        assert "it had the most streams" in detail
        assert guarded.value("sojourn_limited", "127.0.0.1", "streams") == 1
        assert not first[0].done()
        for client in clients:
            await client.close()


async def test_servers_at_a_unix_socket_and_at_both_families(tmp_path: Path) -> None:
    async with (
        grpc_server(Guarded(), listen=f"unix:{tmp_path / 'socket'}") as server,
        channel(server) as client,
    ):
        assert (server.port, server.address) == (0, f"unix:{tmp_path / 'socket'}")
        assert await unary(client)(b"at a path") == b"at a path"
    async with (
        grpc_server(Guarded(), listen="[::]:0") as server,
        grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as client,
    ):
        assert await unary(client)(b"IPv4") == b"IPv4"


@pytest.mark.parametrize("listen", ["nothing", "localhost", "[::1:5", "192.0.2.1:5000"])
async def test_an_address_that_cannot_be_used_is_named(listen: str) -> None:
    with pytest.raises(SetupError, match=r"^server\.listen: .*(expected|cannot be bound)"):
        async with grpc_server(Guarded(), listen=listen):
            pass


async def test_an_address_in_use_is_named() -> None:
    async with grpc_server(Guarded()) as server:
        with pytest.raises(SetupError, match="cannot be bound"):
            async with grpc_server(Guarded(), listen=f"localhost:{server.port}"):
                pass


async def test_a_stop_lets_calls_end_and_then_cuts_them() -> None:
    release = asyncio.Event()

    async def waits(call: Call) -> bytes:
        await release.wait()
        return b"in time"

    guarded = Guarded()
    server = GrpcServer(
        guarded.guard, section="server", listen="localhost:0", service=SERVICE,
        procedures={"One": Procedure(waits, "read")}, descriptors=b"",
    )  # fmt: skip
    await server.start()
    async with channel(server) as client:
        call = unary(client)(b"")
        await until(lambda: guarded.value("sojourn_server_connections", "grpc") == 1)
        stopping = asyncio.create_task(server.stop(PATIENCE_S))
        await asyncio.sleep(0.1)
        assert not stopping.done()
        release.set()
        assert await call == b"in time"
        await stopping
        assert (await status(unary(client)(b"")))[0] is CODE.UNAVAILABLE
    guarded.guard.close()

    release.clear()
    async with (
        grpc_server(Guarded(), {"One": Procedure(waits, "read")}) as server,
        channel(server) as client,
    ):
        call = unary(client)(b"")
        await asyncio.sleep(0.2)
        await asyncio.wait_for(server.stop(0.1), PATIENCE_S)
        assert (await status(call))[0] in (CODE.UNAVAILABLE, CODE.CANCELLED)


async def test_a_stop_before_the_start_keeps_a_server_from_listening() -> None:
    guarded = Guarded()
    server = GrpcServer(
        guarded.guard, section="server", listen="localhost:0", service=SERVICE,
        procedures={}, descriptors=b"",
    )  # fmt: skip
    await server.stop(0)
    await server.start()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", server.port)


async def test_thousands_of_calls_leave_nothing_behind() -> None:
    async def run(calls: int) -> None:
        # Within the rate of one client, by new connections.
        for _ in range(calls // 100):
            async with channel(server, ("grpc.use_local_subchannel_pool", 1)) as client:
                asked = (unary(client)(bytes(1000)) for _ in range(50))
                await asyncio.gather(*asked)
                for _ in range(50):
                    call = client.unary_stream(f"/{SERVICE}/Count")(b"1000 1000")
                    await call.read()
                    call.cancel()

    guarded = Guarded()
    async with grpc_server(guarded) as server:
        await run(2_000)
        await until(lambda: guarded.value("sojourn_server_connections", "grpc") == 0)
        gc.collect()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        await run(4_000)
        await until(lambda: guarded.value("sojourn_server_connections", "grpc") == 0)
        gc.collect()
        grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert grown_kb < 30_000
        left = [each for each in gc.get_objects() if isinstance(each, Call)]
        assert len(left) < 10
