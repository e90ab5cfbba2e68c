"""Explains a move of a QoS flow to the second DRB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Record = dict[str, Any]


def explain_move(story: Sequence[Record], at: str) -> list[str]:
    """The records of a move, as text; ``at``: time of the first."""
    first, *rest = story
    bearer = first["bearer"]
    lines = [
        f"Move {first['id']} of QFI {first['qfi']} of {bearer['node']}/0x{bearer['rnti']:04x} from "
        f"DRB {bearer['drb']} to {first['to_drb']} at {at}",
        f"  Reason: {first['why']}",
        f"  Sojourn before, p95: {_ms(first['before_us'])}",
        *(f"    {flow}" for flow in first["flows"]),
    ]
    if first["dry_run"]:
        lines.append("Nothing was sent: dry run.")
    for record in rest:
        lines += _lines(record)
    return lines


def result_of_move(record: Record) -> str | None:
    """What became of a move by this record; ``None``: it is not of a move."""
    event = record["event"]
    if event == "flow_move_answered":
        outcome = record["outcome"]
        refused = outcome.get("refused")
        return next(iter(outcome)) if refused is None else f"refused: {refused['cause']}"
    if event == "flow_move_verified":
        return str(record["verdict"])
    return "moved back" if event == "flow_move_back" else None


def _lines(record: Record) -> list[str]:
    event = record["event"]
    if event == "flow_move_answered":
        return [f"Answered: {result_of_move(record)}"]
    if event == "flow_move_verified":
        return [
            f"Verified: {record['verdict']}; sojourn p95 {_ms(record['before_us'])} to "
            f"{_ms(record['after_us'])}, harm above {_ms(record['bound_us'])}"
        ]
    if event == "flow_move_back":
        return [f"Moved back to DRB {record['to_drb']}: {record['why']}"]
    return []


def _ms(value_us: int | None) -> str:
    return "unknown" if value_us is None else f"{value_us / 1000:.1f} ms"
