"""What bearers to come are set up with: which rules, when they are sent, what becomes of them."""

from __future__ import annotations

from typing import Any

import pytest
from ric.sm import tc
from tc_controller.core.act.node_default import compile_rules, why_not_in_advance
from tc_controller.core.actions import SendControl, WriteRecord
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import (
    Accepted,
    BearerKey,
    NodeDown,
    NodeUp,
    Outcome,
    Refused,
    Unanswered,
)
from tc_controller.core.policy.schema import Policy
from tc_controller.core.policy.selectors import UNKNOWN, Carried
from tc_controller.policy_file import parse_policy

NODE = "gnb-1"
CAPABILITIES: dict[str, Any] = {
    "node_lease": True,
    "as_safe": True,
    "node_default": {"max_rules": 16, "matches": ["five_qi", "s_nssai", "drb"]},
}
BASE = "base: [{template: low_latency}]"
LEASE_US = 6_000_000


def policy(rules: str, more: str = "") -> Policy:
    return parse_policy(f"version: 1\n{more}\nrules: [{rules}]\n")


def rules_of(
    text: str, more: str = "", capabilities: dict[str, Any] = CAPABILITIES
) -> list[tuple[str, dict[str, Any], str | None]]:
    compiled = compile_rules(policy(text, more), NODE, capabilities, {}, {})
    given = ({k: v for k, v in each.match.items() if v} for each in compiled)
    return [(each.rule, match, each.template) for each, match in zip(compiled, given, strict=True)]


class Shell:
    """A node that answers, and what it was sent as a node default."""

    def __init__(self, rules: Policy, capabilities: dict[str, Any] | None = None) -> None:
        self.now_us = 1_000_000
        self.controller = Controller(rules, owner="a")
        self.answer: Outcome | None = None
        self.sent: list[Any] = []
        self.leases: list[int | None] = []
        self.records: list[dict[str, Any]] = []
        self.revision = 0
        self.capabilities = CAPABILITIES if capabilities is None else capabilities
        self.up()

    def up(self) -> None:
        self.do(self.controller.on_node_event(self.now_us, NodeUp(NODE, self.capabilities)))

    def do(self, actions: list[Any]) -> None:
        for action in actions:
            if isinstance(action, WriteRecord):
                self.records.append(dict(action.record))
            if not isinstance(action, SendControl):
                continue
            # What is sent can be encoded.
            tc.encode("control", action.message)
            ((kind, content),) = action.message.items()
            outcome: Outcome = Accepted(1, content["lease_ms"])
            if kind == "node_default":
                assert action.header["style"] == 5
                assert content["owner"] == "a"
                self.sent.append(content["change"])
                self.leases.append(content["lease_ms"])
                self.revision += (
                    not isinstance(content["change"], dict) or "set" in content["change"]
                )
                outcome = self.answer or Accepted(self.revision, content["lease_ms"])
                self.answer = None
            answered = self.controller.on_control_answer(self.now_us, action.control_id, outcome)
            self.do(answered)

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds * 100)):
            self.now_us += 10_000
            self.do(self.controller.on_tick(self.now_us))

    def kinds(self) -> list[str]:
        return [each if isinstance(each, str) else next(iter(each)) for each in self.sent]

    def templates(self, at: int = -1) -> list[str]:
        return [each["pipeline"]["name"] for each in self.sent[at]["set"]]


def test_the_base_of_the_default_policy_is_what_every_bearer_to_come_starts_with() -> None:
    shell = Shell(policy(f"{{name: r, {BASE}}}"))
    shell.run(0.02)
    assert shell.kinds() == ["set"]
    (rule,) = shell.sent[0]["set"]
    assert rule["match"] == {"five_qis": [], "s_nssais": [], "drbs": []}
    assert rule["pipeline"] == tc.pipeline("low_latency", {})
    assert (rule["as_safe"], rule["lease_ms"], shell.leases) == (True, None, [6_000])
    # It is renewed each third of its lease, and set no more.
    shell.run(20)
    assert set(shell.kinds()[1:]) == {"renew"}
    assert 9 <= len(shell.sent) <= 11
    assert shell.sent[-1] == {"renew": 1}
    (record,) = [each for each in shell.records if each["event"] == "node_default"]
    assert (record["what"], record["rules"][0]["template"]) == ("set", "low_latency")
    assert record["summary"] == "every bearer: low_latency (rule r)"


def test_without_a_base_that_is_kept_it_is_leased() -> None:
    shell = Shell(
        policy(
            f"{{name: r, {BASE}, enforce: {{keep_base_without_controller: false, lease_ms: 900}}}}"
        )
    )
    shell.run(0.02)
    (rule,) = shell.sent[0]["set"]
    assert (rule["as_safe"], rule["lease_ms"], shell.leases) == (False, 900, [900])


@pytest.mark.parametrize(
    "text",
    [
        f"{{name: r, {BASE}, enforce: {{dry_run: true}}}}",
        "{name: r}",
        "{name: r, ladder: [{template: fq_codel}]}",
    ],
)
def test_a_policy_that_installs_no_base_sends_nothing(text: str) -> None:
    shell = Shell(policy(text))
    shell.run(20)
    assert shell.sent == []


def test_one_that_only_observes_sends_nothing_until_it_may() -> None:
    shell = Shell(policy(f"{{name: r, {BASE}}}"))
    shell.controller.acting = False
    shell.sent.clear()
    shell.run(5)
    assert shell.sent == []
    shell.controller.enable()
    shell.run(0.1)
    assert shell.kinds() == ["set"]


def test_a_node_that_does_not_declare_it_is_not_asked() -> None:
    old = {name: value for name, value in CAPABILITIES.items() if name != "node_default"}
    shell = Shell(policy(f"{{name: r, {BASE}}}"), old)
    shell.run(20)
    assert shell.sent == []


def test_a_node_that_restarted_or_lost_it_is_given_it_again() -> None:
    shell = Shell(policy(f"{{name: r, {BASE}}}"))
    shell.run(1)
    shell.do(shell.controller.on_node_event(shell.now_us, NodeDown(NODE)))
    shell.up()
    shell.run(0.1)
    assert shell.kinds() == ["set", "set"]
    shell.answer = Refused("stale_revision", "change.renew", "", 0)
    shell.run(2.1)
    assert shell.kinds() == ["set", "set", "renew", "set"]
    # An answer that is lost leaves it unknown what is in force.
    shell.answer = Unanswered("lost")
    shell.run(4.2)
    assert shell.kinds()[4:] == ["renew", "set"]


def test_a_rule_that_is_refused_gets_its_next_base_and_the_others_stay() -> None:
    shell = Shell(
        policy(
            "{name: first, match: {drbs: [2]}, base: [{template: bdp_only}, "
            "{template: fq_codel}]}, {name: second, base: [{template: low_latency}]}"
        )
    )
    shell.controller.set_policy(shell.now_us, shell.controller.policy)
    shell.sent.clear()
    shell.answer = Refused("unsupported", "change.set[0].pipeline.pacer.bdp5g", "no", 0)
    shell.controller.nodes[NODE].default.lost()
    shell.run(0.1)
    assert shell.templates(0) == ["bdp_only", "low_latency"]
    assert shell.templates(1) == ["fq_codel", "low_latency"]
    events = [each["what"] for each in shell.records if each["event"] == "node_default"]
    assert events[-2:] == ["refused", "set"]


def test_one_that_is_refused_as_a_whole_is_not_sent_again_for_a_minute() -> None:
    shell = Shell(policy(f"{{name: r, {BASE}}}"))
    for _ in range(5):
        shell.answer = Refused("unsupported", "message", "a later version", None)
        shell.run(3)
    assert shell.kinds() == ["set"]
    shell.run(50)
    assert shell.kinds()[:2] == ["set", "set"]


def test_a_stop_that_releases_withdraws_it_and_one_that_leaves_does_not() -> None:
    shell = Shell(policy(f"{{name: r, {BASE}}}"))
    shell.run(0.1)
    shell.do(shell.controller.release_all(shell.now_us))
    shell.run(20)
    assert shell.kinds() == ["set", "withdraw"]
    assert shell.leases[-1] is None
    leaving = Shell(policy(f"{{name: r, {BASE}}}"))
    leaving.run(0.1)
    leaving.do(leaving.controller.give_up(leaving.now_us))
    leaving.run(20)
    assert leaving.kinds() == ["set"]


def test_another_policy_changes_it_at_once_and_one_without_base_withdraws_it() -> None:
    shell = Shell(policy(f"{{name: r, {BASE}}}"))
    shell.run(0.5)
    other = policy("{name: r, base: [{template: fq_codel}]}")
    shell.do(shell.controller.set_policy(shell.now_us, other))
    assert shell.templates() == ["fq_codel"]
    watching = policy("{name: r, ladder: [{template: fq_codel}]}")
    shell.do(shell.controller.set_policy(shell.now_us, watching))
    assert shell.kinds() == ["set", "set", "withdraw"]
    shell.run(20)
    assert len(shell.sent) == 3


def test_while_another_holds_the_node_it_is_not_sent() -> None:
    shell = Shell(policy(f"{{name: r, {BASE}}}"))
    shell.run(0.1)
    shell.answer = Refused("not_owner", "owner", "b holds it", None, "b", 10_000)
    shell.run(2.5)
    sent = len(shell.sent)
    shell.run(8)
    assert len(shell.sent) == sent
    shell.run(5)
    assert shell.kinds()[sent:][0] == "set"


def test_rules_select_by_what_a_node_knows_when_it_sets_a_bearer_up() -> None:
    slices = "slices: {gold: {s_nssai: {sst: 1, sd: 5}}, near: {drbs: [1, 2], five_qis: [9]}}"
    compiled = rules_of(
        f"{{name: calls, match: {{five_qis: [1, 2]}}, {BASE}}},"
        f"{{name: elsewhere, match: {{nodes: ['gnb-2*']}}, {BASE}}},"
        "{name: both, match: {slices: [gold, near], drbs: [2, 3]}, base: [{template: fq_codel}]},"
        f"{{name: rest, match: {{nodes: ['gnb-*']}}, {BASE}}}",
        slices,
    )
    assert compiled == [
        ("calls", {"five_qis": [1, 2]}, "low_latency"),
        ("both", {"s_nssais": [{"sst": 1, "sd": 5}], "drbs": [2, 3]}, "fq_codel"),
        ("both", {"five_qis": [9], "drbs": [2]}, "fq_codel"),
        ("rest", {}, "low_latency"),
    ]


def test_a_bearer_that_the_policy_leaves_alone_is_never_given_a_pipeline() -> None:
    rest = f"{{name: rest, {BASE}}}"
    # A rule for some UEs stays with the controller; the rest starts with its base.
    ues = f"{{name: ues, match: {{rntis: [7]}}, {BASE}}}, {rest}"
    assert rules_of(ues) == [("rest", {}, "low_latency")]
    for text in ("{name: some, match: {qfis: [5]}}", "{name: some, match: {rntis: [7]}}"):
        assert rules_of(f"{text}, {rest}") == []
    bare = "{name: bare, match: {drbs: [4]}}"
    assert rules_of(f"{bare}, {rest}") == [
        ("bare", {"drbs": [4]}, None),
        ("rest", {}, "low_latency"),
    ]
    assert rules_of(f"{{name: first, match: {{drbs: [1]}}, {BASE}}}, {bare}") == [
        ("first", {"drbs": [1]}, "low_latency")
    ]


def test_a_node_that_knows_less_is_asked_for_less() -> None:
    few = {**CAPABILITIES, "node_default": {"max_rules": 2, "matches": ["drb"]}}
    gold = "slices: {gold: {s_nssai: {sst: 1}, drbs: [1]}}"
    compiled = rules_of(
        f"{{name: calls, match: {{five_qis: [1]}}, {BASE}}},"
        f"{{name: gold, match: {{slices: [gold]}}, {BASE}}},"
        f"{{name: two, match: {{drbs: [2]}}, {BASE}}}, {{name: rest, {BASE}}}",
        gold,
        few,
    )
    assert compiled == [
        ("gold", {"drbs": [1]}, "low_latency"),
        ("two", {"drbs": [2]}, "low_latency"),
    ]
    plain = {**CAPABILITIES, "pacers": ["none", "bdp5g"]}
    bases = "{name: r, base: [{template: low_latency}, {template: fq_codel}]}"
    assert rules_of(bases, capabilities=plain) == [("r", {}, "fq_codel")]


def test_the_policy_says_of_each_rule_whether_bearers_start_with_its_base() -> None:
    given = policy(
        f"{{name: ues, match: {{rntis: [7]}}, {BASE}}},"
        f"{{name: calls, match: {{five_qis: [1]}}, {BASE}}},"
        f"{{name: seen, match: {{qfis: [5]}}}}, {{name: rest, {BASE}}}"
    )
    assert [why_not_in_advance(given, rule) for rule in given.rules if rule.base] == [
        "it selects by rntis",
        None,
        "rule seen before it installs no base and selects by qfis",
    ]


def test_rules_select_by_the_5qi_and_the_slice_that_a_node_reports() -> None:
    given = policy(
        "{name: calls, match: {five_qis: [1, 2]}}, {name: gold, match: {slices: [gold]}},"
        "{name: rest}",
        "slices: {gold: {s_nssai: {sst: 1, sd: 5}, drbs: [1]}}",
    )

    def rule(drb: int, carried: Carried = UNKNOWN) -> str | None:
        found = given.rule_for(BearerKey(NODE, 7, drb), frozenset(), carried)
        return None if found is None else found.name

    assert given.depends_on_carried
    assert rule(1, Carried(frozenset({2, 9}))) == "calls"
    assert rule(1, Carried(s_nssai=(1, 5))) == "gold"
    assert rule(1, Carried(s_nssai=(1, None))) == "rest"
    assert rule(2, Carried(s_nssai=(1, 5))) == "rest"
    # What is not reported leaves a slice as the policy lists it.
    assert (rule(1), rule(2)) == ("gold", "rest")
