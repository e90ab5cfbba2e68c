"""Lints and tests what changed since `main`, for use while editing (`make quick`).

Changed is what differs from the merge base with `main`, committed or not. A changed crate is
tested; it and the crates that depend on it are linted. A changed Python distribution is tested; if
only its test files changed, those alone run. Each step prints its command, its reason and its time;
its output is shown only if it fails. `make test lint` checks everything.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from run import CHECKED, LAB_CHECKED, LAB_CRATES, PRODUCT_CRATES, PURE_LAB_CRATES, select

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
END_TO_END = PurePosixPath("tests")
BESIDE_TOOLS = ("benchmarks", "deploy", "docs/site", "e2sm-tc-spec", "helm", "ran-function")
"""Folders with Python tests that are no distributions."""
LAB_WORKSPACE = ("--manifest-path", "lab/Cargo.toml")


@dataclass(frozen=True, slots=True)
class Crate:
    """A crate of one of the two Cargo workspaces."""

    name: str
    folder: PurePosixPath
    """Relative to the root of the repository."""
    uses: frozenset[str] = frozenset()
    """Names of our crates that it depends on."""

    @property
    def is_lab(self) -> bool:
        """Whether it is of the lab's workspace."""
        return self.folder.parts[0] == "lab"


@dataclass(frozen=True, slots=True)
class Step:
    """A command and why it is run."""

    reason: str
    command: tuple[str, ...]


def crates() -> list[Crate]:
    """The crates of both Cargo workspaces."""
    command = ("cargo", "metadata", "--no-deps", "--locked", "--format-version", "1")
    answers = [
        subprocess.run((*command, *of), cwd=ROOT, check=True, capture_output=True, text=True)
        for of in ((), LAB_WORKSPACE)
    ]
    return [
        Crate(
            package["name"],
            PurePosixPath(Path(package["manifest_path"]).parent.relative_to(ROOT).as_posix()),
            frozenset(d["name"] for d in package["dependencies"] if d.get("path")),
        )
        for answer in answers
        for package in json.loads(answer.stdout)["packages"]
    ]


def distributions() -> list[PurePosixPath]:
    """Folders with Python tests of their own."""
    files = git("ls-files", "*pyproject.toml")
    folders = {PurePosixPath(file).parent for file in files} - {PurePosixPath()}
    return sorted(folders | {*map(PurePosixPath, BESIDE_TOOLS), END_TO_END})


def git(*arguments: str) -> list[str]:
    """The lines that a git command prints."""
    done = subprocess.run(("git", *arguments), cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def changed() -> list[str]:
    """Paths that differ from the merge base with `main`, untracked ones included."""
    base = git("merge-base", "main", "HEAD")[0]
    untracked = git("ls-files", "--others", "--exclude-standard")
    return sorted({*git("diff", "--name-only", base), *untracked})


def holder(path: str, folders: Iterable[PurePosixPath]) -> PurePosixPath | None:
    """The deepest of the folders that holds the path."""
    holders = [folder for folder in folders if PurePosixPath(path).is_relative_to(folder)]
    return max(holders, key=lambda folder: len(folder.parts), default=None)


def with_dependants(names: set[str], workspace: list[Crate]) -> set[str]:
    """These crates and all that depend on them, directly or not."""
    found = set(names)
    while more := {c.name for c in workspace if c.uses & found} - found:
        found |= more
    return found


def rust_steps(paths: list[str], workspace: list[Crate]) -> list[Step]:
    """Formatting, circles of imports, clippy and tests of the crates that hold a path."""
    by_folder = {crate.folder: crate.name for crate in workspace}
    touched = {
        by_folder[folder]
        for path in paths
        # Python beside a crate (`lab/python/tests`) is no reason to compile it.
        if not path.endswith((".py", ".md")) and (folder := holder(path, by_folder)) is not None
    }
    for manifest in ("Cargo.toml", "Cargo.lock", "lab/Cargo.toml", "lab/Cargo.lock"):
        if manifest in paths:
            of_lab = manifest.startswith("lab/")
            touched |= {crate.name for crate in workspace if crate.is_lab or not of_lab}
    if not touched:
        return []
    listed = ", ".join(sorted(touched))
    linted = with_dependants(touched, workspace)
    lab = {crate.name for crate in workspace if crate.is_lab}
    steps = [
        Step("Rust changed", ("cargo", "fmt", "--all", "--check")),
        Step("Rust changed", ("cargo", "fmt", *LAB_WORKSPACE, "--all", "--check")),
        Step("Rust changed", (sys.executable, "tests/rust_circles.py")),
    ]
    for of_lab, names in ((False, sorted(linted - lab)), (True, sorted(linted & lab))):
        if names:
            # With the features of `make lint` and the tests, so that nothing is compiled twice.
            command = ("cargo", "clippy", "-q", "--all-targets", "--locked", "--release")
            chosen = (*command, *select(names, lab=of_lab), "--", "-D", "warnings")
            steps.append(Step(f"{listed} changed; linted with its dependants", chosen))
    for checks, of, of_lab in (
        (CHECKED, PRODUCT_CRATES, False),
        (LAB_CHECKED, PURE_LAB_CRATES, True),
        ((), LAB_CRATES, True),
    ):
        if names := sorted(touched.intersection(of)):
            command = ("cargo", "test", "-q", "--locked", "--release", *checks)
            step = Step(f"{', '.join(names)} changed", (*command, *select(names, lab=of_lab)))
            steps.append(step)
    return steps


def python_steps(paths: list[str], folders: list[PurePosixPath]) -> list[Step]:
    """Ruff, mypy and import contracts of the changed files, tests of their distributions."""
    sources = [path for path in paths if path.endswith(".py") and (ROOT / path).exists()]
    steps = []
    if sources:
        reason = f"{len(sources)} Python files changed"
        steps += [
            Step(reason, (str(BIN / "ruff"), "check", *sources)),
            Step(reason, (str(BIN / "ruff"), "format", "--check", *sources)),
            Step(reason, (str(BIN / "mypy"), *sources)),
        ]
    if any("/src/" in path for path in sources) or "pyproject.toml" in paths:
        steps.append(Step("modules changed", (str(BIN / "lint-imports"),)))
    if tests := python_tests(paths, folders):
        command = (sys.executable, "-m", "pytest", "-q", *tests)
        steps.append(Step(f"{', '.join(tests)} changed", command))
    return steps


def python_tests(paths: list[str], folders: list[PurePosixPath]) -> list[str]:
    """What pytest is to run: changed test files, and whole distributions where more changed."""
    whole: set[PurePosixPath] = set()
    single: dict[PurePosixPath, set[str]] = {}
    for path in paths:
        folder = holder(path, folders)
        if folder is None or path.endswith((".md", ".rs")):
            continue
        name = PurePosixPath(path).name
        if name.startswith("test_"):
            single.setdefault(folder, set()).add(path)
        elif folder == END_TO_END:
            # The end-to-end suite takes minutes; a script of it has a test file of its name.
            single.setdefault(folder, set()).add(str(END_TO_END / f"test_{name}"))
        else:
            whole.add(folder)
    files = {file for folder in single.keys() - whole for file in single[folder]}
    return sorted({str(folder) for folder in whole} | {f for f in files if (ROOT / f).exists()})


def plan(paths: list[str], workspace: list[Crate], folders: list[PurePosixPath]) -> list[Step]:
    """The steps that these changed paths call for."""
    steps = [*rust_steps(paths, workspace), *python_steps(paths, folders)]
    if sources := [p for p in paths if p.endswith((".py", ".rs")) and (ROOT / p).is_file()]:
        command = (sys.executable, "tests/doc_comments.py", *sources)
        steps.append(Step(f"{len(sources)} sources changed", command))
    if any(path.endswith(".md") for path in paths):
        steps.append(Step("pages changed", (sys.executable, "docs/site/doc_links.py")))
    return steps


def run(step: Step) -> bool:
    """Runs a step; prints its output only if it fails."""
    started = time.monotonic()
    words = [Path(step.command[0]).name, *step.command[1:]]
    print(f"{shlex.join(words)[:100]}  ({step.reason}) … ", end="", flush=True)
    done = subprocess.run(
        step.command, cwd=ROOT, check=False, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    good = done.returncode in (0, 5 if "pytest" in step.command else 0)
    print(f"{'' if good else 'failed, '}{time.monotonic() - started:.1f} s", flush=True)
    if not good:
        print(done.stdout)
    return good


def main() -> int:
    """Runs all steps; 0 only if every one of them passed."""
    paths = changed()
    steps = plan(paths, crates(), distributions())
    print(f"{len(paths)} files changed since main, {len(steps)} steps", flush=True)
    results = [run(step) for step in steps]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
