"""The SDK of the tests: what the real child process loads instead of FlexRIC's.

It asks the RIC of the test, `fake_flexric.FakeRic`, over a Unix socket, one question at a time, and
hands on the blocks of reports that come through a second one.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from typing import Any

from flexric_bridge.frames import node_from_json
from flexric_bridge.sdk import BLOCK_HEAD, NO_MORE, E2Node, SdkError, SdkVersions, SNssai

JOIN_TIMEOUT_S = 5.0
"""As the native module."""
ENVIRONMENT = "FAKE_RIC"
"""Names the socket of the RIC."""


class FakeSdk:
    """Runs in the child process; the RIC is at the socket that the environment names."""

    def __init__(self) -> None:
        self._questions: socket.socket | None = None

    def versions(self) -> SdkVersions:
        return SdkVersions("fake", "fake", {"rlc": 152})

    def open(
        self,
        ric_address: str,
        configuration: str,
        libraries: str,
        reports: int,
        blocks_per_s: float,
        *,
        rest_s: float = 0.0,
        ric_was_away: bool = False,
    ) -> None:
        path = os.environ[ENVIRONMENT]
        gives_up = time.monotonic() + JOIN_TIMEOUT_S
        while not _is_there(path):
            ric_was_away = True
            if time.monotonic() > gives_up:
                # As the native module: there will be no reports, and then the answer.
                socket.socket(fileno=os.dup(reports)).sendall(BLOCK_HEAD.pack(NO_MORE))
                time.sleep(0.2)
                raise SdkError("absent", "nobody accepts an association")
            time.sleep(0.1)
        if ric_was_away:
            time.sleep(rest_s)
        try:
            self._questions, blocks = _connected(path), _connected(path)
            number = self._ask("open", address=ric_address, rested_s=rest_s * ric_was_away)
            print(f"[xApp]: xApp ID = {number}", flush=True)
            blocks.sendall(f"reports {number}\n".encode())
        except OSError as error:
            raise SdkError("timeout", f"cannot be reached: {error}") from None
        target = socket.socket(fileno=os.dup(reports))
        threading.Thread(target=_hand_on, args=(blocks, target), daemon=True).start()

    def nodes(self) -> list[E2Node]:
        return [node_from_json(value) for value in self._ask("nodes")]

    def subscribe(
        self,
        node_id: str,
        function_id: int,
        period_ms: int,
        kpm_measurements: tuple[str, ...],
        kpm_slice: SNssai | None = None,
    ) -> int:
        handle: int = self._ask(
            "subscribe",
            node_id=node_id,
            function_id=function_id,
            period_ms=period_ms,
            names=list(kpm_measurements),
            kpm_slice=None if kpm_slice is None else (kpm_slice.sst, kpm_slice.sd),
        )
        return handle

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
        for message in messages:  # all are sent, whatever becomes of one
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

    def _ask(self, question: str, **arguments: Any) -> Any:
        if self._questions is None:
            raise SdkError("closed", "not open")
        self._questions.sendall(json.dumps({"do": question, **arguments}).encode() + b"\n")
        line = b""
        while not line.endswith(b"\n"):
            more = self._questions.recv(1 << 20)
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


def _is_there(path: str) -> bool:
    try:
        _connected(path).close()
    except OSError:
        return False
    return True


def _connected(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    return connection


def _hand_on(blocks: socket.socket, target: socket.socket) -> None:
    """Blocks come as they leave; when there are no more, that is told."""
    try:
        while data := blocks.recv(1 << 20):
            target.sendall(data)
        sys.stderr.write("the RIC hung up\n")
        sys.stderr.flush()
        target.sendall(BLOCK_HEAD.pack(NO_MORE))
    except OSError:
        pass  # nobody reads any more
