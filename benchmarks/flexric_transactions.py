"""A transaction through a real near-RT RIC, to a node with E2SM-TC v1 and to one with v0 alone.

    PYTHONPATH=tests:tests/flexric python benchmarks/flexric_transactions.py --out out/bench

Two chains of RIC, node, bridge and client run at once, and their transactions alternate, so that
both meet the same machine: `fq_codel` with eight queues, round robin and 5G-BDP, the pipeline of
`policies/flexric.yaml`. v1 sends one control, the bridge translates it to ten of v0. Needs FlexRIC
(FLEXRIC_SRC, FLEXRIC_BUILD; SCTP or its substitute), `make flexric-bridge flexric-sm flexric-node`.
Times are from request to answer at the client.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import Any

import yaml
from flexric_processes import LAB, TC_V1_MODEL, Network, make_site, missing_sctp
from loop import SCENARIO
from measuring import percentiles, write
from programs import start_bridge
from ric import E2GatewayClient
from ric.settings import GatewaySettings
from ric.sm import RLC_OID, TC_V1_OID, rlc
from tc_messages import FLEXRIC_PIPELINE, HEADER, transaction

PATIENCE_S = 60.0


class Chain:
    """A near-RT RIC, a node, a bridge and a client."""

    def __init__(self, stack: AsyncExitStack, folder: Path, number: int, *, tc_v1: bool) -> None:
        self.site = make_site(folder / str(number), number, tc_v1=tc_v1)
        network = Network(self.site)
        stack.callback(network.stop)
        scenario = self.site.directory / "scenario.yaml"
        scenario.write_text(yaml.safe_dump({**SCENARIO, "duration_s": 36_000}))
        network.add_lab(1, scenario)
        bridge = start_bridge(self.site, "--controls-per-s", "1000", "--controls-burst", "2000")
        stack.callback(bridge.kill)
        (self.node,) = network.agents
        self.gateway: str = bridge.ready["listen"]
        self.took_us: list[int] = []

    async def connect(self, stack: AsyncExitStack) -> None:
        """The client, with RLC reports each millisecond as the controller has them."""
        settings = GatewaySettings(address=self.gateway, control_timeout_s=PATIENCE_S)
        self.client = await stack.enter_async_context(E2GatewayClient(settings))
        await self.client.wait_for_node(self.node)
        first: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        reading = asyncio.create_task(self._read(first))
        stack.callback(reading.cancel)
        rows = rlc.decode(await asyncio.wait_for(first, PATIENCE_S)).records
        self.bearer = {"ue": {"rnti": int(rows["rnti"][0])}, "drb": int(rows["rbid"][0])}

    async def _read(self, first: asyncio.Future[bytes]) -> None:
        reports = self.client.subscribe(self.node, RLC_OID, rlc.event_trigger(1))
        async with aclosing(reports) as indications:
            async for indication in indications:
                if not first.done():
                    first.set_result(indication.message)

    async def change(self, change: Any) -> int:
        """One transaction; returns its duration, µs."""
        answer = await self.client.control(
            self.node, TC_V1_OID, HEADER, transaction(self.bearer, change)
        )
        if not answer.acknowledged:
            raise SystemExit(f"refused: {answer.detail}")
        return answer.answered_at_us - answer.sent_at_us


async def run(rounds: int) -> dict[str, Any]:
    """Alternating transactions; the duration of those that install the pipeline."""
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncExitStack() as stack:
            chains = {
                name: Chain(stack, Path(folder), number, tc_v1=name == "v1")
                for number, name in enumerate(("v0", "v1"))
            }
            for chain in chains.values():
                await chain.connect(stack)
            for at in range(rounds + 1):
                for chain in chains.values():
                    took_us = await chain.change({"replace": FLEXRIC_PIPELINE})
                    await chain.change("safe")
                    if at:  # the first finds caches cold
                        chain.took_us.append(took_us)
    result: dict[str, Any] = {"rounds": rounds}
    for name, chain in chains.items():
        p50, p99 = percentiles(chain.took_us)
        result[name] = {"p50_us": p50, "p99_us": p99, "least_us": min(chain.took_us)}
    return result


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    for needed in (LAB, TC_V1_MODEL):
        if not needed.is_file():
            raise SystemExit(f"there is no {needed}: make flexric-node flexric-sm")
    if why := missing_sctp():
        raise SystemExit(why)
    result = asyncio.run(run(arguments.rounds))
    for name in ("v0", "v1"):
        times = result[name]
        sys.stdout.write(
            f"{name}: p50 {times['p50_us'] / 1000:.2f} ms, p99 {times['p99_us'] / 1000:.2f} ms,"
            f" least {times['least_us'] / 1000:.2f} ms\n"
        )
    write(arguments.out, "flexric_transactions.json", result)


if __name__ == "__main__":
    main()
