"""Provenance of a run, sufficient to reproduce it."""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal, Self

from bounded_input import JsonError, parse_json
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rlc_dataset.errors import DatasetError

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
"""A partition value, which is also a directory name."""
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


BearerKind = Literal["paced", "unpaced"]
"""Whether a pacer limits the bytes of a bearer in the RLC, or all of its queue is there."""


class SeriesOrigin(BaseModel):
    """What the series of a bearer is of.

    Attributes:
        ue: C-RNTI.
        drb: DRB identity.
        radio: The recorded radio that was replayed, or the name of the cell.
        bearer_kind: ``paced`` or ``unpaced``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    ue: Annotated[int, Field(ge=0, lt=2**32)]
    drb: Annotated[int, Field(ge=0, lt=2**8)]
    radio: Annotated[str, Field(min_length=1, max_length=200)]
    bearer_kind: BearerKind


class TraceOrigin(BaseModel):
    """The part of a recorded radio that a run replayed.

    Attributes:
        radio: Its name.
        sha256: SHA-256 of the file, as it is on disk.
        first_step: Step of the file with which the part begins, counted from 0 by the loader of its
            format.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    radio: Annotated[str, Field(min_length=1, max_length=200)]
    sha256: Sha256
    first_step: Annotated[int, Field(ge=0)]


def text_sha256(text: str) -> str:
    """SHA-256 of a text in UTF-8, hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


class Provenance(BaseModel):
    """Provenance of a run, in the metadata of its file.

    Attributes:
        cell: Partition: the cell; splits may hold out cells.
        mobility: Partition: mobility pattern of the UEs.
        run: Partition: unique within the data set.
        source: The lab, an E2 gateway, or a file of others.
        scenario: Scenario of a simulated run, YAML.
        scenario_sha256: SHA-256 of the scenario.
        seed: The scenario's seed.
        series: Radio and kind of each bearer; empty if they were not noted, see
            :func:`rlc_dataset.series_origins`.
        traces: The recorded radios of a simulated run; the scenario names files with these parts.
        producer: Program and version, e.g. ``gnb-lab 0.1.0``.
        node_id: The E2 node.
        period_us: Report period.
        data_sha256: :func:`rlc_dataset.schema.table_sha256` of the rows.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    cell: Name
    mobility: Name
    run: Name
    source: Literal["gnb-lab", "e2", "file"]
    scenario: str | None = None
    scenario_sha256: Sha256 | None = None
    seed: Annotated[int, Field(ge=0, lt=2**64)] | None = None
    series: tuple[SeriesOrigin, ...] = ()
    traces: tuple[TraceOrigin, ...] = ()
    producer: str
    node_id: str = ""
    period_us: Literal[1_000] = 1_000
    data_sha256: Sha256

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.scenario is None) != (self.scenario_sha256 is None):
            raise ValueError("expected both or neither of scenario and scenario_sha256")
        if self.scenario is not None and text_sha256(self.scenario) != self.scenario_sha256:
            raise ValueError("scenario_sha256 does not match the scenario")
        if self.source == "gnb-lab" and (self.scenario is None or self.seed is None):
            raise ValueError("expected scenario and seed for a simulated run")
        return self

    @property
    def partition(self) -> str:
        """Directory within the data set."""
        return f"cell={self.cell}/mobility={self.mobility}/run={self.run}"


def series_origin(
    noted: Provenance | None, ue: int, drb: int, *, radio: str, is_limited: bool
) -> SeriesOrigin:
    """Radio and kind of a bearer of a run.

    Args:
        noted: The provenance of the run, if it has one.
        ue: C-RNTI.
        drb: DRB identity.
        radio: The radio, if the provenance names none.
        is_limited: Whether a limit of its pacer was ever reported: it is paced then, unless the
            provenance says otherwise.
    """
    for one in noted.series if noted is not None else ():
        if (one.ue, one.drb) == (ue, drb):
            return one
    kind: BearerKind = "paced" if is_limited else "unpaced"
    return SeriesOrigin(ue=ue, drb=drb, radio=radio, bearer_kind=kind)


def parse_provenance(data: bytes, file: str) -> Provenance:
    """Reads a file's metadata; raises :class:`~rlc_dataset.errors.DatasetError`."""
    try:
        provenance = Provenance.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        raise DatasetError(message, file=file, column=f"provenance {field}".strip()) from error
    try:
        # Pydantic takes the last value of a key that is given twice.
        parse_json(data)
    except JsonError as error:
        raise DatasetError(str(error), file=file, column="provenance") from error
    return provenance
