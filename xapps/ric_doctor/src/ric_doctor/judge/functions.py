"""Which RAN functions a node offers, and which xApp needs which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from ric.e2 import Node
from ric.sm import KPM_OID, MAC_OID, RLC_OID, TC_V0_OID, TC_V1_OID, ran_function_name, tc

from ric_doctor.facts import Definition
from ric_doctor.finding import Check, Finding, Level
from ric_doctor.text import names

_CHECK = "functions"

_FLEXRIC_IDS: Final = {2: KPM_OID, 142: MAC_OID, 143: RLC_OID, 146: TC_V0_OID}
_REVISION: Final = 1
_REVISIONS: Final = {KPM_OID: 2}
"""Usual revisions other than 1."""
_KIND_LISTS: Final = ("classifiers", "queues", "schedulers", "pacers")


def judge(node: Node) -> list[Finding]:
    """Findings of the RAN functions of one node."""
    offered = {function.oid for function in node.ran_functions}
    known = [f.oid for f in node.ran_functions if ran_function_name(f.oid) != f.oid]
    findings: list[Finding] = []
    if not known:
        findings.append(_nothing(node))
    else:
        findings.append(
            Check(_CHECK, node.id).ok("offers " + names([*map(ran_function_name, known)]))
        )
        findings += _needs(node, offered)
    findings += _twice(node)
    findings += _other_oid(node, offered)
    findings += _revisions(node)
    return findings


def _nothing(node: Node) -> Finding:
    oids = [function.oid for function in node.ran_functions]
    return Check(_CHECK, node.id).warn(
        f"offers none of rlc, mac, kpm, tc{f'; it has {names(oids)}' if oids else ''}",
        "The xApps cannot use this node.",
        "Load the service models into its E2 agent (FlexRIC: the libraries in the folder of its"
        " configuration), in the version of the RIC.",
    )


def _needs(node: Node, offered: set[str]) -> Iterator[Finding]:
    if RLC_OID not in offered:
        what = "has no rlc"
        if TC_V1_OID in offered or TC_V0_OID in offered:
            yield Check(_CHECK, node.id).fail(
                f"{what}, but tc",
                "tc-controller and rlc-forecaster need RLC; traffic control of a node"
                " without it is never used. (RLC is in the DU: with a split gNB, reports"
                " and pipeline are two nodes.)",
                "Use one E2 agent for both, as in a monolithic gNB.",
            )
            return
        yield Check(_CHECK, node.id).warn(
            what,
            "tc-controller and rlc-forecaster need RLC and ignore this node.",
            "Load the RLC service model into its E2 agent.",
        )
        return
    yield from _tc(node, offered)
    yield from _context(node, offered)


def _tc(node: Node, offered: set[str]) -> Iterator[Finding]:
    if TC_V1_OID in offered:
        return
    if TC_V0_OID in offered:
        yield Check(_CHECK, node.id).fail(
            "offers tc_v0 and not tc_v1",
            "tc-controller uses E2SM-TC v1: v0 has no bearer, no revision and no refusal. It"
            " observes this node and controls nothing.",
            "Use a gateway that translates v1 to v0, as the FlexRIC bridge does.",
        )
        return
    yield Check(_CHECK, node.id).fail(
        "has no tc",
        "tc-controller observes this node and controls nothing; forecasts work.",
        "Run a gNB with the TC RAN function (ran-function/oai adds it to OpenAirInterface; `make"
        " stack-images` makes the image); behind FlexRIC its folder of service models needs"
        " libsojourn_tc_sm.so.",
    )


def _context(node: Node, offered: set[str]) -> Iterator[Finding]:
    if MAC_OID not in offered and KPM_OID not in offered:
        yield Check(_CHECK, node.id).warn(
            "has neither mac nor kpm",
            "tc-controller has no used resource blocks and estimates utilisation by bytes;"
            " rlc-forecaster forecasts without MCS.",
            "Load the MAC or KPM service model into its E2 agent.",
        )
    elif MAC_OID not in offered:
        yield Check(_CHECK, node.id).note(
            "has no mac",
            "rlc-forecaster forecasts without MCS and transport blocks.",
            "Load the MAC service model into its E2 agent.",
        )


def _twice(node: Node) -> list[Finding]:
    counts = Counter(function.oid for function in node.ran_functions)
    return [
        Check(_CHECK, node.id).warn(
            f"offers {ran_function_name(oid)} {count} times",
            "xApps identify a RAN function by its OID and use the first.",
            "Load each service model once.",
        )
        for oid, count in counts.items()
        if count > 1
    ]


def _other_oid(node: Node, offered: set[str]) -> list[Finding]:
    return [
        Check(_CHECK, node.id).warn(
            f"RAN function {f.id} has the OID {f.oid or '(none)'}; expected {expected}",
            f"In FlexRIC this id is {ran_function_name(expected)}; xApps identify by OID and do not"
            " find it.",
            "Use the same version of the service models on node, RIC and bridge.",
        )
        for f in node.ran_functions
        if (expected := _FLEXRIC_IDS.get(f.id)) is not None
        and expected not in offered
        and ran_function_name(f.oid) == f.oid
    ]


def _revisions(node: Node) -> list[Finding]:
    return [
        Check(_CHECK, node.id).note(
            f"{ran_function_name(f.oid)} has revision {f.revision}; expected 1"
            + (f" or {usual}" if usual != _REVISION else ""),
            "",
            "None if its reports decode (below).",
        )
        for f in node.ran_functions
        if ran_function_name(f.oid) != f.oid
        and (usual := _REVISIONS.get(f.oid, _REVISION)) != f.revision != _REVISION
    ]


def of_definition(definition: Definition) -> Iterator[Finding]:
    """Findings of the RAN function definition of TC v1."""
    subject = f"{definition.node_id} tc_v1"
    if definition.error:
        yield Check("definition", subject).warn(
            f"the RAN function definition does not decode ({definition.error})",
            "tc-controller has no capabilities of the node and learns them from refusals.",
            "Use E2SM-TC of one version on both sides; see e2sm-tc-spec.",
        )
        return
    capabilities = definition.capabilities
    counts = {kinds: len(_kinds(capabilities, kinds)) for kinds in _KIND_LISTS}
    shown = ", ".join(f"{count} {kinds}" for kinds, count in counts.items())
    if missing := [kinds for kinds, count in counts.items() if count == 0]:
        yield Check("definition", subject).warn(
            f"declares no {names(missing)} (of {shown})",
            "tc-controller uses declared capabilities only: no template fits.",
            "The RAN function must declare its capabilities (E2SM-TC §4.2).",
        )
        return
    yield Check("definition", subject).ok(f"declares {shown}")
    yield from _templates(subject, capabilities)


def _templates(subject: str, capabilities: Mapping[str, object]) -> Iterator[Finding]:
    """Which templates fit what is declared."""
    if not tc.available():
        return
    controlling = [name for name in tc.templates() if name != "transparent"]
    lacking = {name: lack for name in controlling if (lack := _lack(capabilities, name))}
    if not lacking:
        return
    fitting = [name for name in controlling if name not in lacking]
    details = "; ".join(f"{name}: {lack}" for name, lack in lacking.items())
    yield Check("definition", subject).found(
        Level.NOTE if fitting else Level.WARN,
        f"of the templates with default parameters {names(fitting) or 'none'}"
        f" fit{'s' if len(fitting) == 1 else ''} ({details})",
        "tc-controller skips a rung that the RAN function does not support.",
        "If no rung of the policy's ladder fits, give its rungs fewer queues or another"
        " scheduler, and run `tc-controller check`.",
    )


def _lack(capabilities: Mapping[str, object], template: str) -> str:
    """The first undeclared capability that a template needs; "" if none is missing."""
    # "element: what is there; what was expected", of which the middle is enough for people.
    lack = tc.unsupported(tc.pipeline(template, {}), capabilities) or ""
    return lack.partition(": ")[2].partition(";")[0]


def _kinds(capabilities: Mapping[str, object], kinds: str) -> list[object]:
    found = capabilities.get(kinds)
    return found if isinstance(found, list) else []
