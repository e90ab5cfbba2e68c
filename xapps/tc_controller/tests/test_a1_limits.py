"""The A1-P server against a client that changes policies without end, or never ends a request."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from aiohttp import ClientSession
from test_a1 import QOS, Served, qos, served


async def raw(a1: Served) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the server."""
    host, port = a1.root.removeprefix("http://").split("/")[0].rsplit(":", 1)
    return await asyncio.open_connection(host, int(port))


async def test_a_flood_of_changes_is_refused_and_another_client_sets_its_policy() -> None:
    async with served() as a1:
        statuses: list[int] = []
        refused: list[dict[str, Any]] = []
        began_s = time.monotonic()
        while len(refused) < 20:
            # Within the rate of requests.
            await asyncio.sleep(0.009)
            async with a1.session.delete(f"{a1.root}/{QOS}/policies/none") as answer:
                statuses.append(answer.status)
                if answer.status == 429:
                    assert answer.headers["Retry-After"] == "1"
                    refused.append(await answer.json())
        took_s = time.monotonic() - began_s
        assert 200 <= statuses.count(404) <= 200 + 20 * took_s + 1, "the burst, and then the rate"
        assert "more than 20 policy changes/s (burst 200); again in" in refused[0]["detail"]
        assert (refused[0]["status"], refused[0]["title"]) == (429, "Too Many Requests")
        async with ClientSession() as second:
            url = f"{a1.root}/{QOS}/policies/p"
            async with second.put(url, json=qos(pdb=20)) as answer:
                assert answer.status == 201
            async with second.get(url) as answer:
                assert answer.status == 200
        assert a1.bound() == 20


async def test_900_silent_sockets_leave_a_client_its_policies() -> None:
    async with served(max_connections=32) as a1:
        silent = []
        for number in range(30):
            silent += [await raw(a1) for _ in range(30)]
            assert (await a1.put(QOS, f"p{number}", qos(pdb=20 + number)))[0] == 201
        assert len(silent) == 900
        for _, writer in silent:
            writer.transport.abort()


async def test_a_body_that_does_not_come_ends_the_request() -> None:
    async with served() as a1:
        reader, writer = await raw(a1)
        head = f"PUT /A1-P/v2/policytypes/{QOS}/policies/p HTTP/1.1\r\nHost: localhost\r\n"
        writer.write(f"{head}Content-Length: 50\r\n\r\n{{".encode())
        async with asyncio.timeout(20):
            answer = await reader.readuntil(b"}")
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"body: not complete; expected within 10 s" in answer
        assert (await a1.put(QOS, "p", qos(pdb=20)))[0] == 201
        writer.transport.abort()


async def test_a_body_beyond_the_bound_is_refused() -> None:
    async with served() as a1:
        status, problem = await a1.put(QOS, "p", {"padding": "x" * 70_000})
        assert status == 413
        assert problem["status"] == 413
