"""`make demo` on a fresh machine installs what its programs require, and no more."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
PROGRAMS = ("sojourn-demo", "sojourn-tc-controller", "sojourn-rlc-forecaster")


def listed(name: str) -> list[str]:
    found = re.search(rf"^{name} := (.+)$", MAKEFILE, re.MULTILINE)
    assert found
    return found[1].split()


def projects() -> dict[str, tuple[str, dict[str, Any]]]:
    """Folder and table `project` of each distribution, by its name."""
    found = {}
    for folder in (*listed("PACKAGES"), *listed("MODULES")):
        text = (ROOT / folder / "pyproject.toml").read_text(encoding="utf-8")
        project = tomllib.loads(text)["project"]
        found[project["name"]] = (folder, project)
    return found


def required() -> set[str]:
    """Folders of the distributions that the programs of the demo require, directly or not."""
    known, folders = projects(), set[str]()
    waiting = [Requirement(name) for name in PROGRAMS]
    seen = set[str]()
    while waiting:
        requirement = waiting.pop()
        if requirement.name not in known or str(requirement) in seen:
            continue
        seen.add(str(requirement))
        folder, project = known[requirement.name]
        folders.add(folder)
        optional = project.get("optional-dependencies", {})
        lines = [line for extra in requirement.extras for line in optional[extra]]
        waiting += [Requirement(line) for line in (*project.get("dependencies", []), *lines)]
    return folders


def test_the_first_demo_installs_what_its_programs_require() -> None:
    modules = [folder for folder in listed("MODULES") if folder != "lab/python"]
    assert "$(filter-out lab/python,$(MODULES))" in MAKEFILE
    assert {*listed("DEMO_PACKAGES"), *modules} == required()


def test_a_distribution_comes_after_those_that_it_requires() -> None:
    every = listed("PACKAGES")
    assert listed("DEMO_PACKAGES") == [name for name in every if name in listed("DEMO_PACKAGES")]
