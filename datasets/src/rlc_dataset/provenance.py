"""Where a run is from: enough to make it again."""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rlc_dataset.errors import DatasetError

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
"""A partition's value: it is a directory name as well."""
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def text_sha256(text: str) -> str:
    """SHA-256 of a text in UTF-8, hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


class Provenance(BaseModel):
    """Where a run is from; stands in the metadata of its file.

    Attributes:
        cell: Partition: the cell, which splits may hold out whole.
        mobility: Partition: how its UEs move.
        run: Partition: unique within the data set.
        source: What made it: the lab, or an E2 gateway.
        scenario: Of a generated run the scenario, YAML.
        scenario_sha256: SHA-256 of it.
        seed: Of a generated run, the scenario's seed.
        producer: Program and version that made it, e.g. ``gnb-lab 0.1.0``.
        node_id: The E2 node.
        period_us: Between two reports.
        data_sha256: :func:`rlc_dataset.schema.table_sha256` of the rows.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    cell: Name
    mobility: Name
    run: Name
    source: Literal["gnb-lab", "e2"]
    scenario: str | None = None
    scenario_sha256: Sha256 | None = None
    seed: Annotated[int, Field(ge=0, lt=2**64)] | None = None
    producer: str
    node_id: str = ""
    period_us: Literal[1_000] = 1_000
    data_sha256: Sha256

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.scenario is None) != (self.scenario_sha256 is None):
            raise ValueError("scenario and scenario_sha256 go together")
        if self.scenario is not None and text_sha256(self.scenario) != self.scenario_sha256:
            raise ValueError("scenario_sha256 is not that of the scenario")
        if self.source == "gnb-lab" and (self.scenario is None or self.seed is None):
            raise ValueError("a generated run has scenario and seed")
        return self

    @property
    def partition(self) -> str:
        """Its directory within the data set."""
        return f"cell={self.cell}/mobility={self.mobility}/run={self.run}"


def parse_provenance(data: bytes, file: str) -> Provenance:
    """Reads a file's metadata; raises :class:`~rlc_dataset.errors.DatasetError`."""
    try:
        return Provenance.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        raise DatasetError(message, file=file, column=f"provenance {field}".strip()) from error
