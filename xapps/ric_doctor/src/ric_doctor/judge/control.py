"""Whether a control would reach the TC RAN function and be answered."""

from __future__ import annotations

from typing import Final

from ric.e2 import Node
from ric.sm import TC_V0_OID, TC_V1_OID

from ric_doctor.facts import DryRun, Tried
from ric_doctor.finding import Finding, Level, ok
from ric_doctor.text import duration

_CHECK = "control"

SLOW_US: Final = 100_000
"""FlexRIC answers in under a millisecond; a tenth of a second is a queue grown by as much."""

_WHY: Final = "tc-controller acts through this alone: bearers stay as they are."

_TRIED: Final[dict[Tried, tuple[str, str]]] = {
    Tried.FAILED: (
        "a dry run failed without an outcome that says why",
        "Look at the log of the gateway and of the node.",
    ),
    Tried.UNDECODABLE: (
        "a dry run was answered with bytes that are no E2SM-TC v1 outcome",
        "Use E2SM-TC of one version on both sides.",
    ),
    Tried.TIMEOUT: (
        "a dry run was not answered",
        "Look whether the node's E2 agent still runs and whether the RIC's request budget is left;"
        " FlexRIC's RIC waits 3 s and then aborts.",
    ),
    Tried.GONE: (
        "the node or its RAN function went away during a dry run",
        "A control that makes a node leave has killed its E2 agent: look at its log for an assert.",
    ),
    Tried.UNAVAILABLE: (
        "the gateway failed during a dry run",
        "Look at the gateway's log.",
    ),
    Tried.NO_CODEC: (
        "no dry run, for the E2SM-TC codec is not installed here",
        "Install e2sm-tc beside this tool.",
    ),
}


def judge(tried: DryRun) -> list[Finding]:
    """Of a dry run of a node with E2SM-TC v1."""
    subject = f"{tried.node_id} tc_v1"
    if tried.tried is Tried.ACCEPTED:
        return [_accepted(tried, subject)]
    if tried.tried is Tried.REFUSED:
        return [_refused(tried, subject)]
    what, remedy = _TRIED[tried.tried]
    detail = f" ({tried.detail})" if tried.detail else ""
    level = Level.NOTE if tried.tried is Tried.NO_CODEC else Level.FAIL
    return [Finding(level, _CHECK, subject, f"{what}{detail}", _WHY, remedy)]


def of_v0_alone(node: Node) -> list[Finding]:
    """What cannot be told of a node that has v0 and not v1."""
    if node.ran_function(TC_V0_OID) is None or node.ran_function(TC_V1_OID) is not None:
        return []
    return [
        Finding(
            Level.NOTE,
            _CHECK,
            f"{node.id} tc_v0",
            "not tried: E2SM-TC v0 has no dry run and no refusal",
            "Whether a control takes effect can only be told by changing something.",
            "Send one by hand at a quiet time and read the next tc_v0 report.",
        )
    ]


def _accepted(tried: DryRun, subject: str) -> Finding:
    took = duration(tried.took_us)
    if not tried.bearer:
        return Finding(
            Level.WARN,
            _CHECK,
            subject,
            "a dry run was accepted for a bearer that cannot be there",
            "The RAN function does not look whom a control is for: a control for a UE that left"
            " may reach another.",
            "The RAN function must refuse it with unknown-bearer (E2SM-TC §7.5).",
        )
    if tried.revision != tried.expected_revision:
        return Finding(
            Level.FAIL,
            _CHECK,
            subject,
            f"a dry run turned revision {tried.expected_revision} into {tried.revision}",
            "The RAN function changes what it was asked only to check; --dry-run of tc-controller"
            " and its checks before acting are not safe here.",
            "Mend the RAN function (E2SM-TC §7.2, rule 7).",
        )
    what = f"a dry run for {tried.bearer} is accepted in {took}"
    return _slow(tried, subject, what) or ok(_CHECK, subject, what)


def _slow(tried: DryRun, subject: str, what: str) -> Finding | None:
    if tried.took_us <= SLOW_US:
        return None
    return Finding(
        Level.WARN,
        _CHECK,
        subject,
        what,
        "A bearer bloats on for as long as a control is on its way.",
        "Look at the load of RIC and node; controls to one RIC wait for each other.",
    )


def _refused(tried: DryRun, subject: str) -> Finding:
    place = f" at {tried.element}" if tried.element else ""
    detail = f": {tried.detail}" if tried.detail else ""
    told = f"{tried.cause}{place}{detail}"
    if not tried.bearer and tried.cause == "unknown_bearer":
        what = f"answers in {duration(tried.took_us)}; it reports no bearer to try more on"
        return _slow(tried, subject, what) or Finding(
            Level.NOTE, _CHECK, subject, f"{what}{detail}", "", "Attach a UE to see more."
        )
    if tried.cause == "inconsistent" and tried.element.startswith("delta"):
        return Finding(
            Level.NOTE,
            _CHECK,
            subject,
            f"answers in {duration(tried.took_us)}, but knows the pipeline in force only in part"
            f" ({told})",
            "",
            "Nothing: a gateway that makes v1 of a v0 node does not know a pipeline that was there"
            " before. tc-controller replaces it as a whole.",
        )
    if tried.cause == "stale_revision":
        return Finding(
            Level.NOTE,
            _CHECK,
            subject,
            f"answers in {duration(tried.took_us)}, but the pipeline changed twice meanwhile"
            f" ({told})",
            "",
            "Somebody controls this bearer right now; that is what should be, once.",
        )
    return Finding(
        Level.FAIL,
        _CHECK,
        subject,
        f"a dry run that changes nothing is refused ({told})",
        _WHY,
        _REMEDIES.get(tried.cause, "Look at the node's log for the correlation id 3340."),
    )


_REMEDIES: Final[dict[str, str]] = {
    "malformed": "Use E2SM-TC of one version on both sides.",
    "unsupported": "The RAN function lacks what its pipeline has already: compare its declared"
    " capabilities with E2SM-TC §4.2.",
    "unknown_bearer": "The node reports a bearer by a name that its controls do not take (§4.4):"
    " it must report UEs in the way that controls may name them.",
    "capacity": "The node is full: fewer bearers, or a larger limit there.",
}
