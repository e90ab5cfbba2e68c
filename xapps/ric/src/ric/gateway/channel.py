"""The gRPC channel to a gateway: tuned for one small message a millisecond, protected by TLS."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import grpc
import grpc.aio

from ric.pem import read_pem
from ric.settings import GatewaySettings, TlsSettings

# A gRPC core server takes more than two pings in 300 s as abuse and hangs up; a Python gateway
# must allow what our keepalive sends.
SERVER_OPTIONS: Final[tuple[tuple[str, int], ...]] = (
    ("grpc.http2.min_ping_interval_without_data_ms", 1000),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 1000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.so_reuseport", 0),
)
"""Options of a `grpc.aio.server` that serves these clients."""

WINDOW_BYTES: Final = 64 * 1024
"""Of reports on their way to a reader, what HTTP/2 begins with: 40 kB each millisecond pass where
the gateway is 1.5 ms away and back. A larger report makes room for itself."""

BATCH_BYTES: Final = WINDOW_BYTES // 2
"""Most bytes of indications that a gateway puts into one message: what waits in a message nobody
can drop either."""


def channel_options(settings: GatewaySettings) -> list[tuple[str, Any]]:
    """Channel arguments for `settings`."""
    # gRPC core never batches small writes (TCP_NODELAY is always set on its sockets).
    backoff_ms = round(1000 * settings.backoff_initial_s)
    return [
        ("grpc.max_receive_message_length", settings.max_message_bytes),
        ("grpc.max_send_message_length", settings.max_message_bytes),
        ("grpc.optimization_target", "latency"),
        # What waits in the connection nobody can drop, and gRPC makes room for megabytes where the
        # reader is slow: reports would come half a second old, instead of some being left out.
        ("grpc.http2.bdp_probe", 0),
        ("grpc.http2.lookahead_bytes", WINDOW_BYTES),
        ("grpc.keepalive_time_ms", round(1000 * settings.keepalive_s)),
        ("grpc.keepalive_timeout_ms", round(1000 * settings.keepalive_timeout_s)),
        ("grpc.http2.max_pings_without_data", 0),
        # The default waits up to 120 s between attempts to connect; our own back-off decides.
        ("grpc.initial_reconnect_backoff_ms", backoff_ms),
        ("grpc.min_reconnect_backoff_ms", round(1000 * settings.connect_timeout_s)),
        ("grpc.max_reconnect_backoff_ms", round(1000 * settings.backoff_max_s)),
        ("grpc.enable_retries", 0),
        # A proxy meant for the web must not catch the way to the gateway.
        ("grpc.enable_http_proxy", 0),
        # A connection of our own, not one shared with another client of this process.
        ("grpc.use_local_subchannel_pool", 1),
    ]


def open_channel(settings: GatewaySettings) -> grpc.aio.Channel:
    """A channel that connects at the first call.

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
