"""The page over HTTP: static files, a stream of server-sent events, histories and details."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from http import HTTPStatus
from importlib import resources
from itertools import chain
from typing import Final, Self

from ric.access import Right
from ric.clock import Clock
from ric.http import (
    Handler,
    HttpError,
    HttpServer,
    Request,
    Response,
    text_response,
    too_many_requests,
)
from ric.settings import ClientSettings
from sojourn_serving import Exceeded, Hold, Pool

from tc_controller.live.detail import bearer_detail, find
from tc_controller.live.feed import Feed, encode
from tc_controller.live.fleet import PATH, Fleet, Scope
from tc_controller.live.fleet_view import Search
from tc_controller.settings import FleetSettings

_PERIOD_S: Final = 1.0
#: Seconds that a viewer may be behind; one that is slower is disconnected.
_BEHIND: Final = 5
#: Bearers whose histories may be asked for at once.
_MOST_HISTORIES: Final = 64
#: Letters of a search.
_MOST_SEARCHED: Final = 200
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
    """The events of one open stream."""

    def __init__(
        self, whole: Iterator[str], cut: Callable[[], None], left: Callable[[_Viewer], None]
    ) -> None:
        """`whole` are the parts of the first event's document; `cut` ends the connection, `left` is
        called once when the stream is over."""
        self._whole: Iterator[bytes] = _event("whole", whole)
        self._cut = cut
        self._left = left
        #: Events to send; ``None`` ends the stream.
        self._waiting: asyncio.Queue[bytes | None] = asyncio.Queue(_BEHIND)

    def offer(self, event: bytes | None) -> None:
        """Send an event, or disconnect a viewer that is behind."""
        try:
            self._waiting.put_nowait(event)
        except asyncio.QueueFull:
            self._cut()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if (part := next(self._whole, None)) is not None:
            return part
        if (event := await self._waiting.get()) is None:
            raise StopAsyncIteration
        return event

    async def aclose(self) -> None:
        """Leave the page."""
        self._left(self)


def _event(name: str, parts: Iterator[str]) -> Iterator[bytes]:
    yield f"event: {name}\n".encode()
    for part in parts:
        yield f"data: {part}\n".encode()
    yield b"\n"


class LivePage:
    """Serves a feed to browsers.

    Args:
        feed: what is shown.
        clock: for the period.
        now_us: the controller's time.
        max_viewers: streams that may be open at once.
        peers: the controllers of the same nodes, which the page shows too.
        fleet: other sites, which it shows as well.
    """

    def __init__(
        self,
        feed: Feed,
        clock: Clock,
        now_us: Callable[[], int],
        max_viewers: int,
        *,
        peers: ClientSettings | None = None,
        fleet: FleetSettings | None = None,
    ) -> None:
        peers, fleet = peers or ClientSettings(), fleet or FleetSettings()
        feed.place = {
            "site": fleet.site,
            "fleet": peers.address is not None or bool(fleet.sites),
        }
        self._fleet = Fleet(feed, peers, fleet, self._refresh, now_us)
        self._feed = feed
        self._clock = clock
        self._now_us = now_us
        self._max_viewers = max_viewers
        self._shares = Pool(max_viewers)
        self._viewers: dict[_Viewer, Hold] = {}
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
            server.route("GET", path, _static(content, kind), None)
        # Relative, so that it holds behind a proxy that adds a prefix.
        for path in ("/", "/live"):
            server.route("GET", path, _to_page, None)
        server.route("GET", "/live/events", self._events, Right.READ)
        server.route("GET", "/live/history", self._history, Right.READ)
        server.route("GET", "/live/bearer", self._bearer, Right.READ)
        server.route("GET", PATH, self._others, Right.READ)

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
        self._fleet.close()
        self._max_viewers = 0
        for viewer in self._viewers:
            viewer.offer(None)

    async def _refresh(self) -> None:
        async with self._feeding:
            if not self._following:
                await self._publish()

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

    async def _events(self, request: Request) -> Response:
        headers = {**_HEADERS, "Cache-Control": "no-store", "Content-Type": "text/event-stream"}
        if request.method == "HEAD":
            return Response(headers=headers)
        return Response(body=await self._admit(request), headers=headers)

    async def _admit(self, request: Request) -> _Viewer:
        """A viewer, who gets the whole document and the changes that follow it."""
        async with self._feeding:
            if self._max_viewers == 0:
                raise _unavailable("the controller is stopping")
            if len(self._viewers) >= self._max_viewers:
                raise _unavailable(
                    f"{self._max_viewers} viewers are connected, the limit of `live.max_viewers`"
                )
            held = request.caller.account.hold(self._shares, "viewers")
            if isinstance(held, Exceeded):
                raise too_many_requests(held)
            if not self._following:
                await self._publish()
            parts = self._feed.whole()
            # Made now: what changes from now on is another event.
            viewer = _Viewer(chain((next(parts),), parts), request.cut, self._leave)
            self._viewers[viewer] = held
            return viewer

    def _leave(self, viewer: _Viewer) -> None:
        self._viewers.pop(viewer).release()

    async def _history(self, request: Request) -> Response:
        names = request.query.get("bearer", ())
        if not 0 < len(names) <= _MOST_HISTORIES:
            text = f"{len(names)} parameters `bearer`; expected 1 to {_MOST_HISTORIES}"
            raise HttpError(HTTPStatus.BAD_REQUEST, text)
        history, controller = self._feed.history, self._feed.controller
        found = ((name, find(controller, name)) for name in names)
        series = {name: history.series(key) for name, key in found if key is not None}
        return _json({"at_us": history.at_us(), "series": series})

    async def _bearer(self, request: Request) -> Response:
        controller = self._feed.controller
        key = find(controller, request.argument("id") or "")
        if key is None:
            raise HttpError(
                HTTPStatus.NOT_FOUND, "no such bearer: it is gone, or the name is another"
            )
        decisions = self._feed.decisions.of(key)
        return _json(bearer_detail(controller, key, decisions, self._now_us()))

    async def _others(self, request: Request) -> Response:
        name, site = request.argument("scope") or Scope.ALL.value, request.argument("site")
        states = frozenset(request.query.get("state", ()))
        text = (request.argument("find") or "").strip().lower()
        if name not in list(Scope) or max(map(len, (text, site or "", *states))) > _MOST_SEARCHED:
            expected = f"scope {', '.join(Scope)}; find, site and state of {_MOST_SEARCHED} letters"
            raise HttpError(HTTPStatus.BAD_REQUEST, f"expected {expected} at most")
        body = await self._fleet.document(Scope(name), site, Search(text, states))
        headers = {**_HEADERS, "Cache-Control": "no-store", "Content-Type": "application/json"}
        return Response(body=body, headers=headers)


def _unavailable(why: str) -> HttpError:
    return HttpError(HTTPStatus.SERVICE_UNAVAILABLE, why)


def _static(content: bytes, kind: str) -> Handler:
    async def handler(_: Request) -> Response:
        headers = {**_HEADERS, "Content-Type": f"{kind}; charset=utf-8"}
        return Response(body=content, headers=headers)

    return handler


async def _to_page(_: Request) -> Response:
    return Response(HTTPStatus.FOUND, headers={"Location": "live/"})


def _json(document: object) -> Response:
    headers = {**_HEADERS, "Cache-Control": "no-store"}
    return text_response(encode(document), "application/json", headers=headers)
