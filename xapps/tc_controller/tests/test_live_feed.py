"""The live page's data: rows, changes, order, decisions; on virtual time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from ric.health import Condition
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import BearerKey, NodeDown
from tc_controller.core.node.faults import Fault
from tc_controller.core.verify.compliance import Compliance
from tc_controller.live.decisions import RecentDecisions
from tc_controller.live.detail import bearer_detail, find
from tc_controller.live.feed import Feed
from tc_controller.live.history import History, Sample
from tc_controller.live.ranking import Rank
from tc_controller.policy_file import parse_policy
from tc_world import DRB, NODE, RNTI, Source, World, bulk, ping

KEY = BearerKey(NODE, RNTI, DRB)
SECOND_US = 1_000_000


class Watched:
    """A world of one bearer and the feed of its controller."""

    def __init__(
        self,
        *sources: Source,
        rule: str = "base: [{template: low_latency}]",
        slices: str = "{}",
        **options: Any,
    ) -> None:
        policy = parse_policy(f"version: 1\nslices: {slices}\nrules: [{{name: r, {rule}}}]")
        self.controller = Controller(policy, **options)
        self.world = World(self.controller, *sources)
        self.decisions = RecentDecisions()
        self.feed = Feed(
            self.controller,
            self.decisions,
            lambda: {"gateway": Condition(True, "connected")},
            {},
            60,
        )
        self._records = 0

    def second(self) -> dict[str, Any]:
        """A second passes; returns what changed in it."""
        self.world.run(1_000)
        return self.changes()

    def changes(self) -> dict[str, Any]:
        for record in self.world.records[self._records :]:
            self.decisions.add(record)
        self._records = len(self.world.records)
        exhaust(self.feed.sample(self.world.now_us))
        *_, change = self.feed.changes()
        assert change is not None
        return change

    def row(self) -> dict[str, Any]:
        (row,) = self.whole()["bearers"]
        assert isinstance(row, dict)
        return row

    def whole(self) -> dict[str, Any]:
        document = json.loads("".join(self.feed.whole()))
        assert isinstance(document, dict)
        return document

    def detail(self) -> dict[str, Any]:
        return bearer_detail(self.controller, KEY, self.decisions.of(KEY), self.world.now_us)


def exhaust(steps: Iterator[Any]) -> None:
    for _ in steps:
        pass


def test_a_bloated_bearer_is_shown_with_bound_figures_reason_and_blocker() -> None:
    watched = Watched(bulk(), ping(), rule="ladder: []")
    for _ in range(4):
        watched.second()
    row = watched.row()
    assert (row["state"], row["bound_ms"], row["pipeline"]) == ("violated", 10.0, "transparent")
    assert "above 10 ms" in row["reason"]
    sojourn_ms, rate_kbps, queue_bytes, *_ = row["values"]
    assert sojourn_ms > 100
    assert 35_000 < rate_kbps <= 40_000
    assert queue_bytes > 100_000
    detail = watched.detail()
    assert detail["blocker"] == "watch only: the rule has neither base nor ladder"
    assert detail["flows"]["top"][0]["greedy"]


def test_an_observing_controller_says_that_it_sends_nothing() -> None:
    watched = Watched(bulk(), ping(), acting=False)
    for _ in range(3):
        watched.second()
    assert watched.whole()["controller"]["mode"] == "observing: sends no control yet"
    assert watched.detail()["blocker"] == "observing: sends no control yet"


@pytest.mark.parametrize(
    ("rule", "mode"),
    [
        ("ladder: []", "watch only: no rule has a pipeline"),
        (
            "base: [{template: transparent}], enforce: {dry_run: true}",
            "dry run: decides, sends nothing",
        ),
        ("ladder: [], enforce: {dry_run: true}", "watch only: no rule has a pipeline"),
        ("base: [{template: transparent}]", "acting"),
    ],
)
def test_the_mode_says_whether_a_pipeline_may_be_installed(rule: str, mode: str) -> None:
    watched = Watched(ping(), rule=rule)
    watched.second()
    controller = watched.whole()["controller"]
    assert (controller["mode"], controller["acts"]) == (mode, mode == "acting")


def test_a_cured_bearer_is_shown_with_its_pipeline_and_its_decision_with_reason_and_effect() -> (
    None
):
    watched = Watched(bulk(), ping(), rule="ladder: [{template: fq_codel}]")
    for _ in range(6):
        watched.second()
    row = watched.row()
    assert (row["state"], row["pipeline"], row["reason"]) == ("met", "fq_codel", None)
    assert watched.detail()["reason"].startswith("p95 sojourn")
    (decision,) = watched.whole()["decisions"]
    assert decision["template"] == "fq_codel"
    assert decision["result"] == "satisfied"
    assert decision["effect"].startswith("satisfied: sojourn ")
    (story,) = watched.detail()["decisions"]
    assert story["text"].startswith(f"Decision {decision['id']} on {KEY}")
    assert "Verified from" in story["text"]
    facts = dict(watched.detail()["facts"])
    assert facts["Pipeline in force"] == "fq_codel, revision 2"
    assert facts["It stays"].startswith("under a lease, ")


def test_a_second_without_a_change_sends_no_row() -> None:
    watched = Watched(ping())
    for _ in range(5):
        watched.second()
    change = watched.second()
    assert change["bearers"] == []
    assert [set(node) for node in change["nodes"]] == [{"id", "reported_at_us"}]
    assert change["gone"] == []


def test_changes_applied_to_the_document_give_the_next_document() -> None:
    watched = Watched(bulk(), ping())
    watched.second()
    document = watched.whole()
    rows = {row["column"]: row for row in document["bearers"]}
    nodes = {node["id"]: node for node in document["nodes"]}
    for _ in range(5):
        change = watched.second()
        for row in change["bearers"]:
            rows.setdefault(row["column"], {}).update(row)
        for column, *values in change["values"]:
            rows[column]["values"] = values
        for node in change["nodes"]:
            nodes.setdefault(node["id"], {}).update(node)
    assert rows == {row["column"]: row for row in watched.whole()["bearers"]}
    assert nodes == {node["id"]: node for node in watched.whole()["nodes"]}


def test_a_node_that_disconnects_is_listed_as_gone_and_its_bearers_leave() -> None:
    watched = Watched(ping())
    watched.second()
    column = watched.row()["column"]
    watched.world.do(watched.controller.on_node_event(watched.world.now_us, NodeDown(NODE)))
    change = watched.changes()
    assert change["gone"] == [column]
    assert change["nodes"][0]["role"] == "disconnected"
    assert change["nodes"][0]["gone_since_us"] == watched.world.now_us
    assert find(watched.controller, str(KEY)) is None


def test_a_silent_node_is_a_fault_with_its_first_step_and_its_bearer_has_no_data() -> None:
    watched = Watched(ping())
    watched.second()
    silent_us = watched.world.now_us + 3 * SECOND_US
    watched.world.do(watched.controller.on_tick(silent_us))
    watched.changes()
    (node,) = watched.whole()["nodes"]
    (fault,) = node["faults"]
    assert (fault["sentence"], fault["since_us"]) == (Fault.SILENT.sentence, silent_us)
    assert "its E2 agent" in fault["advice"]
    assert watched.row()["state"] == "no_data"
    assert watched.row()["values"] == [None] * 5
    assert watched.detail()["advice"] == "The node sends no RLC reports of this bearer."


def test_a_pipeline_status_that_is_not_renewed_is_stale() -> None:
    watched = Watched(ping())
    watched.second()
    assert watched.row()["stale"] is None
    watched.world.reports_pipelines = False
    for _ in range(3):
        watched.second()
    assert watched.row()["stale"] == "pipeline status is 3 s old"


def test_a_node_shows_its_trials_with_what_they_found_so_far() -> None:
    trial = "trial: {against: {template: transparent}, share_of_time: 0.2, period_s: 30}"
    watched = Watched(bulk(), ping(), rule=f"base: [{{template: low_latency}}], {trial}")
    watched.second()
    (node,) = watched.whole()["nodes"]
    (text,) = node["trials"]
    assert text.startswith(
        "Trial waiting: no effect of low_latency against transparent was measured"
    )


def test_a_bearer_of_a_slice_is_shown_with_its_name() -> None:
    watched = Watched(ping(), slices=f"{{urllc: {{rntis: [{RNTI}]}}}}")
    watched.second()
    assert watched.row()["slice"] == "urllc"
    assert dict(watched.detail()["facts"])["Slice"] == "urllc"


def test_a_bearer_without_a_rule_is_shown_as_not_controlled() -> None:
    watched = Watched(ping(), rule="match: {drbs: [7]}, ladder: []")
    watched.second()
    watched.second()
    assert watched.row()["state"] == "no_rule"
    assert "not controlled" in watched.detail()["reason"]
    assert watched.row()["values"][1] > 0


def test_a_name_that_is_no_bearer_is_not_found() -> None:
    watched = Watched(ping())
    watched.second()
    assert find(watched.controller, str(KEY)) == KEY
    for name in ("", NODE, f"{NODE}/0xzz/drb1", f"{NODE}/0x4601/drb", f"{NODE}/0x4601/drb2"):
        assert find(watched.controller, name) is None


# ---------------------------------------------------------------------- order


def ranked(states: list[str], ratio: float = 1.0) -> Rank:
    rank = Rank()
    for second, state in enumerate(states):
        rank.step(second * SECOND_US, state, ratio)
    return rank


def test_a_violation_moves_a_bearer_up_at_once_and_down_after_15_calm_seconds() -> None:
    met, violated = Compliance.MET.value, Compliance.VIOLATED.value
    high = ranked([met, violated]).band
    assert high > ranked([met, met]).band
    assert ranked([violated] + [met] * 15).band == high
    assert ranked([violated] + [met] * 16).band < high
    assert ranked([violated] + [met] * 10 + [violated] + [met] * 10).band == high


def test_bearers_of_a_state_are_ordered_by_octaves_that_small_changes_do_not_leave() -> None:
    rank = Rank()
    rank.step(0, Compliance.MET.value, 4.0)
    assert rank.octave == 2
    for second, ratio in enumerate((3.0, 5.0, 3.5, 4.5, 2.9, 6.0), 1):
        rank.step(second * SECOND_US, Compliance.MET.value, ratio)
        assert rank.octave == 2
    for second in range(100, 400):
        rank.step(second * SECOND_US, Compliance.MET.value, 40.0)
    assert rank.octave == 5


def test_a_second_without_a_figure_keeps_the_place() -> None:
    rank = ranked([Compliance.MET.value] * 3, 4.0)
    before = rank.value
    rank.step(3 * SECOND_US, Compliance.MET.value, float("nan"))
    assert rank.value == before


# -------------------------------------------------------------------- history


def test_the_history_keeps_the_last_seconds_and_shows_gaps() -> None:
    history = History(3)
    one, other = BearerKey("n", 1, 1), BearerKey("n", 2, 1)
    history.keep([one])
    history.add(0, [history.columns[one]], [Sample(1.26, 10.4, 100)])
    history.keep([one, other])
    history.add(1, [history.columns[other]], [Sample(float("nan"), 20, 200)])
    unknown = [None, None]
    assert history.series(one) == [[1.3, None], [10, None], [100, None], unknown, unknown]
    assert history.series(other)[1] == [None, 20]
    for at_us in (2, 3):
        history.add(at_us, [history.columns[one]], [Sample(at_us, 0, 0)])
    assert history.at_us() == [1, 2, 3]
    assert history.series(one)[0] == [None, 2.0, 3.0]


def test_a_column_that_is_given_to_another_bearer_forgets_the_former() -> None:
    history = History(3)
    one, other = BearerKey("n", 1, 1), BearerKey("n", 2, 1)
    history.keep([one])
    history.add(0, [history.columns[one]], [Sample(1, 1, 1)])
    freed = history.keep([])
    history.keep([other])
    assert freed == [history.columns[other]]
    assert history.series(other) == [[None]] * 5
    assert history.series(one) == [[]] * 5


# ------------------------------------------------------------------ decisions


def decided(number: int, rnti: int = 1) -> dict[str, Any]:
    """A record of a decision that needs nothing but what is shown."""
    return {
        "event": "decided",
        "id": f"d-{number}",
        "at_us": number,
        "bearer": BearerKey(NODE, rnti, 1).as_dict(),
        "trigger": "violation",
        "follows": None,
        "rule": "r",
        "objective": {"percentile": 95.0, "bound_ms": 10.0, "window_ms": 100},
        "inputs": {
            "sojourn_us": 1,
            "hol_us": 1,
            "occupancy_bytes": 1,
            "drain_kbps": None,
            "ue_prb_per_s": None,
        },
        "rung": {"of": "ladder", "index": 0, "template": "fq_codel"},
        "skipped": [],
        "transaction": {
            "pipeline": {"pacer": "none"},
            "as_safe": False,
            "lease_ms": 1,
            "expected_revision": 1,
        },
        "dry_run": False,
        "reasons": ["it is slow"],
    }


def test_decisions_are_bounded_for_each_bearer_and_in_all() -> None:
    decisions = RecentDecisions()
    for number in range(20):
        decisions.add(decided(number))
    newest = decisions.of(BearerKey(NODE, 1, 1))
    assert [story.id for story in newest] == [f"d-{number}" for number in range(19, 11, -1)]
    for number in range(20, 1_100):
        decisions.add(decided(number, rnti=number))
    assert len(decisions.newest(5_000)) == 1_000
    assert decisions.of(BearerKey(NODE, 1, 1)) == []
    assert [story.id for story in decisions.newest(2)] == ["d-1099", "d-1098"]
    assert len(decisions.take_changed(50)) == 50
    assert decisions.take_changed(50) == []
