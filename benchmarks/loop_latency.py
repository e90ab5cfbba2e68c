"""Latency and saturation of the loop: RLC reports every 1 ms for 1, 32, 256 and 1000 bearers.

Starts `gnb-lab serve` for each size, reads its RLC indications as an xApp does while sending TC
controls, and prints the latencies. Times are those of one machine.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import e2sm_tc
import numpy as np
import yaml
from measuring import percentiles, write
from ric import E2GatewayClient
from ric.settings import GatewaySettings
from ric.sm import TC_V1_OID, rlc
from sojourn_demo.programs import Programs

SIZES = (1, 32, 256, 1000)
CONTROL_PERIOD_S = 0.05


@dataclass(frozen=True, slots=True)
class Row:
    """Results of one size."""

    bearers: int
    message_bytes: int
    indications: int
    missed: int
    latency_p50_us: float
    latency_p99_us: float
    late_share: float
    control_p50_us: float
    control_p99_us: float


def scenario(bearers: int) -> str:
    """The default cell with a VoIP flow per bearer."""
    return yaml.safe_dump(
        {
            "name": f"{bearers} bearers",
            "duration_s": 3600,
            "cell": {"rat": "nr", "n_prb": 106, "scs_khz": 30, "tdd": {"pattern": "DDDDDDDMUU"}},
            "ues": [
                {"rnti": 1, "count": bearers, "channel": {"fixed_mcs": 10}, "drbs": [{"id": 1}]}
            ],
            "flows": [{"name": "voip", "kind": "voip", "rnti": "each"}],
        }
    )


@asynccontextmanager
async def serving(bearers: int) -> AsyncIterator[str]:
    """`gnb-lab serve` on a free port; its address."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scenario.yaml"
        path.write_text(scenario(bearers))
        async with Programs(Path(folder)) as programs:
            gnb = await programs.start("gnb-lab", "serve", str(path), "--listen", "127.0.0.1:0")
            yield gnb.ready["listen"]


async def control_forever(client: E2GatewayClient, node: str, times_us: list[float]) -> None:
    """Sends dry-run transactions one after the other."""
    header = e2sm_tc.encode("control-header", {"style": 1, "correlation_id": 0})
    message = e2sm_tc.encode(
        "control",
        {
            "transaction": {
                "bearer": {"ue": {"rnti": 1}, "drb": 1},
                "expected_revision": None,
                "lease_ms": None,
                "dry_run": True,
                "change": "safe",
            }
        },
    )
    while True:
        answer = await client.control(node, TC_V1_OID, header, message)
        times_us.append(answer.answered_at_us - answer.sent_at_us)
        await asyncio.sleep(CONTROL_PERIOD_S)


async def measure(bearers: int, seconds: float) -> Row:
    """Measures one size."""
    async with (
        serving(bearers) as address,
        E2GatewayClient(GatewaySettings(address=address)) as client,
    ):
        events = client.watch_nodes()
        node = (await anext(events)).node.id
        control_us: list[float] = []
        controls = asyncio.create_task(control_forever(client, node, control_us))
        latency_us: list[int] = []
        missed = size = 0
        loop = asyncio.get_running_loop()
        async with aclosing(client.subscribe(node, rlc.OID, rlc.event_trigger(1))) as stream:
            warm = loop.time() + 1
            until = warm + seconds
            async for indication in stream:
                table = rlc.decode(indication.message)
                # One pass over a column, as in every xApp.
                table.records["txsdu_wt_us"].max(initial=0)
                if loop.time() < warm:
                    continue
                latency_us.append(indication.handled_at_us - indication.collected_at_us)
                missed += indication.missed
                size = len(indication.message)
                if loop.time() > until:
                    break
        controls.cancel()
    return Row(
        bearers,
        size,
        len(latency_us),
        missed,
        *percentiles(latency_us),
        float(np.mean(np.array(latency_us) > 1_000)),
        *percentiles(control_us),
    )


def show(rows: list[Row]) -> None:
    """Prints the table."""
    print(
        f"{'bearers':>8} {'bytes':>8} {'reports':>8} {'missed':>7} {'p50 µs':>8} {'p99 µs':>9}"
        f" {'> 1 ms':>7} {'control p50 µs':>15} {'p99 µs':>8}"
    )
    for r in rows:
        print(
            f"{r.bearers:>8} {r.message_bytes:>8} {r.indications:>8} {r.missed:>7}"
            f" {r.latency_p50_us:>8.0f} {r.latency_p99_us:>9.0f} {r.late_share:>7.1%}"
            f" {r.control_p50_us:>15.0f} {r.control_p99_us:>8.0f}"
        )
    sustained = [r.bearers for r in rows if r.missed == 0 and r.latency_p50_us < 1_000]
    print(
        f"keeps up at 1 ms with {max(sustained)} bearers"
        if sustained
        else "does not keep up at 1 ms with any of these sizes"
    )


def main() -> int:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0, help="duration per size")
    parser.add_argument("--bearers", type=int, nargs="+", default=SIZES)
    parser.add_argument("--out", type=Path, help="folder for loop_latency.json")
    arguments = parser.parse_args()
    rows = [asyncio.run(measure(n, arguments.seconds)) for n in arguments.bearers]
    show(rows)
    write(arguments.out, "loop_latency.json", [asdict(row) for row in rows])
    return 0


if __name__ == "__main__":
    sys.exit(main())
