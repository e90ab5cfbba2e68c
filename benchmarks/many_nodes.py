"""An E2 gateway of several emulated gNBs in real time, to load programs with.

`gnb-lab serve` emulates one gNB; this serves as many worlds of `gnb_lab` as asked for, each with
its UEs and light traffic, as the nodes of one gateway. Prints its address as a ready line.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import gnb_lab
import grpc
from e2_gateway_server import SERVICE, GatewayService, Outbox, ProcedureError
from e2_gateway_server.indication import (
    encode_header,
    encode_kpm_report,
    encode_report,
    encode_source,
)
from ric.grpc_server import GrpcServer, GrpcServerSettings
from ric.security import Security
from sojourn_interfaces import e2_gateway_pb2 as pb

SCENARIO = Path(__file__).parent.parent / "lab" / "scenarios" / "many_bearers.yaml"
STEP_S = 0.005
"""Reports wait up to this long; 1 ms reports then arrive in fives."""


@dataclass(eq=False)
class Node:
    """One emulated gNB and the readers of its reports."""

    id: str
    world: gnb_lab.World
    readers: dict[int, tuple[bytes, Outbox[bytes]]] = field(default_factory=dict)
    sent_bytes: int = 0

    def message(self) -> pb.Node:
        """The node's entry in the gateway's list."""
        functions = [
            pb.RanFunction(id=number, oid=oid, definition=definition)
            for number, (oid, definition) in enumerate(self.world.ran_functions.items())
        ]
        return pb.Node(id=self.id, type=pb.Node.GNB, ran_functions=functions)

    def step(self, t_us: int) -> None:
        """Run until virtual time ``t_us``; reports go to their readers."""
        for indication in self.world.step_until(t_us):
            reader = self.readers.get(indication.subscription)
            if reader is None:
                continue
            source, outbox = reader
            times = (indication.collected_at_us, indication.received_at_us)
            kpm = indication.kpm
            if kpm is None:
                source += encode_header(indication.header)
                encoded = encode_report(source, indication.message, *times)
            else:
                report = pb.KpmReport(
                    period_ms=kpm["period_ms"],
                    unsupported=kpm["unsupported"],
                    ues=[pb.KpmUe(rnti=ue["rnti"], values=ue["values"]) for ue in kpm["ues"]],
                    units={"RRU.PrbTotDl": "PRB"},
                )
                encoded = encode_kpm_report(source, report, *times)
            outbox.put(encoded)
            self.sent_bytes += len(encoded)


class Nodes:
    """An `e2_gateway_server.Backend` of emulated gNBs."""

    def __init__(self, nodes: int, ues: int) -> None:
        epoch_us = time.time_ns() // 1000
        self._nodes = {
            name: Node(
                name,
                gnb_lab.World(
                    SCENARIO,
                    overrides={"ues[0].count": ues, "seed": number + 1, "duration_s": 86_400},
                    epoch_us=epoch_us,
                ),
            )
            for number, name in enumerate(f"gnb-{number:03}" for number in range(nodes))
        }
        self.late_s = 0.0
        """How far virtual time has fallen behind the wall clock."""

    async def run(self) -> None:
        """Steps the worlds for ever; prints each second what was sent."""
        began = shown = time.monotonic()
        while True:
            t_us = int((time.monotonic() - began) * 1e6)
            for node in self._nodes.values():
                node.step(t_us)
                await asyncio.sleep(0)
            behind_s = time.monotonic() - began - t_us / 1e6
            self.late_s = max(self.late_s, behind_s - STEP_S)
            if time.monotonic() > shown + 1:
                shown += 1
                sent = {"event": "sent", "bytes": self.sent_bytes(), "late_s": self.late_s}
                print(json.dumps(sent), flush=True)
            await asyncio.sleep(max(0.0, STEP_S - behind_s))

    def sent_bytes(self) -> int:
        """Bytes of all indications so far, without HTTP/2 and TCP."""
        return sum(node.sent_bytes for node in self._nodes.values())

    def nodes(self) -> list[pb.Node]:
        """See `Backend`."""
        return [node.message() for node in self._nodes.values()]

    async def watch_nodes(self) -> AsyncGenerator[pb.NodeEvent]:
        """See `Backend`."""
        for message in self.nodes():
            yield pb.NodeEvent(kind=pb.NodeEvent.CONNECTED, node=message)
        await asyncio.Event().wait()

    @asynccontextmanager
    async def subscribe(
        self, subscription: pb.Subscription, outbox: Outbox[bytes]
    ) -> AsyncGenerator[None]:
        """See `Backend`."""
        node, oid = self._find(subscription.node_id), subscription.ran_function_oid
        try:
            number = node.world.subscribe(
                oid,
                event_trigger=subscription.event_trigger,
                action_definitions=list(subscription.action_definitions),
                kpm_measurements=list(subscription.kpm_measurements),
            )
        except gnb_lab.E2Error as error:
            raise ProcedureError(grpc.StatusCode.INVALID_ARGUMENT, str(error)) from error
        node.readers[number] = (encode_source(node.id, 0, oid), outbox)
        try:
            yield
        finally:
            del node.readers[number]
            node.world.unsubscribe(number)

    async def control(self, request: pb.ControlRequest) -> pb.ControlAnswer:
        """See `Backend`."""
        node = self._find(request.node_id)
        try:
            outcome = node.world.control(request.ran_function_oid, request.header, request.message)
        except gnb_lab.E2Error as error:
            return pb.ControlAnswer(status=pb.ControlAnswer.FAILED, detail=str(error))
        return pb.ControlAnswer(status=pb.ControlAnswer.ACKNOWLEDGED, outcome=outcome)

    def _find(self, name: str) -> Node:
        node = self._nodes.get(name)
        if node is None:
            raise ProcedureError(grpc.StatusCode.NOT_FOUND, f"no node {name} is connected")
        return node


async def serve(nodes: int, ues: int) -> None:
    """Serves until SIGTERM or SIGINT."""
    backend = Nodes(nodes, ues)
    service = GatewayService(backend)
    server = GrpcServer(
        SERVICE,
        service.handlers(),
        GrpcServerSettings(listen="127.0.0.1:0"),
        security=Security(),
    )
    await server.start()
    await server.set_ready(True)
    print(json.dumps({"event": "ready", "listen": f"127.0.0.1:{server.port}"}), flush=True)
    running = asyncio.current_task()
    assert running is not None
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, running.cancel)
    with suppress(asyncio.CancelledError):
        await backend.run()
    service.stop("the benchmark is over")
    await server.stop(0.5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=10)
    parser.add_argument("--ues", type=int, default=100, help="UEs of a node (default: 100)")
    given = parser.parse_args()
    asyncio.run(serve(given.nodes, given.ues))
