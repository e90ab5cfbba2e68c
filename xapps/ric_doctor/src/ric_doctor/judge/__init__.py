"""Facts in, findings out; no I/O, no clock."""

from __future__ import annotations

from ric.sm import TC_V0_OID, TC_V1_OID

from ric_doctor.facts import Facts
from ric_doctor.finding import Finding
from ric_doctor.judge import control, fresh, functions, nodes, reach, reports

__all__ = ["judge"]


def judge(facts: Facts) -> list[Finding]:
    """Findings in the order to correct them: earlier ones explain later ones."""
    findings = [reach.of_gateway(facts.gateway)]
    if facts.forecaster is not None:
        findings.append(reach.of_forecaster(facts.forecaster))
    findings += map(reach.of_endpoint, facts.metrics)
    if facts.nodes is None:
        return findings
    listed = facts.nodes.listed
    lowered = {n.id for n in listed if n.ran_function(TC_V0_OID) and n.ran_function(TC_V1_OID)}
    findings += nodes.judge(facts.nodes, facts.passed_over)
    findings += fresh.judge(facts.streams, facts.core_wait_us)
    for node in listed:
        findings += functions.judge(node)
    for definition in facts.definitions:
        findings += functions.of_definition(definition)
    for stream in facts.streams:
        findings += reports.judge(stream, lowered=stream.node_id in lowered)
    findings += reports.between(facts.streams)
    for tried in facts.dry_runs:
        findings += control.judge(tried)
    for node in listed:
        findings += control.of_v0_alone(node)
    return findings
