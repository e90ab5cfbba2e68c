"""An SDK in a separate process, and its reports."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from flexric_bridge.sdk import RECORD_HEAD, Connection, E2Node, ReportRequest, SdkError, SNssai
from flexric_processes import PATIENCE_S, Site, environment

WORKER = Path(__file__).with_name("sdk_worker.py")


@dataclass(frozen=True)
class Report:
    """One record of a block."""

    handle: int
    collected_at_us: int
    received_at_us: int
    lost: int
    message: bytes


def reports_of(block: bytes) -> Iterator[Report]:
    """The records of a block."""
    at = 0
    while at < len(block):
        handle, length, collected, received, lost = RECORD_HEAD.unpack_from(block, at)
        at += RECORD_HEAD.size
        message = block[at : at + length]
        assert len(message) == length
        at += length
        yield Report(handle, collected, received, lost, message)


def connection(site: Site, **changes: Any) -> Connection:
    """A connection to the RIC of a test."""
    fields = {"configuration": str(site.configuration), "libraries": str(site.libraries)}
    return Connection(**{"address": site.address, "blocks_per_s": 1e4, **fields, **changes})


TC_V1 = 147
"""RAN function id of E2SM-TC v1 in FlexRIC."""


class Session:
    """The calls of `flexric_bridge.sdk.Sdk`, made in another process."""

    def __init__(self, extra_environment: dict[str, str] | None = None) -> None:
        calls_read, calls_write = os.pipe()
        answers_read, answers_write = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, str(WORKER), str(calls_read), str(answers_write)],
            pass_fds=(calls_read, answers_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={**environment(), **(extra_environment or {})},
        )
        os.close(calls_read)
        os.close(answers_write)
        self._calls = os.fdopen(calls_write, "wb")
        self._answers = os.fdopen(answers_read, "rb")

    def call(self, name: str, *arguments: Any) -> Any:
        """One call; raises the `SdkError` of the SDK, or `EOFError` if its process ended."""
        self.send(name, *arguments)
        return self.receive()

    def send(self, name: str, *arguments: Any) -> None:
        pickle.dump((name, arguments), self._calls)
        self._calls.flush()

    def receive(self) -> Any:
        outcome, value = pickle.load(self._answers)
        if outcome == "error":
            raise SdkError(*value)
        return value

    def open(self, site: Site, blocks_per_s: float = 10_000.0) -> None:
        self.call("open", connection(site, blocks_per_s=blocks_per_s))

    def nodes(self) -> dict[str, E2Node]:
        """The nodes by their ids."""
        return {node.id: node for node in cast("list[E2Node]", self.call("nodes"))}

    def subscribe(
        self,
        node: str,
        function: int,
        period_ms: int,
        measurements: tuple[str, ...] = (),
        s_nssai: SNssai | None = None,
    ) -> int:
        request = ReportRequest(node, function, period_ms, measurements, s_nssai)
        return int(self.call("subscribe", request))

    def subscribe_v1(self, node: str, trigger: bytes, action: bytes) -> int:
        """Subscribe to E2SM-TC v1; without an action, to the outcomes of controls."""
        request = ReportRequest(node, TC_V1, 10_000, trigger=trigger, action=action)
        return int(self.call("subscribe", request))

    def unsubscribe(self, handle: int) -> None:
        self.call("unsubscribe", handle)

    def control_v1(self, node: str, header: bytes, message: bytes) -> bytes:
        """Returns the outcome."""
        return bytes(self.call("control", node, TC_V1, header, message))

    def control(self, node: str, message: bytes) -> bytes:
        return bytes(self.call("control", node, 146, bytes(4), message))

    def controls(self, node: str, messages: Sequence[bytes]) -> tuple[bool, ...]:
        """Controls in flight at once; returns which were acknowledged."""
        acknowledged, error = self.call("controls", node, 146, bytes(4), tuple(messages))
        assert error is None, error
        return tuple(acknowledged)

    def collect(self, seconds: float) -> list[Report]:
        """The reports of this many seconds."""
        return list(reports_of(self.call("collect", seconds)))

    def collect_until(
        self, enough: Callable[[dict[int, list[Report]]], bool]
    ) -> dict[int, list[Report]]:
        """Reports by handle, as soon as `enough` holds."""
        grouped: dict[int, list[Report]] = defaultdict(list)
        deadline = time.monotonic() + 3 * PATIENCE_S
        while not enough(grouped):
            assert time.monotonic() < deadline, {h: len(r) for h, r in grouped.items()}
            for report in self.collect(0.1):
                grouped[report.handle].append(report)
        return grouped

    def stop(self) -> None:
        """End the session and its process; kill it after `PATIENCE_S`."""
        self._calls.close()
        self._answers.close()
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(PATIENCE_S)
