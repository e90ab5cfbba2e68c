"""Facts in, findings out; no I/O, no clock."""

from __future__ import annotations

from ric.sm import TC_V0_OID, TC_V1_OID

from ric_doctor.facts import Facts
from ric_doctor.finding import Finding
from ric_doctor.judge import clocks, control, forecasts, functions, metrics, nodes, reach, timing
from ric_doctor.judge import streams as streams_of

__all__ = ["judge"]


def judge(facts: Facts) -> list[Finding]:
    """Findings in the order to correct them: earlier ones explain later ones."""
    findings = reach.of_gateway(facts.gateway)
    skewed = clocks.skewed(facts.streams)
    listed = () if facts.nodes is None else facts.nodes.listed
    lowered = {n.id for n in listed if n.ran_function(TC_V0_OID) and n.ran_function(TC_V1_OID)}
    if facts.nodes is not None:
        findings += nodes.judge(facts.nodes, facts.passed_over)
        for node in facts.nodes.listed:
            findings += functions.judge(node)
        for definition in facts.definitions:
            findings += functions.of_definition(definition)
        findings += timing.of_this_machine(facts.here_late_us)
        findings += clocks.judge(facts.streams)
        for stream in facts.streams:
            findings += streams_of.judge(
                stream, skewed=stream.node_id in skewed, lowered=stream.node_id in lowered
            )
        findings += streams_of.between(facts.streams)
        for tried in facts.dry_runs:
            findings += control.judge(tried)
        for node in facts.nodes.listed:
            findings += control.of_v0_alone(node)
    if facts.forecasts is not None:
        findings += forecasts.judge(facts.forecasts, facts.nodes, skewed)
    for endpoint in facts.metrics:
        findings += metrics.judge(endpoint)
    return findings
