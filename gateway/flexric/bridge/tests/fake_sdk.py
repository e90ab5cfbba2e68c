"""The SDK of the tests: what the real child process loads instead of FlexRIC's.

It sends requests to the RIC of the test, `fake_flexric.FakeRic`, over a Unix socket, one at a time,
and forwards the blocks of reports that it receives over a second one.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from typing import Any

from flexric_bridge.frames import node_from_json, request_to_json
from flexric_bridge.sdk import (
    BLOCK_HEAD,
    NO_MORE,
    Connection,
    E2Node,
    ReportRequest,
    SdkError,
    SdkVersions,
)

JOIN_TIMEOUT_S = 5.0
"""Timeout of the native module."""
ENVIRONMENT = "FAKE_RIC"
"""Names the socket of the RIC."""


class FakeSdk:
    """Runs in the child process; the RIC is at the socket that the environment names."""

    def __init__(self) -> None:
        self._requests: socket.socket | None = None

    def versions(self) -> SdkVersions:
        return SdkVersions("fake", "fake", {"rlc": 152})

    def load(self) -> None:
        if why := os.environ.get("FAKE_MISMATCH"):
            raise SdkError("mismatch", why)

    def open(self, connection: Connection, reports: int) -> None:
        ric_was_away = connection.ric_was_away
        path = os.environ[ENVIRONMENT]
        gives_up = time.monotonic() + JOIN_TIMEOUT_S
        while not _accepts(path):
            ric_was_away = True
            if time.monotonic() > gives_up:
                # In the order of the native module: the end of the reports, then the answer.
                socket.socket(fileno=os.dup(reports)).sendall(BLOCK_HEAD.pack(NO_MORE))
                time.sleep(0.2)
                raise SdkError("absent", "nobody accepts an association")
            time.sleep(0.1)
        if ric_was_away:
            time.sleep(connection.setup_delay_s)
        try:
            self._requests, blocks = _connected(path), _connected(path)
            delay_s = connection.setup_delay_s * ric_was_away
            number = self._ask("open", address=connection.address, setup_delay_s=delay_s)
            print(f"[xApp]: xApp ID = {number}", flush=True)
            blocks.sendall(f"reports {number}\n".encode())
        except OSError as error:
            raise SdkError("timeout", f"cannot be reached: {error}") from None
        target = socket.socket(fileno=os.dup(reports))
        threading.Thread(target=_forward, args=(blocks, target), daemon=True).start()

    def nodes(self) -> list[E2Node]:
        return [node_from_json(value) for value in self._ask("nodes")]

    def subscribe(self, request: ReportRequest) -> int:
        return int(self._ask("subscribe", **request_to_json(request)))

    def unsubscribe(self, handle: int) -> None:
        self._ask("unsubscribe", handle=handle)

    def control(self, node_id: str, function_id: int, header: bytes, message: bytes) -> bytes:
        answer = self._ask(
            "control",
            node_id=node_id,
            function_id=function_id,
            header=header.hex(),
            message=message.hex(),
        )
        return bytes.fromhex(answer)

    def controls(
        self, node_id: str, function_id: int, header: bytes, messages: tuple[bytes, ...]
    ) -> tuple[tuple[bool, ...], SdkError | None]:
        acknowledged, first = [], None
        for message in messages:  # those after a failed one are sent as well
            try:
                self.control(node_id, function_id, header, message)
            except SdkError as error:
                first = first or error
                acknowledged.append(False)
            else:
                acknowledged.append(True)
        return tuple(acknowledged), first

    def close(self) -> None:
        self._ask("close")

    def _ask(self, request: str, **arguments: Any) -> Any:
        if self._requests is None:
            raise SdkError("closed", "not open")
        self._requests.sendall(json.dumps({"do": request, **arguments}).encode() + b"\n")
        line = b""
        while not line.endswith(b"\n"):
            more = self._requests.recv(1 << 20)
            if not more:
                raise SdkError("closed", "the RIC hung up")
            line += more
        answer = json.loads(line)
        if "abort" in answer:
            sys.stderr.write(answer["abort"] + "\n")
            os.abort()
        if "kind" in answer:
            raise SdkError(answer["kind"], answer["detail"])
        return answer["value"]


def broken() -> FakeSdk:
    """A factory that fails as an import of the native module may."""
    raise ImportError("libe42_xapp_shared.so: cannot open shared object file")


def _accepts(path: str) -> bool:
    try:
        _connected(path).close()
    except OSError:
        return False
    return True


def _connected(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    return connection


def _forward(blocks: socket.socket, target: socket.socket) -> None:
    """Forward blocks unchanged, and the end of the reports."""
    try:
        while data := blocks.recv(1 << 20):
            target.sendall(data)
        sys.stderr.write("the RIC hung up\n")
        sys.stderr.flush()
        target.sendall(BLOCK_HEAD.pack(NO_MORE))
    except OSError:
        pass  # the reader is gone
