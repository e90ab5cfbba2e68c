"""`make stack-images`: images of the operator's FlexRIC and OAI, as OCI archives in `out/images`.

    build_stack.py --flexric SOURCE [--oai SOURCE] [--asn1c SOURCE] [--simde SOURCE] [--cpm CACHE]

Sources are folders; nothing else comes from outside but Debian's packages. `flexric-sdk` and
`nearrt-ric` are made of `--flexric`, `oai-gnb` of `--oai` and the FlexRIC in it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from build_images import (
    BUILDAH,
    HERE,
    OUT,
    ROOT,
    STACK,
    STORAGE,
    BuildError,
    check_tools,
    make_base,
    measure,
    run_buildah,
    run_command,
)
from dist import describe_build

GNB: Final = "oai-gnb"
FLEXRIC_FILE: Final = "src/xApp/e42_xapp_api.h"
OAI_FLEXRIC: Final = "openair2/E2AP/flexric"
"""OAI's submodule, of which the gNB's E2 agent is made."""
OAI_FILE: Final = "docker/scripts/gnb_entrypoint.sh"


def check_source(flag: str, folder: Path, file: str, what: str) -> Path:
    """The folder, which has `file`; raises `BuildError`."""
    if not (folder / file).exists():
        raise BuildError(f"{flag}={folder}: has no {file}; expected {what}")
    return folder.resolve()


def contexts(given: argparse.Namespace, image: str, empty: Path) -> dict[str, Path]:
    """Build contexts of an image by name; raises `BuildError`."""
    found = dict.fromkeys(("oai-source", "asn1c-source", "simde-source", "cpm-source"), empty)
    what = "the source tree of FlexRIC"
    if image == GNB:
        found["oai-source"] = check_source("OAI_SRC", given.oai, OAI_FILE, "OAI's source tree")
        submodule = found["oai-source"] / OAI_FLEXRIC
        found["flexric-source"] = check_source("OAI_SRC", submodule, FLEXRIC_FILE, what)
    else:
        found["flexric-source"] = check_source("FLEXRIC_SRC", given.flexric, FLEXRIC_FILE, what)
    if given.asn1c is not None:
        tree = "the source tree of asn1c"
        found["asn1c-source"] = check_source("ASN1C_SRC", given.asn1c, "configure.ac", tree)
    if given.simde is not None:
        tree = "the folder of SIMDe's headers"
        found["simde-source"] = check_source("SIMDE_SRC", given.simde, "simde-common.h", tree)
    if given.cpm is not None:
        tree = "CPM's cache of a machine on which OAI was configured"
        found["cpm-source"] = check_source("CPM_CACHE", given.cpm, "cpm", tree)
    return found


def build(given: argparse.Namespace, image: str, base: str, build: dict[str, str]) -> None:
    """Build `image` and write `NAME.tar` and `NAME.json`."""
    version = build["version"]
    local = f"localhost/sojourn/{image}:{version}"
    labels = {"title": image, "version": version, "revision": build["revision"]}
    with tempfile.TemporaryDirectory() as empty:
        sources = contexts(given, image, Path(empty))
        run_buildah(
            [
                *("--target", image, "--layers", "--build-arg", f"DEBIAN={base}"),
                *("--build-arg", f"FLEXRIC_OPTIONS={given.flexric_options}"),
                *("--build-arg", f"OAI_OPTIONS={given.oai_options}"),
                *(f"--build-context={name}={path}" for name, path in sources.items()),
                *(f"--label=org.opencontainers.image.{key}={of}" for key, of in labels.items()),
                *("--file", HERE / "stack.Containerfile", ROOT),
            ],
            build,
            local,
        )
    archive = OUT / f"{image}.tar"
    archive.unlink(missing_ok=True)
    run_command(*BUILDAH, "push", "--quiet", local, f"oci-archive:{archive}:{local}")
    built = {"name": f"sojourn/{image}:{version}", **measure(archive)}
    (OUT / f"{image}.json").write_text(json.dumps(built, indent=2) + "\n")
    print(f"{built['name']:<32} {built['unpacked_bytes'] / 1e6:7.1f} MB  {built['digest']}")


def run(given: argparse.Namespace) -> None:
    """Build what the given sources allow; raises `BuildError`."""
    images = [name for name in STACK if given.oai is not None or name != GNB]
    with tempfile.TemporaryDirectory() as empty:
        for image in images:
            contexts(given, image, Path(empty))
    check_tools(["buildah"])
    about = describe_build()
    OUT.mkdir(parents=True, exist_ok=True)
    try:
        base = given.base or make_base("debian", about, fresh=given.fresh_bases)
        for image in images:
            build(given, image, base, about)
    finally:
        with suppress(BuildError):
            run_command(*BUILDAH, "rmi", "--all", "--force")
        shutil.rmtree(STORAGE, ignore_errors=True)


def main() -> int:
    """Run the command; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--flexric", type=Path, required=True, help="FlexRIC's source tree")
    parser.add_argument("--oai", type=Path, help="OAI's source tree with its submodule FlexRIC")
    parser.add_argument("--asn1c", type=Path, help="source tree of the asn1c that OAI names")
    parser.add_argument("--simde", type=Path, help="headers of SIMDe; Debian's if absent")
    parser.add_argument("--cpm", type=Path, help="CPM's cache; OAI's CMake downloads it if absent")
    parser.add_argument("--flexric-options", default="", help="further options of its CMake")
    parser.add_argument("--oai-options", default="", help="further options of its CMake")
    parser.add_argument("--base", help="image of Debian 12 (default: made of its packages)")
    parser.add_argument("--fresh-bases", action="store_true", help="make the base again")
    try:
        run(parser.parse_args())
    except BuildError as error:
        print(f"stack-images: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
