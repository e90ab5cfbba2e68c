"""Prints and draws the life of a bearer, as `tc_controller.core.ladder.lifecycle` defines it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tc_controller.core.bearer.states import Event, State
from tc_controller.core.bearer.transition import Transition
from tc_controller.core.ladder.lifecycle import TRANSITIONS


def as_table() -> str:
    """States, events, transitions and ignored events as text.

    The first row of a state and event whose guard holds is taken.
    """
    taken = [row for row in TRANSITIONS if not row.ignored]
    ignored: dict[tuple[State, str], list[str]] = defaultdict(list)
    for row in TRANSITIONS:
        if row.ignored:
            ignored[row.state, row.ignored].append(row.event.label)
    parts = (
        ("States", [(state.label, state.meaning) for state in State]),
        ("Events", [(event.label, event.meaning) for event in Event]),
        (
            "Transitions: the first row whose guard holds is taken",
            [("state", "event", "guard", "effect", "next state"), *map(_cells, taken)],
        ),
        (
            "Ignored events",
            [(state.label, ", ".join(events), why) for (state, why), events in ignored.items()],
        ),
    )
    return "\n\n".join(f"{title}\n{_columns(rows)}" for title, rows in parts)


def as_mermaid() -> str:
    """A Mermaid state diagram of the transitions that change the state."""
    lines = ["stateDiagram-v2", f"    [*] --> {State.UNCONTROLLED.name}"]
    lines.append(f"    [*] --> {State.UNCONFIRMED.name}: desired by the state file")
    lines += [f"    {state.name}: {state.label}" for state in State]
    lines += [
        f"    {source.name} --> {target.name}: {' | '.join(labels)}"
        for (source, target), labels in _edges().items()
    ]
    lines.append(f"    {State.GONE.name} --> [*]")
    return "\n".join(lines)


def as_dot() -> str:
    """A Graphviz graph of the transitions that change the state."""
    lines = ["digraph bearer {", "  rankdir=LR;", "  node [shape=box, style=rounded];"]
    lines += [f'  {state.name} [label="{state.label}"];' for state in State]
    for (source, target), labels in _edges().items():
        text = "\\n".join(labels)
        lines.append(f'  {source.name} -> {target.name} [label="{text}"];')
    return "\n".join([*lines, "}"])


FORMATS = {"table": as_table, "mermaid": as_mermaid, "dot": as_dot}


def _edges() -> dict[tuple[State, State], list[str]]:
    """Labels of the edges between different states, each event once."""
    edges: dict[tuple[State, State], list[str]] = defaultdict(list)
    for row in TRANSITIONS:
        labels = edges[row.state, row.target] if row.target is not row.state else []
        if row.event.label not in labels:
            labels.append(row.event.label)
    return edges


def _cells(row: Transition) -> tuple[str, ...]:
    guard = "" if row.guard is None else row.guard.words
    return row.state.label, row.event.label, guard, row.effect.words, row.target.label


def _columns(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  "
        + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
