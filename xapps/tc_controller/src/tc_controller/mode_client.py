"""Asks running controllers for their mode over HTTP, or sets it; needs the standard library alone.

`python3 -m tc_controller.mode_client --help` is for where seconds count, as at an upgrade of the
chart: `tc-controller mode` loads the settings of the controller first.
"""

from __future__ import annotations

import argparse
import http.client
import json
import socket
import ssl
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PATH: Final = "/mode"
_TIMEOUT_S: Final = 5.0
_MAX_BYTES: Final = 1 << 16


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

    def __init__(self, target: Target) -> None:
        super().__init__(target.name, timeout=_TIMEOUT_S)
        self._target = target

    def connect(self) -> None:
        """Open the socket of the target."""
        target = self._target
        if isinstance(target.address, str):
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(_TIMEOUT_S)
            self.sock.connect(target.address)
        else:
            self.sock = socket.create_connection(target.address, _TIMEOUT_S)
        if target.tls is not None:
            self.sock = target.tls.wrap_socket(self.sock, server_hostname=target.server_name)


def answer_of(text: str) -> dict[str, str]:
    """What a controller says of its mode; raises `ValueError` for another text."""
    try:
        document = json.loads(text)
    except RecursionError as error:
        raise ValueError(str(error)) from None
    keys = ("mode", "by", "meaning")
    if not isinstance(document, dict) or not all(isinstance(document.get(k), str) for k in keys):
        raise ValueError(f"no answer of a controller; expected the texts {', '.join(keys)}")
    return {key: document[key] for key in keys}


def ask(target: Target, document: dict[str, str] | None = None) -> dict[str, str]:
    """The mode of a controller, after it was set if a document is given; raises `AskError`."""
    connection = _Connection(target)
    headers = {"Content-Type": "application/json"}
    if target.token_file is not None:
        token = target.token_file.read_text().splitlines()[0]
        headers["Authorization"] = f"Bearer {token}"
    try:
        if document is None:
            connection.request("GET", PATH, headers=headers)
        else:
            connection.request("PUT", PATH, json.dumps(document), headers)
        answer = connection.getresponse()
        text = answer.read(_MAX_BYTES).decode(errors="replace")
        if answer.status != http.client.OK:
            raise AskError(f"{target.name}: {answer.status} {text.strip()}")
        return answer_of(text)
    except ConnectionRefusedError as error:
        raise AskError(f"{target.name}: {error.strerror}; no controller runs there?") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise AskError(f"{target.name}: {error}") from None
    finally:
        connection.close()


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
    for address in sorted({str(each[4][0]) for each in found}):
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


def switch(
    targets: Iterator[Target], document: dict[str, str] | None
) -> tuple[list[str], list[str]]:
    """Ask each target, or set its mode; returns what was answered, and problems."""
    shown, problems = [], []
    try:
        for target in targets:
            try:
                found = ask(target, document)
            except AskError as error:
                problems.append(str(error))
            else:
                line = f"{target.name}: {found['mode']} (by {found['by']}): {found['meaning']}"
                shown.append(line)
    except AskError as error:
        problems.append(str(error))
    return shown, problems


def main() -> int:
    """Announce the configured mode; 0 also without an answer, for the file says it soon."""
    parser = argparse.ArgumentParser(prog="tc_controller.mode_client", description=__doc__)
    parser.add_argument("mode", help="off, observe or act: the configured mode from now on")
    parser.add_argument("--at", required=True, metavar="HOST:PORT", help="all controllers")
    parser.add_argument("--ca-file", type=Path, help="CA of the controllers, PEM; else plain text")
    parser.add_argument("--certificate-file", type=Path, help="client certificate, PEM")
    parser.add_argument("--key-file", type=Path, help="its private key, PEM")
    parser.add_argument("--server-name", help="name in the certificates of the controllers")
    given = parser.parse_args()
    host, _, port = given.at.rpartition(":")
    try:
        tls = None
        if given.ca_file is not None:
            tls = context(given.ca_file, given.certificate_file, given.key_file)
        found = at(host, int(port), tls, given.server_name)
    except (AskError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 0
    shown, problems = switch(found, {"configured": given.mode})
    sys.stdout.write("".join(f"{line}\n" for line in shown))
    sys.stderr.write("".join(f"{line}\n" for line in problems))
    return 0


if __name__ == "__main__":
    sys.exit(main())
