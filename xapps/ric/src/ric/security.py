"""What protects a program's servers: certificates, access file, audit log, limits, and metrics.

| metric | type | labels |
|---|---|---|
| `sojourn_tls_certificate_not_after_seconds` | gauge (Unix time) | `use` |
| `sojourn_tls_reload_failures_total` | counter | `server` |
| `sojourn_access_reload_failures_total` | counter | |
| `sojourn_audit_failures_total` | counter | |
| `sojourn_access_refused_total` | counter | `server`, `reason` |
| `sojourn_limited_total` | counter | `client`, `limit` |
| `sojourn_server_connections` | gauge | `server` |

`server` is `grpc`, `http` or `a1`; `use` is a server, or `gateway` or `forecasts` for the
certificate that the program shows as a client there; `reason` is `unauthenticated`, `right` or
`node`; `client` is the name by the access file or of the certificate, else the address, and `other`
beyond 32. The emulated gNB has the same, of the same library.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from sojourn_serving import (
    Certificates,
    Guard,
    LogRecord,
    SetupError,
    check_access_file,
    check_certificates,
)

from ric.endpoint_settings import AccessSettings, ClientSettings, ServerSettings
from ric.errors import SettingsError
from ric.metrics import counter, gauge
from ric.settings import ServiceSettings

_FAMILIES: Final = {"counter": counter, "gauge": gauge}
_log = structlog.get_logger()
_audit_log = structlog.get_logger("audit")


def check_files(settings: ServiceSettings) -> None:
    """Raise `SettingsError` for a certificate, key or access file that cannot be used.

    For programs, which fail before they start anything.
    """
    with settings_errors():
        if settings.access.file is not None:
            check_access_file(settings.access.file)
        for server in settings.servers().values():
            if (certificates := certificates_of(server)) is not None:
                check_certificates(server.section, certificates)


def certificates_of(settings: ServerSettings) -> Certificates | None:
    """The files of a server; `None` for plain text."""
    if settings.certificate_file is None or settings.key_file is None:
        return None
    return Certificates(settings.certificate_file, settings.key_file, settings.client_ca_file)


@contextmanager
def settings_errors() -> Iterator[None]:
    """Raises `SettingsError` for what the library of servers cannot use."""
    try:
        yield
    except SetupError as error:
        raise SettingsError([str(error)]) from None


class Security(Collector):
    """The guard of one program's servers, which rereads its files each second."""

    def __init__(
        self,
        settings: AccessSettings | None = None,
        registry: CollectorRegistry | None = None,
        clients: Iterable[ClientSettings] = (),
    ) -> None:
        """Raises `SettingsError` for an access file or audit file that cannot be used.

        `clients` are the program's connections to servers, of whose certificates it warns.
        """
        settings = settings or AccessSettings()
        with settings_errors():
            self.guard: Final = Guard(
                access_file=settings.file, audit_file=settings.audit_file, log=_write
            )
        for client in clients:
            if client.tls.enabled and client.tls.certificate_file is not None:
                self.guard.client_certificate(client.section, client.tls.certificate_file)
        if registry is not None:
            registry.register(self)

    def start(self) -> None:
        """Reread changed files from now on, also without a server."""
        self.guard.start()

    def certificates(self, settings: ServerSettings) -> Certificates | None:
        """The files of a server that is about to listen; what protects it is logged."""
        found = certificates_of(settings)
        if found is None and settings.exposed:
            _log.warning(
                "plain text beyond this machine", server=settings.section, listen=settings.listen
            )
        if found is not None and found.client_ca is not None and not self.guard.limited:
            _log.info(
                "every client with a certificate of the CA may do everything",
                server=settings.section,
            )
        return found

    def check(self) -> None:
        """Reread changed files now."""
        self.guard.check()

    def close(self) -> None:
        """End what is still served."""
        self.guard.close()

    def collect(self) -> Iterator[Metric]:
        """The metrics of now."""
        for family in self.guard.metrics():
            make = _FAMILIES[family.kind]
            yield make(family.name, f"{family.text}.", family.labels, dict(family.values))


def _write(record: LogRecord) -> None:
    """A line of the library, as the program writes its own."""
    if record.logger == "audit":
        fields = json.loads(record.event)
        del fields["at"]
        _audit_log.info("audit", **fields)
        return
    getattr(_log, record.level)(record.event, **record.fields)
