"""`make quick` runs what a change calls for, and no more."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import pytest
import quick
from run import LAB_CRATES, PRODUCT_CRATES, PURE_LAB_CRATES

LAB = "--manifest-path lab/Cargo.toml"
WORKSPACE = [
    quick.Crate("tc-rf", PurePosixPath("ran-function/tc-rf")),
    quick.Crate("traffic", PurePosixPath("lab/traffic")),
    quick.Crate("lab-world", PurePosixPath("lab/world"), frozenset({"tc-rf", "traffic"})),
    quick.Crate("lab-python", PurePosixPath("lab/python"), frozenset({"lab-world"})),
    quick.Crate("ran", PurePosixPath("lab/ran")),
]
FOLDERS = [PurePosixPath(name) for name in ("lab/python", "xapps/ric", "tests")]


def commands(*paths: str) -> list[str]:
    steps = quick.plan(list(paths), WORKSPACE, FOLDERS)
    return [" ".join(step.command[1:]) for step in steps]


def run_by_pytest(*paths: str) -> list[str]:
    return quick.python_tests(list(paths), FOLDERS)


def test_a_change_of_a_crate_tests_it_and_lints_what_depends_on_it() -> None:
    listed = commands("lab/traffic/src/lib.rs")
    formatted = ["fmt --all --check", f"fmt {LAB} --all --check"]
    assert listed[:3] == [*formatted, "tests/rust_circles.py"]
    linted = "-p lab-shared-features -p lab-python -p lab-world -p traffic -- -D warnings"
    assert listed[3] == f"clippy -q --all-targets --locked --release {LAB} {linted}"
    checked = f"--locked --release --config lab/checked.toml {LAB}"
    assert listed[4:] == [
        f"test -q {checked} -p lab-shared-features -p traffic",
        "tests/doc_comments.py lab/traffic/src/lib.rs",
    ]


def test_a_change_of_the_product_lints_what_depends_on_it_in_both_workspaces() -> None:
    listed = commands("ran-function/tc-rf/src/lib.rs")
    command = "clippy -q --all-targets --locked --release"
    assert listed[3:5] == [
        f"{command} -p shared-features -p tc-rf -- -D warnings",
        f"{command} {LAB} -p lab-shared-features -p lab-python -p lab-world -- -D warnings",
    ]
    checked = "--locked --release --config tests/checked.toml"
    assert listed[5] == f"test -q {checked} -p shared-features -p tc-rf"


def test_crates_of_the_lab_are_tested_optimised() -> None:
    optimised = f"test -q --locked --release {LAB} -p lab-shared-features -p lab-world"
    assert optimised in commands("lab/world/src/step.rs")


def test_a_new_dependency_lints_every_crate() -> None:
    lab = "-p lab-python -p lab-world -p ran -p traffic"
    assert lab in commands("lab/Cargo.lock")[3]
    listed = commands("Cargo.lock")
    assert "-p tc-rf" in listed[3]
    assert lab in listed[4]


def test_every_crate_with_tests_is_in_a_suite() -> None:
    suites = {*PRODUCT_CRATES, *PURE_LAB_CRATES, *LAB_CRATES}
    tested = {
        crate.name
        for crate in quick.crates()
        if any(
            re.search(r"^\s*#\[(tokio::)?test\b", file.read_text(), re.MULTILINE)
            for part in ("src", "tests")
            for file in (quick.ROOT / crate.folder / part).rglob("*.rs")
        )
    }
    assert tested - suites == set()
    assert len(tested) > 15


def test_of_a_page_only_the_links_are_checked() -> None:
    pages = ("docs/radio.md", "lab/traffic/README.md", "xapps/ric/README.md")
    assert commands(*pages) == ["docs/site/doc_links.py"]


@pytest.mark.parametrize(
    ("paths", "tests"),
    [
        (["xapps/ric/src/ric/service.py"], ["xapps/ric"]),
        (["xapps/ric/pyproject.toml"], ["xapps/ric"]),
        (["lab/python/src/lib.rs"], []),
        (["tests/quick.py"], ["tests/test_quick.py"]),
        (["tests/test_quick.py", "tests/run.py"], ["tests/test_quick.py"]),
        (["xapps/ric/tests/test_gone.py"], []),
        (["xapps/ric/tests/test_gone.py", "xapps/ric/src/ric/a.py"], ["xapps/ric"]),
    ],
)
def test_pytest_runs_changed_tests_or_the_distribution(paths: list[str], tests: list[str]) -> None:
    assert run_by_pytest(*paths) == tests


def test_a_changed_module_is_linted_typed_and_held_to_the_import_contracts() -> None:
    listed = commands("tests/quick.py")
    assert listed[:3] == ["check tests/quick.py", "format --check tests/quick.py", "tests/quick.py"]
    steps = quick.plan(["xapps/ric/src/ric/__init__.py"], WORKSPACE, FOLDERS)
    assert "lint-imports" in [PurePosixPath(step.command[0]).name for step in steps]
