"""TLS files that are reread while a program runs.

A server's files are compared by content at each handshake and by `ServerCertificates.check`. Files
that cannot be used keep the certificate in force.
"""

from __future__ import annotations

import asyncio
import hashlib
import ssl
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import structlog

from ric.endpoint_settings import MAX_PEM_BYTES, ServerSettings, read_pem
from ric.errors import SettingsError
from ric.files import read_file

_UTC_TIME: Final = 0x17
_VERSION, _EXTENSIONS, _DNS_NAME, _URI = 0xA0, 0xA3, 0x82, 0x86
_UTF8_STRINGS: Final = (0x0C, 0x13, 0x16)
"""UTF8String, PrintableString, IA5String."""
_SUBJECT_ALT_NAME: Final = bytes((0x55, 0x1D, 0x11))
_COMMON_NAME: Final = bytes((0x55, 0x04, 0x03))
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Material:
    certificate: bytes
    key: bytes
    client_ca: bytes | None
    digest: str
    not_after_s: int
    context: ssl.SSLContext


class ServerCertificates:
    """TLS of one server; usable from any thread."""

    def __init__(self, settings: ServerSettings, certificate: Path, key: Path) -> None:
        """Raises `SettingsError` naming the setting and the file that cannot be used."""
        self._grpc = settings.grpc
        self.label = settings.label
        self._section = settings.section
        self.reload_failures = 0
        self._client_ca = settings.client_ca_file
        self._files = (certificate, key)
        self._lock = threading.Lock()
        self._rejected = ""
        material = self._read("")
        if material is None:
            raise SettingsError([f"{self._section}: {certificate}: is being replaced; start again"])
        self._material = material

    @property
    def not_after_s(self) -> int:
        """End of the certificate's validity, Unix time, s."""
        return self._material.not_after_s

    @property
    def client_ca(self) -> bool:
        """Whether client certificates are verified."""
        return self._client_ca is not None

    def check(self) -> bool:
        """Reread the files; returns whether others are in force now."""
        with self._lock:
            try:
                found = self._read(self._material.digest)
            except SettingsError as error:
                self._reject(str(error))
                return False
            self._rejected = ""
            if found is None:
                return False
            self._material = found
        until = datetime.fromtimestamp(found.not_after_s, UTC).isoformat()
        _log.info("certificate reloaded", server=self.label, not_after=until)
        return True

    def ssl_context(self) -> ssl.SSLContext:
        """Context of a server to which a client may show a certificate if there is a CA.

        A gRPC server requires one then.
        """
        # A context in use cannot forget a CA: each handshake is moved to the newest context.
        context = self._context(self._material.client_ca)
        context.sni_callback = self._on_client_hello
        return context

    def _context(self, client_ca: bytes | None) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        # A resumed session would outlive its client's CA.
        context.options |= ssl.OP_NO_TICKET
        context.num_tickets = 0
        if self._grpc:
            context.set_alpn_protocols(["h2"])
        if client_ca is not None:
            context.verify_mode = ssl.CERT_REQUIRED if self._grpc else ssl.CERT_OPTIONAL
        return context

    def _on_client_hello(
        self, handshake: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _: ssl.SSLContext
    ) -> None:
        self.check()
        handshake.context = self._material.context

    def _reject(self, problem: str) -> None:
        if problem != self._rejected:
            self._rejected = problem
            self.reload_failures += 1
            _log.warning("certificate refused, the one in force stays", error=problem)

    def _read(self, known: str) -> _Material | None:
        """What the files hold; `None` if that has the digest `known` or is being replaced."""
        certificate, key, ca = first = self._contents()
        digest = hashlib.sha256(b"\0".join((certificate, key, ca or b""))).hexdigest()
        if digest == known:
            return None
        context = self._context(ca)
        try:
            # An encrypted key would ask for its password on the terminal.
            context.load_cert_chain(*self._files, password="")
            if ca is not None:
                context.load_verify_locations(cadata=ca.decode("ascii"))
            not_after_s = _not_after_s(certificate)
        except (ValueError, OSError) as error:
            files = ", ".join(map(str, (*self._files, *filter(None, (self._client_ca,)))))
            raise SettingsError(
                [f"{self._section}: {files}: {error}; expected PEM files that belong together"]
            ) from None
        if self._contents() != first:
            return None
        return _Material(certificate, key, ca, digest, not_after_s, context)

    def _contents(self) -> tuple[bytes, bytes, bytes | None]:
        certificate, key = self._files
        return (
            read_pem(f"{self._section}.certificate_file", certificate),
            read_pem(f"{self._section}.key_file", key),
            read_pem(f"{self._section}.client_ca_file", self._client_ca)
            if self._client_ca
            else None,
        )


class ClientCertificate:
    """The certificate file of a client, which is read anew at each connection."""

    def __init__(self, use: str, path: Path) -> None:
        self.use = use
        self._path = path
        self.not_after_s: int | None = None
        """End of the certificate's validity, Unix time, s; `None` if the file cannot be read."""
        self.check()

    def check(self) -> bool:
        """Reread the file; returns whether the end of validity is another."""
        before_s = self.not_after_s
        try:
            self.not_after_s = _not_after_s(read_file(self._path, MAX_PEM_BYTES))
        except (ValueError, IndexError):
            # The connection reports what is wrong with the file.
            self.not_after_s = None
        return self.not_after_s != before_s


class Trust:
    """CA certificates for servers, reread by `check`."""

    def __init__(self, setting: str, path: Path) -> None:
        """Raises `SettingsError` naming the setting and the file that cannot be used."""
        self._setting = setting
        self._path = path
        self._rejected = ""
        self._content = read_pem(setting, path)
        self.context = self._of(self._content)
        """Context of connections from now on."""

    def check(self) -> None:
        """Reread the file if it changed; one that cannot be used is logged, the former stays."""
        try:
            content = read_pem(self._setting, self._path)
            if content != self._content:
                self.context = self._of(content)
                self._content = content
            self._rejected = ""
        except SettingsError as error:
            if str(error) != self._rejected:
                self._rejected = str(error)
                _log.warning("CA certificates refused, those in force stay", error=str(error))

    def _of(self, content: bytes) -> ssl.SSLContext:
        try:
            return ssl.create_default_context(cadata=content.decode("ascii"))
        except (ValueError, OSError) as error:
            raise SettingsError(
                [f"{self._setting}: {self._path}: {error}; expected PEM certificates"]
            ) from None


def certificate_names(der: bytes | None) -> tuple[str, ...]:
    """What a client is recognised by, of its verified certificate.

    The DNS and URI subject alternative names; without any, the common names of the subject
    (RFC 9525 §2); none if the certificate cannot be parsed. A name ends where its length says: a
    NUL is a part of it. Shared test vectors with the emulated gNB:
    `gateway/access/vectors/certificates.yaml`.
    """
    if der is None:
        return ()
    try:
        _, subject, _, rest = _to_be_signed(der)
        names = [*_alternative_names(der, rest)] or [*_common_names(der, subject)]
    except (ValueError, IndexError):
        return ()
    return tuple(dict.fromkeys(names))


def client_names(transport: asyncio.BaseTransport | None) -> tuple[str, ...]:
    """The names of the client at the other end; none in plain text or without a certificate."""
    tls = None if transport is None else transport.get_extra_info("ssl_object")
    return () if tls is None else certificate_names(tls.getpeercert(binary_form=True))


@dataclass(frozen=True, slots=True)
class _Element:
    """An element of DER (X.690 §8.1)."""

    tag: int
    start: int
    """Where the value starts."""
    end: int


def _elements(der: bytes, at: int, end: int) -> Iterator[_Element]:
    """Those between two places."""
    while at < end:
        tag, length, start = der[at], der[at + 1], at + 2
        if length & 0x80:
            octets = length & 0x7F
            length = int.from_bytes(der[start : start + octets])
            start += octets
        at = start + length
        if at > end:
            raise ValueError("an element longer than what it is in")
        yield _Element(tag, start, at)


def _inside(der: bytes, element: _Element) -> Iterator[_Element]:
    return _elements(der, element.start, element.end)


def _to_be_signed(der: bytes) -> tuple[_Element, _Element, _Element, list[_Element]]:
    """Validity, subject, key, and the optional fields of a certificate (RFC 5280 §4.1)."""
    certificate, *_ = _elements(der, 0, len(der))
    signed, *_ = _inside(der, certificate)
    fields = [*_inside(der, signed)]
    if fields[0].tag == _VERSION:
        del fields[0]
    _serial, _signature, _issuer, validity, subject, key, *rest = fields
    return validity, subject, key, rest


def _alternative_names(der: bytes, rest: Iterable[_Element]) -> Iterator[str]:
    """DNS and URI names (RFC 5280 §4.2.1.6)."""
    for field in rest:
        if field.tag != _EXTENSIONS:
            continue
        (extensions,) = _inside(der, field)
        for extension in _inside(der, extensions):
            oid, *_, value = _inside(der, extension)
            if der[oid.start : oid.end] != _SUBJECT_ALT_NAME:
                continue
            (alternatives,) = _inside(der, value)
            for name in _inside(der, alternatives):
                if name.tag in (_DNS_NAME, _URI):
                    yield der[name.start : name.end].decode("ascii")


def _common_names(der: bytes, subject: _Element) -> Iterator[str]:
    """Common names in UTF-8 and its subsets (RFC 5280 §4.1.2.4)."""
    for attributes in _inside(der, subject):
        for attribute in _inside(der, attributes):
            oid, value = _inside(der, attribute)
            if der[oid.start : oid.end] == _COMMON_NAME and value.tag in _UTF8_STRINGS:
                yield der[value.start : value.end].decode()


def _not_after_s(pem: bytes) -> int:
    """End of validity of the first certificate (RFC 5280 §4.1.2.5), Unix time, s.

    The `ssl` module reads it of a peer's certificate only.
    """
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    block = pem.decode("ascii")
    block = block[block.index(begin) : block.index(end) + len(end)]
    der = ssl.PEM_cert_to_DER_cert(block)
    validity, *_ = _to_be_signed(der)
    _, not_after = _inside(der, validity)
    text = der[not_after.start : not_after.end].decode("ascii")
    if not_after.tag == _UTC_TIME:
        # RFC 5280 §4.1.2.5.1: years below 50 are of this century.
        text = f"{19 if int(text[:2]) >= 50 else 20}{text}"
    return int(datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC).timestamp())
