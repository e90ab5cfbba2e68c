"""The page over HTTP: static files, a stream of server-sent events, histories and details."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from importlib import resources
from itertools import chain
from typing import Final

from aiohttp import hdrs, web
from ric.access import Right
from ric.clock import Clock
from ric.http import Handler, HttpServer, too_many_requests
from ric.limits import Exceeded, Limits, Pool

from tc_controller.live.detail import bearer_detail, find
from tc_controller.live.feed import Feed, encode

_PERIOD_S: Final = 1.0
#: Seconds that a viewer may be behind; one that is slower is disconnected.
_BEHIND: Final = 5
#: Bearers whose histories may be asked for at once.
_MOST_HISTORIES: Final = 64
_TYPES: Final = {
    "index.html": "text/html",
    "live.css": "text/css",
    "icon.svg": "image/svg+xml",
}
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


class _Viewer:
    """One open stream."""

    def __init__(self, request: web.Request, client: str) -> None:
        self.request = request
        self.client = client
        #: Events to send; ``None`` ends the stream.
        self.waiting: asyncio.Queue[bytes | None] = asyncio.Queue(_BEHIND)

    def offer(self, event: bytes | None) -> None:
        """Send an event, or disconnect a viewer that is behind."""
        try:
            self.waiting.put_nowait(event)
        except asyncio.QueueFull:
            if self.request.transport is not None:
                self.request.transport.abort()


class LivePage:
    """Serves a feed to browsers.

    Args:
        feed: what is shown.
        clock: for the period.
        now_us: the controller's time.
        max_viewers: streams that may be open at once.
    """

    def __init__(
        self, feed: Feed, clock: Clock, now_us: Callable[[], int], max_viewers: int
    ) -> None:
        self._feed = feed
        self._clock = clock
        self._now_us = now_us
        self._max_viewers = max_viewers
        self._shares = Pool(max_viewers)
        self._viewers: set[_Viewer] = set()
        self._feeding = asyncio.Lock()
        #: The feed's document is of the last sample.
        self._following = False

    def add_routes(self, server: HttpServer) -> None:
        """Serve the page below `/live/`. Its files hold no data and need no right: a browser loads
        them before it can ask for a token."""
        folder = resources.files("tc_controller.live") / "static"
        for file in folder.iterdir():
            content = file.read_bytes()
            kind = _TYPES.get(file.name, "text/javascript")
            path = "/live/" + ("" if file.name == "index.html" else file.name)
            server.route(path, _static(content, kind), None)
        # Relative, so that it holds behind a proxy that adds a prefix.
        for path in ("/", "/live"):
            server.route(path, _to_page, None)
        events = partial(self._events, server)
        server.route("/live/events", events, Right.READ, streams=True)
        server.route("/live/history", self._history, Right.READ)
        server.route("/live/bearer", self._bearer, Right.READ)

    async def run(self) -> None:
        """Sample once a second until cancelled; send the viewers what changed."""
        while True:
            await self._clock.sleep(_PERIOD_S)
            async with self._feeding:
                for _ in self._feed.sample(self._now_us()):
                    await asyncio.sleep(0)
                self._following = False
                if self._viewers:
                    await self._publish()

    async def close(self) -> None:
        """End all streams, at a stop; others are refused from then on."""
        self._max_viewers = 0
        for viewer in self._viewers:
            viewer.offer(None)

    async def _publish(self) -> None:
        for change in self._feed.changes():
            if change is None:
                await asyncio.sleep(0)
                continue
            self._following = True
            event = f"event: change\ndata: {encode(change)}\n\n".encode()
            for viewer in self._viewers:
                viewer.offer(event)

    # ------------------------------------------------------------------ requests

    async def _events(self, server: HttpServer, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={**_HEADERS, "Cache-Control": "no-store"})
        response.content_type = "text/event-stream"
        if request.method == hdrs.METH_HEAD:
            return response
        viewer = _Viewer(request, server.account(request))
        parts = await self._admit(viewer, server.limits)
        if isinstance(parts, Exceeded):
            return too_many_requests(parts)
        try:
            await response.prepare(request)
            await response.write(b"event: whole\n")
            for part in parts:
                await response.write(f"data: {part}\n".encode())
            await response.write(b"\n")
            while (event := await viewer.waiting.get()) is not None:
                await response.write(event)
        except ConnectionError:
            # The viewer left, or was too slow.
            pass
        finally:
            self._viewers.discard(viewer)
            self._shares.give(viewer.client, 1)
        return response

    async def _admit(self, viewer: _Viewer, limits: Limits) -> Iterable[str] | Exceeded:
        """The document as parts; the changes that follow it wait in the viewer's queue."""
        async with self._feeding:
            if self._max_viewers == 0:
                raise web.HTTPServiceUnavailable(text="the controller is stopping\n")
            if len(self._viewers) >= self._max_viewers:
                raise web.HTTPServiceUnavailable(
                    text=f"{self._max_viewers} viewers are connected, the limit of "
                    "`live.max_viewers`\n"
                )
            exceeded = limits.hold(viewer.client, self._shares, "viewers")
            if exceeded is not None:
                return exceeded
            if not self._following:
                await self._publish()
            self._viewers.add(viewer)
            parts = self._feed.whole()
            return chain((next(parts),), parts)

    async def _history(self, request: web.Request) -> web.StreamResponse:
        names = request.query.getall("bearer", [])
        if not 0 < len(names) <= _MOST_HISTORIES:
            text = f"{len(names)} parameters `bearer`; expected 1 to {_MOST_HISTORIES}\n"
            raise web.HTTPBadRequest(text=text)
        history, controller = self._feed.history, self._feed.controller
        found = ((name, find(controller, name)) for name in names)
        series = {name: history.series(key) for name, key in found if key is not None}
        return _json({"at_us": history.at_us(), "series": series})

    async def _bearer(self, request: web.Request) -> web.StreamResponse:
        controller = self._feed.controller
        key = find(controller, request.query.get("id", ""))
        if key is None:
            raise web.HTTPNotFound(text="no such bearer: it is gone, or the name is another\n")
        decisions = self._feed.decisions.of(key)
        return _json(bearer_detail(controller, key, decisions, self._now_us()))


def _static(content: bytes, kind: str) -> Handler:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=content, content_type=kind, charset="utf-8", headers=_HEADERS)

    return handler


async def _to_page(_: web.Request) -> web.Response:
    raise web.HTTPFound("live/")


def _json(document: object) -> web.Response:
    headers = {**_HEADERS, "Cache-Control": "no-store"}
    return web.Response(text=encode(document), content_type="application/json", headers=headers)
