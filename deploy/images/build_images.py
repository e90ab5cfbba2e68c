"""`make images`: the images of all programs as OCI archives, `out/images/NAME.tar`, with SBOMs.

Wheels and programs come from `out/dist` (`make dist`), other wheels from the package index that pip
is configured for; the build itself needs no network. Without `--base` the base images are made of
Debian packages, so that no container registry is needed.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, cast

import sbom

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent.parent
DIST: Final = ROOT / "out" / "dist"
OUT: Final = ROOT / "out" / "images"
STORAGE: Final = OUT / "storage"
"""Images while they are built; removed at the end."""
BUILDAH: Final = ("buildah", "--root", str(STORAGE), "--runroot", str(STORAGE / "run"))
SUMS: Final = "wheels.sha256"
MEGABYTE: Final = 1_000_000
DEBIAN_PYTHON: Final = (3, 11)
"""Python of Debian 12, of which the base images are made."""


class BuildError(Exception):
    """An image cannot be built; the message says what is missing or failed."""


@dataclass(frozen=True, slots=True)
class Base:
    """A base image: packages of Debian, and the build argument it is given as."""

    argument: str
    packages: tuple[str, ...]
    variant: str = "extract"
    """Variant of mmdebstrap; `extract` unpacks the packages alone, without a shell."""


SHARED_LIBRARIES: Final = ("libc6", "libgcc-s1", "ca-certificates")
PYTHON: Final = (
    *SHARED_LIBRARIES,
    *("python3-minimal", "libpython3-stdlib", "libstdc++6", "netbase", "tzdata"),
    # FlexRIC's SDK, which the bridge loads from a volume.
    *("libsctp1",),
)
BASES: Final = {
    "base": Base("BASE", PYTHON),
    "base-c": Base("BASE", SHARED_LIBRARIES),
    # Debug information of wheels is removed with strip.
    "builder": Base("BUILDER", (*PYTHON, "binutils")),
    # Debian with apt, for images that are built of sources.
    "debian": Base("DEBIAN", ("ca-certificates",), "minbase"),
}


@dataclass(frozen=True, slots=True)
class Image:
    """An image: its name, the most it may have unpacked, the distributions in it and their pins."""

    name: str
    limit_mb: int
    distributions: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ("constraints.txt",)
    """Files of pins; the first that has a name wins."""
    programs: tuple[str, ...] = ()
    """Packages of Cargo whose programs are in it."""

    @property
    def bases(self) -> tuple[str, ...]:
        """Keys of `BASES`."""
        return ("builder", "base") if self.distributions else ("base-c",)


XAPP: Final = ("sojourn-ric[tc,fast]",)
RUNNING: Final = (*XAPP, "sojourn-ric-doctor")
"""Beside a program that runs for long."""
IMAGES: Final = (
    Image("gnb-lab", 60, programs=("gnb-lab", "e2sm-tc")),
    Image("tc-controller", 180, ("sojourn-tc-controller", *RUNNING)),
    Image("rlc-forecaster", 250, ("sojourn-rlc-forecaster", *RUNNING)),
    Image("flexric-bridge", 180, ("sojourn-flexric-bridge", *RUNNING)),
    Image(
        "training",
        4000,
        ("sojourn-training[tensorflow,baselines,estimators,mlflow,dask]", "gnb-lab[sweeps]", *XAPP),
        ("constraints.txt", "nonrt-ric/training/constraints.txt"),
        programs=("gnb-lab",),
    ),
)
STACK: Final = ("flexric-sdk", "nearrt-ric", "oai-gnb")
"""Images of `make stack-images`."""


def check_tools(needed: Iterable[str]) -> None:
    """Raise `BuildError` naming the programs that are not on PATH."""
    missing = [tool for tool in needed if shutil.which(tool) is None]
    if missing:
        raise BuildError(f"not on PATH: {', '.join(missing)}; Debian has packages of these names")


def make_base(name: str, dist: dict[str, str], *, fresh: bool) -> str:
    """The local base image `name` of `BASES`; returns its reference."""
    base = BASES[name]
    if name != "base-c" and sys.version_info[:2] != DEBIAN_PYTHON:
        found = ".".join(map(str, sys.version_info[:2]))
        raise BuildError(
            f"wheels are for Python {found}, Debian's is 3.11; expected BASE={{an image of Python "
            f"{found}}}, or a .venv of Python 3.11"
        )
    recipe = hashlib.sha256("\0".join(base.packages).encode())
    hook = HERE / "debian-base.sh"
    recipe.update(hook.read_bytes())
    archive = OUT / "bases" / f"{name}-{recipe.hexdigest()[:16]}.tar"
    reference = f"localhost/sojourn-{name}:{recipe.hexdigest()[:16]}"
    if fresh or not archive.exists():
        check_tools(["mmdebstrap"])
        archive.parent.mkdir(parents=True, exist_ok=True)
        partial = archive.with_suffix(".part.tar")
        epoch = {"SOURCE_DATE_EPOCH": dist["source_date_epoch"]}
        run_command(
            *("mmdebstrap", "--quiet", f"--variant={base.variant}", "--skip=output/dev"),
            f"--include={','.join(base.packages)}",
            *([f'--extract-hook={hook} "$1"'] if base.variant == "extract" else []),
            *("bookworm", str(partial)),
            environment=epoch,
        )
        partial.replace(archive)
    text = f"FROM scratch\nADD {archive.name} /\n"
    run_buildah(["--file", "-", archive.parent], dist, reference, text)
    return reference


def collect_wheels(image: Image) -> None:
    """Fill `out/images/wheels/NAME` with the wheels of `image` and all they need."""
    wheels = OUT / "wheels" / image.name
    shutil.rmtree(wheels, ignore_errors=True)
    wheels.mkdir(parents=True)
    pins: dict[str, str] = {}
    for file in image.constraints:
        for line in (ROOT / file).read_text().splitlines():
            name, equal, _ = line.partition("==")
            if equal:
                pins.setdefault(name.lower().replace("_", "-"), line)
    # A distribution of ours is never looked up by name: an index might have another of that name.
    for wheel in sorted((DIST / "wheels").glob("*.whl")):
        name = wheel.name.split("-")[0].replace("_", "-")
        pins[name] = f"{name} @ {wheel.as_uri()}"
    constraints = wheels / "constraints.txt"
    constraints.write_text("\n".join(pins.values()))
    run_command(
        *(sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:"),
        *("--dest", str(wheels), "-c", str(constraints), *image.distributions, "pip"),
    )
    constraints.unlink()
    check_own_wheels(wheels)
    write_sums(wheels)


def check_own_wheels(wheels: Path) -> None:
    """Raise `BuildError` if a wheel of `out/dist` is another than when it was listed."""
    listed = read_sums(DIST / SUMS)
    for path in (DIST / "wheels").glob("*.whl"):
        copy = wheels / path.name
        if copy.exists() and sha256_of(copy) != listed.get(path.name):
            raise BuildError(f"{path}: not the wheel that {DIST / SUMS} lists; run make dist again")


def read_sums(file: Path) -> dict[str, str]:
    """SHA-256 by name of a file as `sha256sum` writes it; raises `BuildError`."""
    try:
        lines = [line.split("  ", 1) for line in file.read_text().splitlines()]
        return {name: digest for digest, name in lines}
    except (OSError, ValueError) as error:
        raise BuildError(f"{file}: {error}; expected the output of make dist") from None


def write_sums(wheels: Path) -> None:
    """What the first stage of the image checks before it installs."""
    files = sorted(wheels.glob("*.whl"))
    lines = (f"{sha256_of(path)}  {path.name}\n" for path in files)
    (wheels / SUMS).write_text("".join(lines))


def sha256_of(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_sbom(image: Image, contents: sbom.Contents, dist: dict[str, str], out: Path) -> str:
    """Write `NAME.cdx.json`; returns its SHA-256."""
    wheels = OUT / "wheels" / image.name / SUMS
    digests = {}
    for name, digest in read_sums(wheels).items() if image.distributions else ():
        distribution, version = name.split("-")[:2]
        digests[f"{distribution.replace('_', '-').replace('.', '-').lower()}-{version}"] = digest
    try:
        text = sbom.describe(image.name, contents, dist, image.programs, digests)
    except sbom.SbomError as error:
        raise BuildError(f"SBOM of {image.name}: {error}") from None
    path = out / f"{image.name}.cdx.json"
    path.write_text(text)
    return sha256_of(path)


def write_sboms(images: Sequence[Image], dist: dict[str, str], out: Path) -> None:
    """SBOMs of what goes into images, without Debian packages and without building any."""
    out.mkdir(parents=True, exist_ok=True)
    for image in images:
        contents = sbom.Contents()
        if image.distributions:
            collect_wheels(image)
            contents = sbom.of_wheels(OUT / "wheels" / image.name)
        write_sbom(image, contents, dist, out)
        print(out / f"{image.name}.cdx.json", flush=True)


def build(image: Image, bases: dict[str, str], dist: dict[str, str], out: Path) -> dict[str, Any]:
    """Build `image` and write `out/NAME.tar`; returns name, digest and sizes."""
    if image.distributions:
        collect_wheels(image)
    arguments = {BASES[base].argument: bases[base] for base in image.bases}
    version = dist["version"]
    arguments |= {"VERSION": version, "REVISION": dist["revision"]}
    local = f"localhost/sojourn/{image.name}:{version}"
    flags = [f for k, v in arguments.items() for f in ("--build-arg", f"{k}={v}")]
    run_buildah([*flags, "--file", HERE / f"{image.name}.Containerfile", ROOT], dist, local)
    archive = out / f"{image.name}.tar"
    archive.unlink(missing_ok=True)
    # Of no registry: make push gives it one, and nodes that load the archive use it as it is.
    name = f"localhost/sojourn/{image.name}:{version}"
    run_command(*BUILDAH, "push", "--quiet", local, f"oci-archive:{archive}:{name}")
    run_command(*BUILDAH, "rmi", local)
    return {
        "name": f"sojourn/{image.name}:{version}",
        **measure(archive),
        "sbom_sha256": write_sbom(image, sbom.of_archive(archive), dist, out),
        "limit_mb": image.limit_mb,
    }


def measure(archive: Path) -> dict[str, Any]:
    """Digest of the manifest, compressed and unpacked bytes of an OCI archive."""
    with tarfile.open(archive) as tar:
        index = json.load(_member(tar, "index.json"))
        digest: str = index["manifests"][0]["digest"]
        manifest = json.load(_blob(tar, digest))
        unpacked = 0
        for layer in manifest["layers"]:
            with tarfile.open(fileobj=gzip.open(_blob(tar, layer["digest"]))) as files:
                unpacked += sum(file.size for file in files)
    return {
        "digest": digest,
        "compressed_bytes": sum(layer["size"] for layer in manifest["layers"]),
        "unpacked_bytes": unpacked,
    }


def _blob(tar: tarfile.TarFile, digest: str) -> IO[bytes]:
    return _member(tar, f"blobs/{digest.replace(':', '/')}")


def _member(tar: tarfile.TarFile, name: str) -> IO[bytes]:
    return cast(IO[bytes], tar.extractfile(name))


def run_buildah(
    arguments: Sequence[str | Path], dist: dict[str, str], reference: str, text: str | None = None
) -> None:
    """Build an image; raises `BuildError`."""
    run_command(
        *(*BUILDAH, "build", "--quiet", "--isolation", "chroot", "--format", "oci"),
        *("--timestamp", dist["source_date_epoch"], "--tag", reference),
        *map(str, arguments),
        text=text,
    )


def run_command(
    *command: str, text: str | None = None, environment: Mapping[str, str] | None = None
) -> None:
    """Run a command in the root of the repository; raises `BuildError` with what it said."""
    ran = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | (environment or {}),
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode != 0:
        raise BuildError(f"{' '.join(command)}: status {ran.returncode}\n{ran.stderr.strip()}")


def read_dist() -> dict[str, str]:
    """Version, commit and SOURCE_DATE_EPOCH of `out/dist`."""
    try:
        found: dict[str, str] = json.loads((DIST / "build.json").read_text())
    except OSError:
        raise BuildError(f"{DIST}: has no build.json; expected the output of make dist") from None
    return found


def run(given: argparse.Namespace) -> int:
    """Build what was asked for; returns 1 if an image is larger than its limit."""
    dist = read_dist()
    chosen = [image for image in IMAGES if not given.images or image.name in given.images]
    if given.sbom is not None:
        write_sboms(chosen, dist, given.sbom)
        return 0
    check_tools(["buildah"])
    try:
        return _build_all(chosen, dist, given)
    finally:
        # Files of other users, where buildah has no root, are removed by it alone.
        with suppress(BuildError):
            run_command(*BUILDAH, "rmi", "--all", "--force")
        shutil.rmtree(STORAGE, ignore_errors=True)


def _build_all(chosen: Sequence[Image], dist: dict[str, str], given: argparse.Namespace) -> int:
    bases: dict[str, str] = {}
    for name in dict.fromkeys(base for image in chosen for base in image.bases):
        named = getattr(given, name.replace("-", "_"))
        bases[name] = named or make_base(name, dist, fresh=given.fresh_bases)
    given.out.mkdir(parents=True, exist_ok=True)
    too_large = False
    for image in chosen:
        built = build(image, bases, dist, given.out)
        size = built["unpacked_bytes"] / MEGABYTE
        over = size > image.limit_mb
        too_large |= over
        print(
            f"{built['name']:<32} {size:7.1f} MB of {image.limit_mb} unpacked,"
            f" {built['compressed_bytes'] / MEGABYTE:6.1f} MB packed"
            f"  {built['digest']}{'  TOO LARGE' if over else ''}",
            flush=True,
        )
        (given.out / f"{image.name}.json").write_text(json.dumps(built, indent=2) + "\n")
    return int(too_large)


def main() -> int:
    """Run the command; returns the exit status."""
    parser = argparse.ArgumentParser(description="Build the images of the programs.")
    names = [image.name for image in IMAGES]
    parser.add_argument("images", nargs="*", default=[], help=f"of {', '.join(names)}")
    parser.add_argument("--out", type=Path, default=OUT, help="folder of the archives")
    parser.add_argument("--base", help="base image with Python (default: made of Debian packages)")
    parser.add_argument("--builder", help="image of the first stage, with Python at the same path")
    parser.add_argument("--base-c", help="base image with glibc, for gnb-lab")
    parser.add_argument(
        "--sbom", type=Path, metavar="FOLDER", help="write SBOMs of wheels and crates, no images"
    )
    parser.add_argument("--fresh-bases", action="store_true", help="make the bases again")
    given = parser.parse_args()
    if unknown := ", ".join(sorted(set(given.images) - set(names))):
        parser.error(f"{unknown}: no such image; expected some of {', '.join(names)}")
    try:
        return run(given)
    except BuildError as error:
        print(f"images: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
