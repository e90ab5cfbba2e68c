"""Alerts whose cause lies in gNBs that the emulated one is not: without node lease, of another
version, several behind one gateway; and in an xApp that fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import yaml
from alert_world import AlertWorld, needs_prometheus
from loop import ANY_PORT
from ric.clock import SystemClock
from ric.e2 import ControlAnswer
from ric.lifecycle import Service
from ric.settings import HttpSettings, ServiceSettings
from ric.sm import RLC_OID, TC_V1_OID, tc
from ric.testing import FakeRic
from ric.testing.fake_server import FakeGatewayServer
from sojourn_demo.programs import Program, Programs
from tc_world import NodeModel, bulk, ping

pytestmark = needs_prometheus
PERIOD_MS = 10


@asynccontextmanager
async def gateway_of_fakes() -> AsyncIterator[tuple[FakeRic, str]]:
    """A gateway on loopback whose nodes the test makes, and its address."""
    ric = FakeRic(clock=SystemClock())
    async with FakeGatewayServer(ric) as server:
        yield ric, server.address


class NodeWithoutLease:
    """A gNB with a bloated bearer, whose TC RAN function keeps no controller out."""

    def __init__(self, ric: FakeRic, node_id: str) -> None:
        self._model = NodeModel(bulk(), ping(), start_us=ric.clock.now_us())
        node = ric.add_node(node_id, RLC_OID, TC_V1_OID)
        node.on_control(TC_V1_OID, self._control)
        node.report_every(RLC_OID, PERIOD_MS * 1_000, self._rlc)
        node.report_every(TC_V1_OID, 2 * PERIOD_MS * 1_000, self._status)
        node.report_every(TC_V1_OID, 5 * PERIOD_MS * 1_000, self._flows)

    @property
    def pipeline(self) -> str | None:
        """Name of the pipeline in force."""
        pipeline = self._model.tc.pipeline
        return None if pipeline is None else str(pipeline["name"])

    def refuse_everything(self) -> None:
        """Refuse each control from now on."""
        self._model.tc.refuse = lambda _message: {"cause": "capacity"}

    def install_by_another(self, template: str) -> None:
        """Install a pipeline under another owner: an xApp, or an operator at the gNB."""
        self._model.tc.install(tc.pipeline(template, {}), self._model.now_us, "another")

    def _rlc(self, _now_us: int) -> bytes:
        for _ in range(PERIOD_MS):
            self._model.advance()
        return self._model.rlc_message()

    def _status(self, _now_us: int) -> bytes:
        return tc.encode("indication", {"pipeline_status": [self._model.status()]})

    def _flows(self, _now_us: int) -> bytes:
        return tc.encode("indication", {"flow_inventory": [self._model.inventory()]})

    def _control(self, _header: bytes, message: bytes) -> ControlAnswer:
        outcome = self._model.tc.control(tc.decode("control", message), self._model.now_us)
        return ControlAnswer("accepted" in outcome, tc.encode("control-outcome", outcome))


async def controller_with(template: str, programs: Programs, folder: Path, gateway: str) -> Program:
    """A controller with this template as its base."""
    rule = {"name": "all", "base": [{"template": template}]}
    policy = folder / f"{template}.yaml"
    policy.write_text(yaml.safe_dump({"version": 1, "rules": [rule]}))
    return await programs.start(
        *("tc-controller", "--gateway", gateway, "--policy", str(policy)),
        *("--metrics-listen", ANY_PORT),
    )


async def test_a_gnb_without_node_lease_has_several_masters(tmp_path: Path) -> None:
    async with gateway_of_fakes() as (ric, gateway), Programs(tmp_path) as programs:
        gnb = NodeWithoutLease(ric, "gnb-1")
        first = await controller_with("fq_codel", programs, tmp_path, gateway)
        second = await controller_with("fq_codel", programs, tmp_path, gateway)
        targets = {"first": first.ready["metrics"], "second": second.ready["metrics"]}
        world = await AlertWorld.over(programs, tmp_path, targets)
        await world.raised("SojournNodeContested")
        await world.until(lambda: gnb.pipeline == "fq_codel", lambda: gnb.pipeline)
        gnb.install_by_another("bdp_only")
        await world.raised("SojournForeignPipelines")


async def test_a_gnb_of_another_version_and_one_that_leaves(tmp_path: Path) -> None:
    async with gateway_of_fakes() as (ric, gateway), Programs(tmp_path) as programs:
        NodeWithoutLease(ric, "gnb-1")
        NodeWithoutLease(ric, "gnb-2")
        other = ric.add_node("gnb-3", RLC_OID)
        other.report_every(RLC_OID, PERIOD_MS * 1_000, lambda _now_us: b"of another version")
        controller = await controller_with("fq_codel", programs, tmp_path, gateway)
        targets = {"tc-controller": controller.ready["metrics"]}
        world = await AlertWorld.over(programs, tmp_path, targets)
        await world.raised("SojournIndicationsBad")
        await world.ended("SojournNodeLost")
        ric.remove_node("gnb-2")
        await world.raised("SojournNodeLost")


async def test_a_gnb_that_refuses_every_pipeline(tmp_path: Path) -> None:
    async with gateway_of_fakes() as (ric, gateway), Programs(tmp_path) as programs:
        NodeWithoutLease(ric, "gnb-1").refuse_everything()
        controller = await controller_with("fq_codel", programs, tmp_path, gateway)
        world = await AlertWorld.over(
            programs, tmp_path, {"tc-controller": controller.ready["metrics"]}
        )
        await world.raised("SojournNodeFault")
        # The first refusal begins the series; an increase is seen from the second on.
        NodeWithoutLease(ric, "gnb-2").refuse_everything()
        await world.raised("SojournControlsRejected")


async def test_a_task_that_fails_again_and_again(tmp_path: Path) -> None:
    settings = ServiceSettings(http=HttpSettings(listen=ANY_PORT))
    service = Service("tc-controller", settings)

    async def fails() -> None:
        await asyncio.sleep(0.5)
        raise RuntimeError("a fault of the program")

    async def main() -> None:
        service.supervise("fails", fails)
        await service.stopped()

    async with Programs(tmp_path) as programs:
        running = asyncio.create_task(service.run_tasks(main))
        while not service.http_address:
            await asyncio.sleep(0.01)
        world = await AlertWorld.over(programs, tmp_path, {"tc-controller": service.http_address})
        await world.raised("SojournTaskRestarts")
        service.stop()
        await running
