"""Running something for every node that offers a RAN function, as nodes come and go."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from ric.e2 import E2Gateway, Node, NodeEventKind

_log = structlog.get_logger()


async def for_each_node(
    gateway: E2Gateway, oid: str, run: Callable[[Node], Awaitable[None]]
) -> None:
    """Run `run(node)` for each node with the RAN function `oid`, for ever.

    A node that leaves, or loses the RAN function, has its run cancelled; one that comes back has a
    new one, which begins when the cancelled one has ended. A change of its other RAN functions does
    not disturb a run. An exception of a run is raised here and ends the others.
    """
    running: dict[str, asyncio.Task[None]] = {}

    async def guarded(node: Node, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            try:
                await asyncio.wait([before])
            finally:
                # Whoever waits for this one waits for that one, too.
                await asyncio.wait([before])
        await run(node)

    async with asyncio.TaskGroup() as tasks:
        async for event in gateway.watch_nodes():
            node = event.node
            offered = (
                event.kind is not NodeEventKind.DISCONNECTED and node.ran_function(oid) is not None
            )
            task = running.get(node.id)
            if offered and (task is None or task.done() or task.cancelling()):
                name = f"node {node.id}"
                running[node.id] = tasks.create_task(guarded(node, task), name=name)
            elif not offered and task is not None:
                task.cancel()
