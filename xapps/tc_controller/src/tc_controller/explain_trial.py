"""Explains a trial from the decision log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

Record = dict[str, Any]

#: Number of newest blocks that are shown.
_SHOWN: Final = 20


def is_trial(record: Record) -> bool:
    """Whether the record belongs to a trial."""
    return str(record["event"]).startswith("trial_")


def place(record: Record) -> str:
    """Where the trial runs."""
    return f"{record['node']}, rule {record['rule']}"


def explain_trial(story: Sequence[Record], started_at: str) -> list[str]:
    """Settings, blocks and the effect of a trial; ``started_at``: time of the first record."""
    first, last = story[0], story[-1]
    lines = [f"Trial {first['id']} on {place(first)}, from {started_at}"]
    base, against = "base", "against"
    if first["event"] == "trial_started":
        base, against = first["base"], first["against"]
        share, of = first["share_of_time"], "time"
        if share is None:
            share, of = first["share_of_bearers"], "bearers"
        lines.append(
            f"  {against} instead of {base} for {share:.0%} of the {of}, in periods of "
            f"{first['period_s']:g} s of which {first['wash_out_ms']} ms are not measured; "
            f"seed {first['seed']}"
        )
        # Logs of before there was a least gain lack it.
        if "least_gain_ms" in first:
            lines.append(f"  {against} stays only if shown {_demand(first)}")
    blocks = [record for record in story if record["event"] == "trial_block"]
    if len(blocks) > _SHOWN:
        lines.append(f"  {len(blocks) - _SHOWN} blocks before these")
    lines += [
        f"  Block {record['block']}: {_block(record, base, against)}" for record in blocks[-_SHOWN:]
    ]
    if last["event"] == "trial_result":
        lines.append(f"Ended after {last['blocks']} blocks: {last['detail']}; {last['kept']} stays")
    else:
        lines.append("Not ended in this log.")
    summaries = [record["summary"] for record in story if "summary" in record]
    return lines + summaries[-1:]


def _demand(started: Record) -> str:
    """What the other pipeline must show to stay."""
    gain, loss = f"{started['least_gain_ms']:g} ms", f"{started['rate_loss_ratio']:.1%} of the rate"
    return (
        f"({started['confidence'] * 100:g} %) to shorten the sojourn by more than {gain} and lose "
        f"at most {loss}, or to gain more than {loss} and lengthen the sojourn by at most {gain}"
    )


def _block(record: Record, base: str, against: str) -> str:
    if "void" in record:
        return f"no result: {record['void']}"
    parts = (_arm(base, record["base"]), _arm(against, record["against"]))
    return "; ".join(parts)


def _arm(name: str, measured: Record) -> str:
    if not measured["bearers"]:
        return f"{name} no bearer"
    count = "1 bearer" if measured["bearers"] == 1 else f"{measured['bearers']} bearers"
    figures = f"{measured['sojourn_ms']:.1f} ms, {measured['rate_mbps']:.1f} Mbit/s"
    return f"{name} {figures} ({count})"
