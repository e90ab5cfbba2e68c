"""`/mode` of the HTTP server: the mode in force, and a change of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from typing import Final

from bounded_input import JsonError, parse_json
from ric.access import ALL_NODES, Right
from ric.http import HttpError, HttpServer, Request, Response, json_response

from tc_controller.core.mode import Mode
from tc_controller.mode_source import ModeSource, mode_of

PATH: Final = "/mode"
_KEYS: Final = ("mode", "configured")
_EXPECTED: Final = f'expected {{"mode": "{"|".join(Mode)}"}}, or the same with "configured"'


class ModeServer:
    """Serves the mode; ``switched`` is called after each change, ``blocking`` runs off the loop."""

    def __init__(
        self,
        source: ModeSource,
        switched: Callable[[], None],
        blocking: Callable[[Callable[[], bool]], Awaitable[bool]],
    ) -> None:
        self._source, self._switched, self._blocking = source, switched, blocking

    def add_routes(self, server: HttpServer) -> None:
        """Serve `GET` with the right `read`, `PUT` with the right `control` at all nodes."""
        server.route("GET", PATH, self._get, Right.READ)
        server.route("PUT", PATH, self._put, Right.CONTROL, node=ALL_NODES)

    async def _get(self, _: Request) -> Response:
        return json_response(self._source.document())

    async def _put(self, request: Request) -> Response:
        """The mode is in force when this is answered, also where it cannot be kept (500)."""
        how, mode = _asked(request.body)
        change = partial(self._set, mode, request.caller.name or "somebody")
        if how == "configured":
            change = partial(self._source.configure, mode)
        problem = ""
        before = self._source.in_force
        try:
            await self._blocking(change)
        except OSError as error:
            problem = f"in force, but not kept over a restart: {error.strerror}"
        if self._source.in_force is not before:
            self._switched()
        what = f"{how} {mode}"
        request.caller.audit("mode", f"failed: {problem}" if problem else "accepted", what=what)
        if problem:
            raise HttpError(HTTPStatus.INTERNAL_SERVER_ERROR, problem)
        return json_response(self._source.document())

    def _set(self, mode: Mode, by: str) -> bool:
        self._source.set(mode, by)
        return True


def _asked(body: bytes) -> tuple[str, Mode]:
    """What to set, and to what; raises `HttpError`."""
    try:
        document = parse_json(body)
        how = next((each for each in _KEYS if document.keys() == {each}), None)
        mode = None if how is None else mode_of(str(document[how]))
    except (JsonError, ValueError, AttributeError) as error:
        raise HttpError(HTTPStatus.BAD_REQUEST, f"{error}; {_EXPECTED}") from None
    if how is None or mode is None:
        raise HttpError(HTTPStatus.BAD_REQUEST, _EXPECTED)
    return how, mode
