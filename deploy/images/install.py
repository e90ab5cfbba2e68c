"""Runs in the first stage of an image: installs the wheels of a folder into /opt/sojourn.

    python3 install.py WHEELS

The environment is a venv whose interpreter is the base image's own, so the last stage needs Python
at the same path. Bytecode is compiled here, because the root of a container is read-only, and
without timestamps, so that equal wheels make equal images.
"""

from __future__ import annotations

import compileall
import hashlib
import py_compile
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Final

PREFIX: Final = Path("/opt/sojourn")
STATE: Final = Path("/var/lib/sojourn")
"""Working directory of the programs: what they write by default goes there."""
WITH_DEBUG_INFORMATION: Final = (
    "aiohttp",
    "cryptography",
    "frozenlist",
    "multidict",
    "propcache",
    "uvloop",
    "yaml",
    "yarl",
)
"""Packages whose extension modules are distributed with debug information, most of their size."""


def check(wheels: Path) -> None:
    """Exit unless the wheels are those of `wheels.sha256`, each with its digest."""
    listed = {}
    for line in (wheels / "wheels.sha256").read_text().splitlines():
        digest, name = line.split("  ", 1)
        listed[name] = digest
    found = {}
    for wheel in wheels.glob("*.whl"):
        found[wheel.name] = hashlib.sha256(wheel.read_bytes()).hexdigest()
    wrong = sorted({name for name, _ in listed.items() ^ found.items()})
    if wrong:
        sys.exit(f"install: {', '.join(wrong)}: not as wheels.sha256 lists; run make images again")


def install(wheels: Path) -> None:
    """Install `wheels` into `PREFIX` and compile them."""
    venv.EnvBuilder(with_pip=False, symlinks=True).create(PREFIX)
    for script in (PREFIX / "bin").glob("[aA]ctivate*"):
        script.unlink()
    pip = next(wheels.glob("pip-*.whl"))
    command = [sys.executable, str(pip / "pip"), "--python", str(PREFIX / "bin" / "python3")]
    command += ["install", "--quiet", "--no-index", "--no-deps", "--no-compile", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--root-user-action=ignore"]
    command += sorted(str(wheel) for wheel in wheels.glob("*.whl") if wheel != pip)
    subprocess.run(command, check=True)
    (packages,) = PREFIX.glob("lib/python3*/site-packages")
    # A tenth of an image is NumPy's tests. numpy.testing imports their modules named _*.py.
    for tests in list((packages / "numpy").rglob("tests")):
        for path in tests.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif not path.name.startswith("_"):
                path.unlink()
    if strip := shutil.which("strip"):
        modules = [m for name in WITH_DEBUG_INFORMATION for m in (packages / name).rglob("*.so")]
        subprocess.run([strip, "--strip-unneeded", *modules], check=True)
    compiled = compileall.compile_dir(
        packages, quiet=2, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )
    if not compiled:
        print("Some files are not valid Python; they have no bytecode.", file=sys.stderr)
    STATE.mkdir(parents=True)


if __name__ == "__main__":
    check(Path(sys.argv[1]))
    install(Path(sys.argv[1]))
