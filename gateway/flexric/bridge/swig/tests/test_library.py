"""What is asked of FlexRIC's library as the module is built, of a library made here."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import flexric_library as elf
import pytest

HEADER = """
typedef struct { char ip[16]; char directory[128]; } arguments_t;
typedef struct session { arguments_t arguments; long number; } session_t;
"""
LIBRARY = HEADER + "int missing(session_t *); int open_session(session_t *s) { return missing(s); }"
SUPPLY = HEADER + "int missing(session_t *s) { return (int)s->number; }"
SIZES = {"arguments_t": 144, "session_t": 152}


@pytest.fixture(scope="module")
def compiler() -> str:
    found = shutil.which("cc")
    if found is None:
        pytest.skip("no C compiler here")
    return found


@pytest.fixture(scope="module")
def made(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that lacks a symbol, and the static library that has it."""
    folder = tmp_path_factory.mktemp("library")
    for name, text in (("library.c", LIBRARY), ("supply.c", SUPPLY)):
        (folder / name).write_text(text)
    build(compiler, folder, "-g", "-shared", "-fPIC", "library.c", "-o", "library.so")
    build(compiler, folder, "-c", "-fPIC", "supply.c", "-o", "supply.o")
    (folder / "deep").mkdir()
    subprocess.run(["ar", "rc", "deep/libsupply.a", "supply.o"], cwd=folder, check=True)
    return folder


def build(compiler: str, folder: Path, *arguments: str) -> None:
    subprocess.run([compiler, *arguments], cwd=folder, check=True)


def test_sizes_of_structures_are_read_from_the_debug_information(made: Path) -> None:
    asked = frozenset({*SIZES, "unknown_t"})
    assert elf.struct_bytes(made / "library.so", asked) == SIZES


def test_a_stripped_library_has_no_sizes(made: Path) -> None:
    subprocess.run(["strip", "library.so", "-o", "stripped.so"], cwd=made, check=True)
    assert elf.struct_bytes(made / "stripped.so", frozenset(SIZES)) == {}
    assert "open_session" in elf.exported(made / "stripped.so")


def test_what_a_library_lacks_is_found_in_its_build_tree(
    made: Path, compiler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elf, "LINKED_BESIDE", ())  # libsctp is not everywhere
    assert "missing" not in elf.exported(made / "library.so")
    lacking = elf.unsupplied(made / "library.so", [compiler], [])
    assert lacking == {"missing"}
    assert elf.archive_with(lacking, made) == made / "deep/libsupply.a"
    assert elf.archive_with(frozenset({"missing", "more"}), made) is None


def test_a_complete_library_needs_no_additions(
    made: Path, compiler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elf, "LINKED_BESIDE", ())
    build(compiler, made, "-shared", "-fPIC", "library.c", "supply.c", "-o", "whole.so")
    assert elf.unsupplied(made / "whole.so", [compiler], []) == frozenset()
