"""The live page over HTTP: files, stream, limits, what a browser may ask for."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, cast

import aiohttp
import pytest
from ric.clock import SystemClock
from ric.http import HttpServer
from ric.security import Security
from ric.settings import AccessSettings, HttpSettings
from tc_controller.live.feed import Feed
from tc_controller.live.server import LivePage
from tc_world import DRB, NODE, RNTI, bulk, ping
from test_live_feed import Watched

BEARER = f"{NODE}/0x{RNTI:04x}/drb{DRB}"


class ByHand(SystemClock):
    """A clock whose seconds pass when the test says so."""

    def __init__(self) -> None:
        self._seconds: asyncio.Queue[None] = asyncio.Queue()

    def tick(self) -> None:
        self._seconds.put_nowait(None)

    async def sleep(self, seconds: float) -> None:
        await self._seconds.get()


class Served:
    """A live page over real sockets, two viewers at most."""

    def __init__(
        self, feed: Feed, now_us: int, max_viewers: int = 2, security: Security | None = None
    ) -> None:
        self.clock = ByHand()
        self.page = LivePage(feed, self.clock, lambda: now_us, max_viewers)
        self.server = HttpServer(HttpSettings(listen="127.0.0.1:0"), security or Security())
        self.url = ""
        self.streams: list[Stream] = []

    async def __aenter__(self) -> Served:
        self.page.add_routes(self.server)
        self.url = "http://" + await self.server.start()
        self.task = asyncio.create_task(self.page.run())
        self.session = aiohttp.ClientSession()
        return self

    async def __aexit__(self, *_: object) -> None:
        for stream in self.streams:
            stream.answer.close()
        await self.session.close()
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        await self.server.stop()

    async def get(self, path: str) -> tuple[int, dict[str, Any]]:
        async with self.session.get(self.url + path) as answer:
            return answer.status, await answer.json()

    async def watch(self, **request: Any) -> Stream:
        answer = await self.session.get(self.url + "/live/events", **request)
        answer.raise_for_status()
        self.streams.append(Stream(answer))
        return self.streams[-1]


class Stream:
    """Reads the events of a stream."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self.answer = answer

    async def event(self) -> tuple[str, dict[str, Any]]:
        name = ""
        data: list[str] = []
        async with asyncio.timeout(10):
            while line := (await self.answer.content.readline()).decode():
                if line == "\n":
                    return name, json.loads("\n".join(data))
                kind, _, text = line.rstrip("\n").partition(": ")
                if kind == "event":
                    name = text
                else:
                    data.append(text)
        raise EOFError


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    watched = Watched(bulk(), ping(), rule="ladder: [{template: fq_codel}]")
    for _ in range(3):
        watched.second()
    async with Served(watched.feed, watched.world.now_us) as page:
        yield page


async def test_the_files_of_the_page_ask_for_nothing_elsewhere_and_hold_no_inline_script(
    served: Served,
) -> None:
    async with served.session.get(served.url + "/") as answer:
        page = await answer.text()
        assert answer.url.path == "/live/"
        policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'self';")
    assert "unsafe" not in policy
    files = re.findall(r'(?:src|href)="([^"#]+)"', page)
    assert {"live.js", "live.css", "icon.svg"} <= set(files)
    assert not any("//" in file for file in files)
    assert not re.search(r"<style|style=|<script(?![^>]* src=)| on\w+=", page)
    async with served.session.get(served.url + "/live/live.js") as answer:
        script = await answer.text()
        assert answer.content_type == "text/javascript"
    for module in re.findall(r'from "\./([^"]+)"', script):
        async with served.session.get(f"{served.url}/live/{module}") as answer:
            assert answer.status == 200


async def test_a_viewer_gets_the_whole_state_and_then_each_second_what_changed(
    served: Served,
) -> None:
    stream = await served.watch()
    name, whole = await stream.event()
    assert name == "whole"
    (row,) = whole["bearers"]
    assert row["id"] == BEARER
    served.clock.tick()
    name, change = await stream.event()
    assert name == "change"
    assert {"bearers", "values", "gone", "nodes", "decisions"} <= change.keys()


async def test_histories_and_details_of_bearers_by_name(served: Served) -> None:
    status, history = await served.get(f"/live/history?bearer={BEARER}&bearer=unknown")
    assert status == 200
    assert list(history["series"]) == [BEARER]
    sojourn, rate, queue, _bulk, _inherited = history["series"][BEARER]
    assert len(sojourn) == len(rate) == len(queue) == len(history["at_us"]) == 3
    status, detail = await served.get(f"/live/bearer?id={BEARER}")
    assert (status, detail["id"]) == (200, BEARER)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/live/history", 400),
        ("/live/history?" + "&".join(["bearer=x"] * 65), 400),
        ("/live/bearer", 404),
        ("/live/bearer?id=gnb-1/0x0000/drb1", 404),
        ("/live/none.js", 404),
    ],
)
async def test_requests_that_have_no_answer(served: Served, path: str, status: int) -> None:
    async with served.session.get(served.url + path) as answer:
        assert answer.status == status


async def test_more_viewers_than_the_limit_are_refused_with_the_setting_named(
    served: Served,
) -> None:
    first, _ = await served.watch(), await served.watch()
    async with served.session.get(served.url + "/live/events") as answer:
        assert answer.status == 503
        assert "2 viewers are connected, the limit of `live.max_viewers`" in await answer.text()
    first.answer.close()
    async with asyncio.timeout(10):
        while True:
            # That a viewer left shows when it is sent the next event.
            served.clock.tick()
            async with served.session.get(served.url + "/live/events") as answer:
                if answer.status == 200:
                    break
            await asyncio.sleep(0.05)


async def test_a_stop_ends_the_streams(served: Served) -> None:
    stream = await served.watch()
    await stream.event()
    await served.page.close()
    with pytest.raises(EOFError):
        await stream.event()
    async with served.session.get(served.url + "/live/events") as answer:
        assert (answer.status, await answer.text()) == (503, "the controller is stopping\n")


class _Flood:
    """A feed of which each second is larger than the buffers of a connection."""

    def sample(self, now_us: int) -> Iterator[None]:
        return iter(())

    def changes(self) -> Iterator[Any]:
        yield {"text": "x" * 400_000}

    def whole(self) -> Iterator[str]:
        yield "{}"


async def test_a_viewer_that_does_not_read_is_disconnected_and_the_others_are_served() -> None:
    async with Served(cast(Feed, _Flood()), 0) as served:
        stream = await served.watch()
        host, port = served.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=1024)
        writer.write(b"GET /live/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        assert (await stream.event())[0] == "whole"
        for _ in range(60):
            served.clock.tick()
            assert (await stream.event())[0] == "change"
        received = 0
        async with asyncio.timeout(30):
            while part := await reader.read(1 << 20):
                received += len(part)
        assert received < 60 * 400_000
        writer.close()


async def test_a_client_with_many_viewers_leaves_others_theirs(tmp_path: Path) -> None:
    """Clients differ by token: on loopback a connection without one is a client of its own."""
    watched = Watched(bulk(), ping(), rule="ladder: [{template: fq_codel}]")
    watched.second()
    clients = []
    for name in ("greedy", "second"):
        (tmp_path / f"{name}.token").write_text(name[0] * 32)
        clients.append({"name": name, "token_file": f"{name}.token", "may": ["read"]})
    access = tmp_path / "access.yaml"
    access.write_text(json.dumps({"clients": clients}))
    security = Security(AccessSettings(file=access))
    async with Served(watched.feed, watched.world.now_us, 6, security) as served:
        greedy = {"Authorization": "Bearer " + "g" * 32}
        for _ in range(3):
            await served.watch(headers=greedy)
        for _ in range(20):
            async with served.session.get(f"{served.url}/live/events", headers=greedy) as answer:
                assert answer.status == 429
                assert answer.headers["Retry-After"] == "1"
                assert "client greedy: more than its share of 6 viewers" in await answer.text()
        second = await served.watch(headers={"Authorization": "Bearer " + "s" * 32})
        assert (await second.event())[0] == "whole"
