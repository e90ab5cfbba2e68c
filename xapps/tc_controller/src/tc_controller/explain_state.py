"""Explains the newest state of nodes and bearers from the decision log: what no pipeline mends, and
the first step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from tc_controller.core.node.faults import Fault
from tc_controller.explain import bearer_name, time_of

Record = dict[str, Any]

#: Faults of nodes by their word in a record.
FAULTS: Final = {fault.word: fault for fault in Fault}
#: What a compliance that no pipeline mends means, and what to do.
COMPLIANCE_ADVICE: Final = {
    "radio_stalled": "The radio sends little or nothing. No pipeline shortens an outage: check "
    "coverage, the UE and the cell.",
    "infeasible": "Guaranteed traffic exceeds what the radio carries. No pipeline mends an "
    "overload: admit less of it, lower the guarantees, or add capacity.",
    "no_data": "The node sends no RLC reports of this bearer.",
}


def explain_state(records: Iterable[Record]) -> str:
    """The newest state of each node and bearer of a log, the nodes with their faults first."""
    roles: dict[str, Record] = {}
    defaults: dict[str, Record] = {}
    faults: dict[tuple[str, str], Record] = {}
    bearers: dict[tuple[str, str], Record] = {}
    for record in records:
        event = record["event"]
        if event == "ownership":
            roles[record["node"]] = record
        elif event == "node_default":
            defaults[record["node"]] = record
        elif event == "fault":
            faults[record["node"], record["fault"]] = record
        elif event == "compliance":
            bearers[bearer_name(record), record.get("class_name") or ""] = record
        elif event == "class_gone":
            bearers.pop((bearer_name(record), record["class_name"]), None)
        elif event == "bearer_gone":
            gone = bearer_name(record)
            bearers = {key: kept for key, kept in bearers.items() if key[0] != gone}
    lines = [
        f"{node}: {record['role']} since {time_of(record['at_us'])}"
        for node, record in sorted(roles.items())
    ]
    for node, record in sorted(defaults.items()):
        lines += _default(node, record)
    for (node, name), record in sorted(faults.items()):
        if record["what"] == "began":
            lines += _fault(node, name, record)
    for (name, class_name), record in sorted(bearers.items()):
        lines += _bearer(f"{name} class {class_name}" if class_name else name, record)
    return "\n".join(lines) or "The log has no state of a node or bearer."


def _default(node: str, record: Record) -> list[str]:
    lines = [f"{node}: node default {record['what']} at {time_of(record['at_us'])}"]
    lines.append(f"  Bearers to come: {record['summary']}")
    refused = record["outcome"].get("refused")
    if refused is not None:
        place = f" at {refused['element']}" if refused["element"] else ""
        lines.append(f"  {refused['cause']}{place}: {refused['detail']}")
    return lines


def _fault(node: str, name: str, record: Record) -> list[str]:
    share = f"{record['bearers']} of {record['of']} bearers"
    fault = FAULTS[name]
    lines = [f"{node}: {fault.sentence} since {time_of(record['at_us'])}, {share}"]
    return [*lines, f"  {record['reason']}", f"  {fault.advice}"]


def _bearer(name: str, record: Record) -> list[str]:
    state = record["state"]
    began_us = record["since_us"] if "since_us" in record else record["at_us"]
    since = f"since {time_of(began_us)}, rule {record['rule']}"
    lines = [f"{name}: {state} {since}", f"  {record['reason']}"]
    if record.get("blocker"):
        lines.append(f"  No decision: {record['blocker']}")
    return [*lines, f"  {COMPLIANCE_ADVICE[state]}"] if state in COMPLIANCE_ADVICE else lines
