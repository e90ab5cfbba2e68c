"""The signature of a model directory: Ed25519 (RFC 8032) over the bytes of ``SHA256SUMS``.

``SHA256SUMS.sig`` is the 64 bytes of the signature, as ``openssl pkeyutl -sign -rawin`` writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from rlc_model.contract import CHECKSUMS, MAX_MANIFEST_BYTES, SIGNATURE, read_bounded
from rlc_model.errors import ContractError
from rlc_model.files import replace_file

MAX_KEY_BYTES: Final = 65_536
_SIGNATURE_BYTES: Final = 64
_END: Final = b"-----END PUBLIC KEY-----"


def read_trusted_keys(path: Path) -> tuple[Ed25519PublicKey, ...]:
    """The Ed25519 public keys of a PEM file, at least one.

    Raises:
        ContractError: The file cannot be read, or holds something else.
    """
    blocks = read_bounded(path, MAX_KEY_BYTES).split(_END)[:-1]
    keys = []
    for number, block in enumerate(blocks, 1):
        try:
            key = load_pem_public_key(block + _END)
        except (ValueError, UnsupportedAlgorithm) as error:
            raise ContractError(str(path), f"key {number}: {error}; expected PEM") from error
        if not isinstance(key, Ed25519PublicKey):
            raise ContractError(str(path), f"key {number} is of another kind; expected Ed25519")
        keys.append(key)
    if not keys:
        raise ContractError(str(path), "has no public key; expected -----BEGIN PUBLIC KEY-----")
    return tuple(keys)


def verify_signature(directory: Path, keys: Sequence[Ed25519PublicKey]) -> bytes:
    """Checks that one of `keys` has signed the directory's digests.

    Returns:
        Their content, for :func:`rlc_model.read_contract`: the directory may be replaced before.

    Raises:
        ContractError: There is no signature, or it is by another key or of other digests.
    """
    signature = read_bounded(directory / SIGNATURE, _SIGNATURE_BYTES)
    checksums = read_bounded(directory / CHECKSUMS, MAX_MANIFEST_BYTES)
    for key in keys:
        try:
            key.verify(signature, checksums)
        except InvalidSignature:
            continue
        return checksums
    raise ContractError(
        SIGNATURE, f"is no signature of {CHECKSUMS} by any of {len(keys)} trusted keys"
    )


def read_signer(key_file: Path) -> Callable[[bytes], bytes]:
    """Signs with the Ed25519 private key of a PEM file.

    Raises:
        ContractError: The file cannot be read, or the key is encrypted or of another kind.
    """
    pem = read_bounded(key_file, MAX_KEY_BYTES)
    try:
        key = load_pem_private_key(pem, None)
    except (TypeError, ValueError, UnsupportedAlgorithm) as error:
        raise ContractError(
            str(key_file), f"{error}; expected an Ed25519 private key, PEM, not encrypted"
        ) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise ContractError(str(key_file), "is a key of another kind; expected Ed25519")
    return key.sign


def sign(directory: Path, key_file: Path) -> None:
    """Signs the digests of a directory.

    Raises:
        ContractError: As `read_signer`; or the directory has no digests.
    """
    checksums = read_bounded(directory / CHECKSUMS, MAX_MANIFEST_BYTES)
    replace_file(directory / SIGNATURE, read_signer(key_file)(checksums))
