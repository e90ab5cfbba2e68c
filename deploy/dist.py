"""`make dist`: every distribution as a wheel, the programs in Rust, the chart, and SHA256SUMS.

    out/dist/wheels/*.whl  wheels.sha256  bin/{gnb-lab,e2sm-tc}  sojourn-VERSION.tgz
    build.json  SHA256SUMS

All have the version of the workspace in Cargo.toml. They depend on the sources, the compiler, Helm
and SOURCE_DATE_EPOCH alone; that is the time of the commit if unset.
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
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
BIN: Final = Path(sys.executable).parent
PROGRAMS: Final = ("gnb-lab", "e2sm-tc")
CHART: Final = ROOT / "helm" / "sojourn"


def workspace_version() -> str:
    """The version in the root Cargo.toml."""
    with (ROOT / "Cargo.toml").open("rb") as file:
        found: str = tomllib.load(file)["workspace"]["package"]["version"]
    return found


def describe_build() -> dict[str, str]:
    """Version, commit and SOURCE_DATE_EPOCH, as in `build.json`."""
    git = ("git", "log", "-1", "--format=%H %ct")
    found = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=False)
    # An archive of the sources has no history.
    revision, seconds = found.stdout.split() or ("unknown", "0")
    return {
        "version": workspace_version(),
        "revision": revision,
        "source_date_epoch": os.environ.get("SOURCE_DATE_EPOCH", seconds),
    }


def build_dist(out: Path, packages: Sequence[str], modules: Sequence[str]) -> None:
    """Write everything into `out`, which is emptied first."""
    shutil.rmtree(out, ignore_errors=True)
    wheels, programs = out / "wheels", out / "bin"
    wheels.mkdir(parents=True)
    programs.mkdir()
    build = describe_build()
    (out / "build.json").write_text(json.dumps(build, indent=2) + "\n")
    for program in PROGRAMS:
        shutil.copy(ROOT / "target" / "release" / program, programs)
        _run(build, "strip", str(programs / program))
    for module in modules:
        manifest = ROOT / module / "Cargo.toml"
        _run(
            build,
            *(str(BIN / "maturin"), "build", "--quiet", "--release", "--locked", "--strip"),
            *("--manifest-path", str(manifest), "--interpreter", sys.executable),
            *("--out", str(wheels)),
        )
    _run(
        build,
        *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"),
        *("--wheel-dir", str(wheels), *(str(ROOT / package) for package in packages)),
    )
    _write_sums(wheels, out / "wheels.sha256")
    package_chart(build, out)
    files = sorted(path for path in out.rglob("*") if path.is_file())
    _write_sums(out, out / "SHA256SUMS", files)
    print(f"{out}: version {build['version']}, {len(files)} files")


def package_chart(build: dict[str, str], out: Path) -> None:
    """Write the chart's package, if Helm is on PATH."""
    if not CHART.is_dir():
        return
    helm = shutil.which("helm")
    if helm is None:
        print("The chart is not packaged: helm is not on PATH.")
        return
    version = build["version"]
    _run(
        build,
        *(helm, "package", str(CHART), "--version", version, "--app-version", version),
        *("--destination", str(out)),
    )
    (package,) = out.glob("*.tgz")
    _set_times(package, int(build["source_date_epoch"]))


def _set_times(package: Path, epoch_s: int) -> None:
    """Pack again in place: Helm gives each file the time at which it ran."""
    with tarfile.open(package) as tar:
        files = [(file, tar.extractfile(file)) for file in tar]
        with (
            package.with_suffix(".part").open("wb") as raw,
            gzip.GzipFile("", "wb", fileobj=raw, mtime=epoch_s) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as out,
        ):
            for file, content in sorted(files, key=lambda each: each[0].name):
                file.mtime = epoch_s
                file.pax_headers = {}
                out.addfile(file, content)
    package.with_suffix(".part").replace(package)


def _run(build: dict[str, str], *command: str) -> None:
    environment = os.environ | {
        "SOURCE_DATE_EPOCH": build["source_date_epoch"],
        "VIRTUAL_ENV": str(BIN.parent),
    }
    # maturin refuses to choose between two active environments.
    environment.pop("CONDA_PREFIX", None)
    subprocess.run(command, cwd=ROOT, env=environment, check=True)


def _write_sums(folder: Path, file: Path, paths: Sequence[Path] = ()) -> None:
    """SHA-256 of files, by default those of `folder`, as `sha256sum` writes them."""
    chosen = paths or sorted(folder.iterdir())
    lines = (f"{_sha256(path)}  {path.relative_to(folder)}\n" for path in chosen)
    file.write_text("".join(lines))


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> int:
    """Run the command; returns the exit status."""
    parser = argparse.ArgumentParser(description="Build wheels, programs and the chart's package.")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "dist")
    parser.add_argument("--packages", nargs="+", required=True, help="distributions, by folder")
    parser.add_argument("--modules", nargs="+", required=True, help="Python modules in Rust")
    given = parser.parse_args()
    try:
        build_dist(given.out.resolve(), given.packages, given.modules)
    except subprocess.CalledProcessError as error:
        print(f"dist: {error.cmd[0]} failed with status {error.returncode}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
