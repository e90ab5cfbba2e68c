"""The bearer of the one pipeline of a v0 node, which v0 does not name: the only one in RLC reports,
or the one in the settings where the node has several or no RLC reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ric.sm import rlc

from flexric_bridge.settings import Bearer
from flexric_bridge.tc.messages import Refused, bearer_id, event


class NodeBearer:
    """The bearer of one node's pipeline, and the occupancy of its RLC buffer."""

    def __init__(self, node_id: str, configured: Sequence[Bearer]) -> None:
        matching = (bearer for bearer in configured if bearer.matches(node_id))
        self._wanted = next(matching, Bearer())
        self._current: tuple[int, int] | None = None
        self._candidates: list[tuple[int, int]] = []
        self.rlc_occupancy_bytes = 0

    @property
    def id(self) -> dict[str, Any] | None:
        """The bearer as v1's `BearerId`; `None` while unknown."""
        return None if self._current is None else bearer_id(*self._current)

    def assume_configured(self) -> None:
        """The node has no RLC reports, as a CU may: its bearer is that of the settings."""
        if self._wanted.rnti is not None and self._wanted.drb is not None:
            self._current = (self._wanted.rnti, self._wanted.drb)

    def on_rlc(self, message: bytes, now_us: int) -> list[dict[str, Any]]:
        """Take an RLC report; the v1 events of the bearer that changed. Raises
        `ServiceModelError`."""
        records = rlc.decode(message).records
        found = []
        for rnti, drb, occupancy in zip(
            records["rnti"].tolist(),
            records["rbid"].tolist(),
            records["txbuf_occ_bytes"].tolist(),
            strict=True,
        ):
            wanted = self._wanted.rnti in (None, rnti) and self._wanted.drb in (None, drb)
            if wanted and rnti <= 0xFFFF and 1 <= drb <= 32:
                found.append((rnti, drb))
                if (rnti, drb) == self._current:
                    self.rlc_occupancy_bytes = occupancy
        # One report may be of a moment at which a UE connects or disconnects.
        settled, self._candidates = found == self._candidates, found
        bearer = found[0] if len(found) == 1 else None
        if bearer == self._current or not settled:
            return []
        before, self._current = self._current, bearer
        changes = ((before, "bearer_removed"), (bearer, "bearer_added"))
        return [event(bearer_id(*of), now_us, kind) for of, kind in changes if of is not None]

    def check(self, wanted: Mapping[str, Any]) -> None:
        """Check that a control is for this bearer; raises `Refused`."""
        if self._current is None:
            several = ", ".join(f"RNTI {rnti} DRB {drb}" for rnti, drb in self._candidates)
            found = f"{len(self._candidates)} bearers ({several})" if several else "no bearer"
            raise Refused(
                "unknown_bearer",
                "bearer",
                f"an E2SM-TC v0 node has one pipeline, and its RLC reports {found}; expected one,"
                " or tc.bearers to name it",
            )
        if wanted != self.id:
            rnti, drb = self._current
            detail = f"the one pipeline here is of RNTI {rnti} DRB {drb}"
            raise Refused("unknown_bearer", "bearer", detail)
