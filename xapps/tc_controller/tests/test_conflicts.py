"""Contradictions within a policy that `tc-controller check` finds."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
import yaml
from tc_controller.cli import main
from tc_controller.core.conflicts import findings
from tc_controller.core.policy.schema import json_schema
from tc_controller.policy_file import load_policy, parse_policy

POLICIES = Path(__file__).parents[1] / "policies"


def found(rules: str, slices: str = "") -> list[str]:
    """Findings but for bearers that no rule matches, which are not what these tests are about."""
    text = f"version: 1\nslices: {{{slices}}}\nrules: [{rules}]"
    return [str(each) for each in findings(parse_policy(text)) if each.place != "rules"]


def in_classes(*classes: str) -> list[str]:
    return found(f"{{name: r, base: [{{template: low_latency}}], classes: [{', '.join(classes)}]}}")


@pytest.mark.parametrize("policy", sorted(POLICIES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_policies_of_this_project_do_not_contradict_themselves(policy: Path) -> None:
    assert not [str(each) for each in findings(load_policy(policy))]


def test_a_former_name_of_a_template_is_understood_and_noticed() -> None:
    former = (
        "{{name: r, base: [{{template: {0}, queues: 64}}], ladder: [{{template: fq_codel}}, "
        "{{template: {0}}}], trial: {{share_of_time: 0.5, "
        "against: {{template: {0}}}}}}}"
    )
    text = "version: 1\nrules: [" + former + "]"
    given, now = (parse_policy(text.format(name)) for name in ("sojourn", "low_latency"))
    assert given.model_dump() == now.model_dump()
    assert [str(each) for each in findings(given) if each not in findings(now)] == [
        f"notice: rules[0].{place}.template: 'sojourn' is a former name; write low_latency"
        for place in ("base[0]", "ladder[1]", "trial.against")
    ]
    jsonschema.validate(yaml.safe_load(text.format("sojourn")), json_schema())


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("{}", "{drbs: [1]}"),
        ("{drbs: [1, 2]}", "{drbs: [2], rntis: [7]}"),
        ("{nodes: ['gnb-*']}", "{nodes: ['gnb-1', 'gnb-2*']}"),
        ("{qfis: [1, 2]}", "{qfis: [1]}"),
        ("{drbs: [1]}", "{drbs: [1], slices: [gold]}"),
        ("{slices: [gold]}", "{rntis: [7]}"),
        ("{slices: [gold, all]}", "{slices: [gold]}"),
        ("{five_qis: [1, 2]}", "{five_qis: [1], drbs: [1]}"),
    ],
)
def test_a_rule_that_is_never_reached_is_an_error(wide: str, narrow: str) -> None:
    slices = "gold: {rntis: [7, 8]}, all: {drbs: [1]}"
    first, second = f"{{name: a, match: {wide}}}", f"{{name: b, match: {narrow}}}"
    (finding,) = found(f"{first}, {second}", slices)
    assert finding == (
        "error: rules[1].match: never reached: all its bearers belong to 'a' before it"
    )
    # The other way round both are used.
    assert not found(f"{second}, {first}", slices)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("{drbs: [1]}", "{drbs: [1, 2]}"),
        ("{nodes: ['gnb-1']}", "{nodes: ['gnb-1*']}"),
        ("{drbs: [1], rntis: [7]}", "{drbs: [1]}"),
        ("{slices: [gold], drbs: [1]}", "{slices: [gold]}"),
    ],
)
def test_a_rule_that_has_bearers_left_is_none(first: str, second: str) -> None:
    rules = f"{{name: a, match: {first}}}, {{name: b, match: {second}}}"
    assert not found(rules, "gold: {rntis: [7, 8]}")


def test_a_rule_may_be_hidden_by_several_together() -> None:
    rules = (
        "{name: a, match: {rntis: [7]}}, {name: b, match: {slices: [gold]}}, "
        "{name: c, match: {slices: [gold, seven]}}"
    )
    (finding,) = found(rules, "gold: {drbs: [1]}, seven: {rntis: [7], drbs: [2]}")
    assert finding.endswith("belong to 'b', 'a' before it")


def test_slices_that_overlap_with_different_objectives_are_a_warning() -> None:
    rules = (
        "{name: a, match: {slices: [gold]}, objective: {bound_ms: 5}}, "
        "{name: b, match: {slices: [silver]}, objective: {bound_ms: %s}}"
    )
    overlapping = "gold: {rntis: [7, 8]}, silver: {rntis: [8, 9]}"
    (finding,) = found(rules % 20, overlapping)
    assert finding.startswith(
        "warning: rules[1].match.slices: 'silver' overlaps 'gold' of rule 'a'"
    )
    assert not found(rules % 5, overlapping)
    assert not found(rules % 20, "gold: {rntis: [7]}, silver: {rntis: [9]}")


@pytest.mark.parametrize(
    ("first", "second", "severity"),
    [
        ("{qfi: 1}", "{qfi: 1, dscp: 8}", "error"),
        ("{source: 10.0.0.0/8}", "{source: 10.1.0.0/16, protocol: tcp}", "error"),
        ("{source_port: [80, 90]}", "{source_port: 85}", "error"),
        ("{protocol: tcp}", "{protocol: 6, destination_port: 443}", "error"),
        ("{qfi: 1, dscp: 8}", "{qfi: 1, protocol: udp}", "warning"),
        ("{source_port: [80, 90]}", "{source_port: [85, 95]}", "warning"),
        ("{source: 10.1.0.0/16}", "{source: 10.0.0.0/8}", "warning"),
        ("{qfi: 1}", "{qfi: 2}", None),
        ("{qfi: 1}", "{dscp: 8}", None),
        ("{protocol: udp, dscp: 8}", "{qfi: 1, protocol: tcp}", None),
        ("{dscp: 8}", "{dscp: 34, qfi: 1}", None),
        ("{source: 10.0.0.0/8}", "{source: 11.0.0.0/8}", None),
        ("{source: 10.0.0.0/8}", "{destination: '2001:db8::/32'}", None),
        ("{source_port: [80, 90]}", "{source_port: [91, 95]}", None),
    ],
)
def test_two_classes_that_claim_the_same_flows_are_found(
    first: str, second: str, severity: str | None
) -> None:
    at = "rules[0].classes[1].match[0]: "
    expected = {
        "error": [f"error: {at}its flows all belong to class 'a' before it"],
        "warning": [f"warning: {at}flows that also match class 'a' belong to that one"],
        None: [],
    }
    assert (
        in_classes(f"{{name: a, match: [{first}]}}", f"{{name: b, match: [{second}]}}")
        == (expected[severity])
    )


def test_a_bound_below_what_a_shared_queue_keeps_is_a_warning() -> None:
    rules = "{name: r, objective: {bound_ms: %s}, base: [{template: %s}]}"
    (finding,) = found(rules % (10, "l4s"))
    assert finding == (
        "warning: rules[0].objective.bound_ms: 10; expected at least what base[0] keeps: l4s lets "
        "a packet wait 15 ms in a queue that flows share"
    )
    assert not found(rules % (15, "l4s"))
    assert "wait any time" in found(rules % (10, "bdp_only"))[0]
    # A queue per flow.
    assert not found(rules % (1, "fq_codel"))


@pytest.mark.parametrize(
    ("bound_ms", "finding"),
    [
        (
            0.01,
            "error: rules[0].objective.bound_ms: 0.01; expected at least 0.125, the shortest slot "
            "of the radio: every packet that waits for one is late",
        ),
        (
            0.5,
            "warning: rules[0].objective.bound_ms: 0.5; below 1 most packets wait longer for their "
            "slot",
        ),
    ],
)
def test_a_bound_that_the_radio_cannot_keep_is_found(bound_ms: float, finding: str) -> None:
    base = "base: [{template: low_latency}]"
    assert found(f"{{name: r, objective: {{bound_ms: {bound_ms}}}, {base}}}") == [finding]
    (of_class,) = in_classes(
        f"{{name: a, match: [{{qfi: 1}}], objective: {{bound_ms: {bound_ms}}}}}"
    )
    assert of_class == finding.replace("rules[0]", "rules[0].classes[0]")


def test_a_class_bound_that_costs_downloads_their_rate_is_found() -> None:
    bound = "{name: a, match: [{qfi: 1}], objective: {bound_ms: %g}}"
    (finding,) = in_classes(bound % 3)
    assert finding == (
        "warning: rules[0].classes[0].objective.bound_ms: 3; of flows that fill their queue, as "
        "downloads, the drops of a bound below 15 cost rate: the queue runs empty after each"
    )
    assert not in_classes(bound % 15)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("{five_qis: [1]}", "{}"),
        ("{five_qis: [1]}", "{five_qis: [1, 2]}"),
        ("{slices: [one]}", "{}"),
    ],
)
def test_a_rule_for_5qis_or_an_s_nssai_leaves_the_other_bearers_to_the_next(
    first: str, second: str
) -> None:
    slices = "one: {s_nssai: {sst: 1}}"
    assert not found(f"{{name: a, match: {first}}}, {{name: b, match: {second}}}", slices)
    alone = parse_policy(f"version: 1\nslices: {{{slices}}}\nrules: [{{name: a, match: {first}}}]")
    assert "no rule matches every bearer" in str(findings(alone)[0])


@pytest.mark.parametrize(
    ("match", "is_found"),
    [
        ("{protocol: icmp, source_port: 443}", True),
        ("{protocol: 132, destination_port: [80, 90]}", True),
        ("{protocol: icmp, source_port: [0, 443]}", False),
        ("{protocol: udp, source_port: 443}", False),
        ("{source_port: 443}", False),
    ],
)
def test_ports_of_a_protocol_without_ports_match_nothing(match: str, is_found: bool) -> None:
    expected = "has no ports, so no packet matches; expected tcp or udp"
    assert [expected in one for one in in_classes(f"{{name: a, match: [{match}]}}")] == (
        [True] * is_found
    )


def test_a_dscp_class_before_a_qfi_class_is_found() -> None:
    by_dscp, by_qfi = "{name: a, match: [{dscp: 34}]}", "{name: b, match: [{qfi: 2}]}"
    (finding,) = in_classes(by_dscp, by_qfi)
    assert finding == (
        "warning: rules[0].classes[1].match[0]: its packets with DSCP 34 belong to class 'a' "
        "before it: senders choose the DSCP, the core the QFI; expected the QFI first"
    )
    assert not in_classes(by_qfi, by_dscp)


@pytest.mark.parametrize(
    ("objective", "place", "words"),
    [
        (
            "{bound_ms: 50, loss_ratio: 0.01}",
            "objective.bound_ms",
            "not enforced beside loss_ratio",
        ),
        (
            "{maximum_mbps: 5, loss_ratio: 0.01}",
            "objective.loss_ratio",
            "grows until the buffer is full",
        ),
        ("{guaranteed_mbps: 5}", "share", "has the larger of both, and the share is not judged"),
    ],
)
def test_objectives_of_a_class_that_exclude_each_other_are_found(
    objective: str, place: str, words: str
) -> None:
    share = ", share: 0.5" if place == "share" else ""
    (finding,) = in_classes(f"{{name: a, match: [{{qfi: 1}}], objective: {objective}{share}}}")
    assert finding.startswith(f"warning: rules[0].classes[0].{place}: ")
    assert words in finding


def test_a_rules_guarantee_below_its_classes_is_found() -> None:
    rule = (
        "{name: r, base: [{template: low_latency}], objective: {guaranteed_mbps: %g}, classes: ["
        "{name: a, match: [{qfi: 1}], objective: {guaranteed_mbps: 8}}, "
        "{name: b, match: [{qfi: 2}], objective: {guaranteed_mbps: 4}}]}"
    )
    (finding,) = found(rule % 5)
    assert finding == (
        "warning: rules[0].objective.guaranteed_mbps: 5; expected at least what its classes are "
        "guaranteed together, 12"
    )
    assert not found(rule % 12)


def test_bearers_that_no_rule_matches_are_found() -> None:
    def left_out(rules: str) -> list[str]:
        slices = "slices: {gold: {rntis: [7]}, all: {}}"
        policy = parse_policy(f"version: 1\n{slices}\nrules: [{rules}]")
        return [str(each) for each in findings(policy)]

    (finding,) = left_out("{name: a, match: {drbs: [1]}}, {name: b, match: {slices: [gold]}}")
    assert finding == (
        "warning: rules: no rule matches every bearer: those that none matches have no pipeline "
        "and are not watched; expected a last rule without match"
    )
    assert not left_out("{name: a, match: {drbs: [1]}}, {name: b}")
    assert not left_out("{name: a, match: {nodes: ['*']}}")
    assert not left_out("{name: a, match: {slices: [gold, all]}}")


def test_a_requirement_that_the_objective_cannot_meet_or_nobody_has_is_found() -> None:
    text = (
        "version: 1\nrequirements: {mine: {latency: [{percentile: 95, rop_ms: 5, cpup_ms: 30}], "
        "min_mbps: 15}}\nrules: [{name: r, %s}]"
    )

    def of(rule: str) -> list[str]:
        return [str(each) for each in findings(parse_policy(text % rule))]

    assert of("objective: {bound_ms: 10}") == [
        "warning: requirements.mine: no rule and no slice names it"
    ]
    base = "base: [{template: low_latency}]"
    assert of(f"requirement: mine, objective: {{bound_ms: 50, maximum_mbps: 10}}, {base}") == [
        "warning: rules[0].objective.maximum_mbps: 10; requirement 'mine' needs at least 15",
        "warning: rules[0].objective.bound_ms: 50; by requirement 'mine' the outcome is unusable "
        "from 30 ms on",
    ]
    assert not of(f"requirement: mine, objective: {{bound_ms: 10, maximum_mbps: 20}}, {base}")


def test_a_rung_that_changes_nothing_is_found() -> None:
    rungs = "{template: fq_codel}, {template: bdp_only}, {template: fq_codel}"
    same_as_base, repeated = found(
        f"{{name: r, objective: {{bound_ms: 500}}, base: [{{template: fq_codel}}], "
        f"ladder: [{rungs}]}}"
    )
    assert same_as_base == "warning: rules[0].ladder[0]: the same pipeline as of base[0] before it"
    assert repeated.endswith("ladder[2]: the same pipeline as of base[0] before it")


def test_check_prints_classes_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = tmp_path / "p.yaml"
    policy.write_text(
        "version: 1\nrules: [{name: r, base: [{template: low_latency}], "
        "objective: {guaranteed_mbps: 9}, classes: [{name: calls, match: [{qfi: 2}, "
        "{protocol: tcp, source: 10.0.0.0/8, source_port: [80, 90]}], "
        "objective: {guaranteed_mbps: 5, bound_ms: 100}}, "
        "{name: rest, match: [{dscp: 0}]}]}]"
    )
    assert main(["check", str(policy)]) == 0
    out = capsys.readouterr().out
    assert (
        "  class 1. calls: qfi 2 or protocol tcp and source 10.0.0.0/8 and source port 80 to 90: "
        "guaranteed 5 Mbit/s, within 100 ms\n" in out
    )
    assert "  class 2. rest: dscp 0: a queue per flow\n" in out
    assert "  guaranteed 9 Mbit/s: judged; the MAC divides the radio\n" in out
    assert "matches" not in out, "no element of E2SM-TC"
    assert "{" not in out


def test_check_fails_on_errors_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = tmp_path / "p.yaml"
    policy.write_text("version: 1\nrules: [{name: a, base: [{template: bdp_only}]}]")
    assert main(["check", str(policy)]) == 0
    assert f"{policy}: warning: rules[0].objective.bound_ms" in capsys.readouterr().err
    policy.write_text("version: 1\nrules: [{name: a}, {name: b}]")
    assert main(["check", str(policy)]) == 1
    assert f"{policy}: error: rules[1].match: never reached" in capsys.readouterr().err


def test_check_prints_how_much_a_trial_takes_and_of_what(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["check", str(POLICIES / "trial.yaml")]) == 0
    *_, trial, against = capsys.readouterr().out.splitlines()
    assert trial == "  trial for 50% of the time, at most 12 pairs of periods"
    assert against == "  against transparent: no parameters"


def test_a_trial_that_can_decide_nothing_is_an_error() -> None:
    trial = "against: {template: fq_codel}, share_of_time: 0.25, period_s: 30"
    rule = "name: r, base: [{template: low_latency}]"
    assert not found(f"{{{rule}, trial: {{{trial}}}}}")
    (short,) = found(f"{{{rule}, trial: {{{trial}, max_duration_s: 600}}}}")
    assert short == (
        "error: rules[0].trial.max_duration_s: 600 s; it has 5 pairs of periods, and fewer than 7 "
        "prove nothing at a confidence of 0.95; expected at least 840 s"
    )
    same, dry = found(
        f"{{{rule}, enforce: {{dry_run: true}}, "
        "trial: {against: {template: low_latency}, share_of_bearers: 0.1}}"
    )
    assert same.startswith("warning: rules[0].trial.against: the same pipeline as of the base")
    assert dry.startswith("warning: rules[0].enforce.dry_run: a dry run sends nothing")


def test_names_of_a_policy_reach_the_terminal_escaped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        'version: 1\nrules: [{name: "\\e[2Jall", objective: {bound_ms: 20}}]\n', encoding="utf-8"
    )
    assert main(["check", str(policy)]) == 0
    assert "\x1b" not in (shown := capsys.readouterr().out)
    assert r"\x1b[2Jall: within 20 ms" in shown
