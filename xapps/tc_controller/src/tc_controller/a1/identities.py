"""The identity file: which node and RNTI an A1 UE identifier means, which QFIs a 5QI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from ric.bounded_yaml import YamlError, parse_yaml
from ric.errors import SettingsError
from ric.explain import explain_validation_error
from ric.files import UnreadableFile, read_file

_MAX_BYTES: Final = 16 << 20
_MAX_NODES: Final = 1_000_000
"""Seven for each UE; read once, at the start."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Ue(_Entry):
    """One UE."""

    ueId: str | dict[str, Any] = Field(  # noqa: N815 - of the specification
        description="The identifier as A1 policies have it."
    )
    node: str = Field(min_length=1, description="Id of the E2 node.")
    rnti: int = Field(ge=0, le=65_535, description="C-RNTI.")


class Identities(_Entry):
    """The identity file; an identifier that it lacks is never guessed."""

    ues: tuple[Ue, ...] = Field(default=(), description="UEs by identifier.")
    qfis_of_5qi: dict[
        Annotated[int, Field(ge=0, le=255)], tuple[Annotated[int, Field(ge=0, le=63)], ...]
    ] = Field(default_factory=dict, description="QoS flow identifiers that carry a 5QI.")

    def ue(self, identifier: str | dict[str, Any]) -> tuple[str, int] | None:
        """Node and RNTI of a UE."""
        wanted = json.dumps(identifier, sort_keys=True)
        return next(
            (
                (each.node, each.rnti)
                for each in self.ues
                if json.dumps(each.ueId, sort_keys=True) == wanted
            ),
            None,
        )


def load_identities(path: Path | None) -> Identities:
    """The identity file, empty without one; raises `SettingsError`."""
    if path is None:
        return Identities()
    try:
        text = read_file(path, _MAX_BYTES).decode()
        return Identities.model_validate(parse_yaml(text, _MAX_NODES) or {})
    except ValidationError as error:
        raise SettingsError(explain_validation_error(error, str(path), Identities)) from None
    except UnreadableFile as error:
        raise SettingsError([str(error)]) from None
    except (YamlError, UnicodeDecodeError) as error:
        raise SettingsError([f"{path}: {error}"]) from None
