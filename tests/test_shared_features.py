"""Programs, Python modules and tests ask for the same features of what they share.

Cargo resolves features for the packages that a command selects: with others, a dependency and all
that depends on it would be compiled again.
"""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest
import with_flexric
from run import LAB_CRATES, PRODUCT_CRATES, PURE_LAB_CRATES, select

ROOT = Path(__file__).parent.parent
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
MANIFEST = "deploy/shared_features/Cargo.toml"
LAB = ("--manifest-path", "lab/Cargo.toml")
PARTS = ("e2sm-tc-spec", "ran-function", "gateway", "nonrt-ric", "lab")
BUILT = ("--release", "--locked")

Features = dict[str, set[str]]
"""Sets of features of each third-party crate: one for a build, one for its build scripts."""


def made_of(*selection: str) -> Features:
    """What Cargo builds for a selection of packages."""
    command = ("cargo", "tree", "--locked", "--prefix", "none", "--format", "{p}|{f}", *selection)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: Features = defaultdict(set)
    for line in done.stdout.splitlines():
        crate, _, features = line.removesuffix(" (*)").partition("|")
        if "(/" not in crate:
            found[crate].add(features)
    return found


def builds() -> list[tuple[str, ...]]:
    """The flags of the two builds of `make setup`: of the product and of the lab."""
    makefile = MAKEFILE.replace("$(LAB)", " ".join(LAB))
    found = re.findall(r"'Rust release build, \w+' cargo build (.+)", makefile)
    assert len(found) == 2
    return [tuple(flag for flag in flags.split() if flag not in BUILT) for flags in found]


def built_again(edges: str, others: Features) -> list[str]:
    """Crates of these that `make setup` has built before, with other features."""
    programs: Features = defaultdict(set)
    for build in builds():
        for crate, features in made_of("--edges", edges, *build).items():
            programs[crate] |= features
    return [
        f"{crate}: {features or 'no features'}; the programs have {sorted(programs[crate])}"
        for crate, every in sorted(others.items())
        if crate in programs
        for features in sorted(every - programs[crate])
    ]


def modules() -> list[str]:
    named = re.search(r"^MODULES := (.*?[^\\])$", MAKEFILE, re.MULTILINE | re.DOTALL)
    assert named
    return named[1].replace("\\\n", " ").split()


@pytest.mark.parametrize("folder", modules())
def test_a_python_module_is_made_of_what_the_programs_are(folder: str) -> None:
    edges = "normal,build"
    module = made_of("--edges", edges, "--manifest-path", f"{folder}/Cargo.toml")
    assert not built_again(edges, module), f"name the missing features in {MANIFEST}"


def test_the_lab_is_made_of_what_the_product_is() -> None:
    edges = "normal,build"
    product, lab = (made_of("--edges", edges, *build) for build in builds())
    twice = {
        crate: (product[crate], lab[crate])
        for crate in product.keys() & lab.keys()
        if not product[crate] <= lab[crate]
    }
    assert not twice, f"name the missing features in {MANIFEST}"


def test_every_build_of_single_packages_names_the_shared_features() -> None:
    pages = [ROOT / "Makefile", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    pages += sorted(page for part in PARTS for page in (ROOT / part).rglob("README.md"))
    commands = [
        (page.name, command)
        for page in pages
        for command in re.findall(r"cargo (?:build|test|bench)[^`\n|]*", page.read_text("utf-8"))
    ]
    commands.append(("with_flexric.py", " ".join(with_flexric.NODE)))
    selective = [(page, command) for page, command in commands if " -p " in command]
    assert len(selective) >= 5
    lacking = [found for found in selective if "shared-features" not in found[1]]
    assert not lacking


def test_the_node_of_flexric_is_made_of_what_the_programs_are() -> None:
    selection = (*LAB, *with_flexric.NODE[with_flexric.NODE.index("-p") :])
    edges = "normal,build"
    node = made_of("--edges", edges, *selection)
    assert not built_again(edges, node), f"name the missing features in {MANIFEST}"


@pytest.mark.parametrize(
    ("crates", "lab"),
    [(PRODUCT_CRATES, False), (PURE_LAB_CRATES, True), (LAB_CRATES, True)],
    ids=["product", "radio and traffic", "lab"],
)
def test_tests_are_made_of_what_the_programs_are(crates: tuple[str, ...], lab: bool) -> None:
    tests = made_of("--edges", "normal,dev", *select(crates, lab=lab))
    assert not built_again("normal", tests), f"name the missing features in {MANIFEST}"
