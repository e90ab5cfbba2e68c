"""The process that owns the SDK, `python -m flexric_bridge.child`:

    COMMANDS REPORTS MODULE:FACTORY

`COMMANDS` and `REPORTS` are file descriptors of sockets to the supervisor. Commands come one at a
time and are answered in order; the SDK writes reports itself.

When the supervisor disappears, subscriptions are ended and the SDK is closed before the process
exits: a near-RT RIC aborts when an xApp with subscriptions vanishes.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import importlib
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any, Final, cast

from flexric_bridge.frames import (
    HEAD,
    MAX_COMMAND_BYTES,
    bytes_of,
    node_to_json,
    pack_json,
    request_from_json,
    text_of,
)
from flexric_bridge.sdk import Connection, Sdk, SdkError

ORPHAN_TIMEOUT_S: Final = 8.0
"""Limit of an orderly end without a supervisor; then the process exits at once."""


class Child:
    """Answers commands by calling the SDK."""

    def __init__(self, sdk: Sdk, commands: socket.socket, reports: int) -> None:
        self._sdk = sdk
        self._commands = commands
        self._reports = reports
        self._handles: set[int] = set()
        self._do: dict[str, Callable[..., Any]] = {
            "versions": self._versions,
            "load": self._load,
            "open": self._open,
            "nodes": self._nodes,
            "subscribe": self._subscribe,
            "unsubscribe": self._unsubscribe,
            "control": self._control,
            "controls": self._controls,
            "close": self._close,
        }

    def run(self) -> None:
        """Serve until the command to close, or until the supervisor is gone."""
        while (command := self._next()) is not None:
            name = command.pop("do")
            try:
                answer: dict[str, Any] = {"value": self._do[name](**command)}
            except SdkError as error:
                answer = {"kind": error.kind, "detail": error.detail}
            if not self._answer(answer):
                break
            if name == "close":
                return
        threading.Timer(ORPHAN_TIMEOUT_S, os._exit, (1,)).start()
        self._close()
        os._exit(0)

    def _next(self) -> dict[str, Any] | None:
        head = _exactly(self._commands, HEAD.size)
        if head is None:
            return None
        (length,) = HEAD.unpack(head)
        if length > MAX_COMMAND_BYTES:
            raise SystemExit(f"a command of {length} bytes; expected at most {MAX_COMMAND_BYTES}")
        body = _exactly(self._commands, length)
        return None if body is None else cast("dict[str, Any]", json.loads(body))

    def _answer(self, answer: dict[str, Any]) -> bool:
        try:
            self._commands.sendall(pack_json(answer))
        except OSError:
            return False
        return True

    def _versions(self) -> dict[str, Any]:
        versions = self._sdk.versions()
        return dataclasses.asdict(versions)

    def _load(self) -> None:
        self._sdk.load()

    def _open(self, **connection: Any) -> None:
        self._sdk.open(Connection(**connection), self._reports)
        # FlexRIC has printed the number of this session into stdio's buffer.
        ctypes.CDLL(None).fflush(None)

    def _nodes(self) -> list[dict[str, Any]]:
        return [node_to_json(node) for node in self._sdk.nodes()]

    def _subscribe(self, **request: Any) -> int:
        handle = self._sdk.subscribe(request_from_json(request))
        self._handles.add(handle)
        return handle

    def _unsubscribe(self, handle: int) -> None:
        self._handles.discard(handle)
        self._sdk.unsubscribe(handle)

    def _control(self, node_id: str, function_id: int, header: str, message: str) -> str:
        outcome = self._sdk.control(node_id, function_id, bytes_of(header), bytes_of(message))
        return text_of(outcome)

    def _controls(
        self, node_id: str, function_id: int, header: str, runs: list[list[str]]
    ) -> dict[str, Any]:
        """Runs of several at once, until one of a run is not acknowledged: which were, and the
        error of the first that was not."""
        acknowledged: list[bool] = []
        for run in runs:
            messages = tuple(map(bytes_of, run))
            answers, error = self._sdk.controls(node_id, function_id, bytes_of(header), messages)
            acknowledged += answers
            if error is not None:
                return {"acknowledged": acknowledged, "kind": error.kind, "detail": error.detail}
        return {"acknowledged": acknowledged}

    def _close(self, leave: list[int] | None = None) -> int:
        """End all subscriptions but `leave`, and the session; returns how many were ended."""
        ended = 0
        for handle in sorted(self._handles.difference(leave or ())):
            with contextlib.suppress(SdkError):
                self._sdk.unsubscribe(handle)
                ended += 1
        with contextlib.suppress(SdkError):
            self._sdk.close()
        return ended


def load(name: str) -> Sdk:
    """The SDK that `module:factory` returns."""
    module, _, factory = name.partition(":")
    return cast("Sdk", getattr(importlib.import_module(module), factory)())


def _exactly(source: socket.socket, length: int) -> bytes | None:
    """So many bytes; `None` at the end of the stream."""
    data = bytearray()
    while len(data) < length:
        try:
            more = source.recv(length - len(data))
        except OSError:
            return None
        if not more:
            return None
        data += more
    return bytes(data)


def main(arguments: list[str]) -> None:
    """Run as a process."""
    commands, reports, name = arguments
    # Ctrl-C reaches the whole process group; only the supervisor decides when to end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        sdk = load(name)
    except (ImportError, AttributeError) as error:
        raise SystemExit(f"{name}: {error}") from None
    Child(sdk, socket.socket(fileno=int(commands)), int(reports)).run()


if __name__ == "__main__":
    main(sys.argv[1:])
