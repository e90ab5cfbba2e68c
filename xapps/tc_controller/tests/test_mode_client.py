"""The client that asks controllers for their mode."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tc_controller.cli import main
from tc_controller.mode_client import switch
from tc_controller.peer_client import Target

ANSWER = json.dumps({"mode": "off", "by": "chart", "meaning": "returns every bearer"}).encode()


@contextmanager
def controller(before: threading.Event, after: threading.Event) -> Iterator[Target]:
    """A controller that answers once `before` is set, and then sets `after`."""

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            if before.wait(4):
                self.send_response(200)
                self.send_header("Content-Length", str(len(ANSWER)))
                self.end_headers()
                self.wfile.write(ANSWER)
                after.set()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Target(("127.0.0.1", server.server_port), f"127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_controller_that_hangs_does_not_make_the_others_wait() -> None:
    answered, now = threading.Event(), threading.Event()
    now.set()
    # The first answers when the second has.
    with controller(answered, threading.Event()) as first, controller(now, answered) as second:
        shown, problems = switch([first, second], {"configured": "off"})
    assert problems == []
    assert [line.split(": ")[0] for line in shown] == [first.name, second.name]


def test_who_asks_one_controller_reads_that_there_may_be_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["mode", "--metrics-listen", "127.0.0.1:1"]) == 1
    one, nobody = capsys.readouterr().err.splitlines()
    assert "peers.address" in one
    assert "no controller runs there" in nobody
