"""The controller as a whole against the SDK's fake RIC, with the node of `tc_world` behind it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry
from ric.e2 import ControlAnswer
from ric.lifecycle import XApp
from ric.settings import HttpSettings
from ric.sm import MAC_OID, RLC_OID, TC_V1_OID, tc
from ric.testing import FakeNode, FakeRic, on_virtual_time
from ric.testing.virtual_time import EPOCH_US
from tc_controller.app import ControllerApp
from tc_controller.settings import ControllerSettings, DecisionLogSettings
from tc_world import DRB, NODE, RNTI, NodeModel, bulk, ping

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

POLICY = "version: 1\nrules: [{name: r, ladder: [{template: fq_codel}]}]\n"


class Lab:
    """A fake RIC with one modelled node, and a controller that may be restarted."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.ric = FakeRic()
        self.model = NodeModel(bulk(), ping(), start_us=EPOCH_US)
        self.fake: FakeNode | None = None
        self.running: asyncio.Task[None] | None = None
        self.app: ControllerApp | None = None
        self.xapp: XApp[ControllerSettings] | None = None
        self.registry = CollectorRegistry()
        self.provider: TracerProvider | None = None
        """OpenTelemetry provider; traces nothing if ``None``."""
        self.off_loop = 0
        """Number of calls to run off the loop."""
        self.write_policy(POLICY)

    # ---------------------------------------------------------------------- node

    def add_node(self, *oids: str) -> None:
        self.fake = self.ric.add_node(NODE, *(oids or (RLC_OID, MAC_OID, TC_V1_OID)))
        self.fake.on_control(TC_V1_OID, self._control)
        self.fake.report_every(RLC_OID, 1_000, self._rlc)
        if not oids or TC_V1_OID in oids:
            self.fake.report_every(TC_V1_OID, 10_000, self._status)
            self.fake.report_every(TC_V1_OID, 50_000, self._flows)
        if not oids or MAC_OID in oids:
            self.fake.report_every(MAC_OID, 10_000, self._mac)

    def restart_node(self) -> None:
        self.ric.remove_node(NODE)
        self.model.reset()
        self.add_node()

    def _rlc(self, now_us: int) -> bytes:
        self.model.now_us = now_us - 1_000
        self.model.advance()
        return self.model.rlc_message()

    def _mac(self, _now_us: int) -> bytes:
        return self.model.mac_message()

    def _status(self, now_us: int) -> bytes:
        return tc.encode("indication", {"pipeline_status": [self.model.status()]})

    def _flows(self, now_us: int) -> bytes:
        return tc.encode("indication", {"flow_inventory": [self.model.inventory()]})

    def _control(self, header: bytes, message: bytes) -> ControlAnswer:
        tc.decode("control-header", header)
        outcome = self.model.tc.control(tc.decode("control", message), self.model.now_us)
        return ControlAnswer("accepted" in outcome, tc.encode("control-outcome", outcome))

    # ---------------------------------------------------------------- controller

    @property
    def log(self) -> Path:
        return self.directory / "decisions.jsonl"

    def write_policy(self, text: str) -> None:
        (self.directory / "policy.yaml").write_text(text)

    def start(self, **options: Any) -> None:
        settings = ControllerSettings(
            policy=self.directory / "policy.yaml",
            decision_log=DecisionLogSettings(path=self.log),
            http=HttpSettings(listen=""),
            **options,
        )
        self.registry = CollectorRegistry()
        self.xapp = XApp(
            "tc_controller",
            settings,
            registry=self.registry,
            link=self.ric.link(),
            clock=self.ric.clock,
        )

        async def main(xapp: XApp[ControllerSettings]) -> None:
            self.app = ControllerApp(xapp, self._inline, self.provider)
            await self.app.main()

        self.running = asyncio.get_running_loop().create_task(self.xapp.run(main))

    async def _inline(self, work: Callable[[], None]) -> None:
        """Virtual time has no threads."""
        self.off_loop += 1
        work()

    async def stop(self) -> None:
        assert self.xapp is not None
        assert self.running is not None
        self.xapp.stop()
        await self.running

    async def kill(self) -> None:
        """End the program like `kill -9`, without releases."""
        assert self.running is not None
        self.running.cancel()
        await asyncio.gather(self.running, return_exceptions=True)

    # ------------------------------------------------------------------- reading

    def records(self, *events: str) -> list[dict[str, Any]]:
        if not self.log.exists():
            return []
        every = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [record for record in every if not events or record["event"] in events]

    def changes(self) -> list[dict[str, Any]]:
        """Controls that reached the node and request a change."""
        every = [tc.decode("control", control.message) for control in self.ric.controls]
        return [c for c in every if not c.get("transaction", {"dry_run": False})["dry_run"]]

    def metric(self, name: str, **labels: str) -> float:
        value = self.registry.get_sample_value(f"sojourn_controller_{name}", labels)
        return 0.0 if value is None else value

    def series(self, name: str) -> dict[tuple[str, ...], float]:
        """Samples of a metric by the values of their labels, in the order of their names."""
        return {
            tuple(value for _, value in sorted(sample.labels.items())): sample.value
            for family in self.registry.collect()
            for sample in family.samples
            if sample.name == name
        }

    def bearer(self) -> dict[str, Any]:
        return {"node": NODE, "rnti": RNTI, "drb": DRB}


def in_lab(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Decorator of a test on virtual time; the controller is stopped at its end."""

    @wraps(test)
    async def run(lab: Lab, **fixtures: Any) -> None:
        await test(lab, **fixtures)
        if lab.running is not None and not lab.running.done():
            await lab.stop()

    return on_virtual_time(run)
