"""What v0 does not know of a node's pipeline: whose it is, its revision, its lease.

Times are wall clock in µs: a lease goes on while the sidecar is down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from flexric_bridge.tc import v0
from flexric_bridge.tc.v0 import State

SAFE_NAME: Final = "transparent"
FOREIGN_NAME: Final = "foreign"
"""Of a pipeline that was there already, or that somebody else made."""
_REVISIONS: Final = 1 << 32
_BUFFER: Final = {"packets": 0x7FFF_FFFF, "bytes": 0xFFFF_FFFF, "overflow": "tail"}
"""The most that v1 can say: the node's own limit holds."""


def safe_pipeline(queue: int = 0) -> dict[str, Any]:
    """The safe pipeline in v1."""
    return {
        "name": SAFE_NAME,
        "classifier": {"round_robin": {"first": queue, "count": 1}},
        "queues": [
            {
                "first": queue,
                "count": 1,
                "discipline": {"fifo": {"drop": "tail"}},
                "limit_packets": None,
                "limit_bytes": None,
                "policer": None,
                "shaper": None,
            }
        ],
        "scheduler": "round_robin",
        "pacer": "none",
        "buffer": dict(_BUFFER),
    }


@dataclass(frozen=True, slots=True)
class Entry:
    """The pipeline of one node.

    `pipeline` is `None` where v1 does not know it: it was found on the node.
    """

    revision: int
    pipeline: dict[str, Any] | None
    state: State
    v1_of_v0: Mapping[int, int] = field(default_factory=dict)
    lease_ends_at_us: int | None = None

    @property
    def name(self) -> str:
        """In v1's reports."""
        return FOREIGN_NAME if self.pipeline is None else str(self.pipeline["name"])

    @property
    def safe(self) -> bool:
        """Whether it is the safe pipeline."""
        return v0.alike(v0.safe(self.state.base), self.state)

    def lease_left_ms(self, now_us: int) -> int | None:
        """Rest of the lease; `None` without one."""
        if self.lease_ends_at_us is None:
            return None
        return max(0, (self.lease_ends_at_us - now_us) // 1000)

    def next_revision(self) -> int:
        """Modulo 2³², as the document says."""
        return (self.revision + 1) % _REVISIONS

    def v1_queue(self, number: int) -> int:
        """v1's id of a v0 queue."""
        return self.v1_of_v0.get(number, number)

    def leased(self, lease_ms: int | None, now_us: int) -> Entry:
        """With another lease from now."""
        ends = None if lease_ms is None else now_us + lease_ms * 1000
        return replace(self, lease_ends_at_us=ends)


def found(state: State, revision: int) -> Entry:
    """The entry of a pipeline that was seen on a node."""
    if v0.alike(v0.safe(state.base), state):
        return Entry(revision, safe_pipeline(state.base), state)
    return Entry(revision, None, state)


# ------------------------------------------------------------------------ state file


def to_json(entry: Entry) -> dict[str, Any]:
    """For the state file. The v0 pipeline follows from v1's and the lowest queue."""
    return {
        "revision": entry.revision,
        "pipeline": entry.pipeline,
        "base": entry.state.base,
        "lease_ends_at_us": entry.lease_ends_at_us,
    }
