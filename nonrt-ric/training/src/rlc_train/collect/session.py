"""Records one node of an E2 gateway; the I/O around the recorder."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

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
"""Indications queued at the gateway while a segment is written: four seconds."""


@dataclass(frozen=True, slots=True)
class RecordingOptions:
    """Options of a recording.

    Attributes:
        root: Directory of the data set.
        cell: Partition; the node's id if empty.
        mobility: Partition.
        node_id: The node; the first with RLC reports if empty.
        duration_s: Duration by the node's clock.
        segment_s: Duration of a run; a crash loses at most one.
        stall_s: Time without an RLC report after which the recording fails.
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
    """One recording; `written` has the runs on disk."""

    def __init__(
        self,
        gateway: E2Gateway,
        options: RecordingOptions,
        on_written: Callable[[Provenance, int], None],
    ) -> None:
        """`on_written` is called with each run on disk and its number of rows."""
        self.recorder = Recorder()
        self.written: list[Provenance] = []
        self.bad_messages = 0
        self.missed = 0
        self._gateway = gateway
        self._options = options
        self._on_written = on_written
        self._name = ""
        self._node = ""

    async def run(self) -> None:
        """Records until the end or cancellation, and writes the last run.

        Raises:
            TrainError: There is no node, or its reports stopped.
            DatasetError: A run cannot be written.
            SubscriptionRefused: The node refuses RLC reports.
        """
        node = await self._find()
        self._node = node.id
        optional = [
            asyncio.create_task(self._record_optional(node, oid, trigger, actions))
            for oid, trigger, actions in _optional_subscriptions(node)
        ]
        try:
            await self._record(node)
        finally:
            for task in optional:
                task.cancel()
            await asyncio.gather(*optional, return_exceptions=True)
            await asyncio.shield(self._write())

    async def _find(self) -> Node:
        options = self._options
        try:
            async with asyncio.timeout(options.stall_s):
                async with aclosing(self._gateway.watch_nodes()) as events:
                    async for event in events:
                        node = event.node
                        if node.ran_function(RLC_OID) is None:
                            continue
                        if options.node_id in ("", node.id):
                            return node
        except TimeoutError:
            pass
        who = options.node_id or "a node with RLC reports"
        raise TrainError(f"{who} did not appear within {options.stall_s:g} s")

    async def _record(self, node: Node) -> None:
        options = self._options
        first_us: int | None = None
        segment_us = 0
        stream = self._gateway.subscribe(
            node.id, RLC_OID, rlc.event_trigger(PERIOD_MS), queue_depth=QUEUE_DEPTH
        )
        async with aclosing(stream):
            while True:
                try:
                    async with asyncio.timeout(options.stall_s):
                        indication = await anext(stream)
                except TimeoutError:
                    raise TrainError(
                        f"{node.id} sent no RLC report for {options.stall_s:g} s;"
                        f" {len(self.written)} runs were written before"
                    ) from None
                self.missed += indication.missed
                at_us = indication.collected_at_us
                if first_us is None:
                    first_us = segment_us = at_us
                    began = datetime.fromtimestamp(at_us / 1e6, UTC)
                    self._name = began.strftime("%Y%m%dT%H%M%SZ")
                if at_us - segment_us >= options.segment_s * 1e6:
                    await self._write()
                    segment_us = at_us
                if at_us - first_us >= options.duration_s * 1e6:
                    return
                self._on_indication(RLC_OID, indication.message, at_us)

    async def _record_optional(
        self, node: Node, oid: str, trigger: bytes, actions: list[bytes]
    ) -> None:
        """Records MAC reports or TC status; a refusal is logged."""
        try:
            stream = self._gateway.subscribe(
                node.id, oid, trigger, actions, queue_depth=QUEUE_DEPTH
            )
            async with aclosing(stream):
                async for indication in stream:
                    self._on_indication(oid, indication.message, indication.collected_at_us)
        except (SubscriptionRefused, RanFunctionUnknown) as error:
            _log.warning(
                "subscription refused, recording without it",
                node=node.id,
                oid=oid,
                error=str(error),
            )

    def _on_indication(self, oid: str, message: bytes, at_us: int) -> None:
        try:
            self.recorder.on_indication(oid, message, at_us)
        except ServiceModelError as error:
            self.bad_messages += 1
            _log.warning("report refused", node=self._node, oid=oid, error=str(error))

    async def _write(self) -> None:
        table = self.recorder.take()
        if table is None:
            return
        options = self._options
        run = f"{self._name}-{len(self.written):04}"
        written = await asyncio.to_thread(
            write_run,
            options.root,
            table,
            {
                "cell": options.cell or partition_name(self._node),
                "mobility": options.mobility,
                "run": run,
                "source": "e2",
                "producer": options.producer,
                "node_id": self._node,
            },
            allow_gaps=True,
        )
        self.written.append(written)
        self._on_written(written, table.num_rows)


def partition_name(text: str) -> str:
    """The text as a partition value; characters unsuited for a directory name become `-`."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", text)[:64] or "unknown"


def _optional_subscriptions(node: Node) -> list[tuple[str, bytes, list[bytes]]]:
    wanted: list[tuple[str, bytes, list[bytes]]] = []
    if node.ran_function(MAC_OID) is not None:
        wanted.append((MAC_OID, mac.event_trigger(PERIOD_MS), []))
    if node.ran_function(TC_V1_OID) is not None:
        if tc.available():
            wanted.append((TC_V1_OID, status_trigger(PERIOD_MS), [status_action()]))
        else:
            _log.warning("recording without queue limits: e2sm_tc is not installed", node=node.id)
    return wanted
