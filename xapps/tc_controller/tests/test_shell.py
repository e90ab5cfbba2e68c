"""The whole controller against a fake RIC: faults of node, gateway and process."""

from __future__ import annotations

import asyncio
import json
import os
import signal

import pytest
from ric.e2 import ControlAnswer
from ric.errors import AccessDenied
from ric.health import Condition
from ric.sm import RLC_OID, TC_V1_OID
from structlog.testing import capture_logs
from tc_controller.core.act.ownership import Role
from tc_controller.core.act.sharing import Replica
from tc_controller.settings import ReplicaSettings
from tc_ric import POLICY, Lab, in_lab
from tc_world import NODE


@in_lab
async def test_watches_decides_acts_and_verifies(lab: Lab) -> None:
    lab.add_node()
    lab.start()
    await asyncio.sleep(3)
    served = {"node": NODE, "slice": "", "rule": "r"}
    assert lab.metric("compliance_seconds_total", **served, state="met") >= 1
    await lab.stop()
    events = [record["event"] for record in lab.records()]
    assert events == ["node_up", "decided", "answered", "verified", "compliance", "stats"]
    assert lab.model.tc.names() == ["fq_codel"]
    assert lab.records("verified")[0]["verdict"] == "satisfied"
    assert (
        lab.metric("decisions_total", trigger="violation", template="fq_codel", result="accepted")
        == 1
    )
    assert lab.metric("detect_to_ack_seconds_count") == 1
    assert lab.metric("bearers_gone_total") == 0


@in_lab
async def test_readiness_is_announced_by_one_json_line(
    lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.start()
    await asyncio.sleep(0.1)
    (line,) = [x for x in capsys.readouterr().out.splitlines() if '"event"' in x and "ready" in x]
    assert json.loads(line) == {"event": "ready", "metrics": ""}


@in_lab
async def test_a_gateway_that_connects_late_and_reconnects(lab: Lab) -> None:
    lab.ric.down()
    lab.add_node()
    lab.start()
    await asyncio.sleep(2)
    lab.ric.up()
    await asyncio.sleep(8)
    assert lab.model.tc.names() == ["fq_codel"]
    lab.ric.down()
    await asyncio.sleep(10)
    assert lab.model.tc.names() == ["fq_codel", "safe"], "the lease ended in the meantime"
    lab.ric.up()
    await asyncio.sleep(8)
    assert lab.model.tc.names() == ["fq_codel", "safe", "fq_codel"]


@in_lab
async def test_a_node_of_other_replicas_is_left_alone_and_the_controller_is_ready(lab: Lab) -> None:
    indexes = [index for index in range(3) if not Replica(index, 3, 0).prefers(NODE)]
    lab.add_node()
    lab.start(replica=ReplicaSettings(index=indexes[0], count=3, standbys=0))
    await asyncio.sleep(3)
    assert lab.ric.controls == []
    assert lab.ric.subscriptions == []
    assert lab.xapp is not None
    readiness = lab.xapp.readiness
    assert readiness.conditions()["indications"].detail == "all 1 nodes are left to other replicas"
    assert readiness.ready


@in_lab
async def test_a_controller_whose_identity_another_one_has_is_not_ready(lab: Lab) -> None:
    lab.add_node()
    lab.start(identity="a")
    await asyncio.sleep(1)
    assert lab.xapp is not None
    assert lab.app is not None
    assert lab.xapp.readiness.ready
    (node,) = lab.app.controller.nodes.values()
    node.ownership.role, node.ownership.holder = Role.DUPLICATE, "a"
    assert lab.xapp.readiness.conditions()["nodes"] == Condition(False, "a; duplicate of a: 1")
    assert not lab.xapp.readiness.ready
    assert lab.metric("nodes", role="duplicate") == 1
    assert lab.metric("node_owner", node=NODE) == 0


@in_lab
async def test_a_restarted_node_gets_its_pipeline_again(lab: Lab) -> None:
    lab.add_node()
    lab.start()
    await asyncio.sleep(3)
    lab.restart_node()
    await asyncio.sleep(3)
    assert lab.model.tc.names() == ["fq_codel"]
    assert len(lab.records("reapplied")) == 1


@in_lab
async def test_a_killed_controller_adopts_its_pipeline_after_a_restart(lab: Lab) -> None:
    lab.add_node()
    lab.start(state=lab.directory / "state.json")
    await asyncio.sleep(3)
    await lab.kill()
    await asyncio.sleep(2)
    lab.start(state=lab.directory / "state.json")
    await asyncio.sleep(10)
    assert lab.model.tc.names() == ["fq_codel"], "never lost: the lease was renewed in time"
    assert lab.records("adopted")[0]["in_force"] == "fq_codel"


@in_lab
async def test_a_node_returns_to_safe_after_its_controller_is_killed(lab: Lab) -> None:
    lab.add_node()
    lab.start()
    await asyncio.sleep(3)
    await lab.kill()
    await asyncio.sleep(8)
    assert lab.model.tc.names() == ["fq_codel", "safe"]


@pytest.mark.parametrize(
    ("on_stop", "expected"), [("release", ["fq_codel", "safe"]), ("leave", ["fq_codel"])]
)
@in_lab
async def test_graceful_stop_releases_or_leaves(
    lab: Lab, on_stop: str, expected: list[str]
) -> None:
    lab.add_node()
    lab.start(on_stop=on_stop)
    await asyncio.sleep(3)
    await lab.stop()
    assert lab.model.tc.names() == expected


@in_lab
async def test_only_observes_for_the_configured_time(lab: Lab) -> None:
    lab.add_node()
    lab.start(observe_for_s=2)
    await asyncio.sleep(1.9)
    assert not lab.changes()
    assert lab.metric("violations_total", rule="r") == 1
    await asyncio.sleep(0.3)
    assert lab.model.tc.names() == ["fq_codel"]


@in_lab
async def test_a_signal_ends_the_observation(lab: Lab) -> None:
    lab.add_node()
    lab.start(observe_for_s=3600)
    await asyncio.sleep(1)
    assert lab.metric("acting") == 0
    os.kill(os.getpid(), signal.SIGUSR1)
    await asyncio.sleep(0.5)
    assert lab.model.tc.names() == ["fq_codel"]


@in_lab
async def test_mode_observe_overrides_the_policy(lab: Lab) -> None:
    lab.add_node()
    lab.start(mode="observe")
    await asyncio.sleep(2)
    assert not lab.ric.controls
    assert lab.records("decided")[0]["dry_run"] is True


@in_lab
async def test_policy_reload_good_and_bad(lab: Lab) -> None:
    lab.write_policy(POLICY.replace("fq_codel}]", "fq_codel}], objective: {bound_ms: 60000}"))
    lab.add_node()
    lab.start()
    await asyncio.sleep(3)
    lab.write_policy("version: 1\nrules: 7\n")
    await asyncio.sleep(2)
    assert lab.metric("policy_reloads_total", result="refused") == 1
    assert lab.metric("policy_refused") == 1
    assert not lab.changes(), "the old policy holds"
    lab.write_policy(POLICY)
    await asyncio.sleep(2)
    assert lab.metric("policy_reloads_total", result="loaded") == 1
    assert lab.metric("policy_refused") == 0
    assert lab.model.tc.names() == ["fq_codel"]


@in_lab
async def test_reload_of_report_periods_subscribes_anew(lab: Lab) -> None:
    lab.add_node()
    lab.start()
    await asyncio.sleep(1)
    lab.write_policy("reports: {rlc_period_ms: 5}\n" + POLICY)
    await asyncio.sleep(3)
    triggers = {s.request.event_trigger for s in lab.ric.subscriptions if s.request.oid == RLC_OID}
    assert triggers == {(5).to_bytes(4, "little")}


@in_lab
async def test_the_controller_works_without_refused_subscriptions(lab: Lab) -> None:
    lab.add_node()
    assert lab.fake is not None
    lab.fake.refuse_subscriptions("0.0.0.0.0.0.0.0.1.142.0", "no MAC reports here")
    lab.start()
    await asyncio.sleep(3)
    assert lab.records("verified")[0]["before"]["ue_prb_per_s"] is None
    assert lab.records("verified")[0]["verdict"] == "satisfied"


@in_lab
async def test_node_without_tc_function_is_watched_only(lab: Lab) -> None:
    lab.add_node(RLC_OID)
    lab.start()
    await asyncio.sleep(2)
    assert lab.metric("violations_total", rule="r") == 1
    assert lab.metric("bearers_watched", node=NODE, slice="", rule="r") == 1
    assert not list(lab.series("sojourn_controller_node_owner")), "there is nothing to control"
    assert not lab.ric.controls


@in_lab
async def test_a_dry_run_control_is_sent_once_after_each_start_of_a_node(lab: Lab) -> None:
    lab.model.sources = []
    lab.add_node()
    lab.start()
    await asyncio.sleep(2)
    lab.restart_node()
    await asyncio.sleep(2)
    assert len(lab.ric.controls) == 2, "one after each start of the node"
    assert not lab.changes()
    assert lab.model.tc.revision == 1


@in_lab
async def test_bad_messages_are_counted_and_survived(lab: Lab) -> None:
    lab.add_node()
    lab.start()
    await asyncio.sleep(0.5)
    assert lab.fake is not None
    assert lab.xapp is not None
    for garbage in (b"", b"\xff" * 7, os.urandom(400)):
        lab.fake.report(RLC_OID, garbage)
        lab.fake.report(TC_V1_OID, garbage)
    await asyncio.sleep(2)
    bad = lab.xapp.metrics.indication_stats(NODE, RLC_OID).bad
    assert bad >= 2
    assert lab.model.tc.names() == ["fq_codel"]


@in_lab
async def test_an_unusable_state_file_is_moved_aside(lab: Lab) -> None:
    state = lab.directory / "state.json"
    state.write_text('{"version": 1, "desired": [{"node": 3}]}')
    lab.add_node()
    lab.start(state=state)
    await asyncio.sleep(3)
    assert (lab.directory / "state.json.unusable").exists()
    assert json.loads(state.read_text())["desired"][0]["template"] == "fq_codel"
    assert lab.model.tc.names() == ["fq_codel"]


@in_lab
async def test_the_words_of_a_gateway_that_refuses_controls_are_logged_once(lab: Lab) -> None:
    def refuse(_: bytes, __: bytes) -> ControlAnswer:
        raise AccessDenied("g", "client c: no right to control")

    lab.add_node()
    assert lab.fake is not None
    lab.fake.on_control(TC_V1_OID, refuse)
    with capture_logs() as logged:
        lab.start()
        await asyncio.sleep(10)
        await lab.stop()
    assert len(lab.ric.controls) > 4
    (record,) = lab.records("fault")
    assert (record["fault"], record["what"]) == ("denied", "began")
    words = "E2 gateway g: access denied: client c: no right to control"
    (line,) = [each for each in logged if each["event"] == "fault"]
    assert (line["log_level"], line["fault"], line["reason"]) == ("warning", "denied", words)


@in_lab
async def test_a_state_that_cannot_be_saved_is_saved_when_there_is_room(lab: Lab) -> None:
    full = lab.directory / "full"
    full.touch()
    lab.add_node()
    lab.start(state=full / "state.json")
    await asyncio.sleep(3)
    assert lab.xapp is not None
    failing = "sojourn_state_file_failing"
    assert lab.registry.get_sample_value(failing) == 1
    condition = lab.xapp.readiness.conditions()["state_file"]
    assert condition.ok
    assert condition.detail.startswith("not saved, retrying: ")
    assert lab.xapp.readiness.degraded() == {"state_file": condition.detail}
    full.unlink()
    await asyncio.sleep(11)
    assert json.loads((full / "state.json").read_text())["desired"][0]["template"] == "fq_codel"
    assert lab.registry.get_sample_value(failing) == 0
    assert lab.xapp.readiness.conditions()["state_file"].detail == "saved"
    assert lab.xapp.readiness.degraded() == {}


@in_lab
async def test_a_policy_is_read_off_the_loop_and_a_strange_one_refused(lab: Lab) -> None:
    lab.add_node()
    lab.start()
    await asyncio.sleep(2)
    assert lab.xapp is not None
    policy = lab.directory / "policy.yaml"
    before = lab.off_loop
    policy.unlink()
    os.mkfifo(policy)
    await asyncio.sleep(2)
    assert lab.off_loop > before
    assert lab.metric("policy_reloads_total", result="refused") == 1
    assert lab.metric("policy_refused") == 1
    condition = lab.xapp.readiness.conditions()["policy"]
    why = "policy.yaml: newest refused, `tc-controller check` says why"
    assert condition == Condition(True, why, degraded=True)
    policy.unlink()
    policy.write_text("rules: [" + "1, " * 330_000 + "]")
    await asyncio.sleep(2)
    assert lab.metric("policy_reloads_total", result="refused") == 2
    assert lab.model.tc.names() == ["fq_codel"]


@in_lab
async def test_latencies_are_in_the_stats_file_and_the_log(lab: Lab) -> None:
    lab.add_node()
    lab.start(stats=lab.directory / "stats.json")
    await asyncio.sleep(3)
    await lab.stop()
    stats = json.loads((lab.directory / "stats.json").read_text())
    assert stats["detect_to_ack_us"]["count"] == 1
    assert stats["indication_latency_us"]["count"] > 2_900
    # Reports do not wait for percentiles and a disk. Without a state file nothing else is kept.
    assert lab.off_loop >= 2
    assert set(stats["indication_latency_us"]) == {"count", "p50", "p95", "p99", "max"}
    (record,) = lab.records("stats")
    assert record["detect_to_ack_us"] == stats["detect_to_ack_us"]
