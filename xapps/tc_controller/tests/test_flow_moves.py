"""QoS flows on a second DRB: which are moved and when, what is verified, and when they return."""

from __future__ import annotations

from typing import Any

import pytest
from ric.sm import tc
from tc_controller.core.actions import SaveDesired, SendControl, WriteRecord
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import (
    Accepted,
    FlowReport,
    NodeDown,
    NodeUp,
    Outcome,
    PipelineReport,
    Refused,
)
from tc_controller.core.mode import Mode
from tc_controller.core.policy.schema import Policy
from tc_controller.explain import decision_rows, explain
from tc_controller.policy_file import parse_policy
from tc_world import Source, inventories, statuses

NODE, RNTI = "gnb-1", 0x4601
WATCH = "rules: [{name: r}]"
BULK = Source("bulk", 60_000, 443, qfi=9)
GAME = Source("game", 200, 444, protocol=17, packet_bytes=100, qfi=7)


def policy(**keys: Any) -> Policy:
    given = {"nodes": [NODE], "confirm_ms": 200, "verify_ms": 500, "cool_down_ms": 2_000, **keys}
    text = ", ".join(f"{key}: {str(value).lower()}" for key, value in given.items())
    return parse_policy(f"version: 1\nsecond_drb: {{{text}}}\n{WATCH}\n")


class Ran:
    """A node with a UE of two DRBs that maps QoS flows, and the controller at it."""

    def __init__(
        self,
        rules: Policy,
        *features: str,
        state: object | None = None,
        mapping: dict[int, int] | None = None,
    ) -> None:
        self.now_us = 1_000_000
        self.features = list(features or ("qos_flow_mapping",))
        self.mapping = {9: 1, 7: 1} if mapping is None else mapping
        self.revision = 0
        self.sources = [BULK, GAME]
        self.answer: Outcome | None = None
        self.sent: list[dict[str, Any]] = []
        self.records: list[dict[str, Any]] = []
        self.state: Any = None
        self.drbs = (1, 2)
        self.controller = Controller(rules, owner="a", state=state)
        self.up()

    def up(self) -> None:
        capabilities = {"node_lease": True, "features": self.features}
        self.do(self.controller.on_node_event(self.now_us, NodeUp(NODE, capabilities)))

    def restart(self) -> None:
        """The node forgets its mapping."""
        self.do(self.controller.on_node_event(self.now_us, NodeDown(NODE)))
        self.mapping, self.revision = {9: 1, 7: 1}, 0
        self.up()

    def do(self, actions: list[Any]) -> None:
        for action in actions:
            if isinstance(action, WriteRecord):
                self.records.append(dict(action.record))
            elif isinstance(action, SaveDesired):
                self.state = action.document()
            elif isinstance(action, SendControl):
                self.control(action)

    def control(self, action: SendControl) -> None:
        # What is sent can be encoded.
        assert tc.decode("control", tc.encode("control", action.message)) == action.message
        ((kind, content),) = action.message.items()
        outcome: Outcome = Accepted(1, content.get("lease_ms"))
        if kind == "qos_flow_mapping":
            assert (action.header["style"], content["owner"]) == (6, "a")
            self.sent.append(content)
            outcome, self.answer = self.answer or self.map(content), None
        answered = self.controller.on_control_answer(self.now_us, action.control_id, outcome)
        self.do(answered)

    def map(self, content: dict[str, Any]) -> Outcome:
        if content["expected_revision"] not in (None, self.revision):
            return Refused("stale_revision", "", "", self.revision)
        self.mapping[content["qfi"]] = content["bearer"]["drb"]
        self.revision += 1
        return Accepted(self.revision, None)

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds * 20)):
            self.now_us += 50_000
            feed, at_us = self.controller.on_indication, self.now_us
            status = statuses(*(self.status(drb) for drb in self.drbs))
            self.do(feed(self.now_us, PipelineReport(NODE, at_us, status)))
            flows = inventories(*(self.inventory(drb) for drb in self.drbs))
            self.do(feed(self.now_us, FlowReport(NODE, at_us, flows)))

    def status(self, drb: int) -> dict[str, Any]:
        qfis = sorted(qfi for qfi, on in self.mapping.items() if on == drb)
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
            "qos_flows": {"revision": self.revision, "qfis": qfis},
        }

    def inventory(self, drb: int) -> dict[str, Any]:
        own = [each for each in self.sources if self.mapping.get(each.qfi or 0) == drb]
        flows = [each.record(each.kbps, 90_000 if each.kbps > 10_000 else 0, 0) for each in own]
        bearer = {"ue": {"rnti": RNTI}, "drb": drb}
        return {"bearer": bearer, "active_flows": len(own), "window_ms": 1000, "flows": flows}

    def events(self, name: str) -> list[dict[str, Any]]:
        return [each for each in self.records if each["event"] == name]

    def targets(self) -> list[tuple[int, int]]:
        return [(each["qfi"], each["bearer"]["drb"]) for each in self.sent]


def test_a_sparse_flow_beside_a_greedy_one_is_moved_verified_and_explained() -> None:
    ran = Ran(policy())
    ran.run(0.15)
    assert ran.sent == []
    ran.run(0.3)
    assert ran.targets() == [(7, 2)]
    assert ran.sent[0]["expected_revision"] == 0
    ran.run(5)
    assert ran.targets() == [(7, 2)]
    (record,) = ran.events("flow_move")
    assert (record["qfi"], record["to_drb"], record["bearer"]["drb"]) == (7, 2, 1)
    assert "beside 1 greedy flows" in record["why"]
    (verified,) = ran.events("flow_move_verified")
    assert verified["verdict"] == "kept"
    text = explain(ran.records, record["id"])
    assert text is not None
    assert "QFI 7" in text
    assert "udp 10.0.0.1:444 > 10.1.0.2:5000" in text
    assert "Verified: kept" in text
    (row,) = [each for each in decision_rows(ran.records) if each[0] == record["id"]]
    assert row[3:] == ["QFI 7 to DRB 2", "kept"]


@pytest.mark.parametrize(
    ("keys", "sources"),
    [
        ({"nodes": ["other*"]}, [BULK, GAME]),
        ({"drb": 3}, [BULK, GAME]),
        ({}, [GAME]),
        ({}, [BULK, Source("also", 50_000, 445, qfi=7)]),
        # One greedy flow of a QFI keeps it where it is.
        ({}, [BULK, GAME, Source("in", 50_000, 446, qfi=7)]),
        # Without a QFI of its own it cannot be told apart by SDAP.
        ({}, [BULK, Source("game", 200, 444, qfi=9)]),
    ],
)
def test_what_stays(keys: dict[str, Any], sources: list[Source]) -> None:
    ran = Ran(policy(**keys))
    ran.sources = sources
    ran.run(2)
    assert ran.sent == []


def test_a_node_without_the_capability_is_left_alone() -> None:
    ran = Ran(policy(), "inner_headers")
    ran.run(2)
    assert ran.sent == []


def test_an_inelastic_flow_is_moved_whatever_its_rate() -> None:
    ran = Ran(policy())
    ran.sources = [BULK, Source("stream", 30_000, 445, 17, qfi=7, inelastic="admitted")]
    ran.run(1)
    assert ran.targets() == [(7, 2)]


def test_a_flow_that_becomes_greedy_returns_and_waits_longer_each_time() -> None:
    ran = Ran(policy())
    ran.run(1)
    assert ran.mapping[7] == 2
    ran.sources = [BULK, Source("game", 50_000, 444, qfi=7)]
    ran.run(0.2)
    assert ran.targets() == [(7, 2), (7, 1)]
    assert "became greedy" in ran.events("flow_move_back")[0]["why"]
    # Sparse again: not before the cool-down, and the dwell time of greedy flows.
    ran.sources = [BULK, GAME]
    ran.run(1.5)
    assert len(ran.sent) == 2
    ran.run(2.5)
    assert ran.targets()[2:] == [(7, 2)]


def test_a_stale_revision_is_tried_again_and_other_refusals_rest() -> None:
    ran = Ran(policy())
    ran.answer = Refused("stale_revision", "", "", 5)
    ran.run(1)
    assert ran.targets() == [(7, 2), (7, 2)]
    ran = Ran(policy())
    ran.answer = Refused("inconsistent", "bearer.drb", "another slice", 0)
    ran.run(2)
    assert ran.targets() == [(7, 2)]
    assert ran.mapping[7] == 1
    ran.run(2)
    assert ran.mapping[7] == 2


def test_after_a_restart_the_controller_knows_what_it_moved() -> None:
    ran = Ran(policy())
    ran.run(1)
    entry = {"node": NODE, "rnti": RNTI, "qfi": 7, "from_drb": 1}
    (saved,) = ran.state["flow_moves"]
    assert {name: saved[name] for name in entry} == entry
    other = Ran(policy(), state=ran.state, mapping=ran.mapping)
    other.run(1)
    assert other.sent == [], "it finds its mapping in force"
    other.do(other.controller.release_all(other.now_us))
    assert other.targets() == [(7, 1)]
    assert other.state.get("flow_moves", []) == []


def test_after_a_restart_of_the_node_the_flow_is_moved_again_at_once() -> None:
    ran = Ran(policy(confirm_ms=60_000))
    ran.controller.desired.set_flow_moves(NODE, {(RNTI, 7): ("d-0", 1)})
    ran.restart()
    ran.run(0.2)
    assert ran.targets() == [(7, 2)]
    assert "the node has it on the first DRB again" in ran.events("flow_move")[0]["why"]


def test_observing_logs_and_a_mode_off_returns_the_flows() -> None:
    ran = Ran(policy(dry_run=True))
    ran.run(1)
    assert ran.sent == []
    (record,) = ran.events("flow_move")
    assert record["dry_run"]
    text = explain(ran.records, record["id"])
    assert text is not None
    assert text.endswith("Nothing was sent: dry run.")
    ran = Ran(policy())
    ran.run(1)
    ran.do(ran.controller.set_mode(ran.now_us, Mode.OFF))
    ran.run(0.5)
    assert ran.targets() == [(7, 2), (7, 1)]


def test_a_bearer_that_is_gone_ends_its_moves() -> None:
    ran = Ran(policy())
    ran.run(1)
    (node,) = ran.controller.nodes.values()
    assert len(node.flow_moves.moves) == 1
    for key in list(node.pipelines):
        ran.do(node.remove(key, ran.now_us))
    assert node.flow_moves.moves == {}
    assert ran.state.get("flow_moves", []) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("{drb: 2}", "nodes"),
        ("{nodes: [], drb: 2}", "nodes"),
        ("{nodes: [a], drb: 33}", "drb"),
        ("{nodes: [a], confirm_ms: 0}", "confirm_ms"),
    ],
)
def test_a_wrong_key_is_named(text: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=f"second_drb.{wrong}"):
        parse_policy(f"version: 1\nsecond_drb: {text}\n{WATCH}\n")
