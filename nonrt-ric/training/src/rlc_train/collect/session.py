"""Recording one node of an E2 gateway until told to stop; the I/O around the recorder."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pyarrow as pa
import structlog
from ric.e2 import E2Gateway, Node
from ric.errors import RanFunctionUnknown, ServiceModelError, SubscriptionRefused
from ric.sm import MAC_OID, RLC_OID, TC_V1_OID, mac, rlc, tc
from rlc_dataset import Provenance, write_run

from rlc_train.collect.recorder import Recorder
from rlc_train.dataset.simulate import status_action, status_trigger
from rlc_train.errors import TrainError

_log = structlog.get_logger()

PERIOD_MS: Final = 1
QUEUE_DEPTH: Final = 4096
"""Indications the gateway may hold while a segment is being written: four seconds' worth."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be recorded.

    Attributes:
        root: Directory of the data set.
        cell: Partition; the node's id when empty.
        mobility: Partition.
        node_id: The node; the first with RLC reports when empty.
        duration_s: How long, by the node's clock.
        segment_s: A run of its own for each so many seconds: what a crash can lose.
        stall_s: Without an RLC report for so long the recording ends with an error.
        producer: Program and version, for provenance.
    """

    root: Path
    cell: str
    mobility: str
    node_id: str
    duration_s: float
    segment_s: float
    stall_s: float
    producer: str


class Session:
    """One recording; `written` has what is on disk."""

    def __init__(
        self, gateway: E2Gateway, wish: Wish, tell: Callable[[Provenance, int], None]
    ) -> None:
        """`tell` is called with each run that is on disk, and its rows."""
        self.recorder = Recorder()
        self.written: list[Provenance] = []
        self.bad_messages = 0
        self.missed = 0
        self._gateway = gateway
        self._wish = wish
        self._tell = tell
        self._name = ""
        self._node = ""

    async def run(self) -> None:
        """Records until the duration is over; cancelled, it writes what it has.

        Raises:
            TrainError: No node, or it fell silent; what was recorded before is written.
            DatasetError: A run cannot be written.
            SubscriptionRefused: The node gives no RLC reports.
        """
        node = await self._find()
        self._node = node.id
        beside = [
            asyncio.create_task(self._beside(node, oid, trigger, actions))
            for oid, trigger, actions in _beside_rlc(node)
        ]
        try:
            await self._record(node)
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            await asyncio.shield(self._write())

    async def _find(self) -> Node:
        wish = self._wish
        try:
            async with asyncio.timeout(wish.stall_s):
                async with aclosing(self._gateway.watch_nodes()) as events:
                    async for event in events:
                        node = event.node
                        if node.ran_function(RLC_OID) is None:
                            continue
                        if wish.node_id in ("", node.id):
                            return node
        except TimeoutError:
            pass
        who = wish.node_id or "a node with RLC reports"
        raise TrainError(f"{who} did not appear within {wish.stall_s:g} s")

    async def _record(self, node: Node) -> None:
        wish = self._wish
        first_us: int | None = None
        segment_us = 0
        stream = self._gateway.subscribe(
            node.id, RLC_OID, rlc.event_trigger(PERIOD_MS), queue_depth=QUEUE_DEPTH
        )
        async with aclosing(stream):
            while True:
                try:
                    async with asyncio.timeout(wish.stall_s):
                        indication = await anext(stream)
                except TimeoutError:
                    raise TrainError(
                        f"{node.id} sent no RLC report for {wish.stall_s:g} s;"
                        f" {len(self.written)} runs were written before"
                    ) from None
                self.missed += indication.missed
                at_us = indication.collected_at_us
                if first_us is None:
                    first_us = segment_us = at_us
                    began = datetime.fromtimestamp(at_us / 1e6, UTC)
                    self._name = began.strftime("%Y%m%dT%H%M%SZ")
                if at_us - segment_us >= wish.segment_s * 1e6:
                    await self._write()
                    segment_us = at_us
                if at_us - first_us >= wish.duration_s * 1e6:
                    return
                self._take_in(RLC_OID, indication.message, at_us)

    async def _beside(self, node: Node, oid: str, trigger: bytes, actions: list[bytes]) -> None:
        """Reports that a recording can do without."""
        try:
            stream = self._gateway.subscribe(
                node.id, oid, trigger, actions, queue_depth=QUEUE_DEPTH
            )
            async with aclosing(stream):
                async for indication in stream:
                    self._take_in(oid, indication.message, indication.collected_at_us)
        except (SubscriptionRefused, RanFunctionUnknown) as error:
            _log.warning("recorded without these reports", node=node.id, oid=oid, error=str(error))

    def _take_in(self, oid: str, message: bytes, at_us: int) -> None:
        try:
            self.recorder.on_indication(oid, message, at_us)
        except ServiceModelError as error:
            self.bad_messages += 1
            _log.warning("report refused", node=self._node, oid=oid, error=str(error))

    async def _write(self) -> None:
        table = self.recorder.take()
        if table is None:
            return
        wish = self._wish
        run = f"{self._name}-{len(self.written):04}"
        written = await asyncio.to_thread(
            _write_run,
            wish.root,
            table,
            {
                "cell": wish.cell or partition_name(self._node),
                "mobility": wish.mobility,
                "run": run,
                "source": "e2",
                "producer": wish.producer,
                "node_id": self._node,
            },
        )
        self.written.append(written)
        self._tell(written, table.num_rows)


def partition_name(text: str) -> str:
    """A text as a partition's value: what no directory should have in its name becomes `-`."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", text)[:64] or "unknown"


def _write_run(root: Path, table: pa.Table, provenance: dict[str, object]) -> Provenance:
    return write_run(root, table, provenance, allow_gaps=True)


def _beside_rlc(node: Node) -> list[tuple[str, bytes, list[bytes]]]:
    wanted: list[tuple[str, bytes, list[bytes]]] = []
    if node.ran_function(MAC_OID) is not None:
        wanted.append((MAC_OID, mac.event_trigger(PERIOD_MS), []))
    if node.ran_function(TC_V1_OID) is not None:
        if tc.available():
            wanted.append((TC_V1_OID, status_trigger(PERIOD_MS), [status_action()]))
        else:
            _log.warning("recorded without queue limits: e2sm_tc is not installed", node=node.id)
    return wanted
