"""The summary: delay and goodput before and after, loop latency, decisions."""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn_demo.recording import Floats, Recording

WARM_UP_S = 2.0
"""Excluded from the uncontrolled phase: start of flows and slow start of TCP."""
SETTLE_S = 1.0
"""Time from the first decision to the controlled phase."""


def percentiles(values: Floats) -> dict[str, float | None]:
    """p50, p95, p99; None without values."""
    if len(values) == 0:
        return {"p50": None, "p95": None, "p99": None}
    p50, p95, p99 = np.percentile(values, (50, 95, 99)).tolist()
    return {"p50": round(p50, 3), "p95": round(p95, 3), "p99": round(p99, 3)}


def phase(name: str, recording: Recording, from_s: float, to_s: float) -> dict[str, Any]:
    """One phase of a recording."""
    goodput = recording.delivered_mbps.between(from_s, to_s)
    used = recording.used_rb_pct.between(from_s, to_s)
    return {
        "name": name,
        "from_s": round(from_s, 3),
        "to_s": round(to_s, 3),
        "ping_rtt_ms": percentiles(recording.rtt_ms.between(from_s, to_s)),
        "voip_one_way_ms": percentiles(recording.voip_ms.between(from_s, to_s)),
        "goodput_mbps": round(float(goodput.mean()), 3) if len(goodput) else None,
        "rlc_hol_ms": percentiles(recording.rlc_hol_ms.between(from_s, to_s)),
        "used_rb_pct": round(float(used.mean()), 2) if len(used) else None,
    }


def decisions(records: list[dict[str, Any]], epoch_us: int) -> list[dict[str, Any]]:
    """Summary of each decision, with times in s of the run."""
    found: dict[str, dict[str, Any]] = {}
    for record in records:
        identifier = record.get("id")
        if identifier is None:
            continue
        at_s = round((record["at_us"] - epoch_us) / 1e6, 4)
        if record["event"] == "decided":
            found[identifier] = {
                "id": identifier,
                "at_s": at_s,
                "bearer": record["bearer"],
                "trigger": record["trigger"],
                "template": record["rung"]["template"],
                "reasons": record["reasons"],
            }
        elif identifier in found:
            decision = found[identifier]
            if record["event"] == "answered":
                decision["acknowledged_at_s"] = at_s
                decision["detect_to_ack_ms"] = record["detect_to_ack_us"] / 1e3
                decision["outcome"] = record["outcome"]
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
    control_from_s: float,
) -> dict[str, Any]:
    """``summary.json``.

    Args:
        recording: The run.
        without: The same scenario without control.
        records: The controller's decision log.
        stats: The controller's loop latencies.
        control_from_s: Start of control.
    """
    made = decisions(records, recording.epoch_us)
    first_s = float(made[0]["at_s"]) if made else control_from_s
    end_s = recording.duration_s
    start_s = min(first_s + SETTLE_S, end_s)
    before = phase("uncontrolled", recording, WARM_UP_S, first_s)
    after = phase("controlled", recording, start_s, end_s)
    alone = phase("uncontrolled, same seconds", without, start_s, end_s)
    return {
        "phases": [before, after],
        "without_control": alone,
        "ratios": {
            "ping_p95_before_over_after": _ratio(
                before["ping_rtt_ms"]["p95"], after["ping_rtt_ms"]["p95"]
            ),
            "goodput_after_over_before": _ratio(after["goodput_mbps"], before["goodput_mbps"]),
            "goodput_with_over_without_control": _ratio(
                after["goodput_mbps"], alone["goodput_mbps"]
            ),
        },
        "loop": {
            "indication_latency_us": _pair(stats.get("indication_latency_us"), 1),
            "detect_to_ack_ms": _pair(stats.get("detect_to_ack_us"), 1000),
            "control_ms": _pair(stats.get("control_us"), 1000),
        },
        "decisions": made,
    }


def _pair(summary: dict[str, Any] | None, divisor: int) -> dict[str, float | None]:
    found = summary or {}
    return {
        name: None if found.get(name) is None else found[name] / divisor for name in ("p50", "p99")
    }


def _ratio(over: float | None, under: float | None) -> float | None:
    return round(over / under, 3) if over is not None and under else None
