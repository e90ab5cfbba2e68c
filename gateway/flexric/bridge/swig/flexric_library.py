"""Properties of the xApp library of an installed FlexRIC, read with binutils."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Final

LINKED_BESIDE: Final = ("-Wl,--no-as-needed", "-lsctp")
"""Undeclared dependency of FlexRIC's library."""

_DIE: Final = re.compile(r"^ <1><([0-9a-f]+)>: .*\((DW_TAG_\w+)\)")
_NAME: Final = re.compile(r"DW_AT_name\s*:.*?(\S+)\s*$")
_SIZE: Final = re.compile(r"DW_AT_byte_size\s*: (\w+)")
_TYPE: Final = re.compile(r"DW_AT_type\s*: <0x([0-9a-f]+)>")
_UNDEFINED: Final = re.compile(r"undefined reference to [`']([\w.]+)'")


def exported(library: Path) -> frozenset[str]:
    """The functions and data that others can link to."""
    return frozenset(_symbols(["nm", "-D", "--defined-only", "-P", str(library)]))


def unsupplied(library: Path, compiler: list[str], flags: list[str]) -> frozenset[str]:
    """The symbols that neither the library nor what it is linked with has."""
    with tempfile.TemporaryDirectory() as folder:
        main = Path(folder) / "main.c"
        main.write_text("int main(void) { return 0; }\n")
        # The linker omits a library that nothing references, and its undefined symbols.
        command = [*compiler, str(main), "-Wl,--no-as-needed", str(library), *flags, *LINKED_BESIDE]
        errors = _run([*command, "-pthread", "-ldl", "-lm", "-o", str(main.with_suffix(""))]).stderr
    return frozenset(_UNDEFINED.findall(errors))


def archive_with(symbols: frozenset[str], build: Path) -> Path | None:
    """The static library of a build tree that defines all of these."""
    for archive in sorted(build.rglob("*.a")):
        if symbols <= set(_symbols(["nm", "--defined-only", "-P", str(archive)])):
            return archive
    return None


def struct_bytes(library: Path, names: frozenset[str]) -> dict[str, int]:
    """Sizes of structures by the names of their types, from the library's debug information.

    Types without debug information are left out; all of them if it was stripped.
    """
    sizes: dict[str, int] = {}
    named: dict[str, str] = {}
    offset = tag = name = ""
    command = ["readelf", "--debug-dump=info", "--dwarf-depth=2", str(library)]
    for line in _run(command).stdout.splitlines():
        if die := _DIE.match(line):
            offset, tag, name = die[1], die[2], ""
        elif line.startswith(" <2>"):
            tag = ""
        elif tag and (found := _NAME.search(line)):
            name = found[1]
        elif tag == "DW_TAG_structure_type" and (found := _SIZE.search(line)):
            sizes[offset] = int(found[1], 0)
        elif tag == "DW_TAG_typedef" and name in names and (found := _TYPE.search(line)):
            named.setdefault(name, found[1])
    return {name: sizes[offset] for name, offset in named.items() if offset in sizes}


def _symbols(command: list[str]) -> list[str]:
    lines = (line.split() for line in _run(command).stdout.splitlines())
    return [parts[0] for parts in lines if len(parts) > 1 and parts[1] in "TDBRVWi"]


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    english = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=english)
