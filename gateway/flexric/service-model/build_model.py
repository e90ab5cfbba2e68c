"""Builds E2SM-TC v1 as a service model of an installed FlexRIC.

    FLEXRIC_SRC=… FLEXRIC_BUILD=… python build_model.py FOLDER

Both are FlexRIC's own: its source tree, for the headers of its service-model interface, and its
build tree, for the settings it was built with. `libsojourn_tc_sm.so` is written into FOLDER; a
service model serves one build of FlexRIC alone. CC, CFLAGS and LDFLAGS work as usual.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
NAME: Final = "libsojourn_tc_sm.so"
"""FlexRIC derives the names of the constructors from it."""
INTERFACE: Final = "src/sm/sm_agent.h"
TC_MODEL: Final = "src/sm/tc_sm/libtc_sm.so"
"""FlexRIC's own: its build ID stands for that of FlexRIC."""


class MissingError(Exception):
    """A prerequisite of the build is missing; the text names it and the remedy."""


def tree(variable: str, file: str) -> Path:
    """The directory that an environment variable names, which must hold `file`."""
    value = os.environ.get(variable, "")
    what = "source tree" if variable == "FLEXRIC_SRC" else "build tree"
    if not value:
        raise MissingError(f"{variable} is not set; expected the {what} of FlexRIC")
    if not (Path(value) / file).is_file():
        raise MissingError(f"{variable}={value}: has no {file}; expected the {what} of FlexRIC")
    return Path(value).resolve()


def versions(build: Path) -> list[str]:
    """Macros of the versions that FlexRIC was built with."""
    cache = (build / "CMakeCache.txt").read_text()
    macros = []
    for name in ("E2AP_VERSION", "KPM_VERSION"):
        found = re.search(rf"^{name}:\w+=(\w+)$", cache, re.MULTILINE)
        if found is None:
            raise MissingError(
                f"{build / 'CMakeCache.txt'}: has no {name}; expected that of FlexRIC"
            )
        macros.append(f"-D{found[1]}")
    return macros


def build_id(library: Path) -> str:
    """The GNU build ID of a shared object; empty if the linker wrote none."""
    done = subprocess.run(
        ["readelf", "--notes", "--wide", str(library)],
        env={**os.environ, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"Build ID: ([0-9a-f]+)", done.stdout)
    return "" if found is None else found[1]


def compile_model(folder: Path) -> Path:
    """Makes the service model."""
    source, build = tree("FLEXRIC_SRC", INTERFACE), tree("FLEXRIC_BUILD", TC_MODEL)
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / f".{NAME}.new"
    command = [
        *shlex.split(os.environ.get("CC", "cc")),
        *("-std=c11", "-D_GNU_SOURCE", "-O2", "-g", "-fPIC", "-shared", "-fvisibility=hidden"),
        *("-Wall", "-Wextra", "-Werror", *versions(build)),
        f'-DSOJOURN_TC_MADE_FOR="{build_id(build / TC_MODEL)}"',
        *("-I", str(HERE / "include"), "-isystem", str(source / "src")),
        *shlex.split(os.environ.get("CFLAGS", "")),
        *(str(file) for file in sorted((HERE / "src").glob("*.c"))),
        # FlexRIC's agent reads service models after it has unloaded them.
        *("-Wl,-z,nodelete", "-Wl,-z,defs", *shlex.split(os.environ.get("LDFLAGS", ""))),
        *("-ldl", "-o", str(made)),
    ]
    if subprocess.run(command, check=False).returncode != 0:
        raise MissingError(f"{command[0]} failed, see above")
    # Running programs have the old one mapped: it must not be modified.
    return made.rename(folder / NAME)


def main(arguments: list[str]) -> None:
    """Run from the command line."""
    (folder,) = arguments
    try:
        made = compile_model(Path(folder))
    except MissingError as missing:
        raise SystemExit(f"make flexric-sm: {missing}") from None
    sys.stdout.write(f"{made}: for the service-model folders of agent, nearRT-RIC and bridge\n")


if __name__ == "__main__":
    main(sys.argv[1:])
