"""The policy types: O-RAN.WG2.TS.A1TD-R004-v11.00 clause 6.3. These models are their schemas."""

from __future__ import annotations

from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Amount = Annotated[float, Field(ge=0, le=1e15)]
#: TS 29.571 packetDelBudget, ms.
DelayMs = Annotated[float, Field(gt=0, le=60_000)]


class _Model(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, strict=True, populate_by_name=False
    )


class _Statement(_Model):
    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not self.model_fields_set:
            known = ", ".join(sorted(type(self).model_fields))
            raise ValueError(f"no attribute; expected at least one of {known}")
        return self


class PlmnId(_Model):
    """Mobile country and network code."""

    mcc: str = Field(pattern=r"^[0-9]{3}$")
    mnc: str = Field(pattern=r"^[0-9]{2,3}$")


class SliceScope(_Model):
    """S-NSSAI with the PLMN it belongs to; the PLMN is not compared."""

    sst: int = Field(ge=0, le=255)
    sd: str | None = Field(default=None, pattern=r"^[A-Fa-f0-9]{6}$")
    plmnId: PlmnId | None = None  # noqa: N815 - of the specification


class QosScope(_Model):
    """A 5QI, or the QCI of an LTE bearer."""

    five_qi: int | None = Field(default=None, alias="5qI", ge=0, le=255)
    qcI: int | None = Field(default=None, ge=0, le=255)  # noqa: N815 - of the specification

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.five_qi is None) == (self.qcI is None):
            raise ValueError("expected one of 5qI and qcI")
        return self


#: A string (A1TD before release 4) or an object such as {"guAmfUeNgapId": {…}}.
UeId = (
    Annotated[str, Field(min_length=1, max_length=256)]
    | Annotated[dict[str, Any], Field(min_length=1, max_length=8)]
)


class _Scope(_Model):
    groupId: int | str | None = None  # noqa: N815 - of the specification
    cellId: dict[str, Any] | None = None  # noqa: N815 - of the specification


class QosTargetScope(_Scope):
    """A 5QI; optionally of a UE, a group, a slice, a cell."""

    ueId: UeId | None = None  # noqa: N815 - of the specification
    sliceId: SliceScope | None = None  # noqa: N815 - of the specification
    qosId: QosScope  # noqa: N815 - of the specification


class UeLevelScope(_Scope):
    """A UE; optionally its bearers of a 5QI or slice."""

    ueId: UeId  # noqa: N815 - of the specification
    sliceId: SliceScope | None = None  # noqa: N815 - of the specification
    qosId: QosScope | None = None  # noqa: N815 - of the specification


class SliceSlaScope(_Model):
    """A slice."""

    sliceId: SliceScope  # noqa: N815 - of the specification


class Reliability(_Model):
    """Share of packets of a size that arrive within a latency."""

    packetSize: Amount | None = None  # noqa: N815 - of the specification
    userPlaneLatency: Amount | None = None  # noqa: N815 - of the specification
    successProbability: Amount | None = None  # noqa: N815 - of the specification


class QosObjectives(_Statement):
    """Clause 6.3.3.2; rates and budgets as TS 23.501 has them."""

    gfbr: Amount | None = None
    mfbr: Amount | None = None
    priorityLevel: Annotated[int, Field(ge=1, le=127)] | None = None  # noqa: N815
    pdb: DelayMs | None = Field(default=None, description="Packet delay budget, ms.")


class UeLevelObjectives(_Statement):
    """Clause 6.3.3.4."""

    ulThroughput: Amount | None = None  # noqa: N815 - of the specification
    dlThroughput: Amount | None = None  # noqa: N815 - of the specification
    ulPacketDelay: Amount | None = None  # noqa: N815 - of the specification
    dlPacketDelay: Annotated[float, Field(gt=0, le=600_000)] | None = Field(  # noqa: N815
        default=None, description="Unit 0.1 ms (TS 28.552 clause 5.1.3.3.3)."
    )
    ulPdcpSduPacketLossRate: Amount | None = None  # noqa: N815 - of the specification
    dlRlcSduPacketLossRate: Amount | None = None  # noqa: N815 - of the specification
    dlReliability: Reliability | None = None  # noqa: N815 - of the specification
    ulReliability: Reliability | None = None  # noqa: N815 - of the specification


class SliceSlaObjectives(_Statement):
    """Clause 6.3.3.5."""

    maxNumberOfUes: Amount | None = None  # noqa: N815 - of the specification
    maxNumberOfPduSessions: Amount | None = None  # noqa: N815 - of the specification
    guaDlThptPerSlice: Amount | None = None  # noqa: N815 - of the specification
    guaUlThptPerSlice: Amount | None = None  # noqa: N815 - of the specification
    maxDlThptPerSlice: Amount | None = None  # noqa: N815 - of the specification
    maxUlThptPerSlice: Amount | None = None  # noqa: N815 - of the specification
    maxDlThptPerUe: Amount | None = None  # noqa: N815 - of the specification
    maxUlThptPerUe: Amount | None = None  # noqa: N815 - of the specification
    maxDlPacketDelayPerUe: DelayMs | None = Field(  # noqa: N815 - of the specification
        default=None, description="Largest downlink packet delay, ms."
    )
    maxUlPacketDelayPerUe: Amount | None = None  # noqa: N815 - of the specification
    maxDlPdcpSduPacketLossRatePerUe: Amount | None = None  # noqa: N815
    maxUlRlcSduPacketLossRatePerUe: Amount | None = None  # noqa: N815
    minDlReliabilityPerUe: Reliability | Amount | None = None  # noqa: N815
    minUlReliabilityPerUe: Reliability | Amount | None = None  # noqa: N815
    maxDlJitterPerUe: Amount | None = None  # noqa: N815 - of the specification
    maxUlJitterPerUe: Amount | None = None  # noqa: N815 - of the specification


class QosTarget(_Model):
    """Quality of a 5QI."""

    scope: QosTargetScope
    qosObjectives: QosObjectives  # noqa: N815 - of the specification


class UeLevelTarget(_Model):
    """Quality of a UE."""

    scope: UeLevelScope
    ueLevelObjectives: UeLevelObjectives  # noqa: N815 - of the specification


class SliceSlaTarget(_Model):
    """Quality of a slice."""

    scope: SliceSlaScope
    sliceSlaObjectives: SliceSlaObjectives  # noqa: N815 - of the specification


Statement = QosTarget | UeLevelTarget | SliceSlaTarget

TYPES: Final[dict[str, type[Statement]]] = {
    "ORAN_QoSTarget_6.0.0": QosTarget,
    "ORAN_UELevelTarget_5.0.0": UeLevelTarget,
    "ORAN_SliceSLATarget_4.0.1": SliceSlaTarget,
}

#: Misprints of the published schemas and what they mean.
_MISPRINTS: Final = {"successProbility": "successProbability"}


def corrected(value: Any) -> Any:
    """The document with the misprints of the published schemas corrected in its keys.

    Blanks around a key are removed: the schemas have ``" successProbability"`` and
    ``"dlRlcSduPacketLossRate "``. Raises `ValueError` when a key then occurs twice.
    """
    if isinstance(value, list):
        return [corrected(each) for each in value]
    if not isinstance(value, dict):
        return value
    result: dict[str, Any] = {}
    for key, below in value.items():
        name = _MISPRINTS.get(key.strip(), key.strip())
        if name in result:
            raise ValueError(f"{name} occurs twice, as {key!r} too; expected it once")
        result[name] = corrected(below)
    return result
