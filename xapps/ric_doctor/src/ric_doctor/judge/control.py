"""Whether a control reaches the TC RAN function and is answered."""

from __future__ import annotations

from typing import Final

from ric.e2 import Node
from ric.sm import TC_V0_OID, TC_V1_OID

from ric_doctor.facts import DryRun, Tried
from ric_doctor.finding import Check, Finding, Level
from ric_doctor.text import duration

_CHECK = "control"

SLOW_US: Final = 100_000
"""FlexRIC answers within 1 ms; during 100 ms a queue grows by as much."""

_WHY: Final = "tc-controller cannot change any bearer."

_TRIED: Final[dict[Tried, tuple[str, str]]] = {
    Tried.FAILED: (
        "a dry run failed without an outcome",
        "Look at the log of the gateway and of the node.",
    ),
    Tried.UNDECODABLE: (
        "the answer to a dry run is not an E2SM-TC v1 outcome",
        "Use the same version of E2SM-TC on both sides.",
    ),
    Tried.TIMEOUT: (
        "a dry run was not answered",
        "Check that the node's E2 agent runs and that the RIC has request budget left;"
        " FlexRIC's RIC aborts after 3 s.",
    ),
    Tried.DENIED: (
        "the gateway does not let this client control the node",
        "Give it the right control, and the node, in the access file of the gateway, as"
        " tc-controller has them.",
    ),
    Tried.GONE: (
        "the node or its RAN function went away during a dry run",
        "The control may have aborted the E2 agent: search its log for an assert.",
    ),
    Tried.UNAVAILABLE: ("the gateway failed during a dry run", "Look at the gateway's log."),
    Tried.NO_CODEC: ("no dry run: the E2SM-TC codec is not installed", "Install e2sm-tc."),
}


def judge(tried: DryRun) -> list[Finding]:
    """Findings of a dry run on a node with E2SM-TC v1."""
    subject = f"{tried.node_id} tc_v1"
    if tried.tried is Tried.ACCEPTED:
        return [_accepted(tried, subject)]
    if tried.tried is Tried.REFUSED:
        return [_refused(tried, subject)]
    what, remedy = _TRIED[tried.tried]
    detail = f" ({tried.detail})" if tried.detail else ""
    level = Level.NOTE if tried.tried is Tried.NO_CODEC else Level.FAIL
    return [Check(_CHECK, subject).found(level, f"{what}{detail}", _WHY, remedy)]


def of_v0_alone(node: Node) -> list[Finding]:
    """The finding that v0 has no dry run."""
    if node.ran_function(TC_V0_OID) is None or node.ran_function(TC_V1_OID) is not None:
        return []
    return [
        Check(_CHECK, f"{node.id} tc_v0").note(
            "not tried: E2SM-TC v0 has no dry run and no refusal",
            "Only a change shows whether a control takes effect.",
            "Send a control manually at low load and read the next tc_v0 report.",
        )
    ]


def _accepted(tried: DryRun, subject: str) -> Finding:
    took = duration(tried.took_us)
    if not tried.bearer:
        return Check(_CHECK, subject).warn(
            "a dry run was accepted for a bearer that cannot exist",
            "The RAN function ignores the address of a control: a control for a UE that left may"
            " reach another.",
            "The RAN function must refuse it with unknown-bearer (E2SM-TC §7.6).",
        )
    if tried.revision != tried.expected_revision:
        return Check(_CHECK, subject).fail(
            f"a dry run turned revision {tried.expected_revision} into {tried.revision}",
            "The RAN function executes dry runs; checks of tc-controller before a change are not"
            " safe here.",
            "Correct the RAN function (E2SM-TC §7.2, rule 7).",
        )
    what = f"a dry run for {tried.bearer} is accepted in {took}"
    return _slow(tried, subject, what) or Check(_CHECK, subject).ok(what)


def _slow(tried: DryRun, subject: str, what: str) -> Finding | None:
    if tried.took_us <= SLOW_US:
        return None
    return Check(_CHECK, subject).warn(
        what,
        "The queue grows until the control arrives.",
        "Check the load of RIC and node; controls to one RIC are serialised.",
    )


def _refused(tried: DryRun, subject: str) -> Finding:
    place = f" at {tried.element}" if tried.element else ""
    detail = f": {tried.detail}" if tried.detail else ""
    shown = f"{tried.cause}{place}{detail}"
    if not tried.bearer and tried.cause == "unknown_bearer":
        what = f"answers in {duration(tried.took_us)}; it reports no bearer for a dry run"
        return _slow(tried, subject, what) or Check(_CHECK, subject).note(
            f"{what}{detail}", "", "Attach a UE to examine more."
        )
    if tried.cause == "not_owner":
        what = f"answers in {duration(tried.took_us)}; a controller owns the node{detail}"
        return _slow(tried, subject, what) or Check(_CHECK, subject).ok(what)
    if tried.cause == "inconsistent" and tried.element.startswith("delta"):
        return Check(_CHECK, subject).note(
            f"answers in {duration(tried.took_us)}, but has the pipeline in force only in part"
            f" ({shown})",
            "",
            "None: a gateway that translates v1 to v0 does not know a pipeline from"
            " before its start. tc-controller replaces it as a whole.",
        )
    if tried.cause == "stale_revision":
        return Check(_CHECK, subject).note(
            f"answers in {duration(tried.took_us)}, but the pipeline changed twice meanwhile"
            f" ({shown})",
            "",
            "None: another client controls this bearer at the moment.",
        )
    return Check(_CHECK, subject).fail(
        f"a dry run that changes nothing is refused ({shown})",
        _WHY,
        _REMEDIES.get(tried.cause, "Look at the node's log for the correlation id 3340."),
    )


_REMEDIES: Final[dict[str, str]] = {
    "malformed": "Use the same version of E2SM-TC on both sides.",
    "unsupported": "The RAN function does not support its present pipeline: compare its declared"
    " capabilities with E2SM-TC §4.2.",
    "unknown_bearer": "The node reports a bearer by an id that its controls do not accept (§4.4):"
    " reports and controls must use the same ids.",
    "capacity": "The node is at its limit: use fewer bearers or raise the limit.",
}
