"""Builds the SWIG module against an installed FlexRIC and installs it into this environment.

    FLEXRIC_SRC=… FLEXRIC_BUILD=… python build.py

Both are FlexRIC's own: its source tree, for the headers, and its build tree, for the library and
for the settings it was built with. CC, CFLAGS and LDFLAGS work as usual; SWIG names another swig.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import flexric_library as elf

HERE: Final = Path(__file__).resolve().parent
TC_SERVICE_MODEL: Final = HERE.parents[1] / "service-model" / "include"
"""Interface of E2SM-TC v1's service model."""
PACKAGE: Final = "flexric_bridge_native"
LIBRARY: Final = Path("src/xApp/libe42_xapp_shared.so")
PRELOADS: Final = {
    HERE.parent / "preload/level_triggered.c": "to be preloaded into nearRT-RIC and E2 agents",
    HERE.parent / "preload/sctp_over_tcp.c": "SCTP on one machine whose kernel has none",
}
"""Libraries for FlexRIC's own programs, and what they are for."""
SWIG_AT_LEAST: Final = (4, 1)

VERSIONS: Final = {
    "E2AP": ("lib/e2ap/e2ap_global_node_id_wrapper.h", r"/e2ap/v(\d+)_(\d+)/", (2, 0)),
    "KPM": ("sm/kpm_sm/kpm_data_ie_wrapper.h", r"/kpm_sm_v(\d+)\.(\d+)/", (2, 3)),
}
"""What FlexRIC has in several versions: the header that chooses one by a macro, the folder of the
one that is chosen, and the oldest that this module supports."""
REQUIRED: Final = {
    "E2AP_ENCODING": "ASN",
    "XAPP_DB": "SQLITE3_XAPP",
    "SM_ENCODING_RLC": "PLAIN",
    "SM_ENCODING_MAC": "PLAIN",
    "SM_ENCODING_KPM": "ASN",
}
"""Settings of FlexRIC's build that the layouts of reports depend on."""
REPLACED: Final = re.compile(r"^FX_REPLACES [\w ]+?\**(\w+)\(", re.MULTILINE)
"""A function that replaces FlexRIC's of the same name."""


class MissingError(Exception):
    """A prerequisite of the build is missing; the text names it and the remedy."""


@dataclass(frozen=True)
class Flexric:
    """An installed FlexRIC."""

    source: Path
    library: Path
    macros: Mapping[str, str]
    """The macros of its C code that choose the versions of E2AP and KPM."""
    versions: Mapping[str, str]
    """The versions that they choose, as "v2.03"."""
    unsupplied: frozenset[str] = frozenset()
    """Undefined symbols of the library that none of its dependencies has."""
    supply: Path | None = None
    """The static library of FlexRIC's build tree that has them."""

    @property
    def defines(self) -> list[str]:
        """Macros that FlexRIC's headers need."""
        return [f"-D{macro}" for macro in (*self.macros.values(), "ASN", "SQLITE3_XAPP")]


def directory(variable: str, what: str) -> Path:
    """The directory that an environment variable names."""
    value = os.environ.get(variable, "")
    if not value:
        raise MissingError(f"set {variable} to {what}")
    if not Path(value).is_dir():
        raise MissingError(f"{variable} is {value}, which is no directory; expected {what}")
    return Path(value).resolve()


def cmake_settings(build: Path) -> dict[str, str]:
    """The settings of a CMake build tree by name."""
    cache = build / "CMakeCache.txt"
    if not cache.is_file():
        raise MissingError(
            f"FLEXRIC_BUILD is {build}, which has no CMakeCache.txt: build FlexRIC there"
        )
    entry = re.compile(r"^(\w+):\w+=(.*)$", re.MULTILINE)
    return {match[1]: match[2] for match in entry.finditer(cache.read_text())}


def find_flexric() -> Flexric:
    """The FlexRIC that FLEXRIC_SRC and FLEXRIC_BUILD name, if this module supports it."""
    source = directory("FLEXRIC_SRC", "FlexRIC's source tree")
    build = directory("FLEXRIC_BUILD", "FlexRIC's build tree")
    if not (source / "src/xApp/e42_xapp_api.h").is_file():
        raise MissingError(f"FLEXRIC_SRC is {source}, which has no src/xApp/e42_xapp_api.h")
    settings = cmake_settings(build)
    macros = {of: settings.get(f"{of}_VERSION", "") for of in VERSIONS}
    versions = {of: find_version(source, of, macros[of]) for of in VERSIONS}
    for name, expected in REQUIRED.items():
        if settings.get(name, expected) != expected:
            raise MissingError(
                f"FlexRIC was built with {name}={settings[name]}; build it with -D{name}={expected}"
            )
    library = build / LIBRARY
    if not library.is_file():
        raise MissingError(f"there is no {library}: build FlexRIC's target e42_xapp_shared")
    check_replaced(library)
    unsupplied, supply = find_supply(library, build)
    return Flexric(source, library, macros, versions, unsupplied, supply)


def find_version(source: Path, of: str, macro: str) -> str:
    """The version that a macro of FlexRIC's build chooses, by its headers and the compiler."""
    header, folder, oldest = VERSIONS[of]
    command = [*find_compiler(), f"-D{macro or 'NONE'}", "-DASN", "-E", "-M", "-x", "c"]
    asked = subprocess.run(
        [*command, "-isystem", str(source / "src"), str(source / "src" / header)],
        capture_output=True,
        text=True,
        check=False,
    )
    chosen = re.search(folder, asked.stdout)
    found = None if chosen is None else (int(chosen[1]), int(chosen[2]))
    expected = f"expected {of} {shown(oldest)} or later"
    if found is None:
        raise MissingError(
            f"FlexRIC was built with {of}_VERSION={macro}, which its src/{header} does not know; "
            f"{expected}"
        )
    if found < oldest:
        raise MissingError(f"FlexRIC was built with {of} {shown(found)} ({macro}); {expected}")
    return shown(found)


def shown(version: tuple[int, int]) -> str:
    """A version as FlexRIC writes it."""
    return f"v{version[0]}.{version[1]:02}"


def check_replaced(library: Path) -> None:
    """Checks that FlexRIC's library has each function that this module replaces."""
    ours = {name for source in HERE.glob("*.c") for name in REPLACED.findall(source.read_text())}
    if lacking := sorted(ours - elf.exported(library)):
        raise MissingError(
            f"{library} has no {', '.join(lacking)}, which this module replaces: "
            "this FlexRIC is not supported"
        )


def find_supply(library: Path, build: Path) -> tuple[frozenset[str], Path | None]:
    """Undefined symbols of FlexRIC's library, and a static library of its build tree with them."""
    flags = shlex.split(os.environ.get("LDFLAGS", ""))
    lacking = elf.unsupplied(library, find_compiler(), flags)
    supply = elf.archive_with(lacking, build) if lacking else None
    if lacking and supply is None:
        some = ", ".join(sorted(lacking)[:3])
        raise MissingError(
            f"{library} needs {len(lacking)} symbols that it lacks ({some}, …), and no "
            f"static library below {build} has them; build all of FlexRIC"
        )
    return lacking, supply


def find_swig() -> str:
    """The swig executable."""
    swig = os.environ.get("SWIG") or shutil.which(
        "swig", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    )
    if swig is None:
        raise MissingError(
            f"there is no swig, version {'.'.join(map(str, SWIG_AT_LEAST))} or newer: "
            "install your system's, or `pip install swig` into .venv"
        )
    output = subprocess.run([swig, "-version"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"SWIG Version (\d+)\.(\d+)", output)
    if version is None or (int(version[1]), int(version[2])) < SWIG_AT_LEAST:
        raise MissingError(f"{swig} is not SWIG {'.'.join(map(str, SWIG_AT_LEAST))} or newer")
    return swig


def find_compiler() -> list[str]:
    """The C compiler."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    if shutil.which(compiler[0]) is None:
        raise MissingError(f"there is no C compiler {compiler[0]}")
    return compiler


def compile_module(flexric: Flexric, into: Path) -> None:
    """Makes `_flexric.so` in `into`."""
    swig, compiler = find_swig(), find_compiler()
    wrapper = into / "flexric_wrap.c"
    run([swig, "-python", "-outdir", str(into), "-o", str(wrapper), str(HERE / "flexric.i")])
    run(
        [
            *compiler,
            *("-std=gnu11", "-O2", "-g", "-fPIC", "-fvisibility=hidden", "-shared", "-pthread"),
            *("-Wall", "-D_GNU_SOURCE", *flexric.defines),
            *("-isystem", str(flexric.source / "src"), "-isystem", str(flexric.source)),
            *("-isystem", sysconfig.get_paths()["include"], "-I", str(HERE)),
            *("-I", str(TC_SERVICE_MODEL)),
            *shlex.split(os.environ.get("CFLAGS", "")),
            *shlex.split(os.environ.get("LDFLAGS", "")),
            str(wrapper),
            *(str(source) for source in sorted(HERE.glob("*.c"))),
            *(f"-Wl,-u,{symbol}" for symbol in sorted(flexric.unsupplied)),
            *(() if flexric.supply is None else (str(flexric.supply),)),
            str(flexric.library),
            f"-Wl,-rpath,{flexric.library.parent}",
            *elf.LINKED_BESIDE,
            *("-o", str(into / "_flexric.so")),
        ]
    )
    wrapper.unlink()


def preloaded(source: Path) -> Path:
    """The library compiled from one of `PRELOADS`."""
    return Path(sys.prefix) / "lib" / f"libflexric_{source.stem}.so"


def compile_preloads() -> None:
    """Compiles the libraries that are preloaded into FlexRIC's programs."""
    for source in PRELOADS:
        library = preloaded(source)
        library.parent.mkdir(parents=True, exist_ok=True)
        made = library.with_suffix(".new")
        run(
            [
                *find_compiler(),
                *("-std=gnu11", "-O2", "-g", "-fPIC", "-shared", "-pthread", "-Wall", "-Wextra"),
                *shlex.split(os.environ.get("CFLAGS", "")),
                *(str(source), "-ldl", "-o", str(made)),
            ]
        )
        # Running programs have the old one mapped: it must not be modified.
        made.rename(library)


def run(command: list[str]) -> None:
    """Runs a tool, which prints its own errors."""
    done = subprocess.run(command, check=False)
    if done.returncode != 0:
        raise MissingError(
            f"{Path(command[0]).name} failed, see above; if a header is missing, it is one that "
            "FlexRIC's own build needs, too: add its directory to CFLAGS"
        )


def write_versions(flexric: Flexric, package: Path) -> None:
    """Writes `built_for.json` beside the module."""
    properties = query_module(package)
    check_sizes(flexric, properties["struct_bytes"])
    built = {
        "e2ap": flexric.versions["E2AP"],
        "kpm": flexric.versions["KPM"],
        "library": str(flexric.library),
        "library_sha256": hashlib.sha256(flexric.library.read_bytes()).hexdigest(),
        **properties,
    }
    (package / "built_for.json").write_text(json.dumps(built, indent=2) + "\n")


def check_sizes(flexric: Flexric, ours: dict[str, int]) -> None:
    """Checks that structures have the same size in the library and the headers."""
    theirs = elf.struct_bytes(flexric.library, frozenset(ours))
    wrong = [
        f"{name}: {ours[name]} bytes by {flexric.source}, {size} in {flexric.library}"
        for name, size in sorted(theirs.items())
        if size != ours[name]
    ]
    if wrong:
        raise MissingError(
            "FLEXRIC_SRC is not what FLEXRIC_BUILD was built from: " + "; ".join(wrong)
        )


def query_module(package: Path) -> dict[str, Any]:
    """Properties of the new module, read in a process of its own: it may fail to load."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import json, sys; sys.path.insert(0, sys.argv[1]); import _flexric; "
            "print(json.dumps({'struct_bytes': _flexric.struct_bytes(), "
            "'s_nssai': _flexric.s_nssai()}))",
            str(package),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise MissingError(f"the new module does not load: {done.stderr.strip().splitlines()[-1]}")
    properties: dict[str, Any] = json.loads(done.stdout)
    return properties


def put_in_place(made: Path, package: Path) -> None:
    """Two renames, so that no partial package is ever visible: a running bridge keeps its
    open files. A child that starts between the two finds no module; another is started."""
    before = package.with_name(f".{PACKAGE}.before")
    shutil.rmtree(before, ignore_errors=True)
    if package.exists():
        package.rename(before)
    made.rename(package)
    shutil.rmtree(before, ignore_errors=True)


def build() -> str:
    """Builds and installs; returns a summary."""
    if importlib.util.find_spec("flexric_bridge") is None:
        raise MissingError(
            "flexric_bridge is not installed in this environment: `make setup` first"
        )
    flexric = find_flexric()
    package = Path(sysconfig.get_paths()["platlib"]) / PACKAGE
    made = package.with_name(f".{PACKAGE}.new")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    try:
        compile_module(flexric, made)
        (made / "flexric.py").unlink()
        shutil.copyfile(HERE / "flexric_sdk.py", made / "__init__.py")
        write_versions(flexric, made)
        compile_preloads()
    except MissingError:
        shutil.rmtree(made)
        raise
    put_in_place(made, package)
    versions = ", ".join(f"{of} {version}" for of, version in flexric.versions.items())
    lines = [f"{package}: for {versions}, {flexric.library}"]
    if flexric.supply is not None:
        lines.append(f"{flexric.supply}: linked in for symbols that FlexRIC's library lacks")
    lines += [f"{preloaded(source)}: {purpose}" for source, purpose in PRELOADS.items()]
    return "\n".join(lines)


def main() -> None:
    """Run from the command line."""
    try:
        sys.stdout.write(build() + "\n")
    except MissingError as missing:
        raise SystemExit(f"make flexric-bridge: {missing}") from None


if __name__ == "__main__":
    main()
