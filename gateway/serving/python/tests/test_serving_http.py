"""HTTP servers of the module."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from serving_world import PATIENCE_S, Guarded, ask, get, http_server, say, until
from sojourn_serving import BodyError, HttpServer, Rate, Request, Response, SetupError


async def test_requests_are_answered_with_their_parts() -> None:
    async def shows(request: Request) -> Response:
        shown = json.dumps([request.method, request.path, request.query, request.headers["x-a"]])
        return Response(201, {"Content-Type": "application/json", "X-B": "b"}, shown.encode())

    async with http_server(Guarded(), shows) as server:
        asked = get("/a%20b/c?d=%20&e", "X-A: 1", "X-A: 2", method="PUT", body=b"")
        status, fields, body = await ask(server.address, asked)
        assert (status, fields["x-b"], fields["content-type"]) == (201, "b", "application/json")
        assert json.loads(body) == ["PUT", "/a b/c", "d=%20&e", "1, 2"]
        status, fields, body = await ask(server.address, get("/", "X-A: 1", method="HEAD"))
        assert (status, body) == (201, b"")
        assert int(fields["content-length"]) > 0


async def test_bodies_are_bounded_in_length_and_time() -> None:
    async def reads(request: Request) -> Response:
        try:
            return await say(request)
        except BodyError as error:
            return Response(error.status, {}, error.detail.encode())

    async with http_server(Guarded(), reads, max_body_bytes=1000) as server:
        for method in ("PUT", "GET"):
            asked = get("/", "Content-Length: 1000", method=method, body=bytes(1000))
            assert (await ask(server.address, asked))[2] == f"{method} /  1000\n".encode()
            asked = get("/", "Content-Length: 1001", method=method, body=bytes(1001))
            status, _, body = await ask(server.address, asked)
            assert (status, body) == (
                413, b"body: longer than expected; expected at most 1000 bytes",
            )  # fmt: skip
        chunked = b"3e8\r\n" + bytes(1000) + b"\r\n1\r\nx\r\n0\r\n\r\n"
        asked = get("/", "Transfer-Encoding: chunked", method="PUT", body=chunked)
        assert (await ask(server.address, asked))[0] == 413
        asked = get("/", "Content-Length: 10", method="PUT", body=b"slow")
        status, _, body = await ask(server.address, asked)
        assert (status, body) == (408, b"body: not complete; expected within 10 s")


async def test_an_answer_that_streams_is_closed_when_the_client_leaves() -> None:
    closed = asyncio.Event()

    async def ticks() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"tick\n"
                await asyncio.sleep(0.05)
        finally:
            closed.set()

    async def streams(_: Request) -> Response:
        return Response(200, {"Content-Type": "text/event-stream"}, ticks())

    async with http_server(Guarded(), streams) as server:
        host, _, port = server.address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(get("/"))
        await reader.readuntil(b"tick\n")
        await reader.readuntil(b"tick\n")
        writer.close()
        await asyncio.wait_for(closed.wait(), PATIENCE_S)


async def test_a_reader_that_is_cut_and_one_that_leaves_before_its_answer() -> None:
    left = asyncio.Event()
    requests: list[Request] = []

    async def waits(request: Request) -> Response:
        requests.append(request)
        try:
            await asyncio.Event().wait()
        finally:
            left.set()
        return Response()

    async with http_server(Guarded(), waits) as server:
        for cuts in (False, True):
            left.clear()
            host, _, port = server.address.rpartition(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(get("/"))
            await until(lambda: len(requests) == 1)
            if cuts:
                requests[0].cut()
                assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
            writer.close()
            await asyncio.wait_for(left.wait(), PATIENCE_S)
            requests.clear()


async def test_a_handler_that_fails_is_a_500_and_logged() -> None:
    async def fails(_: Request) -> Response:
        raise ValueError("a fault of the program")

    guarded = Guarded()
    async with http_server(guarded, fails) as server:
        assert (await ask(server.address, get("/x")))[0] == 500
    failed = [record for record in guarded.records if record.event == "request failed"]
    assert [record.fields["path"] for record in failed] == ["/x"]


@pytest.mark.parametrize("problems", [False, True])
async def test_requests_beyond_a_rate_come_later_and_paths_have_their_own(problems: bool) -> None:
    guarded = Guarded()
    async with http_server(guarded, say, problems=problems) as server:
        server.set_rate("/metrics", Rate("scrapes", 1, 2, "scrapes"))
        host, _, port = server.address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
        answers = []
        for _ in range(3):
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).lower().decode()
            length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
            answers.append((head, await reader.readexactly(length)))
        assert [head.split()[1] for head, _ in answers] == ["200", "200", "429"]
        head, body = answers[2]
        assert "retry-after: 1\r\n" in head
        assert ("application/problem+json" in head) is problems
        text = json.loads(body)["detail"] if problems else body.decode()
        assert "more than 1 scrapes/s (burst 2)" in text
        writer.write(request.replace(b"/metrics", b"/other"))
        assert b" 200 " in await reader.readline()
        writer.close()
        assert guarded.value("sojourn_limited", "127.0.0.1", "scrapes") == 1


async def test_hosts_and_origins_of_others_are_refused() -> None:
    async with http_server(Guarded(), say, allowed_hosts=["live.example.org"]) as server:
        for host, origin, expected in [
            ("localhost", "", 200),
            ("live.example.org:80", "http://live.example.org", 200),
            ("evil.example", "", 421),
            ("localhost", "Origin: http://evil.example", 403),
        ]:
            lines = [f"GET / HTTP/1.1\r\nHost: {host}", "Connection: close"]
            lines += [f"Origin: {origin}"] if origin and not origin.startswith("Origin") else []
            lines += [origin] if origin.startswith("Origin") else []
            asked = "\r\n".join(lines).encode() + b"\r\n\r\n"
            assert (await ask(server.address, asked))[0] == expected
    with pytest.raises(SetupError, match=r"http\.allowed_hosts\[0\]: .* expected a host name"):
        async with http_server(Guarded(), say, allowed_hosts=["*"]):
            pass


async def test_what_is_no_http_is_refused_and_counted() -> None:
    guarded = Guarded()
    async with http_server(guarded, say) as server:
        assert (await ask(server.address, b"\x00\x01\x02 nothing\r\n\r\n"))[0] == 400
        long = get("/", "X-Long: " + "x" * 20_000)
        assert (await ask(server.address, long))[0] == 431
        many = get("/", *(f"X-{number}: x" for number in range(200)))
        assert (await ask(server.address, many))[0] == 431
        await until(lambda: guarded.value("sojourn_limited", "127.0.0.1", "malformed") == 3)


async def test_a_head_that_does_not_end_ends_its_connection_and_no_other() -> None:
    async with http_server(Guarded(), say, max_connections=20) as server:
        host, _, port = server.address.rpartition(":")
        dripping = []
        for _ in range(40):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(b"GET / HTTP/1.1\r\nX-")
            dripping.append((reader, writer))
        assert (await ask(server.address, get("/")))[0] == 200

        async def drip(writer: asyncio.StreamWriter) -> None:
            while not writer.is_closing():
                writer.write(b"x")
                await asyncio.sleep(1)

        tasks = [asyncio.create_task(drip(writer)) for _, writer in dripping]
        ended = asyncio.gather(*(reader.read() for reader, _ in dripping), return_exceptions=True)
        await asyncio.wait_for(ended, PATIENCE_S)
        for task, (_, writer) in zip(tasks, dripping, strict=True):
            task.cancel()
            writer.close()


async def test_a_unix_socket_needs_no_host(tmp_path: Path) -> None:
    path = tmp_path / "http"
    async with http_server(Guarded(), say, listen=f"unix:{path}") as server:
        assert server.address == f"unix:{path}"
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(b"GET / HTTP/1.1\r\nHost: any.example\r\nConnection: close\r\n\r\n")
        assert b" 200 " in await reader.readline()
        writer.close()


async def test_a_stop_lets_an_answer_end_and_then_cuts_it() -> None:
    async def slow(request: Request) -> Response:
        await asyncio.sleep(float(request.query))
        return Response(200, {}, b"done")

    guarded = Guarded()
    async with http_server(guarded, slow) as server:
        quick = asyncio.create_task(ask(server.address, get("/?0.3")))
        late = asyncio.create_task(ask(server.address, get("/?60")))
        await until(lambda: guarded.value("sojourn_server_connections", "http") == 2)
        await asyncio.sleep(0.1)
        await asyncio.wait_for(server.stop(), PATIENCE_S)
        assert (await quick)[2] == b"done"
        with pytest.raises((OSError, IndexError)):
            await late
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", int(server.address.rpartition(":")[2])))


async def test_a_server_that_is_stopped_before_it_starts_does_not_listen() -> None:
    server = HttpServer(
        Guarded().guard, section="http", label="http", listen="127.0.0.1:0", handler=say
    )
    await server.stop()
    assert await server.start() == ""
