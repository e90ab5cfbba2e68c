"""The HTTP server of a program: routes, each with the right that its client needs; limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qs

import sojourn_serving
import structlog
from sojourn_serving import BodyError, Rate

from ric.access import Caller, Right
from ric.endpoint_settings import HttpServerSettings
from ric.http.messages import Chunks, HttpError, Request, Response
from ric.http.routes import Handler, Route, Routes
from ric.security import Security, settings_errors

MAX_BODY_BYTES: Final = 64 << 10
"""Most bytes of the body of a request."""
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
        self._rates: dict[str, Rate] = {}
        self._server: sojourn_serving.HttpServer | None = None
        self._stopped = False

    def route(
        self,
        method: str,
        template: str,
        handler: Handler,
        right: Right | None,
        *,
        node: str = "",
        rate: Rate | None = None,
    ) -> None:
        """Serve `method` of the paths of a template, and HEAD where it is GET.

        `right`, at `node`, is what the client needs, `None` for everyone. An answer in chunks may
        last for ever; others have a minute. `rate` is of requests of one client to a path without
        variables, else `sojourn_serving.REQUESTS`.
        """
        self._routes.add(method, template, Route(handler, right, node))
        if rate is not None:
            self._rates[template] = rate
            if self._server is not None:
                self._server.set_rate(template, rate)

    async def start(self) -> str:
        """Listen; returns the address with the port in use, "" after a stop.

        Raises `SettingsError` for an address or a certificate that cannot be used.
        """
        if self._stopped:
            return ""
        settings = self._settings
        self._server = sojourn_serving.HttpServer(
            self._security.guard,
            section=settings.section,
            label=settings.label,
            listen=settings.listen,
            handler=self._serve,
            allowed_hosts=settings.allowed_hosts,
            certificates=self._security.certificates(settings),
            insecure=settings.insecure,
            max_connections=settings.max_connections,
            max_body_bytes=MAX_BODY_BYTES,
            problems=self._problems,
        )
        for path, rate in self._rates.items():
            self._server.set_rate(path, rate)
        with settings_errors():
            return await self._server.start()

    async def stop(self) -> None:
        """Stop listening; requests in progress have a second to end."""
        self._stopped = True
        if self._server is not None:
            await self._server.stop()

    # -------------------------------------------------------------------- requests

    async def _serve(self, asked: sojourn_serving.Request) -> sojourn_serving.Response:
        try:
            response = await self._response(asked)
        except HttpError as error:
            response = error.as_problem() if self._problems else error.as_text()
        body: bytes | _Closing = b""
        if isinstance(response.body, bytes):
            body = response.body
        elif asked.method == "HEAD":
            await response.body.aclose()
        else:
            body = _Closing(response.body)
        return sojourn_serving.Response(response.status, response.headers, body)

    async def _response(self, asked: sojourn_serving.Request) -> Response:
        caller = Caller(asked.caller, self._security.guard)
        route, variables = self._routes.find(asked.method, asked.path)
        route.check(caller, f"{asked.method} {asked.path}")
        request = Request(
            asked.method,
            asked.path,
            variables,
            parse_qs(asked.query, keep_blank_values=True),
            asked.headers,
            await _body(asked),
            caller,
            asked.cut,
        )
        try:
            return await route.handler(request)
        except (HttpError, asyncio.CancelledError):
            raise
        except Exception:
            _log.exception("request failed", method=asked.method, path=asked.path)
            raise HttpError(
                HTTPStatus.INTERNAL_SERVER_ERROR, "the program failed; see its log"
            ) from None


async def _body(asked: sojourn_serving.Request) -> bytes:
    if asked.method in ("GET", "HEAD"):
        return b""
    try:
        return await asked.read()
    except BodyError as error:
        raise HttpError(HTTPStatus(error.status), error.detail) from None


class _Closing(AsyncIterator[bytes]):
    """Chunks that are closed once."""

    def __init__(self, chunks: Chunks) -> None:
        self._chunks = chunks

    async def __anext__(self) -> bytes:
        return await anext(self._chunks)

    async def aclose(self) -> None:
        """See `Chunks`."""
        await self._chunks.aclose()
