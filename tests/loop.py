"""gNB, controller and forecaster on loopback, for tests that kill them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import e2sm_tc
import yaml
from ric import E2GatewayClient
from ric.settings import GatewaySettings
from ric.sm import TC_V1_OID
from sojourn_demo.programs import Program, Programs

ROOT = Path(__file__).parent.parent
ANY_PORT = "127.0.0.1:0"
RNTI = 17
PATIENCE_S = 30.0

SCENARIO = {
    "name": "one bearer",
    "duration_s": 600,
    "cell": {"rat": "nr", "n_prb": 106, "scs_khz": 30, "tdd": {"pattern": "DDDDDDDMUU"}},
    "ues": [{"rnti": RNTI, "channel": {"fixed_mcs": 10}, "drbs": [{"id": 1}]}],
    "flows": [
        {"name": "bulk", "kind": "tcp"},
        {"name": "ping", "kind": "ping", "interval_ms": 100},
    ],
}


def policy(lease_ms: int = 1_000, place: str = "ladder") -> str:
    """A policy file for all bearers with `fq_codel` as ladder or base."""
    rule = {"name": "all", "enforce": {"lease_ms": lease_ms}, place: [{"template": "fq_codel"}]}
    return yaml.safe_dump({"version": 1, "rules": [rule]})


class Loop:
    """The programs of a closed loop."""

    def __init__(self, folder: Path, programs: Programs, policy_text: str) -> None:
        self.folder = folder
        self._start = programs.start
        (folder / "scenario.yaml").write_text(yaml.safe_dump(SCENARIO))
        (folder / "policy.yaml").write_text(policy_text)

    async def gnb(self, *arguments: str, listen: str = ANY_PORT) -> Program:
        scenario = str(self.folder / "scenario.yaml")
        return await self._start("gnb-lab", "serve", scenario, "--listen", listen, *arguments)

    async def controller(self, gateway: str, name: str = "controller") -> Program:
        return await self._start(
            *("tc-controller", "--gateway", gateway, "--metrics-listen", ANY_PORT),
            *("--policy", str(self.folder / "policy.yaml")),
            *("--state", str(self.folder / f"{name}-state.json")),
            *("--decision-log", str(self.folder / f"{name}-decisions.jsonl")),
            *("--gateway-backoff-max-s", "0.5"),
        )

    async def forecaster(self, gateway: str, listen: str = ANY_PORT, *arguments: str) -> Program:
        return await self._start(
            *("rlc-forecaster", "--gateway", gateway, "--metrics-listen", ANY_PORT),
            *("--listen", listen, "--gateway-backoff-max-s", "0.5"),
            *arguments,
        )


@asynccontextmanager
async def loop_in(
    folder: Path, lease_ms: int = 1_000, place: str = "ladder"
) -> AsyncIterator[Loop]:
    """A loop whose programs are stopped afterwards."""
    async with Programs(folder) as programs:
        yield Loop(folder, programs, policy(lease_ms, place))


async def pipeline_status(gateway: str, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The first status of the bearer's pipeline for which `wanted` holds."""
    trigger = e2sm_tc.encode("event-trigger", {"periodic": {"period_ms": 10}})
    action = e2sm_tc.encode(
        "action-definition", {"style": "pipeline_status", "bearers": [], "top_flows": 1}
    )
    async with (
        asyncio.timeout(PATIENCE_S),
        E2GatewayClient(GatewaySettings(address=gateway, backoff_max_s=0.5)) as client,
    ):
        events = client.watch_nodes()
        node = (await anext(events)).node.id
        stream = client.subscribe(node, TC_V1_OID, trigger, [action])
        async with aclosing(stream) as indications:
            async for indication in indications:
                message = e2sm_tc.decode("indication", indication.message)
                (status,) = message["pipeline_status"]
                if wanted(status):
                    found: dict[str, Any] = status
                    return found
    raise AssertionError("the stream ended")


def controlled(status: dict[str, Any]) -> bool:
    """Whether the controller's pipeline is in force."""
    return bool(status["name"] == "fq_codel")


def safe(status: dict[str, Any]) -> bool:
    """Whether the safe pipeline is in force."""
    return bool(status["safe"])
