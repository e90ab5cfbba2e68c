"""Explains a decision from the decision log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from tc_controller.explain_move import explain_move, result_of_move
from tc_controller.explain_trial import explain_trial, is_trial, place

Record = dict[str, Any]


def decision_rows(records: Iterable[Record]) -> list[list[str]]:
    """Id, time, bearer, rung and result of each decision and trial."""
    lines: dict[str, list[str]] = {}
    for record in records:
        key = record.get("id")
        if not isinstance(key, str):
            continue
        if is_trial(record):
            former = lines.get(key, [key, time_of(record["at_us"]), place(record), "trial", ""])
            lines[key] = [*former[:4], _result_of_trial(record)]
        elif record["event"] == "decided":
            rung = record["rung"]["template"]
            result = "dry run" if record.get("dry_run") else "no answer"
            lines[key] = [key, time_of(record["at_us"]), bearer_name(record), rung, result]
        elif record["event"] == "flow_move":
            result = "dry run" if record["dry_run"] else "no answer"
            what = f"QFI {record['qfi']} to DRB {record['to_drb']}"
            lines[key] = [key, time_of(record["at_us"]), bearer_name(record), what, result]
        elif key in lines:
            lines[key][4] = result_of_move(record) or result_of(record)
    return list(lines.values())


def decision_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """One line per row, with columns of equal width."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def explain(records: Iterable[Record], wanted: str) -> str | None:
    """A decision with its inputs, answers and verdict, or a trial with its blocks and effect;
    ``None`` if the log has none."""
    story = [record for record in records if record.get("id") == wanted]
    if story and is_trial(story[0]):
        return "\n".join(explain_trial(story, time_of(story[0]["at_us"])))
    if story and story[0]["event"] == "flow_move":
        return "\n".join(explain_move(story, time_of(story[0]["at_us"])))
    decided = next((record for record in story if record["event"] == "decided"), None)
    if decided is None:
        return None
    lines = explain_record(decided)
    for record in story:
        if record is not decided:
            lines += explain_record(record)
    if not any(record["event"] == "answered" for record in story):
        lines.append("Nothing was sent: dry run." if decided["dry_run"] else "No answer is logged.")
    return "\n".join(lines)


def explain_record(record: Record) -> list[str]:
    """One record of a decision; no lines for other records."""
    formatter = _FORMATTERS.get(record["event"])
    return [] if formatter is None else formatter(record)


def effect_of(record: Record) -> str:
    """What a record ``verified`` shows: the sojourn before and after."""
    before_us, after_us = record["before"]["sojourn_us"], record["after"]["sojourn_us"]
    if before_us is None or after_us is None:
        return str(record["verdict"])
    return f"{record['verdict']}: sojourn {before_us / 1000:.1f} to {after_us / 1000:.1f} ms"


def result_of(record: Record) -> str:
    """The result of a decision after this record."""
    if record["event"] == "answered":
        outcome: Record = record["outcome"]
        if "refused" in outcome:
            return f"refused: {outcome['refused']['cause']}"
        return next(iter(outcome))
    if record["event"] == "verified":
        return str(record["verdict"])
    return str(record["event"]).replace("_", " ")


def _decided(record: Record) -> list[str]:
    inputs, objective, rung = record["inputs"], record["objective"], record["rung"]
    lines = [
        f"Decision {record['id']} on {bearer_name(record)} at {time_of(record['at_us'])}",
        f"  Rule {record['rule']}: p{objective['percentile']:g} of the sojourn within "
        f"{objective['bound_ms']:g} ms over {objective['window_ms']} ms",
        f"  Reason: {record['reasons'][0]}",
        f"  Measured: {_state(inputs)}",
    ]
    if record.get("follows"):
        lines.append(f"  Follows {record['follows']}, which did not meet the objective.")
    flows = inputs.get("flows")
    if flows is None:
        lines.append("  Flows: no inventory received")
    else:
        lines.append(f"  Flows: {flows['active_flows']} active")
        lines += [
            f"    {flow['flow']}  {flow['rate_kbps']} kbit/s{'  greedy' if flow['greedy'] else ''}"
            # Records of former versions do not have it.
            f"{'  ' + flow['inelastic'] if flow.get('inelastic') else ''}"
            for flow in flows["top"]
        ]
    lines += [f"  Skipped: {item['template']}, {item['reason']}" for item in record["skipped"]]
    transaction = record["transaction"]
    lines.append(
        f"  {rung['of'].capitalize()} {rung['index'] + 1}: {rung['template']} "
        f"(pacer {_name(transaction['pipeline']['pacer'])}), {_stays(transaction)}, "
        f"expected revision {transaction['expected_revision']}"
    )
    return lines


def _answered(record: Record) -> list[str]:
    outcome = record["outcome"]
    attempt = f", attempt {record['attempt']}" if record["attempt"] > 1 else ""
    after = f"after {record['detect_to_ack_us'] / 1000:.2f} ms{attempt}"
    if "accepted" in outcome:
        return [f"Accepted {after}: revision {outcome['accepted']['revision']}"]
    if "refused" in outcome:
        refused = outcome["refused"]
        place = f" at {refused['element']}" if refused["element"] else ""
        detail = f": {refused['detail']}" if refused["detail"] else ""
        return [f"Refused {after}: {refused['cause']}{place}{detail}"]
    return [f"Not answered {after}: {outcome['unanswered']}"]


def _verified(record: Record) -> list[str]:
    return [
        f"Verified from {record['settled_after_us'] / 1000:.0f} ms after the decision "
        f"(expected {record['expected_settle_us'] / 1000:.0f} ms to drain the old backlog): "
        f"{record['verdict']}",
        *(f"  {reason}" for reason in record["reasons"]),
        f"  Before: {_state(record['before'])}",
        f"  After:  {_state(record['after'])}",
    ]


def _rolled_back(record: Record) -> list[str]:
    result = "accepted" if "accepted" in record["outcome"] else "failed; the lease restores safe"
    return [
        f"Rolled back to {record['to']} ({result}); "
        f"no decision for the next {record['cool_down_ms']} ms"
    ]


def _gone(record: Record) -> list[str]:
    return [f"The bearer was removed at {time_of(record['at_us'])}."]


_FORMATTERS = {
    "decided": _decided,
    "answered": _answered,
    "verified": _verified,
    "rolled_back": _rolled_back,
    "bearer_gone": _gone,
}


def _state(state: Record) -> str:
    parts = []
    if state["sojourn_us"] is not None:
        parts.append(f"sojourn {state['sojourn_us'] / 1000:.1f} ms")
    parts.append(f"RLC head of line {state['hol_us'] / 1000:.1f} ms")
    parts.append(f"RLC {state['occupancy_bytes']} bytes")
    if state["drain_kbps"] is not None:
        parts.append(f"drain {state['drain_kbps'] / 1000:.1f} Mbit/s")
    if state["ue_prb_per_s"] is not None:
        parts.append(f"{state['ue_prb_per_s']} PRB/s")
    return ", ".join(parts)


def _result_of_trial(record: Record) -> str:
    if record["event"] == "trial_result":
        return f"ended: {record['reason']}, {record['kept']} stays"
    return "running"


def bearer_name(record: Record) -> str:
    """The bearer of a record."""
    bearer = record["bearer"]
    return f"{bearer['node']}/0x{bearer['rnti']:04x}/drb{bearer['drb']}"


def _stays(transaction: Record) -> str:
    if transaction["as_safe"]:
        return "stays without the controller"
    return f"lease {transaction['lease_ms']} ms"


def _name(element: Any) -> str:
    return element if isinstance(element, str) else str(next(iter(element)))


def time_of(at_us: int) -> str:
    """A time of a record, UTC."""
    moment = datetime.fromtimestamp(at_us / 1e6, UTC)
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + "Z"
