"""A certificate authority for tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID


class Authority:
    """Issues certificates into a directory; its own is `NAME.pem` there."""

    def __init__(self, where: Path, name: str = "ca") -> None:
        self.where = where
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        self.file = where / f"{name}.pem"
        until = datetime.now(UTC) + timedelta(days=30)
        certificate = (
            _builder(self._name, self._name, self._key.public_key(), until)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.file.write_bytes(certificate.public_bytes(Encoding.PEM))

    def issue(
        self,
        name: str,
        *,
        common_name: str = "",
        dns: tuple[str, ...] | None = None,
        uris: tuple[str, ...] = (),
        days: float = 30,
        password: bytes = b"",
    ) -> tuple[Path, Path]:
        """`NAME.pem` and `NAME.key`, replaced if they exist; negative `days` have passed.

        The DNS names are `name` and localhost, unless given; the common name is `name`. Names may
        hold any character, also NUL.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        dns = (name, "localhost") if dns is None else dns
        names: list[x509.GeneralName] = [x509.DNSName(one) for one in dns]
        names += [x509.UniformResourceIdentifier(uri) for uri in uris]
        subject = _name(common_name or name)
        until = datetime.now(UTC) + timedelta(days=days)
        builder = _builder(subject, self._name, key.public_key(), until)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        encryption = BestAvailableEncryption(password) if password else NoEncryption()
        pem, private = self.where / f"{name}.pem", self.where / f"{name}.key"
        _replace(private, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption))
        _replace(pem, certificate.public_bytes(Encoding.PEM))
        return pem, private


def _replace(file: Path, content: bytes) -> None:
    """Renames `content` into place: a server that rereads its files meets none half written."""
    aside = file.with_name(f"{file.name}.new")
    aside.write_bytes(content)
    aside.rename(file)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, until: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(datetime.now(UTC), until) - timedelta(days=1))
        .not_valid_after(until)
    )
