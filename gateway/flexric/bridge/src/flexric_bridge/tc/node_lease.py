"""Which client of the bridge controls a node (E2SM-TC v1 §7.4).

v0 has no owner: another RIC or bridge of the same node is not excluded. Times are wall clock in µs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from flexric_bridge.tc.in_force import text, whole
from flexric_bridge.tc.messages import Refused

_TERMS = 1 << 32


@dataclass(slots=True)
class NodeLease:
    """The lease of one node."""

    owner: str = ""
    ends_at_us: int = 0
    term: int = 0

    def apply(self, request: Mapping[str, Any], now_us: int) -> tuple[int, int | None]:
        """Take, renew or give up the node; its term and lease. Raises `Refused`."""
        owner, lease_ms = request["owner"], request["lease_ms"]
        self.admit(owner, now_us)
        if lease_ms is None:
            self.ends_at_us = 0
            return self.term, None
        if owner != self.owner:
            self.owner, self.term = owner, (self.term + 1) % _TERMS
        self.ends_at_us = now_us + lease_ms * 1000
        return self.term, lease_ms

    def admit(self, owner: str | None, now_us: int) -> None:
        """Raise `Refused`, naming the holder, if another than ``owner`` holds the node."""
        left_us = self.ends_at_us - now_us
        if left_us <= 0 or owner == self.owner:
            return
        left_ms = -(-left_us // 1000)
        found = "none" if owner is None else f"'{owner}'"
        raise Refused(
            "not_owner",
            "owner",
            f"{found}; '{self.owner}' holds this node, for another {left_ms} ms unless it renews",
            {"owner": self.owner, "lease_left_ms": left_ms},
        )

    def to_json(self) -> dict[str, Any]:
        """The lease as the state file keeps it."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Any) -> NodeLease:
        """The inverse of `to_json`; raises `ValueError` for anything else."""
        try:
            owner = text(value, "owner")
            return cls(owner, whole(value, "ends_at_us"), whole(value, "term"))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"node_lease: {type(error).__name__}: {error}") from None
