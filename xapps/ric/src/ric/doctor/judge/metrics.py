"""What metrics endpoints tell: losses, lateness, and FlexRIC's request budget."""

from __future__ import annotations

from typing import Final

from ric.doctor.facts import Metrics
from ric.doctor.finding import Finding, Level, ok

_CHECK = "metrics"

_GROWTHS: Final[dict[str, tuple[Level, str, str, str]]] = {
    "sojourn_gateway_indications_dropped_total": (
        Level.WARN,
        "indications dropped by the gateway meanwhile",
        "A reader is too slow and loses reports.",
        "See which xApp's sojourn_e2_indications_missed_total grows, and give it CPU.",
    ),
    "sojourn_gateway_skipped_seconds_total": (
        Level.WARN,
        "seconds skipped by the emulated gNB meanwhile",
        "It cannot hold real time: what it shows is not what a gNB does.",
        "Give it a faster core or a smaller scenario.",
    ),
    "sojourn_e2_indications_missed_total": (
        Level.WARN,
        "indications missed by an xApp meanwhile",
        "Percentiles over a window are taken of what is left.",
        "Give the xApp CPU (reason slow_handler) or the gateway (reason gateway).",
    ),
    "sojourn_e2_indications_bad_total": (
        Level.WARN,
        "indications an xApp could not decode meanwhile",
        "They are lost to it.",
        "Use service models of one version.",
    ),
    "sojourn_xapp_task_restarts_total": (
        Level.WARN,
        "tasks of an xApp failed and began anew meanwhile",
        "Something it does not expect comes again and again.",
        "Its log has the error.",
    ),
}


def judge(endpoint: Metrics) -> list[Finding]:
    """Of one endpoint."""
    if endpoint.error:
        return [
            Finding(
                Level.WARN,
                _CHECK,
                endpoint.url,
                f"cannot be read ({endpoint.error})",
                "Prometheus will not read it either: no graph, no alert.",
                "Correct the address, or give the program an http.listen that can be reached.",
            )
        ]
    findings = [*_growths(endpoint)]
    if findings:
        return findings
    return [ok(_CHECK, endpoint.url, f"{len(endpoint.after)} series, nothing lost meanwhile")]


def _growths(endpoint: Metrics) -> list[Finding]:
    return [
        Finding(level, _CHECK, endpoint.url, f"{grown:g} {what} ({labels})", why, remedy)
        for name, (level, what, why, remedy) in _GROWTHS.items()
        for labels, grown in endpoint.growth(name).items()
        if grown > 0
    ]
