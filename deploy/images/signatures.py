"""Signatures of images as cosign makes them with a key, verified without a transparency log.

The signed payload names the digest of the image ("simple signing"); it is the only layer of an
image with the tag `sha256-….sig` in the repository of the signed one. `cosign verify --key
--insecure-ignore-tlog` accepts it, and `make verify-images` needs no cosign.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key
from oci import CONFIG, MANIFEST, LayoutError, add_blob, read_blob, tagged, write_layout

PAYLOAD: Final = "application/vnd.dev.cosign.simplesigning.v1+json"
ANNOTATION: Final = "dev.cosignproject.cosign/signature"


class SignatureError(Exception):
    """An image is not signed by a key, or the key cannot be used; the message says why."""


def private_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """An ECDSA key without password, PEM; raises `SignatureError`."""
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as error:
        raise SignatureError(f"{path}: {error}; expected an ECDSA private key, PEM") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise SignatureError(f"{path}: another kind of key; expected ECDSA on P-256")
    return key


def public_key(path: Path) -> ec.EllipticCurvePublicKey:
    """An ECDSA public key, PEM; raises `SignatureError`."""
    try:
        key = load_pem_public_key(path.read_bytes())
    except (OSError, ValueError) as error:
        raise SignatureError(f"{path}: {error}; expected an ECDSA public key, PEM") from None
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise SignatureError(f"{path}: another kind of key; expected ECDSA on P-256")
    return key


def tag_of(digest: str) -> str:
    """Tag of the signatures of an image."""
    return f"{digest.replace(':', '-')}.sig"


def write_signature(layout: Path, digest: str, key: ec.EllipticCurvePrivateKey) -> None:
    """Write the signature of an image digest as an OCI layout."""
    payload = json.dumps(
        {
            "critical": {
                # Empty: copies to other registries stay valid.
                "identity": {"docker-reference": ""},
                "image": {"docker-manifest-digest": digest},
                "type": "cosign container image signature",
            },
            "optional": None,
        },
        separators=(",", ":"),
    ).encode()
    signature = base64.b64encode(key.sign(payload, ec.ECDSA(SHA256()))).decode()
    layer = {
        "mediaType": PAYLOAD,
        **add_blob(layout, payload),
        "annotations": {ANNOTATION: signature},
    }
    config = {
        "architecture": "",
        "os": "",
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {"mediaType": CONFIG, **add_blob(layout, json.dumps(config).encode())},
        "layers": [layer],
    }
    write_layout(layout, tag_of(digest), MANIFEST, manifest)


def verify_signature(layout: Path, digest: str, key: ec.EllipticCurvePublicKey) -> None:
    """Check a layout of signatures, of which one has to be of this key for the image digest.

    Raises `SignatureError`.
    """
    try:
        manifest: dict[str, Any] = json.loads(read_blob(layout, tagged(layout)))
        layers = [each for each in manifest["layers"] if each["mediaType"] == PAYLOAD]
        signed = [
            (read_blob(layout, each["digest"]), each["annotations"][ANNOTATION]) for each in layers
        ]
    except (LayoutError, ValueError, KeyError, TypeError) as error:
        raise SignatureError(f"{digest}: {error!r}; expected signatures of cosign") from None
    for payload, signature in signed:
        try:
            key.verify(base64.b64decode(signature), payload, ec.ECDSA(SHA256()))
            named = json.loads(payload)["critical"]["image"]["docker-manifest-digest"]
        except (InvalidSignature, ValueError, KeyError, TypeError):
            continue
        if named == digest:
            return
    raise SignatureError(f"{digest}: no signature of this key; {len(signed)} of others")
