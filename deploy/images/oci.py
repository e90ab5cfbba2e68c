"""OCI image layouts: archives of several architectures joined to one image index.

The digest of the index is known before anything is pushed, and a copy that preserves digests keeps
it in every registry (OCI image specification 1.1).
"""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

INDEX: Final = "application/vnd.oci.image.index.v1+json"
MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
CONFIG: Final = "application/vnd.oci.image.config.v1+json"
REF_NAME: Final = "org.opencontainers.image.ref.name"
VERSION: Final = "org.opencontainers.image.version"


class LayoutError(Exception):
    """An archive or a layout is not what was expected; the message names it and the expectation."""


@dataclass(frozen=True, slots=True)
class Archive:
    """An image of one architecture in an OCI archive."""

    path: Path
    manifest: dict[str, Any]
    """Descriptor of its manifest."""
    architecture: str
    os: str
    version: str


def read_archive(path: Path) -> Archive:
    """What is in an OCI archive of one image; raises `LayoutError`."""
    try:
        with tarfile.open(path) as tar:
            (manifest,) = json.load(_member(tar, "index.json"))["manifests"]
            config = json.load(_blob(tar, manifest["digest"]))["config"]
            described = json.load(_blob(tar, config["digest"]))
            version = described["config"]["Labels"][VERSION]
            return Archive(path, manifest, described["architecture"], described["os"], version)
    except (OSError, tarfile.TarError, ValueError, KeyError, TypeError) as error:
        raise LayoutError(
            f"{path}: {error!r}; expected an OCI archive of one image, as make images writes it"
        ) from None


def join(archives: Iterable[Archive], tag: str, layout: Path) -> str:
    """Write a layout at `layout` whose `tag` is an index of the archives; returns its digest.

    Raises `LayoutError` if two archives have one architecture.
    """
    by_platform: dict[tuple[str, str], Archive] = {}
    for archive in archives:
        other = by_platform.setdefault((archive.os, archive.architecture), archive)
        if other is not archive:
            raise LayoutError(
                f"{archive.path}: {archive.os}/{archive.architecture}, as {other.path}; expected "
                "one archive of each architecture"
            )
    if not by_platform:
        raise LayoutError(f"{layout}: no archive; expected one at least")
    manifests = []
    for (os, architecture), archive in sorted(by_platform.items()):
        _copy_blobs(archive.path, layout)
        kept = {key: archive.manifest[key] for key in ("mediaType", "digest", "size")}
        manifests.append({**kept, "platform": {"architecture": architecture, "os": os}})
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests}
    return write_layout(layout, tag, INDEX, index)


def write_layout(layout: Path, tag: str, media_type: str, document: dict[str, Any]) -> str:
    """Make `tag` of a layout name an index or manifest, whose blobs are there; its digest."""
    text = json.dumps(document, separators=(",", ":")).encode()
    descriptor = {"mediaType": media_type, **add_blob(layout, text), "annotations": {REF_NAME: tag}}
    (layout / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}\n')
    index = {"schemaVersion": 2, "manifests": [descriptor]}
    (layout / "index.json").write_text(json.dumps(index) + "\n")
    return str(descriptor["digest"])


def add_blob(layout: Path, content: bytes) -> dict[str, Any]:
    """Write a blob; returns digest and size, as a descriptor has them."""
    digest = hashlib.sha256(content).hexdigest()
    path = layout / "blobs" / "sha256" / digest
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return {"digest": f"sha256:{digest}", "size": len(content)}


def read_blob(layout: Path, digest: str) -> bytes:
    """A blob of a layout, compared with its digest; raises `LayoutError`."""
    path = layout / "blobs" / digest.replace(":", "/")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise LayoutError(f"{path}: {error.strerror}; expected blob {digest}") from None
    if f"sha256:{hashlib.sha256(content).hexdigest()}" != digest:
        raise LayoutError(f"{path}: other content; expected {digest}")
    return content


def tagged(layout: Path) -> str:
    """Digest of the only image of a layout; raises `LayoutError`."""
    try:
        (descriptor,) = json.loads((layout / "index.json").read_text())["manifests"]
        return str(descriptor["digest"])
    except (OSError, ValueError, KeyError) as error:
        raise LayoutError(f"{layout}: {error!r}; expected a layout of one image") from None


def _copy_blobs(archive: Path, layout: Path) -> None:
    with tarfile.open(archive) as tar:
        for member in tar:
            if not member.isfile() or not member.name.startswith("blobs/sha256/"):
                continue
            digest = member.name.rpartition("/")[2]
            content = _member(tar, member.name).read()
            if add_blob(layout, content)["digest"] != f"sha256:{digest}":
                raise LayoutError(f"{archive}: {member.name}: other content than its name says")


def _blob(tar: tarfile.TarFile, digest: str) -> IO[bytes]:
    return _member(tar, f"blobs/{digest.replace(':', '/')}")


def _member(tar: tarfile.TarFile, name: str) -> IO[bytes]:
    found = tar.extractfile(name)
    if found is None:
        raise KeyError(name)
    return found
