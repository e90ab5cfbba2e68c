"""The names that an HTTP server answers to.

A page of another site may have its own name resolve to this server (DNS rebinding); its `Host` then
tells, for no name can be an IP address. Over TLS the client has compared the name with the
certificate. Shared test vectors with the emulated gNB: `gateway/access/vectors/hosts.yaml`.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import Final

_AUTHORITY: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")
"""`host[:port]` (RFC 9110 §7.2)."""
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,253}")
_MAX_SHOWN: Final = 100
_Host = ipaddress.IPv4Address | ipaddress.IPv6Address | str


def check_host_name(name: str) -> str:
    """`name`; raises `ValueError` if it is no host name: a port or a pattern is none."""
    if _NAME.fullmatch(name) is None:
        raise ValueError(
            f"{name!r} is no host name; expected one without a port, e.g. controller.example.org"
        )
    return name


class AllowedHosts:
    """`localhost`, the host of a server's `listen` and those of its setting `allowed_hosts`."""

    def __init__(self, listen: str, allowed: Iterable[str]) -> None:
        hosts = (_host_of(text) for text in ("localhost", listen, *allowed))
        self._names = {host for host in hosts if isinstance(host, str)}

    def refusal(
        self, host: str | None, origin: str | None, *, encrypted: bool
    ) -> tuple[HTTPStatus, str] | None:
        """Why a request with these headers is not answered; `None` if it is.

        421 (RFC 9110 §15.5.20) for a `Host` that is not ours, 403 for an `Origin` of another site.
        """
        # Browsers always send it.
        if host is not None and not encrypted and not self._is_ours(host):
            return HTTPStatus.MISDIRECTED_REQUEST, _refusal("Host", host)
        if origin is not None and not self._is_own_site(origin, host or ""):
            return HTTPStatus.FORBIDDEN, _refusal("Origin", origin)
        return None

    def _is_ours(self, text: str) -> bool:
        host = _host_of(text)
        return host in self._names if isinstance(host, str) else host is not None

    def _is_own_site(self, text: str, host: str) -> bool:
        """Whether an origin (RFC 6454 §6.2) is on the host that the request names, on this machine
        or allowed."""
        _, separator, authority = text.partition("://")
        origin = _host_of(authority) if separator else None
        if origin is None:
            return False
        if origin == _host_of(host):
            return True
        return origin in self._names if isinstance(origin, str) else origin.is_loopback


def _host_of(text: str) -> _Host | None:
    """The host of `host[:port]`: an address, or a name in lower case; `None` for other text."""
    found = _AUTHORITY.fullmatch(text)
    if found is None or int(found[2] or 0) > 0xFFFF:
        return None
    try:
        return ipaddress.ip_address(found[1].strip("[]"))
    except ValueError:
        return None if found[1].startswith("[") else found[1].lower().removesuffix(".")


def _refusal(header: str, value: str) -> str:
    return (
        f"{header} {value[:_MAX_SHOWN]!r} is not this server; expected an IP address, localhost or"
        " a name of allowed_hosts"
    )
