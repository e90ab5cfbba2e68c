"""TLS and addresses of the two ends of a connection: settings that servers and clients share."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Annotated, ClassVar, Final, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from ric.errors import SettingsError
from ric.files import UnreadableFile, read_file
from ric.flags import Flag, FormerName

MAX_PEM_BYTES: Final = 1 << 20
"""Some 200 certificates."""
_HOST_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,253}")


class Section(BaseModel):
    """Base of every group of settings: immutable, no unknown key."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TlsSettings(Section):
    """TLS towards a server; with certificate and key, mutual TLS."""

    enabled: bool = Field(
        default=False,
        description="Use TLS.",
    )
    ca_file: Path | None = Field(
        default=None,
        description="CA certificates for the server's certificate, PEM; those of the system if "
        "unset.",
    )
    certificate_file: Path | None = Field(
        default=None, description="Client certificate chain for mutual TLS, PEM."
    )
    key_file: Path | None = Field(
        default=None, description="Client private key, PEM, not encrypted."
    )
    server_name: str | None = Field(
        default=None,
        description="Name expected in the server's certificate; the host of the address if unset.",
    )

    @model_validator(mode="after")
    def _pairs(self) -> Self:
        if (self.certificate_file is None) != (self.key_file is None):
            raise ValueError("one without the other; expected certificate_file and key_file both")
        return self


class ClientSettings(Section):
    """How to reach a server. Files are reread at each connection."""

    section: ClassVar[str] = "gateway"
    """Name of the section in errors."""

    address: str | None = Field(default=None, description="Address of the server.")
    insecure: bool = Field(
        default=False,
        description="Allow plain text beyond loopback and Unix sockets, for a service mesh that "
        "encrypts.",
    )
    tls: TlsSettings = Field(default_factory=TlsSettings, description="TLS towards the server.")
    token_file: Annotated[Path | None, FormerName("token")] = Field(
        default=None,
        description="File whose first line is the bearer token sent with each call; reread at "
        "each call.",
    )

    @field_validator("address")
    @classmethod
    def _address(cls, address: str | None) -> str | None:
        if address is not None:
            split_address(address)
        return address

    @model_validator(mode="after")
    def _protected(self) -> Self:
        if self.tls.enabled and self.insecure:
            raise ValueError("insecure beside tls.enabled; expected one of them")
        if self.address is None or self.tls.enabled or self.insecure or is_local(self.address):
            return self
        raise ValueError(
            f"plain text to {self.address}; expected tls.enabled: true, a loopback address, or "
            "insecure: true for a service mesh that encrypts"
        )


CertificateFile = Annotated[
    Path | None,
    Field(description="Server certificate chain, PEM; plain text if unset. Reread when changed."),
]
KeyFile = Annotated[
    Path | None, Field(description="Private key of that certificate, PEM, not encrypted.")
]
ClientCaFile = Annotated[
    Path | None,
    Field(description="CA certificates for client certificates, PEM; if set, mutual TLS."),
]
Insecure = Annotated[
    bool,
    Field(
        description="Allow plain text beyond loopback and Unix sockets, for a service mesh that "
        "encrypts."
    ),
]


class ServerSettings(Section):
    """Address and TLS of a server."""

    section: ClassVar[str] = "server"
    """Name of the section in errors."""
    label: ClassVar[str] = "grpc"
    """Value of the label `server` in metrics."""
    grpc: ClassVar[bool] = False
    """Whether it speaks gRPC: HTTP/2, and no client without a certificate if there is a CA."""

    listen: str = ""
    certificate_file: CertificateFile = None
    key_file: KeyFile = None
    client_ca_file: ClientCaFile = None
    insecure: Insecure = False
    max_connections: int = Field(
        default=400,
        ge=4,
        le=65_536,
        description="Most connections at once.",
    )

    @field_validator("listen")
    @classmethod
    def _listen(cls, listen: str) -> str:
        if listen:
            split_address(listen)
        return listen

    @model_validator(mode="after")
    def _protected(self) -> Self:
        if (self.certificate_file is None) != (self.key_file is None):
            raise ValueError("one without the other; expected certificate_file and key_file both")
        if self.client_ca_file is not None and self.certificate_file is None:
            raise ValueError("client_ca_file without TLS; expected certificate_file and key_file")
        if self.certificate_file is not None and self.insecure:
            raise ValueError("insecure beside certificate_file; expected one of them")
        if self.exposed and self.certificate_file is None and not self.insecure:
            raise ValueError(
                f"plain text on {self.listen}; expected certificate_file and key_file, a loopback "
                "address, or insecure: true for a service mesh that encrypts"
            )
        return self

    @property
    def exposed(self) -> bool:
        """Whether other machines can reach it."""
        return bool(self.listen) and not is_local(self.listen)


def check_host_name(name: str) -> str:
    """`name`; raises `ValueError` if it is no host name: a port or a pattern is none."""
    if _HOST_NAME.fullmatch(name) is None:
        raise ValueError(
            f"{name!r} is no host name; expected one without a port, e.g. controller.example.org"
        )
    return name


class HttpServerSettings(ServerSettings):
    """Address, TLS and names of an HTTP server."""

    allowed_hosts: tuple[Annotated[str, AfterValidator(check_host_name)], ...] = Field(
        default=(),
        max_length=64,
        description="Names by which it may be called in plain text, beside IP addresses, localhost "
        "and the name of listen: those of a Kubernetes Service, for instance. A request with "
        "another Host is refused, so that no page in a browser reaches it by a name of its own.",
    )


class AccessSettings(Section):
    """Who may do what, and the audit log."""

    file: Annotated[Path | None, Flag("access")] = Field(
        default=None,
        description="Access file, YAML: clients, their rights and nodes. Without it every client "
        "that reaches a server may do everything there. Reread when changed.",
    )
    audit_file: Annotated[Path | None, Flag("audit")] = Field(
        default=None, description="Audit log, JSON lines; the program's log if unset."
    )


def split_address(address: str) -> tuple[str, int]:
    """Host and port of `host:port` or `[IPv6]:port`; ("unix:path", 0) of a Unix socket.

    Raises `ValueError` saying what was expected.
    """
    if address.startswith("unix:") and len(address) > len("unix:"):
        return address, 0
    host, colon, port = address.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        colon = ""
    if not host or not colon or not (port.isascii() and port.isdigit()) or int(port) > 0xFFFF:
        raise ValueError("not an address; expected host:port, [IPv6]:port or unix:path")
    return host, int(port)


def is_local(address: str) -> bool:
    """Whether `address` cannot leave this machine."""
    host, _ = split_address(address)
    if host.startswith("unix:") or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_pem(setting: str, path: Path) -> bytes:
    """The content of a PEM file that `setting` names; raises `SettingsError` for another file.

    gRPC itself would only report that an address cannot be bound or a server is unavailable.
    """
    try:
        content = read_file(path, MAX_PEM_BYTES)
    except UnreadableFile as error:
        raise SettingsError([f"{setting}: {error}"]) from None
    if b"-----BEGIN " not in content:
        raise SettingsError([f"{setting}: {path}: not PEM; expected -----BEGIN …-----"])
    return content
