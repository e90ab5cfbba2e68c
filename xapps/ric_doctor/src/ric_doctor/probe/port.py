"""What serves an address: name resolution, TCP, TLS and HTTP/2, tested in turn."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from ric.settings import TlsSettings, split_address

from ric_doctor.facts import PortState, Reach

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
"""Client connection preface of RFC 9113 §3.4 with an empty SETTINGS frame."""
_FRAME_HEADER_BYTES: Final = 9
_SETTINGS: Final = 4
_TLS_ALERT: Final = 0x15

_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Failed(Exception):  # noqa: N818 - says what happened
    def __init__(self, state: PortState, detail: str) -> None:
        super().__init__(detail)
        self.state = state
        self.detail = detail


async def check_port(address: str, tls: TlsSettings, timeout_s: float) -> Reach:
    """What answers at `address`, as far as HTTP/2; each step takes `timeout_s` at most."""
    try:
        async with _connection(address, timeout_s) as streams:
            if not tls.enabled:
                await _greet(streams, timeout_s)
        if tls.enabled:
            await _greet_by_tls(address, tls, timeout_s)
    except _Failed as failed:
        state = failed.state
        if state in (PortState.CLOSES, PortState.NOT_HTTP2, PortState.SILENT) and not tls.enabled:
            # Some TLS servers do not answer plain text.
            if await _serves_tls(address, timeout_s):
                state = PortState.TLS_WANTED
        elif (
            state is PortState.NOT_HTTP2
            and tls.enabled
            and await _serves_plain_text(address, timeout_s)
        ):
            state = PortState.PLAIN_TEXT
        return Reach(address, state, tls.enabled, failed.detail)
    return Reach(address, PortState.ANSWERS, tls.enabled)


@asynccontextmanager
async def _connection(
    address: str, timeout_s: float, context: ssl.SSLContext | None = None, name: str | None = None
) -> AsyncIterator[_Streams]:
    streams = await _connect(address, timeout_s, context, name)
    try:
        yield streams
    finally:
        streams[1].transport.abort()
        with contextlib.suppress(OSError, ssl.SSLError):
            await streams[1].wait_closed()


async def _connect(
    address: str, timeout_s: float, context: ssl.SSLContext | None, name: str | None
) -> _Streams:
    host, port = split_address(address)
    try:
        async with asyncio.timeout(timeout_s):
            if host.startswith("unix:"):
                path = host.removeprefix("unix:")
                return await asyncio.open_unix_connection(path, ssl=context, server_hostname=name)
            failed: OSError | None = None
            for numeric in await _resolve(host, port):
                try:
                    return await asyncio.open_connection(
                        numeric, port, ssl=context, server_hostname=name
                    )
                except ssl.SSLError:
                    raise
                except OSError as error:
                    failed = failed or error
            raise failed or OSError("no address")
    except TimeoutError:
        raise _Failed(PortState.NO_ANSWER, f"nothing within {timeout_s:g} s") from None
    except (ConnectionRefusedError, FileNotFoundError) as error:
        raise _Failed(PortState.REFUSED, _said(error)) from None
    except ssl.SSLError:
        raise
    except OSError as error:
        raise _Failed(PortState.UNREACHABLE, _said(error)) from None


async def _resolve(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        detail = error.strerror if isinstance(error, socket.gaierror) else str(error)
        raise _Failed(PortState.NAME_UNKNOWN, detail or str(error)) from None
    return [str(address[0]) for *_, address in found]


async def _greet(streams: _Streams, timeout_s: float) -> None:
    """Sends the HTTP/2 preface; raises `_Failed` unless HTTP/2 is answered."""
    reader, writer = streams
    try:
        async with asyncio.timeout(timeout_s):
            writer.write(_PREFACE)
            await writer.drain()
            head = await reader.readexactly(_FRAME_HEADER_BYTES)
    except TimeoutError:
        raise _Failed(PortState.SILENT, f"nothing within {timeout_s:g} s") from None
    except asyncio.IncompleteReadError as error:
        head = error.partial
    except ssl.SSLError:
        raise
    except OSError as error:
        raise _Failed(PortState.CLOSES, _said(error)) from None
    if head.startswith(b"HTTP/1"):
        raise _Failed(PortState.HTTP1, "answers in HTTP/1")
    if not head:
        raise _Failed(PortState.CLOSES, "connection closed")
    if head[0] == _TLS_ALERT:
        raise _Failed(PortState.TLS_WANTED, "answers with a TLS alert")
    if len(head) < _FRAME_HEADER_BYTES or head[3] != _SETTINGS or any(head[5:]):
        raise _Failed(PortState.NOT_HTTP2, f"answers {head.hex()}")


async def _greet_by_tls(address: str, tls: TlsSettings, timeout_s: float) -> None:
    name = tls.server_name or _host(address)
    shaken = False
    try:
        async with _connection(address, timeout_s, _context(tls), name) as streams:
            shaken = True
            await _greet(streams, timeout_s)
    except ssl.SSLCertVerificationError as error:
        raise _Failed(PortState.CERTIFICATE, error.verify_message) from None
    except ssl.SSLError as error:
        reason = (error.reason or str(error)).replace("_", " ").lower()
        wants_ours = "certificate required" in reason or "alert bad certificate" in reason
        wants_ours = wants_ours or "alert unknown ca" in reason
        state = PortState.CLIENT_CERTIFICATE if wants_ours else PortState.NOT_HTTP2
        raise _Failed(state, reason) from None
    except (ConnectionError, asyncio.IncompleteReadError) as error:
        raise _Failed(PortState.NOT_HTTP2, str(error)) from None
    except _Failed as failed:
        if shaken and failed.state is PortState.CLOSES:
            # In TLS 1.3 a server verifies our certificate after our side of the handshake is done,
            # and gRPC's hangs up without an alert.
            detail = "closed after the handshake"
            raise _Failed(PortState.CLIENT_CERTIFICATE, detail) from None
        if failed.state in (PortState.UNREACHABLE, PortState.CLOSES):
            raise _Failed(PortState.NOT_HTTP2, failed.detail) from None
        if failed.state is PortState.NO_ANSWER:
            # The first connection was accepted, so this is a handshake that never ends.
            raise _Failed(PortState.SILENT, failed.detail) from None
        raise


def _context(tls: TlsSettings) -> ssl.SSLContext:
    """A context like gRPC's; files were read before, so they are there."""
    context = ssl.create_default_context(cafile=tls.ca_file)
    if tls.certificate_file is not None:
        context.load_cert_chain(tls.certificate_file, tls.key_file)
    context.set_alpn_protocols(["h2"])
    return context


def _said(error: OSError) -> str:
    """The message of the system; that of asyncio repeats the address."""
    return os.strerror(error.errno) if error.errno else str(error)


def _host(address: str) -> str:
    host, _ = split_address(address)
    return "localhost" if host.startswith("unix:") else host


async def _serves_tls(address: str, timeout_s: float) -> bool:
    """Whether the server answers a TLS handshake; its certificate is not verified."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    try:
        async with _connection(address, timeout_s, context, _host(address)):
            return True
    except ssl.SSLError as error:
        # An alert is TLS; a reply that is not TLS has a wrong version number.
        return "ALERT" in (error.reason or "")
    except (_Failed, OSError, asyncio.IncompleteReadError):
        return False


async def _serves_plain_text(address: str, timeout_s: float) -> bool:
    try:
        async with _connection(address, timeout_s) as streams:
            await _greet(streams, timeout_s)
    except _Failed as failed:
        return failed.state is PortState.HTTP1
    return True
