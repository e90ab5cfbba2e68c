"""An SDK with periodic reports, for `latency.py`; runs in the bridge's child process."""

from __future__ import annotations

import os
import socket
import struct
import threading
import time

from flexric_bridge.sdk import (
    BLOCK_HEAD,
    RECORD_HEAD,
    Connection,
    E2Node,
    RanFunction,
    ReportRequest,
    SdkVersions,
)

NODES = 8
BEARERS = 4
RLC, KPM, TC = 143, 2, 146
KPM_DEFINITION = bytes.fromhex(
    "60304f52414e2d4532534d2d4b504d000018312e332e362e312e342e312e35333134382e312e322e322e"
    "3205004b504d204d6f6e69746f720001010700506572696f646963205265706f72740101000104030053"
    "74796c6520340104000101605252552e507262546f74446c01404452422e5545546870446c01010103"
)
"""Report style 4 with RRU.PrbTotDl and DRB.UEThpDl."""
OIDS = {
    RLC: "0.0.0.0.0.0.0.0.1.143.0",
    KPM: "1.3.6.1.4.1.53148.1.2.2.2",
    TC: "0.0.0.0.0.0.0.0.1.146.0",
}
RLC_BYTES, TC_BYTES = 12 + 152 * BEARERS, 400
MEASUREMENT = "DRB.UEThpDl"


class SteadySdk:
    """Sends reports of every subscription with its period."""

    def __init__(self) -> None:
        self._subscriptions: dict[int, tuple[int, float, bytes]] = {}
        self._due: list[list[float]] = []

    def versions(self) -> SdkVersions:
        return SdkVersions("none", "none", {})

    def load(self) -> None:
        pass

    def open(self, connection: Connection, reports: int) -> None:
        between_s = 1 / connection.blocks_per_s
        target = socket.socket(fileno=os.dup(reports))
        threading.Thread(target=self._report, args=(target, between_s), daemon=True).start()

    def nodes(self) -> list[E2Node]:
        functions = tuple(
            RanFunction(number, oid, 1, KPM_DEFINITION if number == KPM else b"")
            for number, oid in OIDS.items()
        )
        return [
            E2Node(f"gnb-001-01-{n:#x}", "gnb", 1, 1, 2, n, None, functions) for n in range(NODES)
        ]

    def subscribe(self, request: ReportRequest) -> int:
        handle = len(self._due) + 1
        message = _message(request.function_id)
        self._subscriptions[handle] = (request.function_id, request.period_ms / 1000, message)
        self._due.append([time.monotonic(), handle])
        return handle

    def unsubscribe(self, handle: int) -> None:
        self._subscriptions.pop(handle, None)

    def control(self, node_id: str, function_id: int, header: bytes, message: bytes) -> bytes:
        return bytes(4)

    def _report(self, reports: socket.socket, between_s: float) -> None:
        while True:
            now, at_us = time.monotonic(), time.time_ns() // 1000
            out = []
            for entry in self._due:
                held = self._subscriptions.get(int(entry[1]))
                if held is not None and entry[0] <= now:
                    _, period_s, message = held
                    out.append(RECORD_HEAD.pack(int(entry[1]), len(message), at_us, at_us, 0))
                    out.append(message)
                    entry[0] += period_s
            if out:
                block = b"".join(out)
                reports.sendall(BLOCK_HEAD.pack(len(block)) + block)
            time.sleep(between_s)

    def close(self) -> None:
        pass


def _message(function_id: int) -> bytes:
    if function_id == RLC:
        return struct.pack("<I", BEARERS) + bytes(RLC_BYTES - 4)
    if function_id == KPM:
        name = MEASUREMENT.encode()
        return struct.pack("<IIIIB", 100, 1, 17, 1, len(name)) + name + struct.pack("<d", 1.0)
    return bytes(TC_BYTES)
