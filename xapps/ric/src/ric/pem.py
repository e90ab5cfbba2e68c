"""Certificates and keys from files."""

from __future__ import annotations

from pathlib import Path

from ric.errors import SettingsError


def read_pem(setting: str, path: Path) -> bytes:
    """The content of a PEM file that `setting` names; raises `SettingsError` for another file.

    gRPC would say of it that an address cannot be bound or that a gateway is away.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SettingsError(
            [f"{setting}: {path}: {error.strerror}; expected a readable PEM file"]
        ) from None
    if b"-----BEGIN " not in content:
        raise SettingsError([f"{setting}: {path}: not PEM; expected -----BEGIN …-----"])
    return content
