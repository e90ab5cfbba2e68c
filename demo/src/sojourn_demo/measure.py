"""The summary: delay and goodput before and after, the first seconds, loop latency, decisions.

The phases meet where the gNB's own recording has a new pipeline in force. Nothing is left out
between them, so what the change costs is in the figures of the controlled phase.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from sojourn_demo.recording import Floats, Recording

WARM_UP_S = 2.0
"""Excluded from the uncontrolled phase: start of flows and slow start of TCP."""
FIRST_SECONDS: Final = 3
STEP_S: Final = 0.5
"""The first seconds after the change are measured in steps of this length."""


def percentiles(values: Floats) -> dict[str, float | None]:
    """p50, p95, p99; None without values."""
    if len(values) == 0:
        return {"p50": None, "p95": None, "p99": None}
    p50, p95, p99 = np.percentile(values, (50, 95, 99)).tolist()
    return {"p50": round(p50, 3), "p95": round(p95, 3), "p99": round(p99, 3)}


def phase(name: str, recording: Recording, from_s: float, to_s: float) -> dict[str, Any]:
    """One phase of a recording."""
    used = recording.used_rb_pct(np.array([from_s, to_s])) if to_s > from_s else np.array([])
    pings = recording.pings_s
    return {
        "name": name,
        "from_s": round(from_s, 3),
        "to_s": round(to_s, 3),
        "ping_rtt_ms": percentiles(recording.rtt_ms.between(from_s, to_s)),
        "pings_sent": int(np.count_nonzero((pings >= from_s) & (pings < to_s))),
        "pings_answered": len(recording.rtt_ms.between(from_s, to_s)),
        "voip_one_way_ms": percentiles(recording.voip_ms.between(from_s, to_s)),
        "own_one_way_ms": {
            name: percentiles(delay.between(from_s, to_s))
            for name, delay in recording.own_ms.items()
        },
        "goodput_mbps": _rounded(recording.goodput_mbit.rate(from_s, to_s)),
        "drained_mbps": _rounded(recording.drained_mbit.rate(from_s, to_s)),
        "rlc_hol_ms": percentiles(recording.rlc_hol_ms.between(from_s, to_s)),
        "used_rb_pct": round(float(used[0]), 2) if len(used) else None,
    }


def first_seconds(recording: Recording, without: Recording, from_s: float) -> list[dict[str, Any]]:
    """Each half second of the first three after the change, with and without control."""
    steps = round(FIRST_SECONDS / STEP_S)
    edges = from_s + STEP_S * np.arange(steps + 1)
    rows = []
    for start_s, end_s in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        # Half a sample of tolerance: the end of a recording is a time of its last row.
        if end_s > min(recording.duration_s, without.duration_s) + 5e-4:
            break
        rows.append(
            {
                "after_s": [round(start_s - from_s, 3), round(end_s - from_s, 3)],
                **{
                    name: {
                        "goodput_mbps": _rounded(run.goodput_mbit.rate(start_s, end_s)),
                        "drained_mbps": _rounded(run.drained_mbit.rate(start_s, end_s)),
                        "ping_rtt_max_ms": _largest(run.rtt_ms.between(start_s, end_s)),
                    }
                    for name, run in (("with_control", recording), ("without_control", without))
                },
            }
        )
    return rows


def kept_each_second(rows: list[dict[str, Any]]) -> list[float | None]:
    """Goodput with control over that without, in each whole second of `first_seconds`."""
    per_second = round(1 / STEP_S)
    whole = len(rows) - len(rows) % per_second

    def goodput(name: str, second: int) -> float:
        return sum(float(row[name]["goodput_mbps"]) for row in rows[second : second + per_second])

    return [
        _ratio(goodput("with_control", second), goodput("without_control", second))
        for second in range(0, whole, per_second)
    ]


def decisions(
    records: list[dict[str, Any]], recording: Recording, *, own_revisions: bool
) -> list[dict[str, Any]]:
    """Summary of each decision, with times in s of the run.

    Args:
        own_revisions: The controller was answered with the gNB's revisions, so the recording tells
            when each came into force. Otherwise a decision is placed by the controller's clock.
    """
    found: dict[str, dict[str, Any]] = {}
    for record in records:
        identifier = record.get("id")
        if identifier is None:
            continue
        if record["event"] == "decided":
            found[identifier] = {
                "id": identifier,
                "at_s": round((record["at_us"] - recording.epoch_us) / 1e6, 4),
                "bearer": record["bearer"],
                "trigger": record["trigger"],
                "template": record["rung"]["template"],
                "reasons": record["reasons"],
            }
        elif identifier in found:
            decision = found[identifier]
            if record["event"] == "answered":
                decision["detect_to_ack_ms"] = record["detect_to_ack_us"] / 1e3
                decision["outcome"] = record["outcome"]
                revision = record["outcome"].get("accepted", {}).get("revision")
                at_s = None if revision is None else recording.in_force_s(revision)
                if own_revisions and at_s is not None:
                    decision["at_s"] = at_s
            elif record["event"] == "verified":
                decision["verdict"] = record["verdict"]
            elif record["event"] == "rolled_back":
                decision["rolled_back_to"] = record["to"]
    return sorted(found.values(), key=lambda decision: float(decision["at_s"]))


def summarise(
    recording: Recording,
    without: Recording,
    records: list[dict[str, Any]],
    stats: dict[str, Any],
    *,
    control_from_s: float,
    own_revisions: bool = True,
    measured_from_s: float = WARM_UP_S,
) -> dict[str, Any]:
    """``summary.json``.

    Args:
        recording: The run.
        without: The same seconds without control.
        records: The controller's decision log.
        stats: The controller's loop latencies.
        control_from_s: Where the phases meet if no pipeline changed.
        own_revisions: As in `decisions`.
        measured_from_s: Start of the uncontrolled phase.
    """
    switched_s = recording.switched_s()
    end_s = min(recording.duration_s, without.duration_s)
    start_s = min(control_from_s if switched_s is None else switched_s, end_s)
    before = phase("uncontrolled", recording, min(measured_from_s, start_s), start_s)
    after = phase("controlled", recording, start_s, end_s)
    alone = phase("uncontrolled, same seconds", without, start_s, end_s)
    steps = first_seconds(recording, without, start_s)
    return {
        "switched_s": switched_s,
        "phases": [before, after],
        "without_control": alone,
        "first_seconds": steps,
        "ratios": {
            "ping_p95_before_over_after": _ratio(
                before["ping_rtt_ms"]["p95"], after["ping_rtt_ms"]["p95"]
            ),
            "goodput_after_over_before": _ratio(after["goodput_mbps"], before["goodput_mbps"]),
            "goodput_with_over_without_control": _ratio(
                after["goodput_mbps"], alone["goodput_mbps"]
            ),
            "goodput_with_over_without_control_each_second": kept_each_second(steps),
        },
        "loop": {
            "indication_latency_us": _pair(stats.get("indication_latency_us"), 1),
            "detect_to_ack_ms": _pair(stats.get("detect_to_ack_us"), 1000),
            "control_ms": _pair(stats.get("control_us"), 1000),
        },
        "decisions": decisions(records, recording, own_revisions=own_revisions),
    }


def _pair(summary: dict[str, Any] | None, divisor: int) -> dict[str, float | None]:
    found = summary or {}
    return {
        name: None if found.get(name) is None else found[name] / divisor for name in ("p50", "p99")
    }


def _ratio(over: float | None, under: float | None) -> float | None:
    return round(over / under, 3) if over is not None and under else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _largest(values: Floats) -> float | None:
    return round(float(values.max()), 3) if len(values) else None
