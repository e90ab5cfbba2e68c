"""Valid and invalid policies; errors name place, value and expectation."""

from __future__ import annotations

import asyncio
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from ric.e2 import SNssai
from ric.sm import KPM_OID, RLC_OID
from ric.testing import FakeRic, run_virtual
from tc_controller.core.inputs import BearerKey
from tc_controller.core.policy.schema import json_schema
from tc_controller.policy_file import MAX_BYTES, PolicyError, load_policy, parse_policy
from tc_controller.subscriptions import subscribe_all

POLICIES = Path(__file__).parents[1] / "policies"
RULE = "version: 1\nrules:\n- name: a\n  ladder: []\n"


def problems(text: str) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        parse_policy(text, "p.yaml")
    return caught.value.problems


@pytest.mark.parametrize("path", sorted(POLICIES.glob("*.yaml")), ids=lambda path: path.name)
def test_policies_we_ship_are_valid_by_model_and_by_schema(path: Path) -> None:
    assert load_policy(path).rules
    jsonschema.validate(yaml.safe_load(path.read_text()), json_schema())


def test_the_schema_is_a_valid_schema_and_refuses_what_the_model_refuses() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"version": 1, "rules": []}, json_schema())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "p.yaml: empty; expected a mapping with `version` and `rules`"),
        ("- 1\n", "p.yaml: a list; expected a mapping with `version` and `rules`"),
        ("rules: [", "p.yaml: line 2: not YAML: did not find expected node content"),
        ("version: 1\nversion: 1\n", "p.yaml: line 2: key 'version' given twice; expected one"),
        ("a: &x [*x]\n", "p.yaml: line 1: alias *x; expected an anchor that ends before it"),
        ("[" * 200, "p.yaml: line 1: nested deeper than 32; expected at most that"),
        ("version: 2020-13-45\nrules: 1", "p.yaml: version: '2020-13-45' is not one of the "),
        ("version: 2\nrules: [{name: a, ladder: []}]", "p.yaml: version: 2 is not one of the "),
        ("version: 1\nrules: []\n", "p.yaml: rules: an empty list; expected at least "),
        ("version: 1\nrules: 7\n", "p.yaml: rules: 7 does not fit; expected a list"),
        (RULE + "bogus: 1\n", "p.yaml: bogus: unknown key; expected one of "),
        (RULE + "  objective: {bound_ms: -5}\n", "p.yaml: rules[0].objective.bound_ms: -5 is out "),
        (
            RULE + "  objective: {bound_ms: .nan}\n",
            "p.yaml: line 5: .nan; expected ",
        ),
        (RULE + "  objective: {bund_ms: 5}\n", "p.yaml: rules[0].objective.bund_ms: unknown key "),
        (RULE + "  enforce: {lease_ms: 5}\n", "p.yaml: rules[0].enforce.lease_ms: 5 is out of "),
        (RULE + "  match: {drbs: [33]}\n", "p.yaml: rules[0].match.drbs[0]: 33 is out of range; "),
    ],
)
def test_bad_policies_name_the_place(text: str, expected: str) -> None:
    assert problems(text)[0].startswith(expected)


@pytest.mark.parametrize(
    ("ladder", "expected"),
    [
        (
            "[{template: magic}]",
            "rules[0].ladder[0].template: 'magic'; expected one of transparent, bdp_only, ",
        ),
        ("[{}]", "rules[0].ladder[0].template: missing; expected text: the name of a template"),
        (
            "[{template: fq_codel, codel: {target_us: 0}}]",
            "rules[0].ladder[0].codel.target_us: 0; expected 1 to 100000",
        ),
        ("[{template: bdp_only, pacer: x}]", "rules[0].ladder[0].pacer: unknown variant `x`, "),
        ("[{template: fq_codel, queue: 8}]", "rules[0].ladder[0].queue: unknown field `queue`, "),
        (
            "[{template: segregate_greedy, greedy: []}]",
            "rules[0].ladder[0].greedy: unknown key; the controller selects these flows",
        ),
        (
            "[{template: fq_codel, greedy_share: 0.5}]",
            "rules[0].ladder[0].greedy_share: unknown key; only flow_slicing has it",
        ),
        (
            "[{template: flow_slicing}]",
            "rules[0].ladder[0]: expected exactly one of greedy_rate_kbps and ",
        ),
    ],
)
def test_bad_rungs_name_the_rung(ladder: str, expected: str) -> None:
    (problem,) = problems(f"version: 1\nrules: [{{name: a, ladder: {ladder}}}]")
    assert problem.startswith(f"p.yaml: {expected}")


def test_every_problem_is_reported_up_to_a_limit() -> None:
    text = "version: 1\nrules:\n" + "- {ladder: []}\n" * 50
    found = problems(text)
    assert len(found) == 50
    with pytest.raises(PolicyError, match="and 30 more"):
        parse_policy(text)


def test_names_that_refer_to_nothing_or_twice() -> None:
    (twice,) = problems("version: 1\nrules: [{name: a, ladder: []}, {name: a, ladder: []}]")
    assert "rules[1].name is 'a'; names must differ" in twice
    (unknown,) = problems("version: 1\nrules: [{name: a, match: {slices: [x]}, ladder: []}]")
    assert "rules[0].match.slices names 'x'; expected one of slices" in unknown


_WORDS = (
    "version rules name ladder objective bound_ms match drbs slices nodes enforce reports 1 2 -1 a"
    " 59:59:59 2020-13-45 017 on off ~ .inf 1e999 '' !!timestamp &a *a << 1e3 0x1f"
)
_PARTS = st.sampled_from(_WORDS.split())
_GLUE = st.sampled_from([": ", ": {", "}", ": [", "]", ", ", "\n", "\n- ", "\n  ", "\n  - "])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(_PARTS, _GLUE), max_size=15), st.booleans())
def test_any_text_is_a_policy_or_refused_with_its_problems(
    parts: list[tuple[str, str]], after_rule: bool
) -> None:
    text = (RULE if after_rule else "") + "".join(word + glue for word, glue in parts)
    try:
        parse_policy(text, "p.yaml")
    except PolicyError as error:
        assert error.problems
        assert all(problem.startswith("p.yaml") for problem in error.problems)


def test_files_that_are_missing_huge_or_no_text(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    with pytest.raises(PolicyError, match=r"p\.yaml: No such file or directory; expected "):
        load_policy(path)
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(PolicyError, match=f"p.yaml: larger than {MAX_BYTES} bytes"):
        load_policy(path)
    path.write_bytes(b"version: \xff\n")
    with pytest.raises(PolicyError, match=r"p\.yaml: byte 9: not UTF-8 text"):
        load_policy(path)
    with pytest.raises(PolicyError, match="a directory; expected a regular file"):
        load_policy(tmp_path)


def test_the_first_rule_that_matches_holds() -> None:
    policy = parse_policy(
        """
version: 1
slices: {games: {nodes: [gnb-1], rntis: [17], drbs: [2]}, voice: {qfis: [5]}}
rules:
- {name: voice, match: {slices: [voice]}, ladder: []}
- {name: games, match: {slices: [games]}, ladder: []}
- {name: lab, match: {nodes: ["lab-*"]}, ladder: []}
"""
    )

    def rule(node: str, rnti: int, drb: int, qfis: tuple[int, ...] = ()) -> str | None:
        found = policy.rule_for(BearerKey(node, rnti, drb), frozenset(qfis))
        return None if found is None else found.name

    assert rule("gnb-1", 17, 2) == "games"
    assert rule("gnb-1", 17, 1) is None
    assert rule("lab-7", 1, 1) == "lab"
    assert rule("gnb-1", 17, 2, (9, 5)) == "voice"


# --------------------------------------------------------------------------- subscriptions


RULES = "version: 1\nrules: [{name: all, ladder: []}]\n"


@pytest.mark.parametrize(
    ("reports", "expected"),
    [
        ("{kpm_period_ms: 100}", None),
        ("{kpm_period_ms: 100, kpm_slice: {sst: 2}}", SNssai(2)),
        ("{kpm_period_ms: 100, kpm_slice: {sst: 1, sd: 0x010203}}", SNssai(1, 0x10203)),
    ],
)
def test_kpm_is_subscribed_for_the_slice_of_the_policy(
    reports: str, expected: SNssai | None
) -> None:
    policy = parse_policy(f"{RULES}reports: {reports}\n", "policy.yaml")

    async def scenario() -> list[SNssai | None]:
        ric = FakeRic()
        ric.add_node("gnb-1", RLC_OID, KPM_OID)
        async with ric.client() as gateway:
            node = await gateway.wait_for_node("gnb-1")
            task = asyncio.ensure_future(
                subscribe_all(gateway, node, policy.reports, lambda _: None)
            )
            await asyncio.sleep(1)
            requests = [subscription.request for subscription in ric.subscriptions]
            task.cancel()
        return [request.kpm_slice for request in requests if request.oid == KPM_OID]

    assert run_virtual(scenario()) == [expected]


@pytest.mark.parametrize("slice_", ["{sst: 256}", "{sst: 1, sd: 0x1000000}", "{sd: 1}", "1"])
def test_an_invalid_slice_is_refused(slice_: str) -> None:
    with pytest.raises(PolicyError, match=r"reports\.kpm_slice"):
        parse_policy(f"{RULES}reports: {{kpm_slice: {slice_}}}\n", "policy.yaml")
