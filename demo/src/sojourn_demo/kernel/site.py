"""A web server for a few files in memory: the player, its segments, a page and its objects."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any, Final, Self

Content = tuple[str, bytes]
"""Media type and body."""
TIMEOUT_S: Final = 60.0
"""Time after which a connection without a request is closed."""


def script(name: str) -> bytes:
    """A file of this package's folder ``static``."""
    return (files("sojourn_demo.kernel") / "static" / name).read_bytes()


class Site:
    """Serves `contents` by path over HTTP/1.1 with persistent connections, for as long as the
    block."""

    def __init__(
        self, contents: Mapping[str, Content], address: tuple[str, int] = ("127.0.0.1", 0)
    ) -> None:
        """Binds `address`; port 0 is a free one."""

        class Handler(_Handler):
            served = contents

        self._server = ThreadingHTTPServer(address, Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def port(self) -> int:
        """The port."""
        return int(self._server.server_address[1])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = TIMEOUT_S
    # Head and body in one write: Nagle's algorithm would hold the second back.
    wbufsize = -1
    disable_nagle_algorithm = True
    served: Mapping[str, Content] = {}

    def do_GET(self) -> None:
        """Answers with the file, or 404."""
        found = self.served.get(self.path)
        kind, body = found or ("text/plain", b"no such file\n")
        self.send_response(HTTPStatus.OK if found else HTTPStatus.NOT_FOUND)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def handle(self) -> None:
        """One connection; a browser ends it when it likes."""
        try:
            super().handle()
        except OSError:
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Log nothing: the browser reports what it measures."""
