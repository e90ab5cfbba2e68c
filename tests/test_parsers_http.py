"""Property test of the HTTP servers of the Python programs: after any bytes the next is served."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from parser_peers import SHARE, Peer, inputs
from ric.http import HttpServer, Request, Response, text_response
from ric.security import Security
from ric.settings import HttpSettings

PATIENCE_S = 30.0
GET = b"GET /metrics?a=%2e HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n\r\n"
REQUESTS = Peer(
    "",
    lambda data, _: data,
    (),
    "",
    [
        GET,
        b"HEAD / HTTP/1.0\r\n\r\n" + GET,
        b"POST / HTTP/1.1\r\nHost: [::1]\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
        b"GET /s HTTP/1.1\r\nHost: [::1]\r\nAccept: text/event-stream\r\nLast-Event-ID: 5\r\n\r\n",
    ],
    words=[
        b"Content-Length: 99999999999999999999\r\n",
        b"\r\n\r\n",
        b"/../",
        b"Expect: 100-continue",
    ],
)


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, int]]:
    """A server on a thread of its own."""
    loop = asyncio.new_event_loop()
    server = HttpServer(HttpSettings(listen="127.0.0.1:0"), Security())

    async def answer(_: Request) -> Response:
        return text_response("ok")

    server.route("GET", "/metrics", answer, None)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    address = asyncio.run_coroutine_threadsafe(server.start(), loop).result(PATIENCE_S)
    host, _, port = address.rpartition(":")
    yield host, int(port)

    asyncio.run_coroutine_threadsafe(server.stop(), loop).result(PATIENCE_S)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def answer_to(server: tuple[str, int], request: bytes, *, ends: bool = False) -> bytes:
    """What comes back until the server closes; a client that `ends` sends nothing more."""
    with socket.create_connection(server, PATIENCE_S) as client:
        with suppress(OSError):
            client.sendall(request)
            if ends:
                client.shutdown(socket.SHUT_WR)
        answer = b""
        with suppress(ConnectionError):
            while part := client.recv(65_536):
                answer += part
    return answer


@settings(
    max_examples=settings().max_examples // SHARE,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(request_=inputs(REQUESTS))
def test_any_request_is_answered_or_ended_and_the_next_is_served(
    server: tuple[str, int], caplog: pytest.LogCaptureFixture, request_: bytes
) -> None:
    answer = answer_to(server, request_, ends=True)
    if answer:
        version, status = answer.split(b" ")[:2]
        assert version.startswith(b"HTTP/")
        assert int(status) < 500
    # A traceback for each request would fill the disk.
    assert [record.name for record in caplog.records] == []
    assert answer_to(server, GET).startswith(b"HTTP/1.1 200 OK\r\n")
