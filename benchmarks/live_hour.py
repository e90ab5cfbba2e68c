"""An hour of `gnb-lab live`: is every packet accounted for, and does memory stay flat?

Kernel TCP and UDP run at two UEs through a split gNB. Every second a client of the E2 gateway
replaces a pipeline by another template, and faults lose, duplicate, corrupt, reorder and delay
packets before and behind the gNB. Memory, threads and descriptors are sampled every ten seconds. At
the end `live_hour.json` has the account, the traffic and the slope of each quantity with its
interval. The exit status is 0 if no packet is unaccounted for, no payload is wrong and all is flat;
1 if not; 3 if the run was too short to tell whether all is flat; 2 if it could not run. Needs a TUN
device and root, or unprivileged user namespaces. The first sixth counts as warm-up: the gNB keeps
up to 32,768 delays of each flow.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final

import e2sm_tc
import yaml
from clients import HEADER, transaction
from kernel_traffic import missing_devices
from measuring import counted, write
from ric import E2GatewayClient
from ric.errors import RicError
from ric.settings import GatewaySettings
from ric.sm import TC_V1_OID
from sojourn_demo import DemoError
from sojourn_demo.programs import Program, Programs, free_address
from trends import STATUS, Sample, add_arguments, overall, show, sizes, trends

RNTIS: Final = (17921, 17922)
TRAFFIC: Final = Path(__file__).parent / "live_traffic.py"
FAULTS: Final = (
    "server-in:loss=0.002,duplicate=0.002,corrupt=0.002,reorder=0.002,reorder_ms=4",
    "ue-in:burst_start=0.0005,burst_end=0.2,delay_ms=3,duplicate=0.002,corrupt=0.002",
    "ue-out:loss=0.001,corrupt=0.001,outage_at_s=7,outage_s=0.2,outage_every_s=31",
    "server-out:loss=0.001,reorder=0.002,reorder_ms=6",
)
SCENARIO: Final[dict[str, Any]] = {
    "name": "an hour between kernels",
    "duration_s": 86_400,
    "seed": 4,
    "cell": {"rat": "nr", "n_prb": 106, "scs_khz": 30, "tdd": {"pattern": "DDDDDDDMUU"}},
    "split": {
        "core_delay_us": 5_000,
        "f1_delay_us": 1_000,
        "f1": {"jitter_us": 300, "loss": 0.001},
    },
    "ues": [
        {"rnti": RNTIS[0], "channel": {"fixed_mcs": 20}, "drbs": [{"id": 1}]},
        {
            "rnti": RNTIS[1],
            "channel": {"cqi_series": {"period_ms": 700, "values": [12, 7, 10, 4]}},
            "drbs": [{"id": 1, "rlc": {"mode": "am", "limit_bytes": 400_000}}],
        },
    ],
    "flows": [{"name": "any", "kind": "host", "rnti": "each"}],
}
CONTROL_EVERY_S: Final = 1.0


@dataclass(slots=True)
class Controls:
    """Transactions of the client."""

    acknowledged: int = 0
    refused: list[str] = field(default_factory=list)


async def reconfigure(gateway: str, controls: Controls) -> None:
    """Replaces the pipeline of one bearer after the other, by one template after the other."""
    async with E2GatewayClient(GatewaySettings(address=gateway)) as client:
        node = (await anext(client.watch_nodes())).node.id
        for number in count():
            template = e2sm_tc.TEMPLATES[number % len(e2sm_tc.TEMPLATES)]
            bearer = {"ue": {"rnti": RNTIS[number % len(RNTIS)]}, "drb": 1}
            message = transaction(bearer, {"replace": e2sm_tc.pipeline(template)})
            answer = await client.control(node, TC_V1_OID, HEADER, message)
            if answer.acknowledged:
                controls.acknowledged += 1
            else:
                controls.refused.append(f"{template}: {answer.detail}")
            await asyncio.sleep(CONTROL_EVERY_S)


def accepts(address: str) -> bool:
    """Whether somebody listens at an address."""
    host, _, port = address.rpartition(":")
    with suppress(OSError), socket.create_connection((host, int(port)), timeout=1.0):
        return True
    return False


def sample(program: Program, at_s: float) -> list[Sample]:
    """Memory, threads and descriptors of a program now."""
    return [
        Sample(0, round(at_s, 3), program.name, name, value)
        for name, value in sizes(program).items()
    ]


@dataclass(slots=True)
class Run:
    """What a run measured."""

    samples: list[Sample]
    controls: Controls
    metrics: str
    summary: dict[str, Any]
    traffic: dict[str, Any]


class Files:
    """The folder of a run."""

    def __init__(self, out: Path) -> None:
        """Makes it, without results of an earlier run."""
        out.mkdir(parents=True, exist_ok=True)
        self.out = out
        self.scenario, self._summary = out / "scenario.yaml", out / "summary.json"
        self._traffic = {rnti: out.resolve() / f"traffic-{rnti}.json" for rnti in RNTIS}
        self.scenario.write_text(yaml.safe_dump(SCENARIO))
        for stale in (self._summary, *self._traffic.values()):
            stale.unlink(missing_ok=True)

    def command(self, seconds: float, gateway: str, metrics: str) -> list[str | Path]:
        """The command line of `gnb-lab live` with its addresses."""
        python = f"{sys.executable} {TRAFFIC}"
        use = [f"{python} use {seconds:g} {path}" for path in self._traffic.values()]
        return [
            *(Path(sys.executable).parent / "gnb-lab", "live", self.scenario),
            *("--listen", gateway, "--metrics-listen", metrics, "--summary", self._summary),
            *(word for fault in FAULTS for word in ("--fault", fault)),
            *("--server", f"exec {python} serve", "--ue", f"{RNTIS[1]}=exec {use[1]}"),
            # The other UE may write its result somewhat later than this one.
            *("--log-level", "warn", "--", "sh", "-c", f"{use[0]}; sleep 3"),
        ]

    def results(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The summary of `gnb-lab live`, and the traffic of each UE."""
        traffic = {str(rnti): json.loads(path.read_text()) for rnti, path in self._traffic.items()}
        return json.loads(self._summary.read_text()), traffic


async def run(files: Files, seconds: float, every_s: float) -> Run:
    """Runs it for a time; raises `DemoError` if a program ends before."""
    gateway, metrics = free_address(), free_address()
    found, controls, text = list[Sample](), Controls(), ""
    async with Programs(files.out) as programs:
        live = programs.spawn(files.command(seconds, gateway, metrics), has_ready_line=False)
        live.ready = {"listen": gateway, "metrics": metrics}
        await programs.wait_until(live, lambda: accepts(gateway) and accepts(metrics))
        client = asyncio.create_task(reconfigure(gateway, controls))
        began_s = time.monotonic()
        while live.alive:
            if client.done() and time.monotonic() - began_s < seconds:
                raise DemoError(f"the client of the gateway ended: {client.exception()}")
            await asyncio.sleep(every_s)
            with suppress(OSError):  # it has ended meanwhile
                text = await asyncio.to_thread(live.metrics)
                found += sample(live, time.monotonic() - began_s)
                show_progress(found, seconds)
        at_s = time.monotonic() - began_s
        client.cancel()
        # A client whose server has ended says so.
        with suppress(asyncio.CancelledError, RicError):
            await client
        programs.started.remove(live)
        if live.process.returncode != 0 or at_s < seconds:
            raise live.ended()
    return Run(found, controls, text, *files.results())


def show_progress(found: Sequence[Sample], seconds: float) -> None:
    """The newest sample on standard error."""
    memory = [each for each in found if each.quantity == "memory_mib"][-1]
    print(f"{memory.at_s:.0f}/{seconds:.0f} s: {memory.value:.1f} MiB", file=sys.stderr, flush=True)


def problems(run: Run) -> list[str]:
    """What must not be, each as a sentence."""
    account, found = run.summary["live"]["packets"], list[str]()
    found += [
        f"{way}: {lost} packets are unaccounted for"
        for way in ("downlink", "uplink")
        if (lost := account[way]["unaccounted_packets"])
    ]
    if not run.controls.acknowledged:
        found.append("no pipeline was replaced")
    found += [f"a transaction was refused: {refusal}" for refusal in run.controls.refused]
    for rnti, traffic in run.traffic.items():
        found += [
            f"UE {rnti}: {name} is {traffic[name]}; expected 0"
            for name in ("tcp_wrong_blocks", "udp_wrong")
            if traffic[name]
        ]
        found += [
            f"UE {rnti}: {name} is 0"
            for name in ("tcp_down_bytes", "tcp_up_bytes", "udp_answers")
            if not traffic[name]
        ]
    if not counted(run.metrics, "sojourn_live_slots_total"):
        found.append("sojourn_live_slots_total is 0 or absent")
    return found


def conclude(out: Path, run: Run, warm_s: float) -> int:
    """Writes `live_hour.json`, prints account and slopes; returns the exit status."""
    found = trends(run.samples, warm_s)
    wrong, verdict = problems(run), overall(found)
    live = run.summary["live"]
    result = {
        "problems": wrong,
        "verdict": verdict,
        "seconds": run.summary["duration_s"],
        "warm_s": warm_s,
        "transactions": run.controls.acknowledged,
        "packets": live["packets"],
        "capture_points": live["capture_points"],
        "lateness": live["lateness"],
        "traffic": run.traffic,
        "trends": [each.as_json() for each in found],
    }
    write(out, "live_hour.json", result)
    show(found)
    for way in ("downlink", "uplink"):
        account = ", ".join(f"{name} {value}" for name, value in live["packets"][way].items())
        print(f"{way}: {account}")
    lateness = {name: value for name, value in live["lateness"].items() if "slot" in name}
    print(f"{run.controls.acknowledged} pipelines replaced; {lateness}; memory: {verdict}")
    for problem in wrong:
        print(f"live_hour: {problem}", file=sys.stderr)
    return 1 if wrong else STATUS[verdict]


def main() -> int:
    """Runs, concludes."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser, 3600.0, "out/live-hour")
    given = parser.parse_args()
    if lacks := missing_devices():
        print(f"live_hour: cannot run here: {lacks}", file=sys.stderr)
        return 2
    warm_s = given.seconds / 6 if given.warm_s is None else given.warm_s
    try:
        done = asyncio.run(run(Files(given.out), given.seconds, given.every_s))
    except DemoError as error:
        print(f"live_hour: {error}", file=sys.stderr)
        return 1
    return conclude(given.out, done, warm_s)


if __name__ == "__main__":
    sys.exit(main())
