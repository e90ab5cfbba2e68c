"""Transactions in an OpenAirInterface gNB through a near-RT RIC: E2SM-TC v1 beside v0.

    OAI_BUILD=… FLEXRIC_BUILD=… python benchmarks/oai_transactions.py --out out/bench

The pipeline of `policies/flexric.yaml`, one control of v1, ten of v0, which the bridge makes of the
same request. Radio and UE are idle. Times are from request to answer at the client. More than nine
rounds of v0 exceed what the bridge sends at once (`controls.burst`).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from measuring import percentiles, write
from ric import E2GatewayClient
from ric.settings import GatewaySettings
from ric.sm import TC_V1_OID
from sojourn_demo.oai.loop import Loop
from sojourn_demo.oai.network import enter
from sojourn_demo.programs import Programs
from tc_messages import FLEXRIC_PIPELINE, HEADER, bearer_of, transaction

INSIDE = "SOJOURN_BENCH_INSIDE"
PATIENCE_S = 60.0


async def measure(rounds: int, *, tc_v1: bool) -> list[int]:
    """Durations of the transactions, µs."""
    took_us: list[int] = []
    with (
        tempfile.TemporaryDirectory(prefix="sojourn-") as scratch,
        tempfile.TemporaryDirectory() as out,
    ):
        async with Programs(Path(out)) as programs:
            loop = await Loop.start(programs, Path(scratch), Path(out), tc_v1=tc_v1)
            named = bearer_of(loop.cell.status())
            settings = GatewaySettings(address=loop.gateway, control_timeout_s=PATIENCE_S)
            async with E2GatewayClient(settings) as client:
                node = await _node(client)
                for at in range(rounds + 1):
                    for change in ({"replace": FLEXRIC_PIPELINE}, "safe"):
                        message = transaction(named, change)
                        answer = await client.control(node, TC_V1_OID, HEADER, message)
                        if not answer.acknowledged:
                            raise SystemExit(f"refused: {answer.detail}")
                        # The first finds caches cold.
                        if at and change != "safe":
                            took_us.append(answer.answered_at_us - answer.sent_at_us)
    return took_us


async def _node(client: E2GatewayClient) -> str:
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            async for event in client.watch_nodes():
                if event.node.ran_function(TC_V1_OID) is not None:
                    return event.node.id
    raise SystemExit("no gNB with traffic control")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if INSIDE not in os.environ:
        os.environ[INSIDE] = "1"
        enter((sys.executable, *sys.argv))
    result: dict[str, Any] = {"rounds": arguments.rounds}
    for name in ("v1", "v0"):
        took_us = asyncio.run(measure(arguments.rounds, tc_v1=name == "v1"))
        p50, p99 = percentiles(took_us)
        result[name] = {"p50_us": p50, "p99_us": p99, "least_us": min(took_us)}
        print(name, result[name], flush=True)
    write(arguments.out, "oai_transactions.json", result)


if __name__ == "__main__":
    main()
