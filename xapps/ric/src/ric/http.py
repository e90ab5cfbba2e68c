"""The HTTP server of a program: routes, each with the right that its client needs; limits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from aiohttp import hdrs, web
from aiohttp.http_exceptions import HttpProcessingError

from ric.access import Caller, Peer, Refusal, Right
from ric.access.grpc import bearer_token
from ric.certificates import ServerCertificates, client_names
from ric.endpoint_settings import HttpServerSettings
from ric.hosts import AllowedHosts
from ric.limits import Exceeded, Limits, retry_after_s
from ric.limits.bucket import Rate
from ric.limits.connections import Connections
from ric.limits.limits import REQUESTS
from ric.listener import Listener, bind, is_named
from ric.paced_refusals import PacedRefusals
from ric.security import Security

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_SHUTDOWN_S: Final = 1.0
_MAX_LINE: Final = 8190
"""Most bytes of a request line, and of a header."""
_MAX_BODY: Final = 64 << 10


@dataclass(frozen=True, slots=True)
class _Route:
    handler: Handler
    right: Right | None
    streams: bool
    rate: Rate


class HttpServer:
    """An HTTP server on the running event loop; routes may be added while it runs."""

    def __init__(self, settings: HttpServerSettings, security: Security) -> None:
        self._routes: dict[str, _Route] = {}
        self._site = HttpSite(settings, security, rate=self._rate)
        self.limits = security.limits

    def route(
        self,
        path: str,
        handler: Handler,
        right: Right | None,
        *,
        streams: bool = False,
        rate: Rate = REQUESTS,
    ) -> None:
        """Serve GET and HEAD of `path`; `right` is what the client needs, `None` for everyone.

        An answer that `streams` may last for ever; others have a minute. `rate` is of requests of
        one client.
        """
        self._routes[path] = _Route(handler, right, streams, rate)

    def account(self, request: web.Request) -> str:
        """The client of a request, for limits."""
        return self._site.caller(request).account

    async def start(self) -> str:
        """Listen; returns the address with the port in use.

        Raises `OSError` if the address cannot be bound, `SettingsError` for an unusable
        certificate.
        """
        app = web.Application(client_max_size=_MAX_BODY)
        app.router.add_route("*", "/{path:.*}", self._dispatch)
        return await self._site.start(app)

    async def stop(self) -> None:
        """Stop listening; requests in progress have a second to end."""
        await self._site.stop()

    async def _dispatch(self, request: web.Request) -> web.StreamResponse:
        route = self._routes.get(request.path)
        if route is None:
            raise web.HTTPNotFound
        if request.method not in (hdrs.METH_GET, hdrs.METH_HEAD):
            raise web.HTTPMethodNotAllowed(request.method, (hdrs.METH_GET, hdrs.METH_HEAD))
        if route.right is not None:
            refusal = self._site.caller(request).refusal(route.right, what=request.path)
            if refusal is not None:
                return web.Response(
                    status=http_status(refusal),
                    text=f"{refusal.detail}\n",
                    headers=challenge(refusal),
                )
        if route.streams:
            self._site.streams(request)
        return await route.handler(request)

    def _rate(self, request: web.Request) -> Rate:
        route = self._routes.get(request.path)
        return REQUESTS if route is None else route.rate


def too_many_requests(exceeded: Exceeded) -> web.Response:
    """The answer to a client beyond a limit (RFC 6585 §4)."""
    return web.Response(
        status=HTTPStatus.TOO_MANY_REQUESTS,
        text=f"{exceeded.detail}\n",
        headers={hdrs.RETRY_AFTER: str(retry_after_s(exceeded))},
    )


class _ServerLog(logging.LoggerAdapter[logging.Logger]):
    """What aiohttp logs, but requests that are no HTTP: a client could fill a disk with their
    tracebacks. They are counted and logged as refusals."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(logging.getLogger("aiohttp.server"))
        self._limits = limits

    def exception(self, msg: object, *args: object, exc_info: Any = True, **options: Any) -> None:
        """See `logging.Logger.exception`; the first argument is the client's address."""
        if isinstance(exc_info, HttpProcessingError):
            self._limits.refused(str(args[0]), "malformed", "a request that is no HTTP/1.1")
        else:
            super().exception(msg, *args, exc_info=exc_info, **options)


class HttpSite:
    """Listening of an aiohttp application: address, TLS, the clients of its requests, limits."""

    def __init__(
        self,
        settings: HttpServerSettings,
        security: Security,
        refuse: Callable[[Exceeded], web.Response] = too_many_requests,
        rate: Callable[[web.Request], Rate] = lambda _: REQUESTS,
    ) -> None:
        """`refuse` makes the answer to a client beyond its rate of requests, which is `rate`."""
        self._settings = settings
        self._security = security
        self._refuse = refuse
        self._rate = rate
        self._hosts = AllowedHosts(settings.listen, settings.allowed_hosts)
        self._refusals = PacedRefusals()
        self._certificates: ServerCertificates | None = None
        self._runner: web.AppRunner | None = None
        self._listener: Listener | None = None

    @property
    def limits(self) -> Limits:
        """Limits of the program."""
        return self._security.limits

    async def start(self, app: web.Application) -> str:
        """See `HttpServer.start`."""
        self._certificates = self._security.server_certificates(self._settings)
        context = self._certificates.ssl_context() if self._certificates is not None else None
        app.middlewares.insert(0, self._limited)
        self._runner = web.AppRunner(
            app,
            access_log=None,
            logger=_ServerLog(self.limits),
            shutdown_timeout=_SHUTDOWN_S,
            max_line_size=_MAX_LINE,
            max_field_size=_MAX_LINE,
        )
        await self._runner.setup()
        if self._runner.server is None:
            raise RuntimeError("aiohttp has made no server")
        limits, label = self._security.limits, self._settings.label
        connections = Connections(
            self._settings.max_connections,
            lambda client, why: limits.refused(client, "connections", why),
        )
        limits.count_connections(label, connections.__len__)
        server, clock = self._runner.server, self._security.clock
        listen = self._settings.listen
        # Only a name takes time, which the event loop must not wait for.
        sockets = await asyncio.to_thread(bind, listen) if is_named(listen) else bind(listen)
        self._listener = Listener(
            sockets,
            serve=lambda _: server(),
            connections=connections,
            limits=limits,
            clock=clock,
            context=context,
            received=lambda connection: connection.received(clock.monotonic_ns()),
        )
        return self._listener.start()

    async def stop(self) -> None:
        """Stop listening; requests in progress have a second to end."""
        if self._listener is not None:
            await self._listener.stop()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def streams(self, request: web.Request) -> None:
        """The answer to a request may last for ever."""
        if self._listener is not None:
            connection = self._listener.connection_of(request.protocol)
            if connection is not None:
                connection.streams = True

    @web.middleware
    async def _limited(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Counts requests of clients, and those in progress of connections."""
        connection = self._listener and self._listener.connection_of(request.protocol)
        if connection:
            connection.begin(self._security.clock.monotonic_ns())
        try:
            account = self.caller(request).account
            if (exceeded := self.limits.take(account, self._rate(request))) is None:
                return self._not_ours(request) or await handler(request)
            await self._refusals.pause(account)
            return self._refuse(exceeded)
        finally:
            if connection:
                connection.end(self._security.clock.monotonic_ns())

    def _not_ours(self, request: web.Request) -> web.Response | None:
        """The answer to a request that was made for another server."""
        host, origin = (request.headers.get(name) for name in (hdrs.HOST, hdrs.ORIGIN))
        # No name resolves to a Unix socket.
        encrypted = self._certificates is not None or self._settings.listen.startswith("unix:")
        if (refusal := self._hosts.refusal(host, origin, encrypted=encrypted)) is None:
            return None
        status, why = refusal
        return web.Response(status=status, text=f"{why}\n")

    def caller(self, request: web.Request) -> Caller:
        """The client of a request."""
        certificates = self._certificates
        header = request.headers.get(hdrs.AUTHORIZATION)
        peer = request.get_extra_info("peername")
        return self._security.access.caller(
            Peer(
                self._settings.label,
                f"{peer[0]}:{peer[1]}" if isinstance(peer, tuple) else "unix",
                client_names(request.transport),
                None if header is None else bearer_token(header),
                must_be_certified=certificates is not None and certificates.client_ca,
            )
        )


def http_status(refusal: Refusal) -> HTTPStatus:
    """401 for an unknown client, 403 for a missing right."""
    unknown = refusal.reason == "unauthenticated"
    return HTTPStatus.UNAUTHORIZED if unknown else HTTPStatus.FORBIDDEN


def challenge(refusal: Refusal) -> dict[str, str]:
    """The header that a 401 needs (RFC 9110 §15.5.2)."""
    return {hdrs.WWW_AUTHENTICATE: "Bearer"} if refusal.reason == "unauthenticated" else {}
