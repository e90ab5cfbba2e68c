"""Asks the HTTP servers of controllers; needs the standard library alone."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

#: Controllers that one name may have.
_MOST: Final = 64
_MAX_REFUSAL: Final = 1 << 12


class AskError(Exception):
    """A controller did not answer as expected; the message names it."""


@dataclass(frozen=True, slots=True)
class Target:
    """The HTTP server of one controller."""

    #: Address of a socket, or the path of a Unix socket.
    address: tuple[str, int] | str
    name: str
    #: ``None``: plain text.
    tls: ssl.SSLContext | None = None
    server_name: str | None = None
    token_file: Path | None = None


class _Connection(http.client.HTTPConnection):
    """HTTP to a target whose address is known; the name is for TLS and the Host header."""

    def __init__(self, target: Target, limit_s: float) -> None:
        super().__init__(target.name, timeout=limit_s)
        self._target = target
        self.late = False
        #: Kept apart: the connection forgets its own where a body ends with the stream.
        self._open: socket.socket | None = None

    def connect(self) -> None:
        """Open the socket of the target."""
        target, limit_s = self._target, self.timeout
        if isinstance(target.address, str):
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(limit_s)
            self.sock.connect(target.address)
        else:
            self.sock = socket.create_connection(target.address, limit_s)
        if target.tls is not None:
            self.sock = target.tls.wrap_socket(self.sock, server_hostname=target.server_name)
        self._open = self.sock
        if self.late:
            raise TimeoutError

    def cut(self) -> None:
        """End a request that lasts too long, also one whose answer trickles."""
        self.late = True
        if self._open is not None:
            with suppress(OSError):
                # Not that of `SSLSocket`, which another thread may be reading.
                socket.socket.shutdown(self._open, socket.SHUT_RDWR)


@contextmanager
def asked(
    target: Target,
    path: str,
    document: dict[str, str] | None = None,
    *,
    limit_s: float = 5.0,
    body_s: float = 0.0,
) -> Iterator[http.client.HTTPResponse]:
    """The answer to a GET, or to a PUT of a document, to be read inside within ``limit_s``; a long
    body that does not stall may take ``body_s`` more.

    Raises `AskError` also for what reading it raises: `OSError`, `ValueError`.
    """
    connection = _Connection(target, limit_s)
    watch = _watch(connection, limit_s)
    try:
        headers = {"Content-Type": "application/json"}
        if target.token_file is not None:
            token = target.token_file.read_text().splitlines()[0]
            headers["Authorization"] = f"Bearer {token}"
        if document is None:
            connection.request("GET", path, headers=headers)
        else:
            connection.request("PUT", path, json.dumps(document), headers)
        answer = connection.getresponse()
        if answer.status != http.client.OK:
            text = answer.read(_MAX_REFUSAL).decode(errors="replace").strip()
            raise AskError(f"{target.name}: {answer.status} {text}")
        if body_s:
            watch.cancel()
            limit_s = body_s
            watch = _watch(connection, limit_s)
        yield answer
        if connection.late:
            raise TimeoutError
    except ConnectionRefusedError as error:
        raise AskError(f"{target.name}: {error.strerror}; no controller runs there?") from None
    except (OSError, http.client.HTTPException, ValueError, IndexError) as error:
        if connection.late or isinstance(error, TimeoutError):
            raise AskError(f"{target.name}: no whole answer within {limit_s:g} s") from None
        raise AskError(f"{target.name}: {error}") from None
    finally:
        watch.cancel()
        connection.close()


def _watch(connection: _Connection, limit_s: float) -> threading.Timer:
    watch = threading.Timer(limit_s, connection.cut)
    watch.daemon = True
    watch.start()
    return watch


def body_of(answer: http.client.HTTPResponse, max_bytes: int) -> bytes:
    """The whole body; raises `ValueError` if it is longer."""
    body = answer.read(max_bytes + 1)
    if len(body) > max_bytes:
        raise ValueError(f"an answer of more than {max_bytes} bytes; expected at most that")
    return body


def at(
    host: str,
    port: int,
    tls: ssl.SSLContext | None,
    server_name: str | None,
    token_file: Path | None = None,
) -> Iterator[Target]:
    """A target for each address of a name; raises `AskError` if it has none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise AskError(f"{host}:{port}: {error.strerror}; no controller runs?") from None
    for address in sorted({str(each[4][0]) for each in found})[:_MOST]:
        name = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        yield Target((address, port), name, tls, server_name or host, token_file)


def context(ca: Path | None, certificate: Path | None, key: Path | None) -> ssl.SSLContext:
    """TLS with a client certificate; raises `AskError`."""
    try:
        made = ssl.create_default_context(cafile=None if ca is None else str(ca))
        if certificate is not None:
            made.load_cert_chain(str(certificate), None if key is None else str(key))
    except OSError as error:
        files = ", ".join(str(each) for each in (ca, certificate, key) if each is not None)
        raise AskError(f"{files}: {error}; expected certificates and a key, PEM") from None
    return made
