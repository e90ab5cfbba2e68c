"""A node behind the fake RIC with a real TC function: a world of the lab, controlled in v0."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import gnb_lab
from fake_flexric import MAC, RLC, TC, FakeRic, node
from flexric_bridge.sdk import SdkError

RNTI = 17
_OIDS = {RLC: gnb_lab.RLC_OID, MAC: gnb_lab.MAC_OID, TC: gnb_lab.TC_V0_OID}
STEP_S = 0.005

SCENARIO: dict[str, Any] = {
    "name": "one bearer",
    "duration_s": 3600,
    "cell": {"rat": "nr", "n_prb": 106, "scs_khz": 30, "tdd": {"pattern": "DDDDDDDMUU"}},
    "ues": [{"rnti": RNTI, "channel": {"fixed_mcs": 10}, "drbs": [{"id": 1}]}],
    "flows": [{"name": "ping", "kind": "ping", "interval_ms": 100}],
}
BULK = {"name": "bulk", "kind": "tcp"}


class LabNode:
    """Paces a world to the wall clock and sends the subscribed reports through `ric`."""

    def __init__(self, ric: FakeRic, scenario: Mapping[str, Any] = SCENARIO) -> None:
        self.node = node(0xE00, functions=(MAC, RLC, TC))
        self.world = gnb_lab.World(scenario, epoch_us=time.time_ns() // 1000)
        self._ric = ric
        self._functions = {}
        for function, oid in _OIDS.items():
            self._functions[self.world.subscribe(oid, 10 if function != RLC else 1)] = function
        ric.add(self.node)
        ric.on_control = self._control

    async def run(self) -> None:
        """Until cancelled."""
        began_us = time.monotonic() * 1e6 - self.world.now_us
        while True:
            await asyncio.sleep(STEP_S)
            now_us = int(time.monotonic() * 1e6 - began_us)
            # After a stall of the machine, no single long step.
            now_us = min(now_us, self.world.now_us + 50_000)
            for indication in self.world.step_until(max(now_us, self.world.now_us)):
                function = self._functions[indication.subscription]
                self._ric.report(self.node.id, function, indication.message)

    async def _control(self, _node_id: str, message: bytes) -> None:
        try:
            self.world.control(gnb_lab.TC_V0_OID, bytes(4), message)
        except gnb_lab.E2Error as error:
            raise SdkError("refused", str(error)) from None
