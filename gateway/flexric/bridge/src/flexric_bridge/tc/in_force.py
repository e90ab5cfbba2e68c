"""Revision and lease of a node's pipeline, which v0 does not have.

Times are wall clock in µs: a lease goes on while the bridge is down.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import e2sm_tc
from e2sm_tc import v0

_REVISIONS: Final = 1 << 32


@dataclass(frozen=True, slots=True)
class InForce:
    """The pipeline of one node.

    `pipeline` is that of the v1 transaction; `None` for one that was found on the node: reports
    lack parts of it.
    """

    revision: int
    pipeline: dict[str, Any] | None
    state: v0.State
    lease_ends_at_us: int | None = None
    owner: str | None = None
    """Owner of the transaction that installed it."""

    def lease_left_ms(self, now_us: int) -> int | None:
        """Remaining lease, ms; `None` without one."""
        if self.lease_ends_at_us is None:
            return None
        return max(0, (self.lease_ends_at_us - now_us) // 1000)

    def next_revision(self) -> int:
        """Modulo 2³² (E2SM-TC v1 clause 9.2)."""
        return (self.revision + 1) % _REVISIONS

    def leased(self, lease_ms: int | None, now_us: int) -> InForce:
        """The same with another lease from now."""
        ends = None if lease_ms is None else now_us + lease_ms * 1000
        return replace(self, lease_ends_at_us=ends)

    def to_json(self) -> dict[str, Any]:
        """Entry of the state file. The v0 state follows from the v1 pipeline and lowest queue."""
        return {
            "revision": self.revision,
            "pipeline": self.pipeline,
            "base": self.state.base,
            "lease_ends_at_us": self.lease_ends_at_us,
            "owner": self.owner,
        }


def found(state: v0.State, revision: int) -> InForce:
    """A pipeline that was seen on a node."""
    pipeline = v0.pipeline(v0.State.safe(state.base)) if state.is_safe else None
    return InForce(revision, pipeline, state)


def text(value: Any, name: str) -> str:
    """Text of a stored object; raises as `whole`."""
    found = value[name]
    if not isinstance(found, str):
        raise ValueError(f"{name}: {found!r}; expected text")  # noqa: TRY004 - of a file
    return found


def whole(value: Any, name: str) -> int:
    """A whole number of a stored object; raises `ValueError`, or `TypeError` if it is no object."""
    number = value[name]
    if not isinstance(number, int) or isinstance(number, bool):
        raise ValueError(f"{name}: {number!r}; expected a whole number")  # noqa: TRY004 - of a file
    return number


def from_json(value: Any, max_queues: int, max_filters: int) -> InForce:
    """The inverse of `InForce.to_json`; raises `ValueError` for anything else."""
    try:
        revision, base = whole(value, "revision"), whole(value, "base")
        pipeline = value["pipeline"]
        owner = None if value["owner"] is None else text(value, "owner")
        ends_at_us = None
        if value["lease_ends_at_us"] is not None:
            ends_at_us = whole(value, "lease_ends_at_us")
        if pipeline is None:
            return InForce(revision, None, v0.State.safe(base), ends_at_us, owner)
        e2sm_tc.validate_pipeline(pipeline)
        state = v0.lower(pipeline, base, max_queues, max_filters)
    except (KeyError, TypeError, OverflowError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None
    return InForce(revision, pipeline, state, ends_at_us, owner)
