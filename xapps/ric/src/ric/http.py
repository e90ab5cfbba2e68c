"""The HTTP server of a program: routes, each with the right that its client needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final

from aiohttp import hdrs, web

from ric.access import Caller, Peer, Refusal, Right
from ric.access.grpc import bearer_token
from ric.certificates import ServerCertificates
from ric.endpoint_settings import ServerSettings, split_address
from ric.security import Security

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_SHUTDOWN_S: Final = 1.0


class HttpServer:
    """An HTTP server on the running event loop; routes may be added while it runs."""

    def __init__(self, settings: ServerSettings, security: Security) -> None:
        self._routes: dict[str, tuple[Handler, Right | None]] = {}
        self._site = HttpSite(settings, security)

    def route(self, path: str, handler: Handler, right: Right | None) -> None:
        """Serve GET and HEAD of `path`; `right` is what the client needs, `None` for everyone."""
        self._routes[path] = (handler, right)

    async def start(self) -> str:
        """Listen; returns the address with the port in use.

        Raises `OSError` if the address cannot be bound, `SettingsError` for an unusable
        certificate.
        """
        app = web.Application()
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
        handler, right = route
        if right is not None:
            refusal = self._site.caller(request).refusal(right, what=request.path)
            if refusal is not None:
                return web.Response(
                    status=http_status(refusal),
                    text=f"{refusal.detail}\n",
                    headers=challenge(refusal),
                )
        return await handler(request)


class HttpSite:
    """Listening of an aiohttp application: address, TLS, and the clients of its requests."""

    def __init__(self, settings: ServerSettings, security: Security) -> None:
        self._settings = settings
        self._security = security
        self._certificates: ServerCertificates | None = None
        self._runner: web.AppRunner | None = None

    async def start(self, app: web.Application) -> str:
        """See `HttpServer.start`."""
        self._certificates = self._security.open_door(self._settings)
        context = self._certificates.ssl_context() if self._certificates is not None else None
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=_SHUTDOWN_S)
        await self._runner.setup()
        listen = self._settings.listen
        host, port = split_address(listen)
        if host.startswith("unix:"):
            path = host.removeprefix("unix:")
            await web.UnixSite(self._runner, path, ssl_context=context).start()
            return listen
        await web.TCPSite(self._runner, host, port, ssl_context=context).start()
        host, port = self._runner.addresses[0][:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    async def stop(self) -> None:
        """Stop listening; requests in progress have a second to end."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def caller(self, request: web.Request) -> Caller:
        """The client of a request."""
        certificates = self._certificates
        header = request.headers.get(hdrs.AUTHORIZATION)
        peer = request.get_extra_info("peername")
        return self._security.access.caller(
            Peer(
                self._settings.label,
                f"{peer[0]}:{peer[1]}" if isinstance(peer, tuple) else "unix",
                _certificate_names(request),
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


def _certificate_names(request: web.Request) -> tuple[str, ...]:
    """DNS and URI subject alternative names and common name of the client's certificate."""
    certificate = request.get_extra_info("peercert") or {}
    names = [
        value for kind, value in certificate.get("subjectAltName", ()) if kind in ("DNS", "URI")
    ]
    names += [
        value
        for part in certificate.get("subject", ())
        for kind, value in part
        if kind == "commonName"
    ]
    return tuple(dict.fromkeys(names))
