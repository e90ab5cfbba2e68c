"""gRPC channels of clients: TLS and token; for a gateway, one small message per millisecond."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import grpc
import grpc.aio

from ric.access import read_token
from ric.settings import ClientSettings, GatewaySettings, read_pem

TlsFiles = tuple[bytes | None, bytes | None, bytes | None]

WINDOW_BYTES: Final = 64 * 1024
"""HTTP/2's initial flow-control window (RFC 9113 §6.5.2): enough for 40 kB per millisecond at a
round-trip time of 1.5 ms. gRPC enlarges it for a larger message."""


_COMMON: Final[tuple[tuple[str, int], ...]] = (
    # The default asks for a name that has moved to another address after 30 s only, when the leases
    # of 6 s are over.
    ("grpc.dns_min_time_between_resolutions_ms", 500),
)
"""Channel arguments of every client."""


def channel_options(settings: GatewaySettings) -> list[tuple[str, Any]]:
    """Channel arguments for `settings`."""
    backoff_ms = round(1000 * settings.backoff_initial_s)
    return [
        ("grpc.max_receive_message_length", settings.max_message_bytes),
        ("grpc.max_send_message_length", settings.max_message_bytes),
        ("grpc.optimization_target", "latency"),
        # Data in the connection cannot be dropped, and bandwidth probing grows the window to
        # megabytes for a slow reader: reports would arrive half a second late.
        ("grpc.http2.bdp_probe", 0),
        ("grpc.http2.lookahead_bytes", WINDOW_BYTES),
        ("grpc.keepalive_time_ms", round(1000 * settings.keepalive_s)),
        ("grpc.keepalive_timeout_ms", round(1000 * settings.keepalive_timeout_s)),
        ("grpc.http2.max_pings_without_data", 0),
        # The default waits up to 120 s between attempts; the client has its own back-off.
        ("grpc.initial_reconnect_backoff_ms", backoff_ms),
        ("grpc.min_reconnect_backoff_ms", round(1000 * settings.connect_timeout_s)),
        ("grpc.max_reconnect_backoff_ms", round(1000 * settings.backoff_max_s)),
        ("grpc.enable_retries", 0),
        # HTTP proxies of the environment do not apply to the gateway.
        ("grpc.enable_http_proxy", 0),
        # Do not share the connection with other clients in this process.
        ("grpc.use_local_subchannel_pool", 1),
    ]


def open_channel(
    settings: ClientSettings, address: str, options: Sequence[tuple[str, Any]] = ()
) -> grpc.aio.Channel:
    """A channel that connects on the first call, with the certificates of now.

    Raises `SettingsError` for a certificate, key or token that cannot be read.
    """
    call_metadata(settings)
    options = [*_COMMON, *options]
    if address.startswith("unix:"):
        # gRPC's own would be the path with percent signs, which is no authority of HTTP/2.
        options = [*options, ("grpc.default_authority", "localhost")]
    tls = settings.tls
    if not tls.enabled:
        return grpc.aio.insecure_channel(address, options=options)
    if tls.server_name:
        options = [*options, ("grpc.ssl_target_name_override", tls.server_name)]
    ca, key, certificate = tls_files(settings)
    credentials = grpc.ssl_channel_credentials(ca, key, certificate)
    return grpc.aio.secure_channel(address, credentials, options=options)


def tls_files(settings: ClientSettings) -> TlsFiles:
    """CA, key and certificate chain, PEM; raises `SettingsError`."""

    def content(name: str, path: Path | None) -> bytes | None:
        return None if path is None else read_pem(f"{settings.section}.tls.{name}", path)

    tls = settings.tls
    return (
        content("ca_file", tls.ca_file),
        content("key_file", tls.key_file),
        content("certificate_file", tls.certificate_file),
    )


def call_metadata(settings: ClientSettings) -> tuple[tuple[str, str], ...]:
    """Metadata of a call: the bearer token, read now. Raises `SettingsError`."""
    if settings.token_file is None:
        return ()
    token = read_token(settings.token_file, f"{settings.section}.token_file")
    return (("authorization", f"Bearer {token.decode('ascii')}"),)
