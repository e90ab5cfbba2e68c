"""Which bearers a rule or a slice of the policy selects."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tc_controller.core.inputs import BearerKey
from tc_controller.core.ladder import Strict


class Selector(Strict):
    """Which bearers a rule or slice selects. An empty list matches all; all lists must match."""

    nodes: tuple[str, ...] = Field(
        default=(), description="Node ids; a trailing * matches any ending."
    )
    rntis: tuple[Annotated[int, Field(ge=0, le=65_535)], ...] = Field(
        default=(), description="UEs by C-RNTI."
    )
    drbs: tuple[Annotated[int, Field(ge=1, le=32)], ...] = Field(
        default=(), description="DRB identities."
    )
    qfis: tuple[Annotated[int, Field(ge=0, le=63)], ...] = Field(
        default=(), description="Bearers that carry a flow of one of these QoS flow identifiers."
    )

    def selects(self, bearer: BearerKey, qfis: frozenset[int]) -> bool:
        """Whether the bearer, with these QoS flows seen in it, is selected."""
        return (
            (not self.nodes or any(_like(name, bearer.node_id) for name in self.nodes))
            and (not self.rntis or bearer.rnti in self.rntis)
            and (not self.drbs or bearer.drb in self.drbs)
            and (not self.qfis or not qfis.isdisjoint(self.qfis))
        )


def _like(pattern: str, name: str) -> bool:
    if pattern.endswith("*"):
        return name.startswith(pattern[:-1])
    return name == pattern


class SliceId(Strict):
    """An S-NSSAI (3GPP TS 23.003 clause 28.4)."""

    sst: int = Field(ge=0, le=255, description="Slice/service type; 1 is eMBB.")
    sd: int | None = Field(
        default=None, ge=0, le=0xFFFFFF, description="Slice differentiator, as 0x010203."
    )


class Slice(Selector):
    """Bearers of a slice."""

    s_nssai: SliceId | None = Field(
        default=None, description="S-NSSAI by which A1 policies name the slice."
    )
    requirement: str | None = Field(
        default=None, description="Name under `requirements`, for rules that name none."
    )


class Match(Selector):
    """Selector of a rule, which may also name slices."""

    slices: tuple[str, ...] = Field(default=(), description="Names under `slices`.")
