"""The result in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sojourn_demo import responsiveness


def lead(summary: Mapping[str, Any]) -> str:
    """The result in a few sentences of HTML: delay, goodput, and what applications had."""
    before, after = summary["phases"]
    p95 = (before["ping_rtt_ms"]["p95"], after["ping_rtt_ms"]["p95"])
    ratio = summary["ratios"]["goodput_with_over_without_control"]
    if not summary["decisions"] or None in (*p95, ratio):
        return "The controller made no decision in this run."
    kept = [k for k in summary["ratios"]["goodput_with_over_without_control_each_second"] if k]
    least = f", at least <b>{min(kept):.1%}</b> in each of the first {len(kept)} s" if kept else ""
    return (
        f"Ping p95 went from <b>{p95[0]:,.0f} ms</b> to <b>{p95[1]:,.1f} ms</b>. From the decision"
        f" on, the bulk goodput is <b>{ratio:.0%}</b> of that without control in the same"
        f" seconds{least}.{_of_applications(after, summary['without_control'])}"
        f"{responsiveness.sentence(summary)}"
    )


def _of_applications(after: Mapping[str, Any], alone: Mapping[str, Any]) -> str:
    """What applications had in the same seconds with and without control, in words; empty if none
    ran."""
    said = ""
    if "video" in after:
        said += (
            f" The video {_watched(after['video'])}; without control it {_watched(alone['video'])}."
        )
    if "page_load_ms" in after:
        said += f" Pages {_loaded(after)}; without control they {_loaded(alone)}."
    if said and alone["drained_mbps"]:
        share = after["drained_mbps"] / alone["drained_mbps"]
        said += f" All flows together had <b>{share:.0%}</b> of the bytes without control."
    return said


def _watched(video: Mapping[str, Any]) -> str:
    if video["startup_ms"] is None:
        return f"had not started after <b>{video['watched_s']:.0f} s</b>"
    times = "once" if video["stalls"] == 1 else f"{video['stalls']} times"
    stalled = f"stalled {times} for <b>{video['stalled_s']:.1f} s</b>" if video["stalls"] else ""
    return (
        f"started after <b>{video['startup_ms'] / 1e3:.1f} s</b>,"
        f" {stalled or 'never stalled'} and had <b>{video['mean_mbps'] or 0:.2f} Mbit/s</b>"
    )


def _loaded(phase: Mapping[str, Any]) -> str:
    p50_ms, count = phase["page_load_ms"]["p50"], f"{phase['pages_loaded']} of"
    if p50_ms is None:
        return f"had not loaded by the end ({count} {phase['pages_begun']})"
    return f"loaded in <b>{p50_ms / 1e3:.1f} s</b> (median, {count} {phase['pages_begun']})"
