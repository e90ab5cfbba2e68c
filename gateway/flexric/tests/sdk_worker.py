"""A process that owns the SDK for a test; reads calls from one pipe, writes results to another.

FlexRIC connects once in the life of a process and prints on stdout.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import socket
import sys
import time
from typing import Any

from flexric_bridge.sdk import BLOCK_HEAD, NO_MORE, ReportRequest, SdkError
from flexric_bridge_native import FlexricSdk


class Reports:
    """Reads the SDK's reports from its socket."""

    def __init__(self) -> None:
        self._socket, self.theirs = socket.socketpair()
        self._waiting = bytearray()
        self.blocks = 0
        """Number of blocks read."""

    def collect(self, seconds: float) -> bytes:
        """All records of this many seconds; raises `SdkError` at the end of the reports."""
        blocks = bytearray()
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._socket.settimeout(left)
            with contextlib.suppress(TimeoutError):
                self._waiting += self._socket.recv(1 << 20)
            while (block := self._block()) is not None:
                blocks += block
        return bytes(blocks)

    def _block(self) -> bytes | None:
        if len(self._waiting) < BLOCK_HEAD.size:
            return None
        (length,) = BLOCK_HEAD.unpack_from(self._waiting)
        if length == NO_MORE:
            raise SdkError("closed", "no more reports")
        end = BLOCK_HEAD.size + length
        if len(self._waiting) < end:
            return None
        block = bytes(self._waiting[BLOCK_HEAD.size : end])
        del self._waiting[:end]
        self.blocks += 1
        return block


def run(sdk: FlexricSdk, reports: Reports, name: str, arguments: tuple[Any, ...]) -> Any:
    """One call: of the SDK, `collect`, or `exec` of a program that sets `result`."""
    if name == "open":
        return sdk.open(*arguments, reports.theirs.fileno())
    if name == "collect":
        return reports.collect(*arguments)
    if name == "exec":
        names: dict[str, Any] = {
            "sdk": sdk,
            "reports": reports,
            "collect": reports.collect,
            "ReportRequest": ReportRequest,
        }
        exec(arguments[0], names)
        return names["result"]
    return getattr(sdk, name)(*arguments)


def main(calls: int, answers: int) -> None:
    """Serve until the pipe of calls is closed."""
    sdk, reports = FlexricSdk(), Reports()
    with os.fdopen(calls, "rb") as source, os.fdopen(answers, "wb") as target:
        while True:
            try:
                name, arguments = pickle.load(source)
            except EOFError:
                return
            answer: tuple[str, Any]
            try:
                answer = ("value", run(sdk, reports, name, arguments))
            except SdkError as error:
                answer = ("error", (error.kind, error.detail))
            pickle.dump(answer, target)
            target.flush()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
