"""The HTTP server of a program: routes, each with the right that its client needs; limits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qs

import structlog
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from ric.access import Caller, Peer, Right, bearer_token
from ric.certificates import ServerCertificates, client_names
from ric.endpoint_settings import HttpServerSettings
from ric.hosts import AllowedHosts
from ric.http.messages import HttpError, Request, Response, too_many_requests
from ric.http.routes import Handler, Route, Routes
from ric.limits import Limits, Rate
from ric.limits.connections import Connection, Connections
from ric.limits.limits import REQUESTS
from ric.listener import Listener, bind, is_named
from ric.paced_refusals import PacedRefusals
from ric.security import Security

MAX_BODY_BYTES: Final = 64 << 10
"""Most bytes of the body of a request."""
BODY_S: Final = 10.0
"""Time for the body of a request to come."""
_SHUTDOWN_S: Final = 1.0
_MAX_LINE: Final = 8190
"""Most bytes of a request line, and of a header."""
AioHandler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_log = structlog.get_logger()


class HttpServer:
    """An HTTP server on the running event loop; routes may be added while it runs."""

    def __init__(
        self, settings: HttpServerSettings, security: Security, *, problems: bool = False
    ) -> None:
        """`problems`: errors are ProblemDetails objects (RFC 9457), plain text otherwise."""
        self._settings = settings
        self._security = security
        self._problems = problems
        self._routes = Routes()
        self._hosts = AllowedHosts(settings.listen, settings.allowed_hosts)
        self._refusals = PacedRefusals()
        self._certificates: ServerCertificates | None = None
        self._runner: web.AppRunner | None = None
        self._listener: Listener | None = None

    def route(
        self,
        method: str,
        template: str,
        handler: Handler,
        right: Right | None,
        *,
        node: str = "",
        streams: bool = False,
        rate: Rate | None = None,
    ) -> None:
        """Serve `method` of the paths of a template, and HEAD where it is GET.

        `right`, at `node`, is what the client needs, `None` for everyone. An answer that `streams`
        may last for ever; others have a minute. `rate` is of requests of one client to a path
        without variables, else `REQUESTS`.
        """
        self._routes.add(method, template, Route(handler, right, node, streams), rate)

    async def start(self) -> str:
        """Listen; returns the address with the port in use.

        Raises `OSError` if the address cannot be bound, `SettingsError` for an unusable
        certificate.
        """
        self._certificates = self._security.server_certificates(self._settings)
        context = self._certificates.ssl_context() if self._certificates is not None else None
        limits, label = self._security.limits, self._settings.label
        self._runner = web.AppRunner(
            web.Application(client_max_size=MAX_BODY_BYTES, middlewares=[self._serve]),
            access_log=None,
            logger=_ServerLog(limits),
            shutdown_timeout=_SHUTDOWN_S,
            max_line_size=_MAX_LINE,
            max_field_size=_MAX_LINE,
        )
        await self._runner.setup()
        if self._runner.server is None:
            raise RuntimeError("aiohttp has made no server")
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

    # -------------------------------------------------------------------- requests

    @web.middleware
    async def _serve(self, request: web.Request, handler: AioHandler) -> web.StreamResponse:
        """Answer a request, and count it among those in progress of its connection."""
        listener = self._listener
        connection = None if listener is None else listener.connection_of(request.protocol)
        if connection:
            connection.begin(self._security.clock.monotonic_ns())
        try:
            try:
                response = await self._response(request, connection)
            except HttpError as error:
                response = error.as_problem() if self._problems else error.as_text()
            return await _send(request, response)
        finally:
            if connection:
                connection.end(self._security.clock.monotonic_ns())

    async def _response(self, asked: web.Request, connection: Connection | None) -> Response:
        caller = self._caller(asked)
        account = caller.account
        rate = self._routes.rate(asked.path) or REQUESTS
        if (exceeded := account.take(rate)) is not None:
            await self._refusals.pause(account.key)
            raise too_many_requests(exceeded)
        headers = _headers(asked)
        self._check_host(headers)
        route, variables = self._routes.find(asked.method, asked.path)
        route.check(caller, f"{asked.method} {asked.path}")
        if connection and route.streams:
            connection.streams = True
        body = b"" if asked.method in ("GET", "HEAD") else await _body(asked)
        try:
            return await route.handler(
                Request(
                    asked.method,
                    asked.path,
                    variables,
                    parse_qs(asked.rel_url.raw_query_string, keep_blank_values=True),
                    headers,
                    body,
                    caller,
                    partial(_cut, asked),
                )
            )
        except HttpError:
            raise
        except Exception:
            _log.exception("request failed", method=asked.method, path=asked.path)
            raise HttpError(
                HTTPStatus.INTERNAL_SERVER_ERROR, "the program failed; see its log"
            ) from None

    def _check_host(self, headers: Mapping[str, str]) -> None:
        """Raise the answer to a request that was made for another server."""
        # No name resolves to a Unix socket.
        encrypted = self._certificates is not None or self._settings.listen.startswith("unix:")
        host, origin = headers.get("host"), headers.get("origin")
        if (refusal := self._hosts.refusal(host, origin, encrypted=encrypted)) is not None:
            raise HttpError(*refusal)

    def _caller(self, asked: web.Request) -> Caller:
        certificates = self._certificates
        header = asked.headers.get("Authorization")
        peer = asked.get_extra_info("peername")
        return self._security.access.caller(
            Peer(
                self._settings.label,
                f"{peer[0]}:{peer[1]}" if isinstance(peer, tuple) else "unix",
                client_names(asked.transport),
                None if header is None else bearer_token(header),
                must_be_certified=certificates is not None and certificates.client_ca,
            )
        )


def _cut(asked: web.Request) -> None:
    if asked.transport is not None:
        asked.transport.abort()


def _headers(asked: web.Request) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in asked.headers.items():
        key = name.lower()
        joined[key] = f"{joined[key]}, {value}" if key in joined else value
    return joined


async def _body(asked: web.Request) -> bytes:
    try:
        async with asyncio.timeout(BODY_S):
            return await asked.read()
    except TimeoutError:
        raise HttpError(
            HTTPStatus.REQUEST_TIMEOUT, f"body: not complete; expected within {BODY_S:g} s"
        ) from None
    except web.HTTPRequestEntityTooLarge:
        raise HttpError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"body: longer than {MAX_BODY_BYTES} bytes; expected at most those",
        ) from None
    except web.RequestPayloadError as error:
        raise HttpError(HTTPStatus.BAD_REQUEST, f"body: {error}") from None


async def _send(asked: web.Request, response: Response) -> web.StreamResponse:
    body = response.body
    if isinstance(body, bytes):
        return web.Response(status=response.status, body=body, headers=response.headers)
    sent = web.StreamResponse(status=response.status, headers=response.headers)
    try:
        await sent.prepare(asked)
        if asked.method != "HEAD":
            async for chunk in body:
                await sent.write(chunk)
    except ConnectionError:
        # The client left, or the handler has cut it off.
        pass
    finally:
        await body.aclose()
    return sent


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
