"""The HTTP server of a program: routes, each with the right that its client needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import hdrs, web

from ric.access import Right
from ric.settings import split_address

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_SHUTDOWN_S: Final = 1.0


class HttpServer:
    """An HTTP server on the running event loop; routes may be added while it runs."""

    def __init__(self) -> None:
        self._routes: dict[str, tuple[Handler, Right | None]] = {}
        self._runner: web.AppRunner | None = None

    def route(self, path: str, handler: Handler, right: Right | None) -> None:
        """Serve GET and HEAD of `path`; `right` is what the client needs, `None` for everyone."""
        self._routes[path] = (handler, right)

    async def start(self, listen: str) -> str:
        """Listen on `host:port` or `unix:path`; returns the address with the port in use.

        Raises `OSError` if the address cannot be bound.
        """
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._dispatch)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=_SHUTDOWN_S)
        await self._runner.setup()
        host, port = split_address(listen)
        if host.startswith("unix:"):
            await web.UnixSite(self._runner, host.removeprefix("unix:")).start()
            return listen
        await web.TCPSite(self._runner, host, port).start()
        host, port = self._runner.addresses[0][:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    async def stop(self) -> None:
        """Stop listening; requests in progress have a second to end."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _dispatch(self, request: web.Request) -> web.StreamResponse:
        route = self._routes.get(request.path)
        if route is None:
            raise web.HTTPNotFound
        if request.method not in (hdrs.METH_GET, hdrs.METH_HEAD):
            raise web.HTTPMethodNotAllowed(request.method, (hdrs.METH_GET, hdrs.METH_HEAD))
        handler, _ = route
        return await handler(request)
