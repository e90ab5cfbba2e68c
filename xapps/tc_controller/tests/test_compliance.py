"""Whether a bearer meets its objective, and what is no fault of its pipeline."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tc_controller.core.act.kept_states import KeptStates
from tc_controller.core.bearer.blocked import blocked
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import BearerKey
from tc_controller.core.verify.compliance import Assessment, Compliance, begun
from tc_controller.policy_file import parse_policy
from tc_world import DRB, NODE, RNTI, Source, World, bulk, ping


def violated_since_us(of: World) -> int:
    (bearer,) = of.controller.nodes[NODE].bearers.values()
    assert bearer.judged.assessment is not None
    assert bearer.judged.assessment.state is Compliance.VIOLATED
    return bearer.judged.assessment.since_us


def world(*sources: Source, rule: str = "base: [{template: low_latency}]", **options: Any) -> World:
    policy = parse_policy(f"version: 1\nrules: [{{name: r, {rule}}}]")
    return World(Controller(policy, **options), *sources)


def states(of: World) -> list[str]:
    return [record["state"] for record in of.events("compliance")]


def state(of: World) -> Compliance | None:
    return of.controller.nodes[NODE].bearers[BearerKey(NODE, RNTI, DRB)].judged.compliance


def test_a_bearer_that_carries_little_meets_its_objective_and_an_empty_one_is_idle() -> None:
    light = world(ping())
    light.run(3_000)
    assert state(light) is Compliance.MET
    light.sources = []
    light.run(3_000)
    assert state(light) is Compliance.IDLE
    assert states(light)[-1] == "idle"


def test_bloat_without_control_is_a_violation_and_names_what_blocks_a_decision() -> None:
    bloated = world(bulk(), ping(), rule="ladder: []")
    bloated.run(3_000)
    record = bloated.events("compliance")[-1]
    assert record["state"] == "violated"
    assert state(bloated) is Compliance.VIOLATED
    assert "above 10 ms" in record["reason"]
    assert record["blocker"] == "watch only: the rule has neither base nor ladder"
    (totals,) = bloated.controller.counters.service.values()
    assert totals.compliance[Compliance.VIOLATED] >= 2


@pytest.mark.parametrize(
    ("rule", "acting", "blocker"),
    [
        ("ladder: []", True, "watch only: the rule has neither base nor ladder"),
        ("ladder: [], enforce: {dry_run: true}", True, "watch only: the rule has neither"),
        (
            "base: [{template: transparent}], enforce: {dry_run: true}",
            True,
            "dry run: decides, sends",
        ),
        ("ladder: [{template: low_latency}], enforce: {dry_run: true}", True, "dry run: decides"),
        ("base: [{template: transparent}]", False, "observing: sends no control yet"),
    ],
)
def test_a_violation_names_what_blocks_a_decision(rule: str, acting: bool, blocker: str) -> None:
    bloated = world(bulk(), ping(), rule=rule, acting=acting)
    bloated.run(3_000)
    bearer = bloated.controller.nodes[NODE].bearers[BearerKey(NODE, RNTI, DRB)]
    record = [each for each in bloated.events("compliance") if each["state"] == "violated"][-1]
    assert record["blocker"].startswith(blocker)
    assert str(blocked(bearer, bloated.now_us)).startswith(blocker)


@pytest.mark.parametrize(("away_s", "kept"), [(30, True), (700, False)])
def test_since_survives_a_restart_of_the_controller(away_s: int, kept: bool) -> None:
    bloated = world(bulk(), ping(), rule="ladder: []")
    bloated.run(15_000)
    began_us = violated_since_us(bloated)
    document = json.loads(json.dumps(bloated.controller.desired.document()))
    policy = parse_policy("version: 1\nrules: [{name: r, ladder: []}]")
    again = World(
        Controller(policy, state=document),
        *(bulk(), ping()),
        start_us=bloated.now_us + away_s * 1_000_000,
    )
    again.run(5_000)
    assert (violated_since_us(again) == began_us) == kept


def test_a_state_is_saved_when_it_changes_and_once_a_minute() -> None:
    bloated = world(bulk(), ping(), rule="ladder: []")
    saves = 0
    for _ in range(80):
        bloated.saved = None
        bloated.run(1_000)
        saves += bloated.saved is not None
    assert 2 <= saves <= 3


def test_states_of_bearers_that_do_not_return_are_not_kept_for_ever() -> None:
    states = KeptStates()
    gone, here = BearerKey(NODE, RNTI, DRB), BearerKey(NODE, RNTI + 1, DRB)
    states.note(gone, "violated", 5, 5)
    assert states.due(20_000_000)
    states.note(here, "violated", 700_000_000, 700_000_000)
    assert states.due(700_000_000)
    assert [entry["rnti"] for entry in states.entries()] == [RNTI + 1]


def test_a_rule_with_a_base_alone_says_that_it_has_no_ladder() -> None:
    based = world(bulk(), ping())
    based.run(3_000)
    bearer = based.controller.nodes[NODE].bearers[BearerKey(NODE, RNTI, DRB)]
    assert str(blocked(bearer, based.now_us)) == "the rule has no ladder: its base is all it has"


def test_a_radio_that_sends_nothing_is_stalled_not_violated() -> None:
    stalled = world(ping(), rule="base: [{template: bdp_only}]")
    stalled.run(3_000)
    stalled.link_kbps = 0
    stalled.run(3_000)
    assert state(stalled) is Compliance.RADIO_STALLED


def test_a_node_that_is_silent_gives_no_data() -> None:
    silent = world(ping())
    silent.run(3_000)
    silent.do(silent.controller.on_tick(silent.now_us + 2_000_000))
    assert state(silent) is Compliance.NO_DATA
    assert silent.events("compliance")[-1]["reason"] == "no RLC report for 2.0 s"


def test_delay_just_within_the_bound_is_at_risk() -> None:
    risky = world(bulk(60_000), rule="objective: {bound_ms: 12}")
    risky.run(20)
    # As fast as the link: the queue of 10 ms stays.
    risky.sources = [bulk(40_000)]
    risky.run(3_000)
    assert state(risky) is Compliance.AT_RISK


def test_transactions_of_the_last_hour_are_counted_for_each_bearer() -> None:
    controlled = world(ping())
    controlled.run(500)
    bearer = controlled.controller.nodes[NODE].bearers[BearerKey(NODE, RNTI, DRB)]
    assert len(bearer.change.sent_us) == 1
    controlled.do(controlled.controller.on_tick(controlled.now_us + 3_601_000_000))
    assert not bearer.change.sent_us


def judged(*states: tuple[float, Compliance]) -> Assessment:
    """The assessment after these states, each with the second of its measurement."""
    found: Assessment | None = None
    for at_s, each in states:
        found = begun(Assessment(each, ""), found, int(at_s * 1e6))
    assert found is not None
    return found


VIOLATED, NO_DATA, MET = Compliance.VIOLATED, Compliance.NO_DATA, Compliance.MET


def test_a_gap_in_the_reports_ends_no_violation() -> None:
    stops = [(each, NO_DATA if each % 10 in (2, 3) else VIOLATED) for each in range(1, 30)]
    assert judged(*stops).since_us == 1_000_000
    silent = judged((1, VIOLATED), (2, VIOLATED), (3, NO_DATA), (4, NO_DATA))
    assert (silent.state, silent.since_us) == (NO_DATA, 3_000_000)
    # What follows the gap is compared with what was before it.
    assert judged((1, VIOLATED), (2, NO_DATA), (3, MET)).state is Compliance.AT_RISK
    assert judged((1, MET), (2, NO_DATA), (3, VIOLATED)).since_us == 3_000_000
    # Too long a gap says nothing of the time before it.
    gap = [(2 + each, NO_DATA) for each in range(61)]
    assert judged((1, VIOLATED), *gap, (63, VIOLATED)).since_us == 63_000_000


def test_an_objective_is_missed_after_five_seconds_of_it_and_met_after_five_without() -> None:
    bad = [(each, VIOLATED) for each in range(1, 7)]
    assert not judged(*bad[:5]).missed
    assert judged(*bad).missed
    flapping = [(each, MET if each % 2 else VIOLATED) for each in range(2, 9)]
    assert judged(*flapping).missed
    assert judged(*bad, *((each, MET) for each in range(7, 11))).missed
    assert not judged(*bad, *((each, MET) for each in range(7, 12))).missed
    # Neither a gap nor a radio that sends nothing counts for or against it.
    for unknown in (NO_DATA, Compliance.RADIO_STALLED):
        pause = [(each, unknown) for each in range(7, 30)]
        assert judged(*bad, *pause).missed
        pause = [(each, unknown) for each in range(3, 30)]
        assert not judged(*bad[:2], *pause, (30, VIOLATED)).missed


def test_a_violation_has_lasted_since_before_the_controller_was_stopped() -> None:
    stopped = world(bulk(), ping(), rule="ladder: []")
    stopped.run(3_000)
    bearer = stopped.controller.nodes[NODE].bearers[BearerKey(NODE, RNTI, DRB)]
    assert bearer.judged.assessment is not None
    since_us = bearer.judged.assessment.since_us
    for _ in range(3):
        silent_us = stopped.now_us + 2_500_000
        stopped.do(stopped.controller.on_tick(silent_us))
        assert state(stopped) is NO_DATA
        while stopped.now_us < silent_us + 3_000_000:
            stopped.run(100)
        assert (bearer.judged.assessment.state, bearer.judged.assessment.since_us) == (
            VIOLATED,
            since_us,
        )
    record = stopped.events("compliance")[-1]
    assert (record["state"], record["since_us"]) == ("violated", since_us)
