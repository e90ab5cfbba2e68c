"""The life of a bearer: the table is total and consistent, and the code runs it."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from tc_controller.cli import main
from tc_controller.core import controller as controlling
from tc_controller.core.actions import Action
from tc_controller.core.bearer import effects
from tc_controller.core.bearer.bearer import Bearer, Occurrence
from tc_controller.core.bearer.events import BearerEvents
from tc_controller.core.bearer.states import FREE, Event, State
from tc_controller.core.bearer.transition import Transition
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import BearerKey, EventReport, NodeUp
from tc_controller.core.ladder.lifecycle import LIFECYCLE, TRANSITIONS
from tc_controller.policy_file import parse_policy
from tc_world import DRB, NODE, RNTI, World, bulk, ping

LIVE = [state for state in State if state is not State.GONE]


@pytest.mark.parametrize("state", LIVE)
@pytest.mark.parametrize("event", Event)
def test_every_event_has_a_transition_in_every_state(state: State, event: Event) -> None:
    *guarded, last = LIFECYCLE[state, event]
    assert last.guard is None, "one row always applies"
    guards = [row.guard for row in guarded]
    assert None not in guards, "no row follows one that always applies"
    assert len(set(guards)) == len(guards)


def test_every_state_is_reached_and_left_and_only_gone_is_final() -> None:
    initial = {State.UNCONTROLLED, State.UNCONFIRMED}
    reached = set(initial)
    while more := {row.target for row in TRANSITIONS if row.state in reached} - reached:
        reached |= more
    assert reached == set(State)
    assert {row.state for row in TRANSITIONS if row.target is not row.state} == set(LIVE)


def test_ignored_events_change_nothing_and_have_a_reason() -> None:
    for row in TRANSITIONS:
        if row.ignored:
            assert row.target is row.state
            assert row.effect.words == "nothing"
        assert row.effect.words
        assert row.guard is None or row.guard.words


@pytest.mark.parametrize("event", [Event.VIOLATION, Event.TIMER])
def test_a_change_begins_in_free_states_alone(event: Event) -> None:
    rows = [row for row in TRANSITIONS if row.event is event]
    assert {row.state for row in rows if row.effect is effects.APPLY_RUNG} == FREE


class Watched:
    """Records each change of state of every bearer, and the row that was taken for it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rows: set[Transition] = set()
        self.changes: list[tuple[State, State]] = []
        take = BearerEvents._take

        def recorded(
            of: BearerEvents, taken: Transition, bearer: Bearer, on: Occurrence
        ) -> list[Action]:
            rows = LIFECYCLE[bearer.state, taken.event]
            passing = [row for row in rows if not row.guard or row.guard.holds(bearer, on)]
            assert taken is passing[0]
            actions = take(of, taken, bearer, on)
            assert bearer.state is taken.target
            self.rows.add(taken)
            return actions

        monkeypatch.setattr(BearerEvents, "_take", recorded)
        changes = self.changes

        def set_attribute(bearer: Bearer, name: str, value: Any) -> None:
            if name == "state" and hasattr(bearer, "state"):
                changes.append((bearer.state, value))
            object.__setattr__(bearer, name, value)

        monkeypatch.setattr(Bearer, "__setattr__", set_attribute)


RULES = (
    "",
    "guard: {sojourn_floor_ms: 60000, max_sojourn_ratio: 1000}",
    "enforce: {cool_down_ms: 300, stale_retries: 1, lease_ms: 900}",
    "enforce: {release_idle_after_ms: 700, cool_down_ms: 300}",
    "enforce: {dry_run: true, cool_down_ms: 300}",
    "base: [{template: low_latency}]",
    "base: [{template: low_latency}]",
    "base: [{template: low_latency}]\n  enforce: {keep_base_without_controller: false}",
    "base: [{template: fq_codel}]\n  enforce: {lease_ms: 300, release_idle_after_ms: 700}",
)
LADDERS = (
    "[{template: fq_codel}]",
    "[{template: flow_slicing, greedy_rate_kbps: 2000}, {template: fq_codel}]",
    "[{template: bdp_only}, {template: fq_codel}]",
)


def happen_at_the_node(fault: int, world: World) -> None:
    function = world.tc
    if fault == 1:
        function.restore(world.now_us)
    elif fault == 2 and function.pipeline is not None:
        function.install({**function.pipeline, "name": "theirs"}, world.now_us)
    elif fault == 9:
        function.restart()
    elif fault == 10 and function.lease_until_us is not None:
        function.lease_until_us = world.now_us


def random_life(seed: int) -> World:
    """Seconds of a bearer whose node, controls, flows and policy misbehave."""
    chance = random.Random(seed)

    def policy() -> Any:
        drb = chance.choice((1, 1, 1, 9))
        return parse_policy(
            f"version: 1\nrules:\n- name: r\n  match: {{drbs: [{drb}]}}\n"
            f"  ladder: {chance.choice(LADDERS)}\n  {chance.choice(RULES)}\n"
        )

    controller = Controller(policy(), control_timeout_us=50_000)
    world = World(controller, bulk(), ping(), capabilities={"as_safe": chance.random() < 0.7})
    core = world.controller
    refusing: tuple[int, str] = (0, "")

    def refuse(_: dict[str, Any]) -> dict[str, Any] | None:
        return {"cause": refusing[1]} if world.now_us < refusing[0] else None

    bearer = {"ue": {"rnti": RNTI}, "drb": DRB}
    for _ in range(4_000):
        world.tc.refuse = refuse
        world.step()
        if chance.random() > 0.01:
            continue
        fault = chance.randrange(12)
        if fault == 0:
            world.answering = not world.answering
        elif fault in (1, 2, 9, 10):
            happen_at_the_node(fault, world)
        elif fault in (3, 4):
            cause = chance.choice(("stale_revision", "unsupported", "unknown_bearer"))
            refusing = (world.now_us + chance.choice((3_000, 400_000)), cause)
        elif fault == 5:
            world.do(core.on_node_event(world.now_us, NodeUp(NODE, world.capabilities)))
        elif fault == 6:
            world.do(core.set_policy(world.now_us, policy()))
        elif fault == 7:
            world.sources = chance.choice(([], [bulk(), ping()]))
        elif fault == 8:
            kind: Any = {"lease_expired": {"revision": world.tc.revision}}
            kind = chance.choice((kind, kind, "bearer_removed"))
            events = [{"bearer": bearer, "kind": kind}]
            world.do(core.on_indication(world.now_us, EventReport(NODE, world.now_us, events)))
        else:
            world.do(core.release_all(world.now_us))
    return world


def test_bearers_take_transitions_of_the_table_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch)
    for seed in range(30):
        random_life(seed)
    edges = {(row.state, row.target) for row in TRANSITIONS}
    # A bearer that is desired begins unconfirmed; its constructor sets that.
    edges.add((State.UNCONTROLLED, State.UNCONFIRMED))
    assert set(watched.changes) <= edges
    taken = {row for row in watched.rows if not row.ignored}
    every = {row for row in TRANSITIONS if not row.ignored}
    assert len(taken) >= 0.6 * len(every), "the random sequences reach most of the table"


def test_passing_over_a_repeated_status_changes_no_decision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lives = [random_life(seed) for seed in range(20)]
    monkeypatch.setattr(controlling, "repeats", lambda *_: False)
    for seed, life in enumerate(lives):
        other = random_life(seed)
        assert life.records == other.records
        assert life.sent == other.sent
        assert life.saved == other.saved
        assert life.controller.counters == other.controller.counters


def test_a_bearer_that_holds_its_pipeline_passes_over_nearly_all_reports(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    policy = parse_policy("version: 1\nrules: [{name: r, base: [{template: low_latency}]}]")
    world = World(Controller(policy), bulk(), ping())
    world.run(500)
    taken = []
    status = BearerEvents.status

    def counted(of: BearerEvents, *given: Any) -> list[Action]:
        taken.append(given)
        return status(of, *given)

    monkeypatch.setattr(BearerEvents, "status", counted)
    world.run(1_000)
    assert len(taken) <= 2
    view = world.controller.nodes[NODE].view(BearerKey(NODE, RNTI, DRB))
    assert view is not None
    assert view.pipeline is not None
    assert world.now_us - view.pipeline.collected_at_us <= 10_000


def test_the_table_is_printed_and_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["states"]) == 0
    table = capsys.readouterr().out
    assert re.search(r"verifying +worse +skip the rung .* awaiting answer\n", table)
    assert main(["states", "--format", "mermaid"]) == 0
    mermaid = capsys.readouterr().out
    assert mermaid.startswith("stateDiagram-v2\n")
    assert "VERIFYING --> AWAITING_ANSWER: " in mermaid
    assert main(["states", "--format", "dot"]) == 0
    assert capsys.readouterr().out.startswith("digraph bearer {\n")
