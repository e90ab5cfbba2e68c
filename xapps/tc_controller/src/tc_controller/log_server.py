"""The decision log over HTTP, as it is: whoever asks explains it."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol, Self, TypeVar

from ric.access import Right
from ric.http import HttpError, HttpServer, Request, Response, too_many_requests
from sojourn_serving import Exceeded, Hold, Pool

from tc_controller.decision_log import files_of

T = TypeVar("T")

PATH: Final = "/decisions"
#: Header with the identity of the controller.
IDENTITY: Final = "Sojourn-Controller"
_READ_BYTES: Final = 1 << 18
#: Logs that are read at once.
_MOST: Final = 4


class _Blocking(Protocol):
    def __call__(self, call: Callable[[], T]) -> Coroutine[Any, Any, T]: ...


class LogServer:
    """Sends the files of a log, oldest first.

    Args:
        path: of the newest file; ``None``: there is no log.
        identity: of the controller.
        blocking: runs what reads files, off the event loop.
    """

    def __init__(self, path: Path | None, identity: str, blocking: _Blocking) -> None:
        self._path = path
        self._identity = identity
        self._blocking = blocking
        self._shares = Pool(_MOST)

    def add_routes(self, server: HttpServer) -> None:
        """Serve GET."""
        server.route("GET", PATH, self._get, Right.READ)

    async def _get(self, request: Request) -> Response:
        if self._path is None:
            text = "this controller keeps no decision log: decision_log.path is unset"
            raise HttpError(HTTPStatus.NOT_FOUND, text)
        held = request.caller.account.hold(self._shares, "logs")
        if isinstance(held, Exceeded):
            raise too_many_requests(held)
        body = _Files(held, self._blocking)
        try:
            await self._blocking(partial(body.open, self._path))
        except OSError as error:
            await body.aclose()
            text = f"{self._path}: {error.strerror}"
            raise HttpError(HTTPStatus.INTERNAL_SERVER_ERROR, text) from None
        headers = {"Content-Type": "application/jsonl", IDENTITY: self._identity}
        return Response(body=body, headers=headers)


class _Files:
    """The content of files that were opened at once: a rotation meanwhile changes none of them."""

    def __init__(self, held: Hold, blocking: _Blocking) -> None:
        self._held = held
        self._blocking = blocking
        self._open = ExitStack()
        self._files: list[BinaryIO] = []

    def open(self, path: Path) -> None:
        """Open the files of a log; raises `OSError`."""
        for each in files_of(path):
            # A device or a pipe, such as /dev/stdout, has nothing to read, or never ends.
            if not each.is_file():
                raise OSError(errno.EINVAL, "no regular file")
            self._files.append(self._open.enter_context(each.open("rb")))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while self._files:
            if chunk := await self._blocking(partial(self._files[0].read, _READ_BYTES)):
                return chunk
            self._files.pop(0)
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Close the files."""
        self._held.release()
        await asyncio.shield(self._blocking(self._open.close))
