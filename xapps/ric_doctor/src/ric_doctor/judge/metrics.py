"""Metrics endpoints: losses during the examination, and the state of the FlexRIC bridge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ric_doctor.facts import Metrics
from ric_doctor.finding import Check, Finding, Level
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
"""Shares of the request budget; the bridge reserves 3 % for itself."""

_NO_SESSION: Final = (
    "",
    "Check that nearRT-RIC runs at ric.address; FlexRIC aborts on many inputs, so run it"
    " under a supervisor that restarts it.",
)
_RIC_STATES: Final[dict[str, tuple[str, str]]] = {
    "absent": (": no SCTP association is accepted there", _NO_SESSION[1]),
    "without_nodes": (
        ": no E2 node has connected to the RIC",
        "Start the gNB's E2 agent; the bridge retries within a minute.",
    ),
    "ended": (
        ": the RIC aborted when the bridge connected, as FlexRIC of 2023 does without a node",
        "Restart nearRT-RIC, and let gNBs connect within ric.nodes_come_within_s.",
    ),
    "silent": (
        ": the RIC accepts the association and does not answer",
        "Restart it with libflexric_level_triggered.so preloaded.",
    ),
    "no_sctp": (
        ": the machine of the bridge has no SCTP",
        "`modprobe sctp` on the machine of the bridge; on one machine, --ric-preload.",
    ),
    "no_module": (
        ": its native module is missing or was built for another FlexRIC",
        "`make flexric-bridge` with FLEXRIC_SRC and FLEXRIC_BUILD of the installed FlexRIC.",
    ),
    "sdk_failed": (
        ": the process that runs FlexRIC's SDK ends or hangs",
        "See the log of the bridge.",
    ),
    "starting": (": the session is being opened", "Repeat this in a few seconds."),
}
"""State of the bridge → description and remedy."""

GROWTHS: Final[dict[str, tuple[str, str, str]]] = {
    "sojourn_gateway_indications_dropped_total": (
        "indications dropped by the gateway",
        "A client is too slow and loses reports.",
        "Find the xApp whose sojourn_e2_indications_missed_total grows, and give it more CPU.",
    ),
    "sojourn_gateway_skipped_seconds_total": (
        "seconds skipped by the emulated gNB",
        "It is slower than real time: its behaviour is not that of a gNB.",
        "Give it a faster core or a smaller scenario.",
    ),
    "sojourn_e2_indications_missed_total": (
        "indications missed by an xApp",
        "Percentiles over a window are computed from the remaining reports.",
        "Give the xApp (reason slow_handler) or the gateway (reason gateway) more CPU.",
    ),
    "sojourn_e2_indications_bad_total": (
        "indications an xApp could not decode",
        "The xApp ignores them.",
        "Use the same version of the service models everywhere.",
    ),
    "sojourn_flexric_restarts_total": (
        "restarts of FlexRIC's SDK",
        "Nodes disconnect and reconnect for all xApps.",
        "See the log of the bridge; check that nearRT-RIC runs.",
    ),
    "sojourn_flexric_reports_lost_total": (
        "reports lost between FlexRIC and the bridge",
        "Percentiles over a window are computed from the remaining reports.",
        "Give the bridge a core of its own, or use an RLC period of 2 ms or 5 ms.",
    ),
    "sojourn_flexric_reports_bad_total": (
        "malformed reports",
        "No xApp receives them.",
        "Build node, RIC and bridge from the same FlexRIC.",
    ),
    "sojourn_flexric_indications_dropped_total": (
        "indications dropped by the bridge for slow xApps",
        "Percentiles over a window are computed from the remaining reports.",
        "Find the xApp whose sojourn_e2_indications_missed_total grows, and give it more CPU.",
    ),
    "sojourn_flexric_undone_total": (
        "transactions that failed and were rolled back",
        "The bearer has its previous pipeline.",
        "The log of the bridge names the control that the node refused.",
    ),
    "sojourn_task_restarts_total": (
        "tasks failed and were restarted",
        "An unexpected exception repeats.",
        "See the log of the program.",
    ),
}


def judge(endpoint: Metrics) -> list[Finding]:
    """Findings of one endpoint."""
    if endpoint.error:
        return [
            Check(_CHECK, endpoint.url).warn(
                f"cannot be read ({endpoint.error})",
                "Prometheus cannot read it either: no graphs, no alerts.",
                "Correct the address, or set http.listen of the program to a reachable address.",
            )
        ]
    findings = [*_bridge(endpoint), *_growths(endpoint)]
    if findings:
        return findings
    left = ""
    if budget := _budget(endpoint):
        left = f"; {budget[0]:.0f} of {budget[1]:.0f} requests of the budget are left"
    built = "".join(f"; built for {of}" for of in endpoint.values(BUILD_INFO))
    what = f"{len(endpoint.after)} series, nothing lost{left}{built}"
    return [Check(_CHECK, endpoint.url).ok(what)]


def _bridge(endpoint: Metrics) -> Iterator[Finding]:
    """Findings of FlexRIC's bridge, if this is its endpoint."""
    if 0.0 in endpoint.values(BRIDGE_UP).values():
        seen, to_do = _RIC_STATES.get(_ric_state(endpoint), _NO_SESSION)
        yield Check(_CHECK, endpoint.url).fail(
            f"the bridge has no session with the near-RT RIC{seen}",
            "Without a session there are no nodes.",
            to_do,
        )
    yield from [
        Check(_CHECK, endpoint.url).fail(
            f"the TC function of {node} is a stub: it acknowledges controls, and its reports are"
            " invented",
            "The bridge does not use it: tc-controller observes the node and controls nothing.",
            "The agents of OAI and FlexRIC are such stubs; run a gNB with a TC function. See the"
            " log of the bridge; it checks again when the node reconnects.",
        )
        for node, pretends in endpoint.values(TC_STUB).items()
        if pretends
    ]
    if any("integer" in built for built in endpoint.values(BUILD_INFO)):
        yield Check(_CHECK, endpoint.url).note(
            "the bridge is built for a FlexRIC of 2023: KPM names a slice by an INTEGER",
            "An OAI gNB since 2024-03 aborts on it; those of 2023 abort on anything else.",
            "Use a FlexRIC of the age of the gNBs' E2 agents.",
        )
    budget = _budget(endpoint)
    if budget is not None and budget[0] < BUDGET_WARN * budget[1]:
        left, total = budget
        yield Check(_CHECK, endpoint.url).found(
            Level.FAIL if left < BUDGET_FAIL * total else Level.WARN,
            f"{left:.0f} of {total:.0f} requests of the budget are left{_lasting(endpoint, left)}",
            "FlexRIC's RIC aborts after about 64,500 requests; before that the bridge refuses"
            " controls.",
            "Restart nearRT-RIC at low load: nodes and xApps reconnect by themselves.",
        )


def _ric_state(endpoint: Metrics) -> str:
    """The state of the bridge; "" if it reports none."""
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
    return f", for {duration(left / spent * endpoint.apart_us)} at the present rate"


def _growths(endpoint: Metrics) -> Iterator[Finding]:
    for name, (what, why, remedy) in GROWTHS.items():
        for labels, grown in endpoint.growth(name).items():
            if grown > 0:
                shown = f"{grown:g} {what} during the examination ({labels})"
                yield Check(_CHECK, endpoint.url).warn(shown, why, remedy)
