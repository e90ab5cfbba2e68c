"""The access file: clients, how they are recognised, their rights and nodes.

Its schema is `gateway/access/access.schema.json`; `gateway/access/vectors` are test cases
that this parser and the one of the emulated gNB share.
"""

from __future__ import annotations

import fnmatch
import hashlib
import hmac
import json
import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ric.errors import SettingsError
from ric.explain import PlacedError, dotted, explain_validation_error
from ric.files import UnreadableFile, read_file
from ric.settings_sources import read_yaml_mapping

MAX_FILE_BYTES: Final = 256 * 1024
MAX_CLIENTS: Final = 256
MAX_NAMES: Final = 64
"""Certificate names of a client, and node patterns."""
_TOKEN: Final = re.compile(rb"[!-~]{32,512}")
_MAX_TOKEN_FILE_BYTES: Final = 64 * 1024


class Right(StrEnum):
    """What a client may do; none includes another."""

    READ = "read"
    """Node list, metrics, pages, A1 GET, `Predict`, gRPC reflection."""
    SUBSCRIBE = "subscribe"
    """Indications of E2 nodes and the forecast stream."""
    CONTROL = "control"
    """RIC controls, changes of A1 policies."""


Name = Annotated[str, Field(min_length=1)]
Names = Annotated[tuple[Name, ...], Field(min_length=1, max_length=MAX_NAMES)]


class ClientEntry(BaseModel):
    """A client of the access file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern="^[A-Za-z0-9._-]{1,64}$")] = Field(
        description="Name in audit log and messages, unique."
    )
    certificates: Names = Field(
        default=(),
        description="Names of its certificate: a DNS or URI subject alternative name, or, of one "
        "without any, the common name of the subject; compared exactly.",
    )
    token_file: Annotated[str, Field(min_length=1)] | None = Field(
        default=None,
        description="File whose first line is its bearer token, 32 to 512 printable ASCII "
        "characters without spaces; relative to the access file.",
    )
    may: Annotated[tuple[Right, ...], Field(min_length=1, max_length=MAX_NAMES)] = Field(
        description="Its rights."
    )
    nodes: Names = Field(
        default=("*",),
        description="Ids of the E2 nodes it may see and use, as patterns with * and ?.",
    )

    @model_validator(mode="after")
    def _recognisable(self) -> Self:
        if not self.certificates and self.token_file is None:
            raise ValueError("has neither; expected certificates, token_file, or both")
        return self


class AccessDocument(BaseModel):
    """Clients of a Sojourn program and what they may do."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    clients: Annotated[tuple[ClientEntry, ...], Field(min_length=1, max_length=MAX_CLIENTS)] = (
        Field(description="The clients; all others are refused.")
    )

    @model_validator(mode="after")
    def _unique(self) -> Self:
        owners: dict[tuple[str, str], str] = {}
        for index, client in enumerate(self.clients):
            keys: list[tuple[tuple[int | str, ...], str]] = [(("name",), client.name)]
            keys += [(("certificates", at), one) for at, one in enumerate(client.certificates)]
            for place, value in keys:
                owner = owners.setdefault((str(place[0]), value), f"clients[{index}]")
                if owner != f"clients[{index}]":
                    raise PlacedError(
                        ("clients", index, *place),
                        f"{value!r} is that of {owner}; expected another",
                    )
        return self


@dataclass(frozen=True, slots=True)
class Client:
    """A client with its rights."""

    name: str
    rights: frozenset[Right]
    _nodes: tuple[re.Pattern[str], ...]

    def sees(self, node_id: str) -> bool:
        """Whether one of its patterns matches the node."""
        return any(pattern.fullmatch(node_id) for pattern in self._nodes)


def access_schema() -> str:
    """The JSON schema of the access file, as committed."""
    schema = AccessDocument.model_json_schema()
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


class AccessList:
    """The clients of an access file."""

    def __init__(self, clients: Sequence[tuple[Client, Iterable[str], bytes | None]]) -> None:
        """Each client with the names of its certificate and the SHA-256 of its token."""
        self.group_writable: tuple[Path, ...] = ()
        """Those of its files that a group may write."""
        self._of_certificate: dict[str, tuple[int, Client]] = {}
        self._tokens: list[tuple[bytes, Client]] = []
        for index, (client, names, digest) in enumerate(clients):
            self._of_certificate |= dict.fromkeys(names, (index, client))
            if digest is not None:
                self._tokens.append((digest, client))

    def client_of(self, names: Iterable[str], token: str | None) -> Client | None:
        """The client with this token; without a token, the first that has one of the names."""
        if token is not None:
            digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
            # All are compared, so that the time says nothing of which is near.
            found = [c for known, c in self._tokens if hmac.compare_digest(known, digest)]
            return found[0] if found else None
        known = [self._of_certificate[name] for name in names if name in self._of_certificate]
        return min(known, key=lambda each: each[0])[1] if known else None


def read_access_file(path: Path) -> tuple[AccessList, str]:
    """The clients of an access file, and a digest over it and its token files.

    Raises `SettingsError` with a line for each problem: `access.yaml: clients[0].may[1]: …`.
    """
    data = read_yaml_mapping(path, MAX_FILE_BYTES)
    group_writable = _group_writable(path, str(path))
    try:
        document = AccessDocument.model_validate(data)
    except ValidationError as error:
        raise SettingsError(
            explain_validation_error(error, str(path), AccessDocument, data)
        ) from None
    digest = hashlib.sha256(document.model_dump_json().encode())
    clients: list[tuple[Client, Iterable[str], bytes | None]] = []
    tokens: dict[bytes, str] = {}
    for index, entry in enumerate(document.clients):
        client = Client(
            entry.name, frozenset(entry.may), tuple(_pattern(glob) for glob in entry.nodes)
        )
        token = None
        if entry.token_file is not None:
            place = f"{path}: {dotted(('clients', index, 'token_file'))}"
            file = path.parent / entry.token_file
            token = hashlib.sha256(read_token(file, place)).digest()
            group_writable += _group_writable(file, place)
            owner = tokens.setdefault(token, entry.name)
            if owner != entry.name:
                raise SettingsError([f"{place}: the token is that of {owner}; expected another"])
            digest.update(token)
        clients.append((client, entry.certificates, token))
    found = AccessList(clients)
    found.group_writable = group_writable
    return found, digest.hexdigest()


def read_token(path: Path, place: str) -> bytes:
    """The token in the first line of a file; raises `SettingsError` starting with `place`."""
    try:
        content = read_file(path, _MAX_TOKEN_FILE_BYTES)
    except UnreadableFile as error:
        raise SettingsError([f"{place}: {error}"]) from None
    token = content.partition(b"\n")[0].rstrip(b"\r")
    if not _TOKEN.fullmatch(token):
        raise SettingsError(
            [
                f"{place}: {path}: not a token; expected 32 to 512 printable ASCII characters "
                "without spaces in the first line"
            ]
        )
    return token


def _group_writable(path: Path, place: str) -> tuple[Path, ...]:
    """The file, if its group may write it.

    Raises `SettingsError` starting with `place` if everyone may, who would then have every right.
    """
    try:
        # Of the file behind links, as a kubelet makes them of a Secret.
        mode = path.stat().st_mode
    except OSError:
        return ()
    if mode & stat.S_IWOTH:
        raise SettingsError(
            [
                f"{place}: {path}: everyone may write it (mode {stat.S_IMODE(mode):04o}); expected"
                " a file that its owner alone may write"
            ]
        )
    return (path,) if mode & stat.S_IWGRP else ()


def _pattern(glob: str) -> re.Pattern[str]:
    # `[` has no meaning here. The translation of fnmatch does not backtrack over several `*`.
    return re.compile(fnmatch.translate(glob.replace("[", "[[]")))
