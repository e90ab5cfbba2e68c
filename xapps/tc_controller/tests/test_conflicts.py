"""Contradictions within a policy that `tc-controller check` finds."""

from __future__ import annotations

from pathlib import Path

import pytest
from tc_controller.cli import main
from tc_controller.core.conflicts import findings
from tc_controller.policy_file import load_policy, parse_policy

POLICIES = Path(__file__).parents[1] / "policies"


def found(rules: str, slices: str = "") -> list[str]:
    text = f"version: 1\nslices: {{{slices}}}\nrules: [{rules}]"
    return [str(finding) for finding in findings(parse_policy(text))]


def in_classes(*classes: str) -> list[str]:
    return found(f"{{name: r, base: [{{template: sojourn}}], classes: [{', '.join(classes)}]}}")


@pytest.mark.parametrize("policy", sorted(POLICIES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_policies_of_this_project_do_not_contradict_themselves(policy: Path) -> None:
    assert not [str(each) for each in findings(load_policy(policy))]


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
    rule = "name: r, base: [{template: sojourn}]"
    assert not found(f"{{{rule}, trial: {{{trial}}}}}")
    (short,) = found(f"{{{rule}, trial: {{{trial}, max_duration_s: 600}}}}")
    assert short == (
        "error: rules[0].trial.max_duration_s: 600 s; it has 5 pairs of periods, and fewer than 7 "
        "prove nothing at a confidence of 0.95; expected at least 840 s"
    )
    same, dry = found(
        f"{{{rule}, enforce: {{dry_run: true}}, "
        "trial: {against: {template: sojourn}, share_of_bearers: 0.1}}"
    )
    assert same.startswith("warning: rules[0].trial.against: the same pipeline as of the base")
    assert dry.startswith("warning: rules[0].enforce.dry_run: a dry run sends nothing")
