"""What a program's handlers get of an HTTP server, and what its clients get of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Any, Self

import aiohttp
import pytest
from ric.access import Right
from ric.http import HttpError, HttpServer, Request, Response, json_response, text_response
from ric.security import Security
from ric.settings import HttpSettings
from structlog.testing import capture_logs


class Ticks:
    """An endless answer; `left` when it is over."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.sent = 0
        self.left = asyncio.Event()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        await asyncio.sleep(0.01)
        self.sent += 1
        return b"tick\n"

    async def aclose(self) -> None:
        self.left.set()


class Shop:
    """A server with a route of each kind."""

    def __init__(self, *, problems: bool) -> None:
        self.problems = problems
        self.server = HttpServer(HttpSettings(listen="127.0.0.1:0"), Security(), problems=problems)
        self.server.route("GET", "/items/{item}", self._get, Right.READ)
        self.server.route("PUT", "/items/{item}", self._put, Right.CONTROL)
        self.server.route("GET", "/ticks", self._ticks, Right.READ)
        self.server.route("GET", "/failing", self._fail, None)
        self.ticks: list[Ticks] = []
        self.session: aiohttp.ClientSession
        self.url = ""

    async def _get(self, request: Request) -> Response:
        item = request.variables["item"]
        if item == "none":
            raise HttpError(HTTPStatus.NOT_FOUND, f"no item {item}")
        accept = request.headers.get("accept", "")
        return json_response([item, request.query.get("q", []), accept])

    async def _put(self, request: Request) -> Response:
        return text_response(f"{len(request.body)}", status=201)

    async def _ticks(self, request: Request) -> Response:
        self.ticks.append(Ticks(request))
        return Response(body=self.ticks[-1], headers={"Content-Type": "text/event-stream"})

    async def _fail(self, _: Request) -> Response:
        raise LookupError("secret")

    async def ask(self, method: str, path: str, **more: Any) -> tuple[int, str, str]:
        """Status, text and media type of the answer."""
        async with self.session.request(method, self.url + path, **more) as answer:
            return answer.status, await answer.text(), answer.content_type


@pytest.fixture(params=[False, True], ids=["text", "problems"])
async def shop(request: pytest.FixtureRequest) -> AsyncIterator[Shop]:
    made = Shop(problems=request.param)
    made.url = f"http://{await made.server.start()}"
    async with aiohttp.ClientSession() as made.session:
        yield made
    await made.server.stop()


async def test_a_handler_gets_variables_query_headers_and_body(shop: Shop) -> None:
    headers = {"Accept": "a/b"}
    status, text, kind = await shop.ask("GET", "/items/a%20b?q=1&q=%2F", headers=headers)
    assert (status, json.loads(text), kind) == (200, ["a b", ["1", "/"], "a/b"], "application/json")
    assert (await shop.ask("PUT", "/items/x", data=b"12345"))[:2] == (201, "5")
    chunks = aiohttp.AsyncIterablePayload(_parts(1000))
    assert (await shop.ask("PUT", "/items/x", data=chunks))[:2] == (201, "1000")


async def _parts(count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b"x"


@pytest.mark.parametrize(
    ("method", "path", "status", "says"),
    [
        ("GET", "/nowhere", 404, "GET /nowhere: Not Found"),
        ("GET", "/items/", 404, "GET /items/: Not Found"),
        ("GET", "/items/a/b", 404, "GET /items/a/b: Not Found"),
        ("GET", "/items/none", 404, "no item none"),
        ("DELETE", "/items/x", 405, "DELETE /items/x: Method Not Allowed"),
        ("PUT", "/items/large", 413, "body: longer than expected; expected at most 65536 bytes"),
        ("GET", "/failing", 500, "the program failed; see its log"),
    ],
)
async def test_an_error_says_what_is_wrong_in_the_form_of_the_server(
    method: str, path: str, status: int, says: str, shop: Shop
) -> None:
    body = b"x" * 70_000 if path == "/items/large" else None
    async with shop.session.request(method, shop.url + path, data=body) as answer:
        text = await answer.text()
        assert answer.status == status
        assert answer.headers.get("Allow") == ("GET,HEAD,PUT" if status == 405 else None)
    if shop.problems:
        assert answer.content_type == "application/problem+json"
        problem = json.loads(text)
        assert (problem["status"], problem["detail"]) == (status, says)
    else:
        assert (answer.content_type, text) == ("text/plain", f"{says}\n")


async def test_a_failure_of_a_handler_is_logged(shop: Shop) -> None:
    with capture_logs() as logged:
        await shop.ask("GET", "/failing")
    assert [line["event"] for line in logged] == ["request failed"]


async def test_head_is_get_without_its_body(shop: Shop) -> None:
    for path in ("/items/a", "/ticks"):
        async with shop.session.head(shop.url + path) as answer:
            assert (answer.status, await answer.read()) == (200, b"")
    async with asyncio.timeout(5):
        await shop.ticks[0].left.wait()
    assert shop.ticks[0].sent == 0


async def test_an_endless_answer_comes_in_parts_and_ends_when_its_client_leaves(
    shop: Shop,
) -> None:
    async with shop.session.get(shop.url + "/ticks") as answer:
        assert answer.content_type == "text/event-stream"
        assert [await answer.content.readline() for _ in range(3)] == [b"tick\n"] * 3
        answer.close()
    async with asyncio.timeout(10):
        await shop.ticks[0].left.wait()
    assert (await shop.ask("GET", "/items/a"))[0] == 200


async def test_a_client_that_is_cut_off_has_no_end_of_its_answer(shop: Shop) -> None:
    async with shop.session.get(shop.url + "/ticks") as answer:
        await answer.content.readline()
        shop.ticks[0].request.cut()
        with pytest.raises(aiohttp.ClientError):
            async with asyncio.timeout(10):
                while await answer.content.readline():
                    pass
    async with asyncio.timeout(10):
        await shop.ticks[0].left.wait()


async def test_a_stop_ends_answers_that_have_no_end(shop: Shop) -> None:
    async with shop.session.get(shop.url + "/ticks") as answer:
        await answer.content.readline()
        async with asyncio.timeout(10):
            await shop.server.stop()
            await shop.ticks[0].left.wait()
