"""A process that owns the SDK for a test: calls come in by one pipe, what came of them goes out by
another. FlexRIC connects once in the life of a process and writes on stdout as it likes."""

from __future__ import annotations

import os
import pickle
import sys
import time
from typing import Any

from flexric_bridge.sdk import SdkError
from flexric_bridge_native import FlexricSdk


def collect(sdk: FlexricSdk, seconds: float) -> bytes:
    """All reports of so many seconds."""
    blocks = []
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        blocks.append(sdk.poll(int(1000 * left)))
    return b"".join(blocks)


def run(sdk: FlexricSdk, name: str, arguments: tuple[Any, ...]) -> Any:
    """One call: of the SDK, `collect`, or `exec` of a few lines that leave a `result`."""
    if name == "collect":
        return collect(sdk, *arguments)
    if name == "exec":
        names: dict[str, Any] = {"sdk": sdk}
        exec(arguments[0], names)
        return names["result"]
    return getattr(sdk, name)(*arguments)


def main(calls: int, answers: int) -> None:
    """Serve until the pipe of calls is closed."""
    sdk = FlexricSdk()
    with os.fdopen(calls, "rb") as source, os.fdopen(answers, "wb") as target:
        while True:
            try:
                name, arguments = pickle.load(source)
            except EOFError:
                return
            answer: tuple[str, Any]
            try:
                answer = ("value", run(sdk, name, arguments))
            except SdkError as error:
                answer = ("error", (error.kind, error.detail))
            pickle.dump(answer, target)
            target.flush()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
