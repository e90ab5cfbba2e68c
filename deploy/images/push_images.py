"""`make push`, `make mirror`, `make verify-images`: images in archives, registries, folders.

    push REGISTRY          archives of `make images`, of one or more architectures, as image indexes
    mirror FROM TO         every image with its signatures, digests unchanged; each is a registry or
                           a folder `dir:PATH` to carry into a network without a connection
    verify REGISTRY        the signatures, by a public key alone

`skopeo` copies; logins and certificates of registries are in its files.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml
from build_images import IMAGES, OUT, STACK
from dist import workspace_version
from oci import LayoutError, join, read_archive
from signatures import (
    SignatureError,
    private_key,
    public_key,
    tag_of,
    verify_signature,
    write_signature,
)

NAMES: Final = (*(image.name for image in IMAGES), *STACK)
COMPONENTS: Final = {
    "gnb-lab": ("lab",),
    "tc-controller": ("controller",),
    "rlc-forecaster": ("forecaster",),
    "flexric-bridge": ("flexricBridge",),
    "flexric-sdk": ("flexricBridge", "sdk"),
    "training": ("training",),
}
"""Image → its section of the chart's values; other charts run those that are not here."""
FOLDER: Final = "dir:"
ABSENT: Final = (
    "manifest unknown",
    "name unknown",
    "no such file or directory",
    "no descriptor found",
)
"""What skopeo says of an image that is not there."""


class PushError(Exception):
    """Images cannot be copied; the message says which and why."""


class Copier:
    """`skopeo copy` between places; ``plain_http``: registries without TLS."""

    def __init__(self, *, plain_http: bool) -> None:
        self._tls = str(not plain_http).lower()

    def copy(self, source: str, target: str) -> None:
        """Copy an image or an index, all architectures, digests unchanged."""
        self._run(
            *("copy", "--quiet", "--all", "--preserve-digests"),
            *(f"--src-tls-verify={self._tls}", f"--dest-tls-verify={self._tls}"),
            *(source, target),
        )

    def digest(self, image: str) -> str | None:
        """Digest of an image or an index; `None` if there is none."""
        try:
            raw = self._run("inspect", f"--tls-verify={self._tls}", "--raw", "--no-tags", image)
        except PushError as error:
            if any(absent in str(error) for absent in ABSENT):
                return None
            raise
        return f"sha256:{hashlib.sha256(raw).hexdigest()}"

    @staticmethod
    def _run(*arguments: str) -> bytes:
        skopeo = shutil.which("skopeo")
        if skopeo is None:
            raise PushError("not on PATH: skopeo; Debian has a package of this name")
        ran = subprocess.run([skopeo, *arguments], capture_output=True, check=False)
        if ran.returncode != 0:
            reason = ran.stderr.decode(errors="replace").strip()
            raise PushError(f"skopeo {' '.join(arguments)}: {reason}")
        return ran.stdout


def place(where: str, image: str, tag: str) -> str:
    """Where an image is, as skopeo names it; ``where``: a registry, or `dir:PATH`."""
    if where.startswith(FOLDER):
        return f"oci:{where.removeprefix(FOLDER)}/{image}:{tag}"
    return f"docker://{where}/sojourn/{image}:{tag}"


def push(
    copier: Copier, registry: str, folders: Sequence[Path], key: Path | None, images: Sequence[str]
) -> dict[str, str]:
    """Push the archives of the folders; returns digests by image.

    Raises `PushError`, `LayoutError`, `SignatureError`.
    """
    signer = None if key is None else private_key(key)
    digests = {}
    for name in images:
        paths = [path for folder in folders if (path := folder / f"{name}.tar").exists()]
        if not paths:
            print(f"{name}: no archive, not pushed", flush=True)
            continue
        archives = [read_archive(path) for path in paths]
        versions = sorted({archive.version for archive in archives})
        if len(versions) != 1:
            raise PushError(f"{name}: versions {', '.join(versions)}; expected one")
        with tempfile.TemporaryDirectory() as temporary:
            layout, signature = Path(temporary, "image"), Path(temporary, "signature")
            digest = join(archives, versions[0], layout)
            copier.copy(f"oci:{layout}:{versions[0]}", place(registry, name, versions[0]))
            if signer is not None:
                write_signature(signature, digest, signer)
                tag = tag_of(digest)
                copier.copy(f"oci:{signature}:{tag}", place(registry, name, tag))
        digests[name] = digest
        built_for = ", ".join(sorted(archive.architecture for archive in archives))
        print(f"{registry}/sojourn/{name}:{versions[0]}@{digest} ({built_for})", flush=True)
    if not digests:
        raise PushError(f"no archive in {', '.join(map(str, folders))}; make images builds them")
    return digests


def values_of(registry: str, digests: Mapping[str, str]) -> dict[str, Any]:
    """Values of the chart that name the registry and pin each image by its digest."""
    values: dict[str, Any] = {"image": {"registry": registry}}
    for name, digest in digests.items():
        if section := COMPONENTS.get(name):
            of = values
            for key in section:
                of = of.setdefault(key, {})
            of["image"] = {"digest": digest}
    return values


def mirror(copier: Copier, source: str, target: str, version: str, images: Sequence[str]) -> int:
    """Copy images and their signatures; returns how many. Raises `PushError`."""
    copied = 0
    for name in images:
        digest = copier.digest(place(source, name, version))
        if digest is None:
            print(f"{name}: not in {source}", flush=True)
            continue
        if target.startswith(FOLDER):
            Path(target.removeprefix(FOLDER), name).mkdir(parents=True, exist_ok=True)
        copier.copy(place(source, name, version), place(target, name, version))
        signed = copier.digest(place(source, name, tag_of(digest))) is not None
        if signed:
            copier.copy(place(source, name, tag_of(digest)), place(target, name, tag_of(digest)))
        print(f"{name}:{version}@{digest}{', with its signature' if signed else ''}", flush=True)
        copied += 1
    if not copied:
        raise PushError(f"{source}: has no image of version {version}")
    return copied


def verify(copier: Copier, registry: str, key: Path, version: str, images: Sequence[str]) -> None:
    """Check the signature of each image; raises `SignatureError`, `PushError`."""
    public, found = public_key(key), 0
    for name in images:
        digest = copier.digest(place(registry, name, version))
        if digest is None:
            print(f"{name}: not in {registry}", flush=True)
            continue
        signature = place(registry, name, tag_of(digest))
        if copier.digest(signature) is None:
            raise SignatureError(f"{name}@{digest}: not signed; make push KEY=… signs")
        with tempfile.TemporaryDirectory() as temporary:
            copier.copy(signature, f"oci:{temporary}/signature:{tag_of(digest)}")
            verify_signature(Path(temporary, "signature"), digest, public)
        print(f"{name}:{version}@{digest}: signed by {key}", flush=True)
        found += 1
    if not found:
        raise PushError(f"{registry}: has no image of version {version}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Copy the images of the programs.")
    parser.add_argument("--plain-http", action="store_true", help="registries without TLS")
    parser.add_argument(
        "--image", action="append", choices=NAMES, metavar="NAME", help="only these; all if absent"
    )
    parser.add_argument("--version", default=workspace_version(), help="(default: %(default)s)")
    actions = parser.add_subparsers(dest="action", required=True)
    pushing = actions.add_parser("push", help="archives to a registry, as image indexes")
    pushing.add_argument("registry")
    pushing.add_argument(
        "--archives", type=Path, nargs="+", default=[OUT], help="folders, one of each architecture"
    )
    pushing.add_argument("--key", type=Path, help="ECDSA private key to sign with, PEM")
    pushing.add_argument("--values", type=Path, default=OUT / "values.yaml", help="values file")
    mirroring = actions.add_parser("mirror", help="from a registry or dir:PATH to another")
    mirroring.add_argument("source")
    mirroring.add_argument("target")
    verifying = actions.add_parser("verify", help="signatures in a registry or dir:PATH")
    verifying.add_argument("registry")
    verifying.add_argument("--key", type=Path, required=True, help="ECDSA public key, PEM")
    return parser


def main() -> int:
    """Run the command; returns the exit status."""
    given = _parser().parse_args()
    copier = Copier(plain_http=given.plain_http)
    images = given.image or NAMES
    try:
        if given.action == "push":
            digests = push(copier, given.registry, given.archives, given.key, images)
            given.values.write_text(yaml.safe_dump(values_of(given.registry, digests)))
            print(f"{given.values}: helm install … --values {given.values}")
        elif given.action == "mirror":
            mirror(copier, given.source, given.target, given.version, images)
        else:
            verify(copier, given.registry, given.key, given.version, images)
    except (PushError, LayoutError, SignatureError) as error:
        print(f"make {given.action}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
