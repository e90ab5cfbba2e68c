"""What protects a program's servers: certificates, access file, audit log, limits, and metrics.

| metric | type | labels |
|---|---|---|
| `sojourn_tls_certificate_not_after_seconds` | gauge (Unix time) | `use` |
| `sojourn_tls_reload_failures_total` | counter | `server` |
| `sojourn_access_reload_failures_total` | counter | |
| `sojourn_audit_failures_total` | counter | |
| `sojourn_access_refused_total` | counter | `server`, `reason` |

Those of limits are in `ric.limits.limits`. `server` is `grpc`, `http` or `a1`; `use` is a server,
or `gateway` or `forecasts` for the certificate that the program shows as a client there; `reason`
is `unauthenticated`, `right` or `node`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from ric.access import Access, AuditLog, read_access_file
from ric.certificates import ClientCertificate, ServerCertificates
from ric.clock import Clock, SystemClock
from ric.endpoint_settings import AccessSettings, ClientSettings, ServerSettings
from ric.limits import Limits
from ric.metrics import counter, gauge
from ric.settings import ServiceSettings

CHECK_S: Final = 10.0
"""Period of looking for changed files."""
WARN_BEFORE_S: Final = 14 * 86_400
"""A certificate that ends sooner is logged, once a day."""
_DAY_S: Final = 86_400
_log = structlog.get_logger()


def check_files(settings: ServiceSettings) -> None:
    """Raise `SettingsError` for a certificate, key or access file that cannot be used.

    For programs, which fail before they start anything.
    """
    if settings.access.file is not None:
        read_access_file(settings.access.file)
    for server in settings.servers().values():
        if server.certificate_file is not None and server.key_file is not None:
            ServerCertificates(server, server.certificate_file, server.key_file)


class Security(Collector):
    """Certificates, access and limits of one program; `watch` checks its files every `CHECK_S`."""

    def __init__(
        self,
        settings: AccessSettings | None = None,
        registry: CollectorRegistry | None = None,
        clock: Clock | None = None,
        clients: Iterable[ClientSettings] = (),
    ) -> None:
        """Raises `SettingsError` for an access file or audit file that cannot be used.

        `clients` are the program's connections to servers, of whose certificates it warns.
        """
        settings = settings or AccessSettings()
        self.clock = clock or SystemClock()
        self._audit = AuditLog(
            settings.audit_file, self.clock, access_file=settings.file is not None
        )
        self.limits = Limits(self.clock)
        self.access = Access(settings.file, self._audit, self.limits)
        self._certificates: list[ServerCertificates] = []
        self._client_certificates = [
            ClientCertificate(client.section, client.tls.certificate_file)
            for client in clients
            if client.tls.enabled and client.tls.certificate_file is not None
        ]
        self._warned_at_s: dict[str, float] = {}
        if registry is not None:
            registry.register(self)

    def server_certificates(self, settings: ServerSettings) -> ServerCertificates | None:
        """The certificates of a server that is about to listen; `None` for plain text.

        What protects it is logged. Raises `SettingsError` for a file that cannot be used.
        """
        section = settings.section
        if settings.certificate_file is None or settings.key_file is None:
            if settings.exposed:
                _log.warning(
                    "plain text beyond this machine", server=section, listen=settings.listen
                )
            return None
        certificates = ServerCertificates(settings, settings.certificate_file, settings.key_file)
        if not self.access.limited and certificates.client_ca:
            _log.info("every client with a certificate of the CA may do everything", server=section)
        self._certificates.append(certificates)
        self._warn_of_expiry(certificates.label, certificates.not_after_s)
        return certificates

    async def watch(self) -> None:
        """Reread changed files, until cancelled."""
        while True:
            await self.clock.sleep(CHECK_S)
            self.check()
            self.limits.log()

    def check(self) -> None:
        """Reread changed files now."""
        self.access.check()
        for certificates in self._certificates:
            failures = certificates.reload_failures
            if certificates.check():
                self._warned_at_s.pop(certificates.label, None)
                self._audit.write(
                    who="", action="reload", what=f"certificate {certificates.label}",
                    outcome="accepted",
                )  # fmt: skip
            elif certificates.reload_failures > failures:
                self._audit.write(
                    who="", action="reload", what=f"certificate {certificates.label}",
                    outcome="rejected: see the log",
                )  # fmt: skip
            self._warn_of_expiry(certificates.label, certificates.not_after_s)
        for client in self._client_certificates:
            if client.check():
                self._warned_at_s.pop(client.use, None)
            if client.not_after_s is not None:
                self._warn_of_expiry(client.use, client.not_after_s)

    def close(self) -> None:
        """Close the audit log."""
        self._audit.close()

    def collect(self) -> Iterator[Metric]:
        """The metrics of now."""
        yield from self.limits.collect()
        yield gauge(
            "sojourn_tls_certificate_not_after_seconds",
            "End of validity of a certificate, Unix time, by use: a server, or a connection as "
            "client.",
            ("use",),
            {one.label: float(one.not_after_s) for one in self._certificates}
            | {
                one.use: float(one.not_after_s)
                for one in self._client_certificates
                if one.not_after_s is not None
            },
        )
        yield counter(
            "sojourn_tls_reload_failures",
            "Changed certificate files that could not be used; those in force stayed.",
            ("server",),
            {one.label: one.reload_failures for one in self._certificates},
        )
        yield CounterMetricFamily(
            "sojourn_access_reload_failures",
            "Changed access files that could not be used; the list in force stayed.",
            self.access.reload_failures,
        )
        yield counter(
            "sojourn_access_refused",
            "Requests refused, by server and reason.",
            ("server", "reason"),
            dict(self.access.refused),
        )

        yield CounterMetricFamily(
            "sojourn_audit_failures",
            "Audit lines that went to the program's log: the audit file could not be written.",
            self._audit.failures,
        )

    def _warn_of_expiry(self, use: str, not_after_s: int) -> None:
        now_s = self.clock.now_us() / 1e6
        left_s = not_after_s - now_s
        last_s = self._warned_at_s.get(use)
        if left_s < WARN_BEFORE_S and (last_s is None or now_s - last_s >= _DAY_S):
            self._warned_at_s[use] = now_s
            _log.warning(
                "certificate expires soon" if left_s > 0 else "certificate expired",
                use=use,
                days_left=round(left_s / _DAY_S, 1),
            )
