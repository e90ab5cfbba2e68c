"""The controllers that the settings name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ric.settings import ClientSettings, is_local, split_address

from tc_controller.peer_client import Target, at, context
from tc_controller.settings import ControllerSettings

_LOOPBACK: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - nothing is bound


def targets(settings: ControllerSettings) -> Iterator[Target]:
    """The controllers of `peers`, each address of its name one of them; without it this one.

    Raises `AskError` if the name does not resolve or a certificate cannot be used.
    """
    if settings.peers.address is None:
        return iter([_own(settings)])
    return targets_of(settings.peers)


def targets_of(client: ClientSettings) -> Iterator[Target]:
    """A controller for each address of a client's name; raises `AskError`."""
    if client.address is None:
        return iter(())
    host, port = split_address(client.address)
    if host.startswith("unix:"):
        return iter([Target(host.removeprefix("unix:"), "localhost")])
    tls = client.tls
    made = context(tls.ca_file, tls.certificate_file, tls.key_file) if tls.enabled else None
    return at(host, port, made, tls.server_name, client.token_file)


def _own(settings: ControllerSettings) -> Target:
    own = settings.http
    host, port = split_address(own.listen)
    if host.startswith("unix:"):
        return Target(host.removeprefix("unix:"), "localhost")
    tls = None
    if own.certificate_file is not None:
        tls = context(own.client_ca_file, own.certificate_file, own.key_file)
    local = host in _LOOPBACK or is_local(own.listen)
    address = (_LOOPBACK.get(host, host), port)
    return Target(address, f"localhost:{port}", tls, "localhost" if local else host)
