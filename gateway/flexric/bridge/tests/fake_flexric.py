"""The RIC of the tests. `fake_sdk.FakeSdk` in the real child process sends it requests over a Unix
socket, so a test decides the answers, and when the RIC hangs, dies or refuses."""

from __future__ import annotations

import asyncio
import itertools
import json
import struct
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import asn1tools
from flexric_bridge.frames import bytes_of, node_to_json
from flexric_bridge.kpm_definition import ASN1, TYPE
from flexric_bridge.sdk import RECORD_HEAD, E2Node, RanFunction, SdkError
from ric.sm import KPM_OID, MAC_OID, RLC_OID, TC_V0_OID, TC_V1_OID, rlc

KPM, MAC, RLC, TC, TC_V1 = 2, 142, 143, 146, 147
_OIDS = {KPM: KPM_OID, MAC: MAC_OID, RLC: RLC_OID, TC: TC_V0_OID, TC_V1: TC_V1_OID}


def kpm_definition(measurements: Iterable[str], styles: Iterable[int] = (4,)) -> bytes:
    """A RAN function definition with these measurements under each of these report styles."""
    formats = {style: (style, min(style, 4), 2 if style == 1 else 3) for style in styles}
    fields = {
        "ranFunction-Name": {
            "ranFunction-ShortName": "ORAN-E2SM-KPM",
            "ranFunction-E2SM-OID": "1.3.6.1.4.1.53148.1.2.2.2",
            "ranFunction-Description": "KPM Monitor",
        },
        "ric-EventTriggerStyle-List": [
            {
                "ric-EventTriggerStyle-Type": 1,
                "ric-EventTriggerStyle-Name": "Periodic Report",
                "ric-EventTriggerFormat-Type": 1,
            }
        ],
        "ric-ReportStyle-List": [
            {
                "ric-ReportStyle-Type": number,
                "ric-ReportStyle-Name": f"Style {number}",
                "ric-ActionFormat-Type": action,
                "measInfo-Action-List": [{"measName": name} for name in measurements],
                "ric-IndicationHeaderFormat-Type": 1,
                "ric-IndicationMessageFormat-Type": message,
            }
            for number, action, message in formats.values()
        ],
    }
    return bytes(asn1tools.compile_string(ASN1, "per").encode(TYPE, fields))


KPM_DEFINITION = kpm_definition(("DRB.UEThpDl", "RRU.PrbTotDl", "DRB.PdcpSduVolumeDL"))


def node(
    nb_id: int,
    functions: tuple[int, ...] = (KPM, MAC, RLC, TC),
    definition: int = 0,
    tc_definition: bytes = b"",
) -> E2Node:
    """A gNB with these RAN functions."""
    definitions = {KPM: KPM_DEFINITION, TC_V1: tc_definition}
    return E2Node(
        id=f"gnb-001-01-{nb_id:#x}",
        type="gnb",
        mcc=1,
        mnc=1,
        mnc_digits=2,
        nb_id=nb_id,
        cu_du_id=None,
        functions=tuple(
            RanFunction(n, _OIDS[n], 1, definitions.get(n, bytes(definition))) for n in functions
        ),
    )


@dataclass(eq=False)
class Subscription:
    """A subscription of a session."""

    session: int
    node_id: str
    function_id: int
    period_ms: int
    names: tuple[str, ...]
    last_us: int = 0
    kpm_slice: dict[str, int | None] | None = None
    trigger: bytes = b""
    action: bytes = b""


@dataclass
class FakeRic:
    """The RIC: its nodes, and what was requests of it.

    `answer[request]` may override a request: it returns the value, raises `SdkError`, returns
    `HANG` for no answer, or `ABORT` to abort the SDK's process.
    """

    path: str
    nodes: dict[str, E2Node] = field(default_factory=dict)
    subscriptions: dict[int, Subscription] = field(default_factory=dict)
    requests: Counter[str] = field(default_factory=Counter)
    controls: list[tuple[str, bytes]] = field(default_factory=list)
    answer: dict[str, Callable[[dict[str, Any]], Any]] = field(default_factory=dict)
    on_control: Callable[[str, bytes], Awaitable[None]] | None = None
    closed: int = 0
    behind_us: int = 0
    _sessions: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _handles: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _report_streams: dict[int, asyncio.StreamWriter] = field(default_factory=dict)
    _connections: set[asyncio.StreamWriter] = field(default_factory=set)
    _server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_unix_server(self._serve, self.path)

    async def stop(self) -> None:
        """Stop: every session is cut and connections are refused."""
        if self._server is not None:
            self._server.close()
            for writer in list(self._connections):
                writer.transport.abort()
            await self._server.wait_closed()
            self._server = None
        self.subscriptions.clear()
        self._sessions = itertools.count(1)

    def add(self, *nodes: E2Node) -> None:
        self.nodes.update({item.id: item for item in nodes})

    def on(self, node_id: str, function_id: int) -> list[tuple[int, Subscription]]:
        """The subscriptions to a RAN function."""
        return [
            (handle, item)
            for handle, item in self.subscriptions.items()
            if (item.node_id, item.function_id) == (node_id, function_id)
        ]

    def report(self, node_id: str, function_id: int, message: bytes, lost: int = 0) -> None:
        """Send to each session whose subscription is due; the report is `behind_us` late."""
        now_us = time.time_ns() // 1000
        for handle, item in self.on(node_id, function_id):
            if now_us - item.last_us < 800 * item.period_ms:
                continue
            item.last_us = now_us
            self.block(item.session, record(handle, message, now_us, lost, self.behind_us))

    def block(self, session: int, block: bytes) -> None:
        """Any bytes as a block of reports."""
        if writer := self._report_streams.get(session):
            writer.write(struct.pack("<I", len(block)) + block)

    async def keep_reporting(
        self, node_id: str, function_id: int, message: Callable[[], bytes], period_s: float = 0.01
    ) -> None:
        """Report while the node is there, until cancelled."""
        while True:
            if node_id in self.nodes:
                self.report(node_id, function_id, message())
            await asyncio.sleep(period_s)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        session = 0
        try:
            while line := await reader.readline():
                if line.startswith(b"reports "):
                    self._report_streams[int(line.split()[1])] = writer
                    continue
                request = json.loads(line)
                if request["do"] == "open":
                    session = next(self._sessions)
                answer = await self._answered(session, request)
                if answer is not None:
                    writer.write(json.dumps(answer).encode() + b"\n")
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(writer)
            for handle in [
                h for h, s in self.subscriptions.items() if session and s.session == session
            ]:
                del self.subscriptions[handle]
            writer.close()

    async def _answered(self, session: int, request: dict[str, Any]) -> dict[str, Any] | None:
        name = request["do"]
        self.requests[name] += 1
        try:
            if name in self.answer:
                value = self.answer[name](request)
                if value is HANG:
                    return None
                if value is ABORT:
                    return {"abort": "assertion failed: !ric"}
                if value is not DEFAULT:
                    return {"value": value}
            return {"value": await self._value(session, request)}
        except SdkError as error:
            return {"kind": error.kind, "detail": error.detail}

    async def _value(self, session: int, request: dict[str, Any]) -> Any:
        match request["do"]:
            case "open":
                return session
            case "nodes":
                return [node_to_json(item) for item in self.nodes.values()]
            case "subscribe":
                self._known(request["node_id"])
                handle = next(self._handles)
                self.subscriptions[handle] = Subscription(
                    session,
                    request["node_id"],
                    request["function_id"],
                    request["period_ms"],
                    tuple(request["kpm_measurements"]),
                    kpm_slice=request["kpm_slice"],
                    trigger=bytes_of(request["trigger"]),
                    action=bytes_of(request["action"]),
                )
                return handle
            case "unsubscribe":
                if self.subscriptions.pop(request["handle"], None) is None:
                    raise SdkError("closed", f"no subscription {request['handle']}")
                return None
            case "control":
                self._known(request["node_id"])
                message = bytes.fromhex(request["message"])
                self.controls.append((request["node_id"], message))
                if self.on_control is not None:
                    await self.on_control(request["node_id"], message)
                return "00000000"
            case _:
                self.closed += 1
                return None

    def _known(self, node_id: str) -> None:
        if node_id not in self.nodes:
            raise SdkError("no-such-node", f"no node {node_id}")


HANG, ABORT, DEFAULT = object(), object(), object()


def record(handle: int, message: bytes, at_us: int, lost: int = 0, behind_us: int = 0) -> bytes:
    """One report as the SDK delivers it, 100 µs plus `behind_us` after its collection."""
    return RECORD_HEAD.pack(handle, len(message), at_us - 100, at_us + behind_us, lost) + message


def rlc_message(bearers: tuple[tuple[int, int], ...] = ((17, 1),), **fields: int) -> bytes:
    """An RLC report of these (RNTI, DRB)."""
    rows = rlc.zeros(len(bearers))
    for row, (rnti, drb) in enumerate(bearers):
        rows["rnti"][row], rows["rbid"][row] = rnti, drb
        for name, value in fields.items():
            rows[name][row] = value
    return rlc.encode(rows, time.time_ns() // 1000)


def kpm_message(period_ms: int, values: dict[str, float], rnti: int = 17) -> bytes:
    """A KPM report of one UE as the SDK delivers it, whose AMF-UE-NGAP-ID is its RNTI."""
    out = struct.pack("<IIBQI", period_ms, 1, 1, rnti, len(values))
    for name, value in values.items():
        out += bytes((len(name),)) + name.encode() + struct.pack("<d", value)
    return out
