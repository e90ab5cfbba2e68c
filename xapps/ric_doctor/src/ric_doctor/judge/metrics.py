"""What metrics endpoints tell: what was lost meanwhile, and how FlexRIC's bridge does."""

from __future__ import annotations

from typing import Final

from ric_doctor.facts import Metrics
from ric_doctor.finding import Finding, Level, ok
from ric_doctor.text import duration

_CHECK = "metrics"

BRIDGE_UP: Final = "sojourn_flexric_up"
BUDGET: Final = "sojourn_flexric_request_budget"
BUDGET_LEFT: Final = "sojourn_flexric_request_budget_left"
REQUESTS: Final = "sojourn_flexric_requests_total"
RIC_STATE: Final = "sojourn_flexric_ric_state"
BUILD_INFO: Final = "sojourn_flexric_build_info"

TC_STUB: Final = "sojourn_flexric_tc_stub"

BUDGET_WARN: Final = 0.2
BUDGET_FAIL: Final = 0.05
"""Shares of the requests of a RIC's life; the bridge keeps 3 % back for itself."""

_NO_SESSION: Final = (
    "",
    "Look whether nearRT-RIC runs at ric.address; FlexRIC ends with an assert on much"
    " that it does not expect, so have something restart it.",
)
_RIC_STATES: Final[dict[str, tuple[str, str]]] = {
    "absent": (": nobody accepts an association there", _NO_SESSION[1]),
    "without_nodes": (
        ": the RIC is there, and no E2 node has connected to it",
        "Start the gNB's E2 agent; the bridge asks again by itself, at most a minute later.",
    ),
    "ended": (
        ": the RIC ended itself as the bridge connected, as FlexRIC of 2023 does without a node",
        "Have nearRT-RIC restarted, and let gNBs connect within ric.nodes_come_within_s.",
    ),
    "silent": (
        ": the RIC accepts the association and does not answer",
        "Restart it with libflexric_level_triggered.so preloaded.",
    ),
    "no_sctp": (
        ": the bridge's machine can make no SCTP socket",
        "`modprobe sctp` on the machine of the bridge; on one machine, --ric-preload.",
    ),
    "no_module": (
        ": its native module is missing or was built for another FlexRIC",
        "`make flexric-bridge` with FLEXRIC_SRC and FLEXRIC_BUILD of the installed FlexRIC.",
    ),
    "sdk_failed": (
        ": the process that runs FlexRIC's SDK ends or hangs",
        "The bridge's log has its last words.",
    ),
    "starting": (": it is being opened", "Look again in a few seconds."),
}
"""By the state that the bridge tells: what that is, and what to do."""

GROWTHS: Final[dict[str, tuple[Level, str, str, str]]] = {
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
    "sojourn_flexric_restarts_total": (
        Level.WARN,
        "restarts of FlexRIC's SDK meanwhile",
        "Nodes go and come back for all xApps.",
        "The bridge's log says why; look whether nearRT-RIC still runs.",
    ),
    "sojourn_flexric_reports_lost_total": (
        Level.WARN,
        "reports lost between FlexRIC and the bridge meanwhile",
        "Percentiles over a window are taken of what is left.",
        "Give the bridge a core of its own, or ask for RLC at 2 ms or 5 ms.",
    ),
    "sojourn_flexric_reports_bad_total": (
        Level.WARN,
        "reports that are not what the service model says meanwhile",
        "They are lost to every xApp.",
        "Build node, RIC and bridge from one FlexRIC.",
    ),
    "sojourn_flexric_indications_dropped_total": (
        Level.WARN,
        "indications dropped by the bridge for slow xApps meanwhile",
        "Percentiles over a window are taken of what is left.",
        "See which xApp's sojourn_e2_indications_missed_total grows, and give it CPU.",
    ),
    "sojourn_flexric_undone_total": (
        Level.WARN,
        "transactions that failed on the way and were taken back meanwhile",
        "The bearer is as it was before.",
        "The bridge's log names the step that the node refused.",
    ),
    "sojourn_task_restarts_total": (
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
    findings = [*_bridge(endpoint), *_growths(endpoint)]
    if findings:
        return findings
    left = ""
    if budget := _budget(endpoint):
        left = f"; {budget[0]:.0f} of {budget[1]:.0f} requests of the RIC's life are left"
    built = "".join(f"; built for {of}" for of in endpoint.values(BUILD_INFO))
    what = f"{len(endpoint.after)} series, nothing lost meanwhile{left}{built}"
    return [ok(_CHECK, endpoint.url, what)]


def _bridge(endpoint: Metrics) -> list[Finding]:
    """Of FlexRIC's bridge, if this is its endpoint."""
    findings = []
    if 0.0 in endpoint.values(BRIDGE_UP).values():
        seen, to_do = _RIC_STATES.get(_ric_state(endpoint), _NO_SESSION)
        findings.append(
            Finding(
                Level.FAIL,
                _CHECK,
                endpoint.url,
                f"the bridge has no session with the near-RT RIC{seen}",
                "There are no nodes until it has one.",
                to_do,
            )
        )
    findings += [
        Finding(
            Level.FAIL,
            _CHECK,
            endpoint.url,
            f"the TC function of {node} only pretends: it acknowledges controls, and its reports"
            " are made up",
            "The bridge leaves it alone: tc-controller watches the node and controls nothing.",
            "OAI's and FlexRIC's own agents do so; run a gNB with a TC function. The bridge's log"
            " has the evidence, and it looks anew when the node comes back.",
        )
        for node, pretends in endpoint.values(TC_STUB).items()
        if pretends
    ]
    if any("integer" in built for built in endpoint.values(BUILD_INFO)):
        findings.append(
            Finding(
                Level.NOTE,
                _CHECK,
                endpoint.url,
                "the bridge is built for a FlexRIC of 2023: KPM names a slice by an INTEGER",
                "An OAI gNB since 2024-03 ends at it; those of 2023 end at anything else.",
                "Use a FlexRIC as old as the gNBs' E2 agents, or a newer one for newer gNBs.",
            )
        )
    budget = _budget(endpoint)
    if budget is not None and budget[0] < BUDGET_WARN * budget[1]:
        left, total = budget
        findings.append(
            Finding(
                Level.FAIL if left < BUDGET_FAIL * total else Level.WARN,
                _CHECK,
                endpoint.url,
                f"{left:.0f} of {total:.0f} requests of the RIC's life are left"
                f"{_lasting(endpoint, left)}",
                "FlexRIC's RIC aborts when it has numbered about 64,500 requests; before that the"
                " bridge refuses controls.",
                "Restart nearRT-RIC at a quiet hour: nodes and xApps come back by themselves.",
            )
        )
    return findings


def _ric_state(endpoint: Metrics) -> str:
    """The state that the bridge says holds; empty of one that says none."""
    states = endpoint.values(RIC_STATE)
    return next((labels for labels, value in states.items() if value), "")


def _budget(endpoint: Metrics) -> tuple[float, float] | None:
    """Requests left and in all."""
    left = endpoint.values(BUDGET_LEFT).get("")
    total = endpoint.values(BUDGET).get("")
    return None if left is None or total is None else (left, total)


def _lasting(endpoint: Metrics, left: float) -> str:
    spent = sum(endpoint.growth(REQUESTS).values())
    if spent <= 0 or endpoint.apart_us <= 0:
        return ""
    return f", for {duration(left / spent * endpoint.apart_us)} at the pace seen now"


def _growths(endpoint: Metrics) -> list[Finding]:
    return [
        Finding(level, _CHECK, endpoint.url, f"{grown:g} {what} ({labels})", why, remedy)
        for name, (level, what, why, remedy) in GROWTHS.items()
        for labels, grown in endpoint.growth(name).items()
        if grown > 0
    ]
