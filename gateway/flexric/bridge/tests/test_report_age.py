"""Reports that were on their way while a control took effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import e2sm_tc
import gnb_lab
import pytest
from flexric_bridge.sdk import SdkError
from flexric_bridge.settings import TcSettings
from flexric_bridge.tc.ran_function import Pending, RanFunction
from flexric_bridge.tc.report_age import ReportAge
from lab_node import SCENARIO
from pipelines import segregated

NODE_EPOCH_US = 1_700_000_000_000_000
"""The node's clock; the bridge's begins at zero."""
ON_ITS_WAY_US = 200
"""The least time of a report."""


class Node:
    """A world of the lab on virtual time, and the bridge in front of it."""

    def __init__(self) -> None:
        self.now = 0
        self.events: list[Mapping[str, Any]] = []
        self.world = gnb_lab.World(SCENARIO, epoch_us=NODE_EPOCH_US)
        self._kinds = {
            self.world.subscribe(gnb_lab.RLC_OID, 10): "rlc",
            self.world.subscribe(gnb_lab.TC_V0_OID, 10): "tc",
        }
        self.function = RanFunction("gnb", TcSettings(), self)

    def now_us(self) -> int:
        return self.now

    async def admit(self, controls: int, *, safe: bool) -> None:
        del controls, safe

    async def controls(
        self, header: bytes, groups: Sequence[Sequence[bytes]], *, safe: bool
    ) -> tuple[list[bool], SdkError | None]:
        del safe
        sent = [control for group in groups for control in group]
        for control in sent:
            self.world.control(gnb_lab.TC_V0_OID, header, control)
        return [True] * len(sent), None

    def changed(self) -> None:
        pass

    def publish(self, events: Sequence[Mapping[str, Any]]) -> None:
        self.events += events

    def run(self, for_ms: int) -> list[tuple[str, bytes]]:
        """The reports of the next milliseconds."""
        until_us = self.world.now_us + 1000 * for_ms
        made = [(self._kinds[i.subscription], i.message) for i in self.world.step_until(until_us)]
        self.now = self.world.now_us + ON_ITS_WAY_US
        return made

    def take(self, reports: Sequence[tuple[str, bytes]]) -> None:
        """Reports arrive."""
        for kind, message in reports:
            if kind == "rlc":
                self.function.on_rlc(message)
            else:
                self.function.on_indication(message)

    async def replace(self) -> int:
        """Puts a pipeline in force; its revision."""
        transaction = {
            "bearer": self.function.bearer.id,
            "expected_revision": None,
            "lease_ms": 60_000,
            "dry_run": False,
            "change": {"replace": segregated()},
        }
        header = e2sm_tc.encode("control-header", {"style": 1, "correlation_id": 1})
        message = e2sm_tc.encode("control", {"transaction": transaction})
        pending = self.function.receive(header, message)
        assert isinstance(pending, Pending)
        await self.function.transact(pending)
        return self.revision

    @property
    def revision(self) -> int:
        assert self.function.in_force is not None
        return self.function.in_force.revision


async def node_with_reports() -> Node:
    """The node has reported a while, each report as soon as it was made."""
    node = Node()
    for _ in range(10):
        node.take(node.run(10))
    return node


async def test_reports_made_before_a_control_are_no_other_pipeline_however_many() -> None:
    node = await node_with_reports()
    held = node.run(100)
    assert sum(kind == "tc" for kind, _ in held) == 10
    revision = await node.replace()
    node.take(held)
    assert node.revision == revision
    node.take(node.run(100))
    assert node.revision == revision
    assert node.function.in_force is not None
    assert node.function.in_force.state.name == "segregated"


async def test_a_node_that_loses_its_pipeline_at_once_is_noticed_by_the_reports_after_it() -> None:
    node = await node_with_reports()
    revision = await node.replace()
    restarted = Node()
    restarted.world.step_until(node.world.now_us)
    node.world = restarted.world
    node.take(node.run(100))
    assert node.revision == revision + 1
    assert node.function.in_force is not None
    assert node.function.in_force.state.is_safe


@pytest.mark.parametrize(
    ("made_us", "now_us", "before"),
    [
        (4_999, 6_000, True),
        (5_000, 6_000, False),
        # Later than any report is on its way: a clock was set.
        (4_999, 2_005_000, False),
        # The clock of the bridge was set back.
        (4_999, 4_000, False),
    ],
)
def test_a_report_is_of_before_by_the_least_time_on_its_way(
    made_us: int, now_us: int, before: bool
) -> None:
    age = ReportAge()
    assert not age.is_of_before(made_us, now_us)
    age.take(1_000, 1_300)
    age.take(2_000, 2_000)
    age.take(3_000, 3_400)
    age.changed(5_000)
    assert age.is_of_before(made_us, now_us) is before
