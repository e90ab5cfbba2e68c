"""The whole controller moves a QoS flow at a node behind the SDK's fake RIC, and knows it after a
restart."""

from __future__ import annotations

import asyncio
from typing import Any

from ric.e2 import ControlAnswer, RanFunction
from ric.sm import RLC_OID, TC_V1_OID, tc
from tc_ric import Lab, in_lab
from tc_world import NODE, RNTI, Source, rlc_message

SECOND_DRB = "second_drb: {nodes: ['gnb*'], confirm_ms: 200, verify_ms: 500}"
POLICY = f"version: 1\n{SECOND_DRB}\nrules: [{{name: r}}]\n"
SOURCES = {9: Source("bulk", 60_000, 443, qfi=9), 7: Source("game", 200, 444, qfi=7)}
CAPABILITIES: dict[str, Any] = {
    "classifiers": [],
    "queues": [],
    "schedulers": [],
    "pacers": [],
    "policer": True,
    "shaper": True,
    "max_queues": 1,
    "max_filters": 1,
    "max_bearers": 1,
    "min_period_ms": 1,
    "features": ["qos_flow_mapping"],
}


class Mapped:
    """A UE with two DRBs at a node that maps QoS flows."""

    def __init__(self, lab: Lab) -> None:
        self.drb_of = {9: 1, 7: 1}
        self.revision = 0
        self.mapped: list[tuple[int, int]] = []
        definition = {
            "short_name": "ORAN-E2SM-TC",
            "oid": TC_V1_OID,
            "description": "",
            "capabilities": CAPABILITIES,
        }
        data = tc.encode("ran-function-definition", definition)
        functions = RanFunction(1, RLC_OID), RanFunction(2, TC_V1_OID, definition=data)
        fake = lab.ric.add_node(NODE, *functions)
        fake.on_control(TC_V1_OID, self.control)
        fake.report_every(RLC_OID, 1_000, self.rlc)
        fake.report_every(TC_V1_OID, 10_000, self.status)
        fake.report_every(TC_V1_OID, 50_000, self.flows)

    def control(self, _header: bytes, message: bytes) -> ControlAnswer:
        content = tc.decode("control", message)["qos_flow_mapping"]
        self.drb_of[content["qfi"]] = content["bearer"]["drb"]
        self.mapped.append((content["qfi"], content["bearer"]["drb"]))
        self.revision += 1
        outcome = {"accepted": {"revision": self.revision, "lease_ms": None}}
        return ControlAnswer(True, tc.encode("control-outcome", outcome))

    def rlc(self, _now_us: int) -> bytes:
        return rlc_message((0, 0, 0.0, 0, RNTI, 1), (0, 0, 0.0, 0, RNTI, 2))

    def status(self, _now_us: int) -> bytes:
        return tc.encode("indication", {"pipeline_status": [self._status(1), self._status(2)]})

    def _status(self, drb: int) -> dict[str, Any]:
        return {
            "bearer": {"ue": {"rnti": RNTI}, "drb": drb},
            "revision": 0,
            "name": "transparent",
            "safe": True,
            "head_of_line_age_us": 0,
            "queues": [],
            "pacer": {"drain_kbps": 0, "rlc_occupancy_bytes": 0, "forwarded_bytes": 0},
            "ingress_packets": 0,
            "ingress_bytes": 0,
            "dropped_packets": 0,
            "qos_flows": {"revision": self.revision, "qfis": self._qfis(drb)},
        }

    def _qfis(self, drb: int) -> list[int]:
        return sorted(qfi for qfi, on in self.drb_of.items() if on == drb)

    def flows(self, _now_us: int) -> bytes:
        items = []
        for drb in (1, 2):
            own = [SOURCES[qfi] for qfi in self._qfis(drb)]
            flows = [each.record(each.kbps, 90_000 if each.qfi == 9 else 0, 0) for each in own]
            bearer = {"ue": {"rnti": RNTI}, "drb": drb}
            items.append(
                {"bearer": bearer, "active_flows": len(own), "window_ms": 1000, "flows": flows}
            )
        return tc.encode("indication", {"flow_inventory": items})


@in_lab
async def test_a_move_is_sent_logged_verified_and_known_after_a_kill(lab: Lab) -> None:
    lab.write_policy(POLICY)
    node = Mapped(lab)
    state = lab.directory / "state.json"
    lab.start(state=state)
    await asyncio.sleep(3)
    assert node.mapped == [(7, 2)]
    names = ("flow_move", "flow_move_answered", "flow_move_verified", "flow_move_back")
    assert [record["event"] for record in lab.records(*names)] == list(names[:3])
    assert lab.metric("controls_total", purpose="move", result="accepted") == 1
    await lab.kill()
    lab.start(state=state)
    await asyncio.sleep(3)
    assert node.mapped == [(7, 2)], "it is in force"
    # The node forgets it: the flow is moved again, by what the state file has.
    node.drb_of[7] = 1
    await asyncio.sleep(1)
    assert node.mapped == [(7, 2), (7, 2)]
