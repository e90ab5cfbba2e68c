"""Which bearers a rule or a slice of the policy selects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from tc_controller.core.inputs import BearerKey
from tc_controller.core.policy.rung import Strict


@dataclass(frozen=True, slots=True)
class Carried:
    """What a node reports that a bearer carries."""

    five_qis: frozenset[int] = frozenset()
    #: SST and SD of its S-NSSAI.
    s_nssai: tuple[int, int | None] | None = None


#: What is carried where a node reports nothing of it.
UNKNOWN: Final = Carried()


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
    five_qis: tuple[Annotated[int, Field(ge=0, le=255)], ...] = Field(
        default=(),
        description="Bearers with a QoS flow of one of these 5QIs, on nodes that report 5QIs.",
    )

    def selects(self, bearer: BearerKey, qfis: frozenset[int], carried: Carried = UNKNOWN) -> bool:
        """Whether the bearer, with these QoS flows seen in it and reported of it, is selected."""
        return (
            self.of_node(bearer.node_id)
            and (not self.rntis or bearer.rnti in self.rntis)
            and (not self.drbs or bearer.drb in self.drbs)
            and (not self.qfis or not qfis.isdisjoint(self.qfis))
            and (not self.five_qis or not carried.five_qis.isdisjoint(self.five_qis))
        )

    def of_node(self, node_id: str) -> bool:
        """Whether bearers of the node may be selected."""
        return not self.nodes or any(like(name, node_id) for name in self.nodes)


def like(pattern: str, name: str) -> bool:
    """Whether a name is the pattern, or begins as one that ends with ``*``."""
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
        default=None,
        description="S-NSSAI by which A1 policies name the slice. Of bearers whose S-NSSAI the "
        "node reports, only those with this one are selected.",
    )
    requirement: str | None = Field(
        default=None, description="Name under `requirements`, for rules that name none."
    )

    def selects(self, bearer: BearerKey, qfis: frozenset[int], carried: Carried = UNKNOWN) -> bool:
        """Whether it selects the bearer; another S-NSSAI is not selected."""
        own, reported = self.s_nssai, carried.s_nssai
        is_other = own is not None and reported is not None and reported != (own.sst, own.sd)
        return not is_other and super().selects(bearer, qfis, carried)


class Match(Selector):
    """Selector of a rule, which may also name slices."""

    slices: tuple[str, ...] = Field(default=(), description="Names under `slices`.")
