"""Switched off, observing, acting: what happens to bearers at each change."""

from __future__ import annotations

from typing import Any

import pytest
from ric.sm import tc
from tc_controller.core.act.ownership import Role
from tc_controller.core.controller import Controller
from tc_controller.core.mode import Mode
from tc_controller.policy_file import parse_policy
from tc_world import NODE, World, bulk, ping

BASE = "base: [{template: low_latency}]"
LADDER = "ladder: [{template: bdp_only}]"
KEEPS: dict[str, Any] = {"as_safe": True}


def policy(*lines: str) -> Any:
    text = "version: 1\nrules:\n- name: r\n" + "".join(f"  {line}\n" for line in lines)
    return parse_policy(text)


def world(*lines: str, mode: Mode = Mode.ACT, **capabilities: Any) -> World:
    return World(Controller(policy(*lines), mode=mode), bulk(), ping(), capabilities=capabilities)


def switch(here: World, mode: Mode) -> None:
    here.do(here.controller.set_mode(here.now_us, mode))


@pytest.mark.parametrize("capabilities", [{}, KEEPS], ids=["leased", "kept"])
def test_off_returns_bearers_to_the_initial_pipeline_and_act_takes_them_again(
    capabilities: dict[str, Any],
) -> None:
    here = world(BASE, **capabilities)
    here.run(500)
    switch(here, Mode.OFF)
    here.run(100)
    assert here.tc.pipeline is None
    assert here.tc.safe is None
    sent = len(here.sent)
    here.run(8_000)
    assert len(here.sent) == sent, "a bearer that was returned is left alone"
    switch(here, Mode.ACT)
    here.run(100)
    assert here.tc.names() == ["low_latency", "safe", "low_latency"]


def test_off_takes_back_a_rung_of_the_ladder_and_decides_nothing_more() -> None:
    here = world(LADDER, "objective: {bound_ms: 10}")
    here.run_until("verified")
    assert here.tc.names() == ["bdp_only"]
    switch(here, Mode.OFF)
    here.run(10_000)
    assert here.tc.names() == ["bdp_only", "safe"]
    assert here.controller.policy.rules[0].objective.bound_ms == 10


def test_off_reaches_a_transaction_that_is_under_way() -> None:
    here = world(BASE, **KEEPS)
    here.answering = False
    here.run(200)
    assert here.tc.names() == ["low_latency"]
    switch(here, Mode.OFF)
    here.answering = True
    here.run(4_000)
    assert here.tc.pipeline is None
    assert here.tc.safe is None


@pytest.mark.parametrize("safe", [True, False], ids=["kept base", "pipeline of a former owner"])
def test_a_controller_that_starts_off_returns_what_a_former_one_left(*, safe: bool) -> None:
    here = world(BASE, mode=Mode.OFF, node_lease=True, **KEEPS)
    left = tc.pipeline("low_latency", {})
    if safe:
        here.tc.safe = left
        here.tc.restore(here.now_us)
    else:
        here.tc.install(left, here.now_us, "former")
    here.run(1_000)
    assert here.controller.nodes[NODE].ownership.role is Role.OWNER
    assert here.tc.pipeline is None
    assert here.tc.safe is None
    assert [entry.message["transaction"]["change"] for _, entry in here.sent
            if "transaction" in entry.message] == ["initial"]  # fmt: skip


def test_a_pipeline_that_no_controller_set_is_left_alone_when_off() -> None:
    here = world(BASE, mode=Mode.OFF, **KEEPS)
    here.tc.install({**tc.pipeline("fq_codel", {}), "name": "of the operator"}, here.now_us)
    here.run(2_000)
    assert not here.sent


def test_observe_sends_nothing_more_and_a_kept_base_stays() -> None:
    here = world(BASE, LADDER, **KEEPS)
    here.run(500)
    sent = len(here.sent)
    switch(here, Mode.OBSERVE)
    here.run(10_000)
    assert len(here.sent) == sent
    assert here.tc.safe is not None
    assert here.tc.pipeline is not None
    switch(here, Mode.ACT)
    here.run(100)
    assert here.tc.names() == ["low_latency"], "what stayed is adopted"


def test_observe_lets_a_lease_end_and_logs_what_it_would_do() -> None:
    here = world(BASE, "enforce: {lease_ms: 600}")
    here.run(500)
    assert here.tc.renewals
    renewals = len(here.tc.renewals)
    switch(here, Mode.OBSERVE)
    here.run(2_000)
    assert len(here.tc.renewals) == renewals
    assert here.tc.pipeline is None
    assert here.events("decided")[-1]["dry_run"] is True


def test_a_policy_that_is_reloaded_stays_within_the_mode() -> None:
    here = world(BASE)
    here.run(100)
    switch(here, Mode.OFF)
    here.do(here.controller.set_policy(here.now_us, policy("base: [{template: fq_codel}]")))
    here.run(500)
    assert here.tc.names() == ["low_latency", "safe"]
    switch(here, Mode.ACT)
    here.run(100)
    assert here.tc.names()[-1] == "fq_codel"


def test_each_mode_says_what_happens_to_calls_in_progress() -> None:
    assert [mode.value for mode in Mode] == ["off", "observe", "act"]
    assert "calls" in Mode.OBSERVE.meaning
    assert "every bearer" in Mode.OFF.meaning
