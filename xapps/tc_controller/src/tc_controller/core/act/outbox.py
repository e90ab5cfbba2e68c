"""Controls in flight: E2SM-TC messages out, answers matched to their controls."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tc_controller.core.act.reconcile import Desired
from tc_controller.core.actions import SendControl
from tc_controller.core.inputs import BearerKey, Pipeline
from tc_controller.core.observe.pipeline_view import PipelineView

#: Control styles of E2SM-TC v1.
_STYLE_PIPELINE, _STYLE_LEASE, _STYLE_NODE_LEASE, _STYLE_NODE_DEFAULT = 1, 2, 4, 5
_STYLE_QOS_FLOW = 6


class Purpose(enum.Enum):
    """Why a control was sent."""

    APPLY = "apply"
    ROLL_BACK = "roll_back"
    REAPPLY = "reapply"
    RELEASE = "release"
    RENEW = "renew"
    OWN = "own"
    DEFAULT = "default"
    MOVE = "move"


@dataclass(slots=True)
class OpenTransaction:
    """A transaction over all its attempts."""

    purpose: Purpose
    #: ``None``: the safe pipeline, or the initial one.
    target: Desired | None
    #: Name of a kept base: the initial pipeline replaces it and becomes the safe one again.
    undoes: str | None = None
    attempt: int = 1
    #: A status report of an older revision was on its way when the attempt failed.
    min_revision: int = 0
    #: Until when a status report is awaited.
    status_until_us: int = 0

    @property
    def pipeline(self) -> Pipeline | None:
        """The pipeline to install; ``None``: the safe pipeline."""
        return None if self.target is None else self.target.pipeline

    @property
    def as_safe(self) -> bool:
        """Whether the pipeline to install becomes the safe one."""
        return self.target is not None and self.target.as_safe

    @property
    def change(self) -> Any:
        """The E2SM-TC ``PipelineChange``."""
        if self.pipeline is not None:
            return {"replace": self.pipeline}
        return "safe" if self.undoes is None else "initial"

    def took_effect(self, status: PipelineView, revision_before: int | None) -> bool:
        """Whether the status shows the requested pipeline: the answer was lost, not the control."""
        if status.revision < self.min_revision:
            return False
        pipeline = self.pipeline
        if pipeline is None:
            # The base to undo is safe as well; of two with one name the initial one is sent again.
            return status.safe and status.name != self.undoes
        return (
            status.safe == self.as_safe
            and status.name == pipeline["name"]
            and status.revision != revision_before
            and self.min_revision == 0
        )


@dataclass(frozen=True, slots=True)
class Pending:
    """A control without an answer so far."""

    control_id: int
    node_id: str
    #: ``None``: the control is of the node.
    bearer: BearerKey | None
    purpose: Purpose
    sent_at_us: int


class Outbox:
    """Numbers controls, tracks those in flight, limits the rate of transactions per node.

    Args:
        owner: identity of this controller.
        timeout_us: after this a control counts as unanswered.
        per_second: transactions to one node per second. A RIC has a budget of requests and an E2
            node decodes on the CPU that schedules; renewals are exempt because a lost lease costs
            a transaction.
    """

    def __init__(self, owner: str, timeout_us: int, per_second: int) -> None:
        self._owner = owner
        self._timeout_us = timeout_us
        self.per_second = per_second
        self._next_id = 1
        self._pending: dict[int, Pending] = {}
        self._budget: dict[str, tuple[float, int]] = {}

    def admits(self, node_id: str, now_us: int) -> bool:
        """Whether the node's budget has room for one more transaction."""
        return self._tokens(node_id, now_us) >= 1.0

    def transaction(
        self,
        now_us: int,
        bearer: BearerKey,
        purpose: Purpose,
        change: Any,
        *,
        as_safe: bool,
        expected_revision: int | None,
        lease_ms: int | None,
    ) -> SendControl:
        """Change the bearer's pipeline; ``change`` is an E2SM-TC ``PipelineChange``."""
        self._budget[bearer.node_id] = (self._tokens(bearer.node_id, now_us) - 1.0, now_us)
        message = {
            "transaction": {
                "bearer": bearer.ie(),
                "expected_revision": expected_revision,
                "lease_ms": lease_ms,
                "owner": self._owner,
                "dry_run": False,
                "as_safe": as_safe,
                "change": change,
            }
        }
        pending = Pending(self._take_id(), bearer.node_id, bearer, purpose, now_us)
        return self._send(pending, _STYLE_PIPELINE, message)

    def renewal(self, now_us: int, bearer: BearerKey, revision: int, lease_ms: int) -> SendControl:
        """Keep the bearer's pipeline for another lease."""
        message = {
            "lease_renewal": {
                "bearer": bearer.ie(),
                "revision": revision,
                "lease_ms": lease_ms,
                "owner": self._owner,
            }
        }
        pending = Pending(self._take_id(), bearer.node_id, bearer, Purpose.RENEW, now_us)
        return self._send(pending, _STYLE_LEASE, message)

    def node_lease(self, now_us: int, node_id: str, lease_ms: int | None) -> SendControl:
        """Take the node or keep it for another lease; give it up when ``lease_ms`` is None."""
        message = {"node_lease": {"owner": self._owner, "lease_ms": lease_ms}}
        pending = Pending(self._take_id(), node_id, None, Purpose.OWN, now_us)
        return self._send(pending, _STYLE_NODE_LEASE, message)

    def node_default(
        self, now_us: int, node_id: str, change: Any, lease_ms: int | None
    ) -> SendControl:
        """Change what the node sets up bearers with; an E2SM-TC ``NodeDefaultChange``."""
        content = {"owner": self._owner, "lease_ms": lease_ms, "dry_run": False, "change": change}
        pending = Pending(self._take_id(), node_id, None, Purpose.DEFAULT, now_us)
        return self._send(pending, _STYLE_NODE_DEFAULT, {"node_default": content})

    def qos_flow(
        self, now_us: int, bearer: BearerKey, qfi: int, expected_revision: int | None
    ) -> SendControl:
        """Map a QoS flow of the bearer's UE to the bearer."""
        node_id = bearer.node_id
        self._budget[node_id] = (self._tokens(node_id, now_us) - 1.0, now_us)
        content = {
            "bearer": bearer.ie(),
            "qfi": qfi,
            "expected_revision": expected_revision,
            "owner": self._owner,
            "dry_run": False,
        }
        pending = Pending(self._take_id(), node_id, None, Purpose.MOVE, now_us)
        return self._send(pending, _STYLE_QOS_FLOW, {"qos_flow_mapping": content})

    def take(self, control_id: int) -> Pending | None:
        """The control of an answer; ``None`` if it timed out before."""
        return self._pending.pop(control_id, None)

    def overdue(self, now_us: int) -> list[Pending]:
        """Remove and return the controls that were not answered in time."""
        if not self._pending:
            return []
        late = [
            item for item in self._pending.values() if now_us - item.sent_at_us >= self._timeout_us
        ]
        for item in late:
            del self._pending[item.control_id]
        return late

    def forget(self, bearer: BearerKey) -> None:
        """Drop the controls in flight of this bearer."""
        for control_id in [
            item.control_id for item in self._pending.values() if item.bearer == bearer
        ]:
            del self._pending[control_id]

    def forget_node(self, node_id: str) -> None:
        """Drop the controls in flight of this node and its bearers."""
        for control_id in [
            item.control_id for item in self._pending.values() if item.node_id == node_id
        ]:
            del self._pending[control_id]

    def in_flight(self) -> int:
        """Controls not answered yet."""
        return len(self._pending)

    def _tokens(self, node_id: str, now_us: int) -> float:
        burst = float(max(1, self.per_second // 10))
        tokens, at_us = self._budget.get(node_id, (burst, now_us))
        return min(burst, tokens + (now_us - at_us) * self.per_second / 1e6)

    def _take_id(self) -> int:
        control_id = self._next_id
        # The correlation id is a u32 on the wire.
        self._next_id = self._next_id % 0xFFFF_FFFF + 1
        return control_id

    def _send(self, pending: Pending, style: int, message: Mapping[str, Any]) -> SendControl:
        self._pending[pending.control_id] = pending
        header = {"style": style, "correlation_id": pending.control_id}
        return SendControl(pending.control_id, pending.node_id, header, message)
