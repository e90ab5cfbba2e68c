"""`make quick` runs what a change calls for, and no more."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
import quick

WORKSPACE = [
    quick.Crate("traffic", PurePosixPath("gnb/traffic")),
    quick.Crate("lab-world", PurePosixPath("gnb/lab-world"), frozenset({"traffic"})),
    quick.Crate("lab-python", PurePosixPath("gnb/lab-python"), frozenset({"lab-world"})),
    quick.Crate("ran", PurePosixPath("gnb/ran")),
]
FOLDERS = [PurePosixPath(name) for name in ("gnb/lab-python", "xapps/ric", "tests")]


def commands(*paths: str) -> list[str]:
    steps = quick.plan(list(paths), WORKSPACE, FOLDERS)
    return [" ".join(step.command[1:]) for step in steps]


def run_by_pytest(*paths: str) -> list[str]:
    return quick.python_tests(list(paths), FOLDERS)


def test_a_change_of_a_crate_tests_it_and_lints_what_depends_on_it() -> None:
    listed = commands("gnb/traffic/src/lib.rs")
    assert listed[:2] == ["fmt --all --check", "tests/rust_circles.py"]
    linted = "-p shared-features -p lab-python -p lab-world -p traffic -- -D warnings"
    assert listed[2] == f"clippy -q --all-targets --locked --release {linted}"
    checked = "--locked --release --config tests/checked.toml"
    assert listed[3:] == [f"test -q {checked} -p shared-features -p traffic"]


def test_crates_of_the_lab_are_tested_optimised() -> None:
    optimised = "test -q --locked --release -p shared-features -p lab-world"
    assert commands("gnb/lab-world/src/step.rs")[-1] == optimised


def test_a_new_dependency_lints_every_crate() -> None:
    assert "-p lab-python -p lab-world -p ran -p traffic" in commands("Cargo.lock")[2]


def test_of_a_page_only_the_links_are_checked() -> None:
    pages = ("docs/radio.md", "gnb/traffic/README.md", "xapps/ric/README.md")
    assert commands(*pages) == ["docs/site/doc_links.py"]


@pytest.mark.parametrize(
    ("paths", "tests"),
    [
        (["xapps/ric/src/ric/service.py"], ["xapps/ric"]),
        (["xapps/ric/pyproject.toml"], ["xapps/ric"]),
        (["gnb/lab-python/src/lib.rs"], []),
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
