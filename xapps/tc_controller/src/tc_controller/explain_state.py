"""Explains the newest state of nodes and bearers from the decision log: what no pipeline mends, and
the first step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Self

from tc_controller.core.act.ownership import Role
from tc_controller.core.node.faults import Fault
from tc_controller.explain import bearer_name, time_of

Record = dict[str, Any]

#: Faults of nodes by their word in a record.
FAULTS: Final = {fault.word: fault for fault in Fault}
#: Roles of a controller that acts at the node.
_OWN: Final = (Role.OWNER.label, Role.UNLEASED.label)
#: What a compliance that no pipeline mends means, and what to do.
COMPLIANCE_ADVICE: Final = {
    "radio_stalled": "The radio sends little or nothing. No pipeline shortens an outage: check "
    "coverage, the UE and the cell.",
    "infeasible": "Guaranteed traffic exceeds what the radio carries. No pipeline mends an "
    "overload: admit less of it, lower the guarantees, or add capacity.",
    "no_data": "The node sends no RLC reports of this bearer.",
}


@dataclass(slots=True)
class State:
    """The newest state of nodes and bearers in one log, as records."""

    roles: dict[str, Record] = field(default_factory=dict)
    defaults: dict[str, Record] = field(default_factory=dict)
    #: Faults by node and name.
    faults: dict[tuple[str, str], Record] = field(default_factory=dict)
    #: Compliance by bearer and class; the class of the bearer itself is "".
    bearers: dict[tuple[str, str], Record] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Iterable[Record]) -> Self:
        """The state after all records."""
        state = cls()
        for record in records:
            state.add(record)
        return state

    def add(self, record: Record) -> None:
        """Take a record, oldest first."""
        event = record["event"]
        if event == "ownership":
            self.roles[record["node"]] = record
        elif event == "node_default":
            self.defaults[record["node"]] = record
        elif event == "fault":
            self.faults[record["node"], record["fault"]] = record
        elif event == "node_up":
            node = record["node"]
            self.faults = {key: kept for key, kept in self.faults.items() if key[0] != node}
        elif event == "compliance":
            self.bearers[bearer_name(record), record.get("class_name") or ""] = record
        elif event == "class_gone":
            self.bearers.pop((bearer_name(record), record["class_name"]), None)
        elif event == "bearer_gone":
            gone = bearer_name(record)
            self.bearers = {key: kept for key, kept in self.bearers.items() if key[0] != gone}

    def knowledge_of(self, node: str) -> tuple[bool, int]:
        """How well this log knows a node: best the owner's, then the newest."""
        role = self.roles.get(node)
        return (False, 0) if role is None else (role["role"] in _OWN, role["at_us"])

    def __str__(self) -> str:
        lines = [
            f"{node}: {record['role']} since {time_of(record['at_us'])}"
            for node, record in sorted(self.roles.items())
        ]
        for node, record in sorted(self.defaults.items()):
            lines += _default(node, record)
        for (node, name), record in sorted(self.faults.items()):
            if record["what"] == "began":
                lines += _fault(node, name, record)
        for (name, class_name), record in sorted(self.bearers.items()):
            lines += _bearer(f"{name} class {class_name}" if class_name else name, record)
        return "\n".join(lines) or "The log has no state of a node or bearer."


def joined(states: Iterable[State]) -> State:
    """One state of several logs: each node with its bearers as the log of its owner has it."""
    states = list(states)
    best: dict[str, State] = {}

    def known_best(node: str, state: State) -> bool:
        if node not in best:
            best[node] = max(states, key=lambda each: each.knowledge_of(node))
        return best[node] is state

    whole = State()
    for state in states:
        for own, all_of in ((state.roles, whole.roles), (state.defaults, whole.defaults)):
            all_of.update({node: each for node, each in own.items() if known_best(node, state)})
        for key, record in state.faults.items():
            if known_best(key[0], state):
                whole.faults[key] = record
        for key, record in state.bearers.items():
            if known_best(record["bearer"]["node"], state):
                whole.bearers[key] = record
    return whole


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
