"""The gRPC channel to a gateway: tuned for one small message per millisecond, with TLS."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import grpc
import grpc.aio

from ric.settings import GatewaySettings, TlsSettings, read_pem

WINDOW_BYTES: Final = 64 * 1024
"""HTTP/2's initial flow-control window (RFC 9113 §6.5.2): enough for 40 kB per millisecond at a
round-trip time of 1.5 ms. gRPC enlarges it for a larger message."""


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


def open_channel(settings: GatewaySettings) -> grpc.aio.Channel:
    """A channel that connects on the first call.

    Raises `SettingsError` for a certificate or key that cannot be read.
    """
    options = channel_options(settings)
    if not settings.tls.enabled:
        return grpc.aio.insecure_channel(settings.address, options=options)
    if settings.tls.server_name:
        options.append(("grpc.ssl_target_name_override", settings.tls.server_name))
    credentials = _credentials(settings.tls)
    if settings.token is not None:
        credentials = grpc.composite_channel_credentials(
            credentials, grpc.access_token_call_credentials(settings.token.get_secret_value())
        )
    return grpc.aio.secure_channel(settings.address, credentials, options=options)


def _credentials(tls: TlsSettings) -> grpc.ChannelCredentials:
    def content(name: str, path: Path | None) -> bytes | None:
        return None if path is None else read_pem(f"gateway.tls.{name}", path)

    return grpc.ssl_channel_credentials(
        root_certificates=content("ca_file", tls.ca_file),
        private_key=content("key_file", tls.key_file),
        certificate_chain=content("certificate_file", tls.certificate_file),
    )
