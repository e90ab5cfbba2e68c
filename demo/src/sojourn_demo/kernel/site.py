"""The web site of a run: a player with its video, and a page with its objects."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from sojourn_demo.kernel import media, page

PLAYER: Final = "player.html"
PAGE: Final = "page.html"


async def make(folder: Path, chromium: Path) -> None:
    """Writes the files of the site; `chromium` records the video.

    Raises:
        DemoError: As `media.record`.
    """
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(Path(__file__).with_name("static"), folder)
    page.write(folder / PAGE)
    (folder / "video").mkdir()
    await media.record(chromium, folder / "video")


@contextmanager
def served(folder: Path, address: tuple[str, int] = ("127.0.0.1", 0)) -> Iterator[int]:
    """Serves the files of `folder` at `address` for as long as the block: its port, which is a free
    one for port 0."""
    with ThreadingHTTPServer(address, partial(_Handler, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()


class _Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body in one write: Nagle's algorithm would hold the second back.
    wbufsize = -1
    disable_nagle_algorithm = True

    def handle(self) -> None:
        """One connection; a browser ends it when it likes."""
        with suppress(OSError):
            super().handle()

    def log_message(self, *_: Any) -> None:
        """Log nothing: the browser reports what it measures."""
