"""Faults of a node that no pipeline mends are named, logged and explained."""

from __future__ import annotations

from typing import Any

import pytest
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import Denied, NodeDown, NodeEvent, NodeUp
from tc_controller.core.node.faults import Fault
from tc_controller.explain_state import State
from tc_controller.policy_file import parse_policy
from tc_world import NODE, TcFunction, World, bulk, ping


class Deaf(TcFunction):
    """Accepts every pipeline and installs none."""

    def control(self, message: dict[str, Any], now_us: int) -> dict[str, Any]:
        if "transaction" not in message:
            return super().control(message, now_us)
        return {"accepted": {"revision": self.revision + 1, "lease_ms": 6_000}}


def world(rule: str = "base: [{template: low_latency}]") -> World:
    policy = parse_policy(f"version: 1\nrules: [{{name: r, {rule}}}]")
    return World(Controller(policy), bulk(), ping())


def present(of: World) -> set[Fault]:
    return set(of.controller.nodes[NODE].faults.present)


def faults(of: World) -> list[tuple[str, str]]:
    return [(record["fault"], record["what"]) for record in of.events("fault")]


def test_a_node_that_works_has_no_fault() -> None:
    works = world()
    works.run(20_000)
    assert present(works) == set()
    assert faults(works) == []


def test_a_node_that_sends_no_reports_is_silent_until_it_does() -> None:
    silent = world()
    silent.run(3_000)
    for _ in range(3):
        silent.now_us += 1_000_000
        silent.do(silent.controller.on_tick(silent.now_us))
    assert present(silent) == {Fault.SILENT}
    silent.run(2_000)
    assert faults(silent) == [("silent", "began"), ("silent", "ended")]


def test_a_lost_gateway_is_not_a_fault_of_the_node() -> None:
    cut = world()
    cut.run(3_000)
    cut.controller.gateway_connected = False
    for _ in range(3):
        cut.now_us += 1_000_000
        cut.do(cut.controller.on_tick(cut.now_us))
    assert present(cut) == {Fault.GATEWAY_LOST}
    cut.controller.gateway_connected = True
    cut.now_us += 1_000_000
    cut.do(cut.controller.on_tick(cut.now_us))
    # The gateway is back; the node itself is still to be heard.
    assert present(cut) == {Fault.SILENT}


@pytest.mark.parametrize("event", [NodeUp(NODE, {"node_lease": True}), NodeDown(NODE)])
def test_the_faults_of_a_node_end_when_it_connects_again_or_is_gone(event: NodeEvent) -> None:
    cut = world()
    cut.run(3_000)
    cut.controller.gateway_connected = False
    cut.now_us += 1_000_000
    cut.do(cut.controller.on_tick(cut.now_us))
    assert "no connection to the E2 gateway" in str(State.of(cut.records))
    cut.controller.gateway_connected = True
    cut.do(cut.controller.on_node_event(cut.now_us, event))
    assert faults(cut) == [("gateway_lost", "began"), ("gateway_lost", "ended")]
    assert "gateway" not in str(State.of(cut.records))


def test_a_fault_that_a_killed_controller_logged_is_over_when_the_node_is_back() -> None:
    killed = world()
    killed.run(3_000)
    killed.controller.gateway_connected = False
    killed.now_us += 1_000_000
    killed.do(killed.controller.on_tick(killed.now_us))
    # A new process appends to the same log.
    text = str(State.of([*killed.records, *world().records]))
    assert "gateway" not in text


def test_a_node_without_bearers_may_report_nothing() -> None:
    empty = world()
    empty.do(empty.controller.on_tick(empty.now_us))
    empty.do(empty.controller.on_tick(empty.now_us + 2_000_000))
    assert present(empty) == set()


def test_rlc_reports_without_a_pipeline_status_are_a_fault() -> None:
    half = world()
    half.run(3_000)
    half.reports_pipelines = False
    half.run(3_000)
    assert present(half) == {Fault.NO_STATUS}


def test_controls_without_answers_are_a_fault_of_the_node() -> None:
    mute = world()
    mute.answering = False
    mute.tc.refuse = lambda _: {"cause": "unsupported"}
    mute.run(5_000)
    assert present(mute) == {Fault.UNANSWERED}


def test_controls_that_the_gateway_refuses_are_no_fault_of_the_node() -> None:
    barred = world()
    barred.answering = False
    barred.tc.refuse = lambda _: {"cause": "unsupported"}
    words = "E2 gateway g: access denied: client tc-controller: no right to control"
    for _ in range(5_000):
        known = len(barred.sent)
        barred.step()
        for _, control in barred.sent[known:]:
            answer = barred.controller.on_control_answer
            barred.do(answer(barred.now_us, control.control_id, Denied(words)))
    assert present(barred) == {Fault.DENIED}
    text = str(State.of(barred.records))
    assert words in text
    assert "restart neither" in text
    # Its own node no longer answers: that is another fault.
    barred.run(5_000)
    assert present(barred) == {Fault.UNANSWERED}


def test_a_refused_base_is_a_fault_and_blocks_decisions_by_name() -> None:
    refusing = world()
    refusing.tc.refuse = lambda _: {"cause": "unsupported", "element": "pacer"}
    refusing.run(5_000)
    assert present(refusing) == {Fault.REFUSED}
    (record,) = refusing.events("fault")
    assert record["reason"].endswith("the last pipeline was refused, unsupported at pacer")
    (compliance,) = refusing.events("compliance")
    assert compliance["blocker"] == "the node refused the last pipeline: unsupported"


def test_a_base_refused_before_another_was_accepted_is_no_fault() -> None:
    picky = world("base: [{template: low_latency}, {template: fq_codel}]")

    def refuse(message: dict[str, Any]) -> dict[str, Any] | None:
        change = message.get("transaction", {}).get("change")
        wanted = isinstance(change, dict) and change["replace"]["name"] == "low_latency"
        return {"cause": "unsupported"} if wanted else None

    picky.tc.refuse = refuse
    picky.run(5_000)
    assert faults(picky) == []


def test_a_pipeline_that_is_accepted_in_vain_is_sent_four_times_then_once_a_minute() -> None:
    deaf = world()
    deaf.tc = Deaf()
    deaf.run(55_000)
    assert present(deaf) == {Fault.NOT_APPLIED}
    transactions = [item for _, item in deaf.sent if "transaction" in item.message]
    assert len(transactions) == 4
    deaf.run(60_000)
    transactions = [item for _, item in deaf.sent if "transaction" in item.message]
    assert len(transactions) == 5
    deaf.tc = TcFunction()
    deaf.run(70_000)
    assert faults(deaf) == [("not_applied", "began"), ("not_applied", "ended")]
    assert deaf.tc.names() == ["low_latency"]


def test_a_pipeline_that_packets_pass_by_has_no_effect() -> None:
    bypassed = world()

    def forward_all(_: dict[str, Any], __: float) -> None:
        for queue in bypassed.queues.values():
            bypassed._forward(queue, queue.bytes)

    bypassed._pace = forward_all  # type: ignore[assignment, method-assign]
    bypassed.run(10_000)
    assert present(bypassed) == {Fault.NO_EFFECT}
    (record,) = bypassed.events("fault")
    assert record["bearers"] == record["of"] == 1
    assert "0 in the pipeline that should hold them" in record["reason"]


@pytest.mark.parametrize("link_kbps", [0, 4_000])
def test_an_outage_and_a_slow_radio_are_no_fault_of_the_node(link_kbps: int) -> None:
    fading = world()
    fading.run(10_000)
    fading.link_kbps = link_kbps
    fading.run(10_000)
    assert faults(fading) == []


def test_the_state_is_explained_with_the_first_step_until_it_ends() -> None:
    deaf = world()
    deaf.tc = Deaf()
    deaf.run(10_000)
    text = str(State.of(deaf.records))
    assert (
        "gnb-1: the node accepts pipelines and does not install them since 1970-01-01 00:00:05"
        in text
    )
    assert "low_latency accepted 4 times, but the status shows transparent" in text
    assert "check the gNB" in text
    deaf.tc = TcFunction()
    deaf.run(70_000)
    assert "fault" not in str(State.of(deaf.records))


def test_an_outage_is_explained_as_one_of_the_radio() -> None:
    outage = world()
    outage.run(3_000)
    outage.link_kbps = 0
    outage.run(3_000)
    text = str(State.of(outage.records))
    assert "gnb-1/0x4601/drb1: radio_stalled since" in text
    assert "No pipeline shortens an outage" in text


def test_an_overload_is_explained_by_class_with_what_is_needed_and_given() -> None:
    record = {
        "event": "compliance",
        "at_us": 5_000_000,
        "bearer": {"node": "gnb-1", "rnti": 0x4601, "drb": 1},
        "rule": "r",
        "state": "infeasible",
        "former": "met",
        "reason": "5.0 of 30 Mbit/s guaranteed, needs 60.0 Mbit/s, radio gives 40.0",
        "class_name": "calls",
    }
    text = str(State.of([record]))
    assert "drb1 class calls: infeasible" in text
    assert "needs 60.0 Mbit/s, radio gives 40.0" in text
    assert "admit less" in text
    gone = {**record, "event": "class_gone", "at_us": 6_000_000}
    assert str(State.of([record, gone])) == "The log has no state of a node or bearer."
    gone = {"event": "bearer_gone", "at_us": 6_000_000, "bearer": record["bearer"]}
    assert str(State.of([record, gone])) == "The log has no state of a node or bearer."
