"""The software bill of materials of an image: CycloneDX 1.6, JSON.

It is read from what was built: Python distributions and the SBOMs in their wheels (PEP 770; maturin
writes the crates of a native module there), Debian packages by their status files, and the crates
that Cargo links into a program in Rust. Equal contents give equal bytes.
"""

from __future__ import annotations

import email
import gzip
import json
import re
import subprocess
import tarfile
import tomllib
import uuid
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import Message
from pathlib import Path
from typing import IO, Any, Final, cast

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import License, LicenseAcknowledgement, LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

ROOT: Final = Path(__file__).resolve().parent.parent.parent
NAMESPACE: Final = uuid.uuid5(uuid.NAMESPACE_URL, "https://github.com/sojourn")
LAB_PROGRAMS: Final = ("gnb-lab",)
"""Packages of the lab's workspace that have a program."""
INSIDE: Final = "sojourn:inside"
"""Property: the distribution or program that a component is part of."""
_METADATA: Final = re.compile(r"(?:.*/site-packages/|)([^/]+)\.dist-info/METADATA")
_SBOM: Final = re.compile(r"(?:.*/site-packages/|)([^/]+)\.dist-info/sboms/[^/]+\.json")
_STATUS: Final = re.compile(r"var/lib/dpkg/status\.d/([^/]+)")
_COPYRIGHT: Final = re.compile(r"usr/share/doc/([^/]+)/copyright")
_DEBIAN_LICENSE: Final = re.compile(r"^License: *(\S[^\n]*)$", re.MULTILINE)
_LICENSES: Final = LicenseFactory()


class SbomError(Exception):
    """Contents that cannot be described; the message names place and expectation."""


@dataclass(slots=True)
class Contents:
    """Files that describe what an image or a folder of wheels has."""

    metadata: dict[str, bytes] = field(default_factory=dict)
    """METADATA of each Python distribution, by the name of its folder."""
    sboms: dict[str, list[bytes]] = field(default_factory=dict)
    """SBOMs in a distribution, by the same name."""
    status: dict[str, bytes] = field(default_factory=dict)
    """Fields of each Debian package."""
    copyright: dict[str, bytes] = field(default_factory=dict)

    def add(self, path: str, content: IO[bytes]) -> None:
        """Keep a file if it describes something."""
        if found := _METADATA.fullmatch(path):
            self.metadata[found[1]] = content.read()
        elif found := _SBOM.fullmatch(path):
            self.sboms.setdefault(found[1], []).append(content.read())
        elif found := _STATUS.fullmatch(path):
            self.status[found[1]] = content.read()
        elif found := _COPYRIGHT.fullmatch(path):
            self.copyright[found[1]] = content.read()


def of_archive(path: Path) -> Contents:
    """Contents of an OCI archive."""
    contents = Contents()
    with tarfile.open(path) as archive:

        def blob(digest: str) -> IO[bytes]:
            name = f"blobs/{digest.replace(':', '/')}"
            return cast(IO[bytes], archive.extractfile(name))

        index = json.load(cast(IO[bytes], archive.extractfile("index.json")))
        manifest = json.load(blob(index["manifests"][0]["digest"]))
        for layer in manifest["layers"]:
            with tarfile.open(fileobj=gzip.open(blob(layer["digest"]))) as files:
                for file in files:
                    if file.isfile():
                        content = cast(IO[bytes], files.extractfile(file))
                        contents.add(file.name.removeprefix("./"), content)
    return contents


def of_wheels(folder: Path) -> Contents:
    """Contents of a folder of wheels."""
    contents = Contents()
    for path in sorted(folder.glob("*.whl")):
        with zipfile.ZipFile(path) as wheel:
            for name in sorted(wheel.namelist()):
                with wheel.open(name) as content:
                    contents.add(name, content)
    return contents


def describe(
    name: str,
    contents: Contents,
    build: Mapping[str, str],
    programs: Sequence[str] = (),
    digests: Mapping[str, str] | None = None,
) -> str:
    """The document of an image.

    `build` is `out/dist/build.json`, `programs` are crates whose programs are in the image,
    `digests` the SHA-256 of wheels by distribution and version (`name-version`).
    """
    version = build["version"]
    root = _component(name, version, f"pkg:oci/{name}@{version}", ComponentType.CONTAINER)
    found: dict[str, Component] = {}
    for component in (
        *_distributions(contents, digests or {}),
        *_debian(contents),
        *(crate for program in programs for crate in crates(program)),
    ):
        known = found.setdefault(str(component.bom_ref.value), component)
        known.properties.update(component.properties)
    bom = Bom(components=found.values())
    bom.metadata.component = root
    bom.metadata.timestamp = datetime.fromtimestamp(int(build["source_date_epoch"]), UTC)
    # From the contents: a document of other components has another number.
    refs = "\n".join([name, version, build["revision"], *sorted(found)])
    bom.serial_number = uuid.uuid5(NAMESPACE, refs)
    bom.register_dependency(root, found.values())
    for component in found.values():
        bom.register_dependency(component)
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def workspace_of(package: str) -> Path:
    """The folder of the Cargo workspace that has a package with a program."""
    return ROOT / "lab" if package in LAB_PROGRAMS else ROOT


def crates(package: str) -> Iterator[Component]:
    """The crates that Cargo links into the programs of a package, as built on this machine."""
    workspace = workspace_of(package)
    command = ("cargo", "tree", "--manifest-path", str(workspace / "Cargo.toml"), "--locked")
    tree = (*command, "--package", package, "--edges", "normal,no-proc-macro", "--prefix", "none")
    ran = subprocess.run(
        (*tree, "--format", "{p}|{l}"), cwd=ROOT, capture_output=True, text=True, check=False
    )
    if ran.returncode != 0:
        raise SbomError(f"cargo tree of {package}: {ran.stderr.strip()}")
    with (workspace / "Cargo.lock").open("rb") as file:
        locked = {
            (each["name"], each["version"]): each.get("checksum", "")
            for each in tomllib.load(file)["package"]
        }
    for line in sorted(set(ran.stdout.splitlines())):
        described, _, license_text = line.partition("|")
        name, version = described.split()[:2]
        version = version.removeprefix("v")
        # Crates of old have "MIT/Apache-2.0".
        license_text = license_text.removesuffix(" (*)").replace("/", " OR ")
        yield _component(
            name,
            version,
            f"pkg:cargo/{name}@{version}",
            licenses=[license_text],
            sha256=locked[name, version],
            inside=package,
        )


def _distributions(contents: Contents, digests: Mapping[str, str]) -> Iterator[Component]:
    for text in contents.metadata.values():
        metadata = email.message_from_bytes(text)
        name = re.sub(r"[-_.]+", "-", metadata["Name"]).lower()
        version = metadata["Version"]
        yield _component(
            metadata["Name"],
            version,
            f"pkg:pypi/{name}@{version}",
            licenses=list(_python_licenses(metadata)),
            sha256=digests.get(f"{name}-{version}", ""),
        )
    # After them: what is in a wheel may be installed by itself as well.
    for folder, documents in contents.sboms.items():
        for document in documents:
            yield from _embedded(document, f"{folder}.dist-info", folder.rpartition("-")[0])


def _python_licenses(metadata: Message) -> Iterator[str]:
    """The expression (PEP 639), else the classifiers, else the first line of the free text."""
    if expression := metadata["License-Expression"]:
        yield expression
        return
    names = [
        classifier.rpartition(" :: ")[2]
        for classifier in metadata.get_all("Classifier", [])
        if classifier.startswith("License :: OSI Approved ::")
    ]
    if names:
        yield from names
    elif text := (metadata["License"] or "").strip():
        yield text.splitlines()[0][:100]


def _embedded(document: bytes, place: str, inside: str) -> Iterator[Component]:
    """Components of an SBOM in a wheel that have a package URL."""
    try:
        sbom = json.loads(document)
        nested = list(_nested([sbom.get("metadata", {}).get("component") or {}, sbom]))
    except (ValueError, AttributeError, TypeError) as error:
        raise SbomError(f"{place}: an SBOM that is not CycloneDX: {error}") from None
    for item in nested:
        url = PackageURL.from_string(item["purl"])
        # Files of the machine that built it, and names within a crate.
        plain = PackageURL(url.type, url.namespace, url.name, url.version)
        if url.subpath is None and item.get("version"):
            yield _component(
                item["name"],
                item["version"],
                str(plain),
                licenses=list(_cyclonedx_licenses(item)),
                inside=inside,
            )


def _nested(items: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for item in items:
        if "purl" in item and "name" in item:
            yield item
        yield from _nested(item.get("components", ()))


def _cyclonedx_licenses(item: Mapping[str, Any]) -> Iterator[str]:
    for entry in item.get("licenses", ()):
        found = entry.get("license", {})
        if text := entry.get("expression") or found.get("id") or found.get("name"):
            yield text


def _debian(contents: Contents) -> Iterator[Component]:
    for package, text in contents.status.items():
        status = email.message_from_bytes(text)
        version, architecture = status["Version"], status["Architecture"]
        qualifiers = {"arch": architecture, "distro": "debian-12"}
        url = PackageURL("deb", "debian", package, version, qualifiers)
        terms = contents.copyright.get(package, b"").decode("utf-8", "replace")
        licenses = sorted({found[1].strip() for found in _DEBIAN_LICENSE.finditer(terms)})
        yield _component(package, version, str(url), licenses=licenses)


def _component(
    name: str,
    version: str,
    url: str,
    kind: ComponentType = ComponentType.LIBRARY,
    *,
    licenses: Sequence[str] = (),
    sha256: str = "",
    inside: str = "",
) -> Component:
    declared = LicenseAcknowledgement.DECLARED
    made: list[License] = [
        _LICENSES.make_from_string(text, license_acknowledgement=declared)
        for text in licenses
        if text
    ]
    if len(made) > 1:
        # A component has one expression, or any number of names.
        made = [
            _LICENSES.make_with_name(each.value) if isinstance(each, LicenseExpression) else each
            for each in made
        ]
    return Component(
        name=name,
        version=version,
        type=kind,
        bom_ref=url,
        purl=PackageURL.from_string(url),
        licenses=made,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=sha256)] if sha256 else (),
        properties=[Property(name=INSIDE, value=inside)] if inside else (),
    )
