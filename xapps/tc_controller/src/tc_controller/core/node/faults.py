"""Faults of a node that no pipeline mends, once a second: what it does not report, answer or do.

A fault is named with the number of bearers that it concerns, and logged when it begins and when it
ends. Whether a bearer meets its objective is another question (`compliance`).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from tc_controller.core.act.reconcile import REAPPLIED_IN_VAIN
from tc_controller.core.actions import Action
from tc_controller.core.bearer.bearer import Bearer
from tc_controller.core.inputs import BearerKey, Denied, Outcome, Unanswered
from tc_controller.core.observe.bearer_view import BearerView, standing_us
from tc_controller.core.report import records
from tc_controller.core.verify.compliance import Compliance

#: Silence that is a fault: reports come each 1 to 10 ms, or each period if that is longer.
_SILENT_US: Final = 1_000_000
#: Reports that a subscription may lose in a row.
_LOST_REPORTS: Final = 5
#: Controls in a row without answer.
_UNANSWERED: Final = 3
#: Part of what is queued that the pipeline of a working pacer holds at least.
_HELD_SHARE: Final = 0.1
#: More than a working pacer leaves in the RLC: `bdp5g` keeps 15 kB on a slow radio, the longest
#: target of a pacer (`dyn_rlc`, kumar2018) is 40 ms. In a fade both are exceeded for a while.
_UNPACED_BYTES: Final = 64_000
_UNPACED_US: Final = 200_000
_UNPACED_S: Final = 3


class Fault(enum.Enum):
    """What is wrong with a node: its word in labels of metrics and in the decision log, the
    sentence that page, dashboards, alerts and `explain` have for it, and the first step."""

    GATEWAY_LOST = (
        "gateway_lost",
        "the controller has no connection to the E2 gateway",
        "Nothing is known of any node behind it. Check the gateway, not the node.",
    )
    SILENT = (
        "silent",
        "the gateway has the node, but the node sends no RLC reports",
        "Nothing is known of its bearers; pipelines under a lease end with it. Check the node and "
        "its E2 agent.",
    )
    NO_STATUS = (
        "no_status",
        "the node sends RLC reports, but no status of its pipelines",
        "What is in force is not known, so nothing is verified or repaired. Check the TC RAN "
        "function and its report subscription.",
    )
    UNANSWERED = (
        "unanswered",
        "the node answers no control",
        "Controls do not arrive, or their answers do not. Check the RIC and the node's E2 agent.",
    )
    DENIED = (
        "denied",
        "the E2 gateway refuses the controls of this controller",
        "The node is not at fault: restart neither it nor its E2 agent. Give this client the right "
        "`control` in the gateway's access file; `ric doctor --config` says what it lacks.",
    )
    REFUSED = (
        "refused",
        "the node refuses every pipeline of the policy",
        "The node supports none of the rule's pipelines. Compare them with what it announces, and "
        "add one to `base` that it supports.",
    )
    NOT_APPLIED = (
        "not_applied",
        "the node accepts pipelines and does not install them",
        "No policy mends this: check the gNB. The pipeline is sent again after "
        "`retry_failed_rung_ms`.",
    )
    NO_EFFECT = (
        "no_effect",
        "packets of the node pass the pipeline by",
        "Packets wait in the RLC and not in the pipeline, or its pacer does not limit the RLC. No "
        "policy mends this: check how the gNB calls the TC function.",
    )

    def __init__(self, word: str, sentence: str, advice: str) -> None:
        self.word = word
        self.sentence = sentence
        self.advice = advice


class Way(NamedTuple):
    """How a node reports: over a gateway that is connected or not, and in which periods."""

    connected: bool

    rlc_us: int
    #: Period of the pipeline status; ``None``: the node has no E2SM-TC.
    status_us: int | None


@dataclass(slots=True)
class Finding:
    """A fault that is present."""

    #: Reason at the first bearer that has it.
    reason: str
    bearers: int
    #: Controller time at which it began.
    since_us: int


@dataclass(frozen=True, slots=True)
class _Filled:
    """An RLC with more than a pacer leaves in it."""

    held: int
    drained: int
    #: Seconds for which it has been full and has not drained.
    seconds: int


class NodeFaults:
    """The faults of one node.

    Args:
        node_id: for the records.
        now_us: when the node connected.
    """

    def __init__(self, node_id: str, now_us: int) -> None:
        self._node_id = node_id
        self._unanswered = 0
        #: What the gateway said to the newest control, if it refused it.
        self._denied: str | None = None
        #: Controller time of the newest RLC report, and of the newest pipeline status.
        self.reported_at_us = self.status_at_us = now_us
        #: Bearers whose RLC alone violates the objective.
        self._filled: dict[BearerKey, _Filled] = {}
        #: Those that were present at the last assessment.
        self.present: dict[Fault, Finding] = {}

    def answered(self, outcome: Outcome) -> None:
        """A control was answered, or was not in time."""
        self._unanswered = self._unanswered + 1 if isinstance(outcome, Unanswered) else 0
        self._denied = outcome.detail if isinstance(outcome, Denied) else None

    def assess(
        self,
        bearers: Iterable[tuple[Bearer, BearerView | None]],
        way: Way,
        now_us: int,
    ) -> list[Action]:
        """Set `present` from the bearers of the node; what began and what ended is logged."""
        found: dict[Fault, Finding] = {}
        every = list(bearers)
        filled, self._filled = self._filled, {}
        node = self._of_node(len(every), way, now_us)
        if node is not None:
            found[node[0]] = Finding(node[1], len(every), now_us)
        else:
            for bearer, view in every:
                own = _of_bearer(bearer) or self._effect(
                    bearer, view, filled.get(bearer.key), now_us
                )
                if own is not None:
                    first = Finding(f"{bearer.key}: {own[1]}", 0, now_us)
                    found.setdefault(own[0], first).bearers += 1
        former, self.present = self.present, found
        for fault in found.keys() & former.keys():
            found[fault].since_us = former[fault].since_us
        began = {fault: each for fault, each in found.items() if fault not in former}
        ended = {fault: each for fault, each in former.items() if fault not in found}
        return self._records("began", began, len(every), now_us) + self._records(
            "ended", ended, len(every), now_us
        )

    def end(self, now_us: int) -> list[Action]:
        """End all faults: the node is gone, or has connected again and is judged anew."""
        former, self.present = self.present, {}
        return self._records("ended", former, 0, now_us)

    def _records(
        self, what: str, faults: Mapping[Fault, Finding], of: int, now_us: int
    ) -> list[Action]:
        return [
            records.of_node(
                "fault",
                now_us,
                self._node_id,
                fault=fault.word,
                what=what,
                reason=each.reason,
                bearers=each.bearers,
                of=of,
            )
            for fault, each in faults.items()
        ]

    def _of_node(self, bearers: int, way: Way, now_us: int) -> tuple[Fault, str] | None:
        """A fault of the whole node hides those of its bearers. A node without bearers may have
        nothing to report."""
        if bearers == 0:
            self.reported_at_us = self.status_at_us = now_us
        silent_us = now_us - self.reported_at_us
        if not way.connected:
            return Fault.GATEWAY_LOST, f"no RLC report for {silent_us / 1e6:.1f} s"
        if silent_us > max(_SILENT_US, _LOST_REPORTS * way.rlc_us):
            return Fault.SILENT, f"no RLC report for {silent_us / 1e6:.1f} s"
        if self._unanswered >= _UNANSWERED:
            unanswered = f"no answer to the last {self._unanswered} controls"
            denied = self._denied
            return (Fault.UNANSWERED, unanswered) if denied is None else (Fault.DENIED, denied)
        if way.status_us is None:
            return None
        silent_us = now_us - self.status_at_us
        if silent_us > max(_SILENT_US, _LOST_REPORTS * way.status_us):
            return Fault.NO_STATUS, f"no status of a pipeline for {silent_us / 1e6:.1f} s"
        return None

    def _effect(
        self,
        bearer: Bearer,
        view: BearerView | None,
        former: _Filled | None,
        now_us: int,
    ) -> tuple[Fault, str] | None:
        if view is None or not _passed_by(bearer, view, now_us):
            return None
        held, drained = view.occupancy_bytes, view.drained_bytes
        # What the RLC held when the pipeline took effect may drain for long.
        if former is not None and 2 * (former.held - held) > drained - former.drained:
            return None
        seconds = 0 if former is None else former.seconds + 1
        self._filled[bearer.key] = _Filled(held, drained, seconds)
        if seconds < _UNPACED_S:
            return None
        return (
            Fault.NO_EFFECT,
            f"{view.occupancy_bytes} bytes wait in the RLC, "
            f"{_held_bytes(view)} in the pipeline that should hold them",
        )


def _of_bearer(bearer: Bearer) -> tuple[Fault, str] | None:
    if bearer.drift.reapplied >= REAPPLIED_IN_VAIN:
        asked = "" if bearer.desired is None else f"{bearer.desired.template} "
        return (
            Fault.NOT_APPLIED,
            f"{asked}accepted {bearer.drift.reapplied + 1} times, but the status shows "
            f"{bearer.seen.name}",
        )
    refusal = bearer.change.refusal
    if refusal is not None and bearer.desired is None:
        place = f" at {refusal.element}" if refusal.element else ""
        detail = f": {refusal.detail}" if refusal.detail else ""
        return Fault.REFUSED, f"the last pipeline was refused, {refusal.cause}{place}{detail}"
    return None


def _passed_by(bearer: Bearer, view: BearerView, now_us: int) -> bool:
    """Whether a paced pipeline is in force, and the RLC alone violates the objective."""
    desired, rule = bearer.desired, bearer.rule
    if desired is None or rule is None or bearer.judged.compliance is not Compliance.VIOLATED:
        return False
    sent_us = bearer.change.sent_us
    changed_at_us = sent_us[-1] if sent_us else 0
    settling = now_us - changed_at_us < rule.verify.max_settle_ms * 1000
    if desired.pipeline["pacer"] == "none" or settling:
        return False
    held_bytes = view.occupancy_bytes
    waits_us = min(view.mean_us, standing_us(held_bytes, view.serving_kbps))
    queued_bytes = held_bytes + _held_bytes(view)
    unpaced = held_bytes > _UNPACED_BYTES and waits_us > _UNPACED_US
    return unpaced and _held_bytes(view) < _HELD_SHARE * queued_bytes


def _held_bytes(view: BearerView) -> int:
    return 0 if view.pipeline is None else view.pipeline.backlog_bytes
