"""Finds circles of imports between the files of a Rust crate; prints each and fails on any.

What import-linter does for Python: files that use each other are really one. A module's own file
(`mod.rs`, `lib.rs`) may re-export its children, and children may use each other through `super`: a
path counts for the file that defines what it names, not for those it leads through or that pass it
on. Code under `#[cfg(test)]` does not count: tests may use what they like.

    python tests/rust_circles.py [FOLDER ...]
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_USE = re.compile(r"^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.MULTILINE)
_TESTS = re.compile(r"^#\[cfg\(test\)\]\s*\n\s*mod \w+ \{.*?^\}", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"//[^\n]*")

Module = tuple[str, ...]
Passed = dict[Module, dict[str, Module]]
"""What each file passes on: the names, and the paths that they stand for."""
MOST_HOPS = 8
"""Files through which an item may be passed on."""


def modules(source: Path) -> dict[Module, Path]:
    """The modules of a crate by their path, and the file of each."""
    found: dict[Module, Path] = {}
    for file in sorted(source.rglob("*.rs")):
        parts = file.relative_to(source).with_suffix("").parts
        if "bin" in parts or "tests" in parts:
            continue
        found[parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts] = file
    return found


def leaves(tree: str) -> Iterator[list[str]]:
    """The paths of a use tree: `a::{b, c::D}` is `a::b` and `a::c::D`."""
    head, brace, rest = tree.partition("{")
    stem = [part.strip() for part in head.split("::") if part.strip()]
    if not brace:
        yield [stem[0], *stem[1:-1], stem[-1].split(" as ")[0]] if stem else []
        return
    depth, start = 0, 0
    inner = rest[: rest.rindex("}")]
    for at, letter in enumerate([*inner, ","]):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            if part := inner[start:at].strip():
                for leaf in leaves(part):
                    yield [*stem, *leaf]
            start = at + 1


def resolve(module: Module, path: list[str]) -> Module | None:
    """The path that a `use` means, from the root of the crate; None for another crate's."""
    if path[:1] == ["crate"]:
        return tuple(path[1:])
    if path[:1] not in (["super"], ["self"]):
        return None
    at = list(module)
    while path[:1] in (["super"], ["self"]):
        at = at[:-1] if path[0] == "super" else at
        path = path[1:]
    return (*at, *path)


def statements(text: str, *, passed_on: bool) -> Iterator[list[str]]:
    """The paths of all `use` statements of a file, or of those that pass an item on."""
    code = _COMMENT.sub("", _TESTS.sub("", text))
    for is_passed_on, tree in _USE.findall(code):
        if is_passed_on or not passed_on:
            yield from leaves(" ".join(tree.split()))


def passes_on(module: Module, text: str, known: dict[Module, Path]) -> dict[str, Module]:
    """The items that a file passes on (`pub use`), by name, and where it has each from."""
    found: dict[str, Module] = {}
    for leaf in statements(text, passed_on=True):
        # `pub use child::Item` in the file of a module is `self::child::Item`.
        is_child = bool(leaf) and (*module, leaf[0]) in known
        target = resolve(module, ["self", *leaf] if is_child else leaf)
        if target:
            found[target[-1]] = target
    return found


def definer(target: Module, known: dict[Module, Path], passed: Passed) -> Module:
    """The module whose file defines what a path names: what is passed on is followed."""
    for _ in range(MOST_HOPS):
        at = target
        while at and at not in known:
            at = at[:-1]
        item = target[len(at) :]
        if not item or item[0] not in passed.get(at, {}):
            return at
        target = (*passed[at][item[0]], *item[1:])
    return at


def uses(module: Module, text: str, known: dict[Module, Path], passed: Passed) -> set[Module]:
    """The modules of the crate whose items a file names what it uses by."""
    found: set[Module] = set()
    for leaf in statements(text, passed_on=False):
        if path := resolve(module, list(leaf)):
            target = definer(path, known, passed)
            # What a module file only passes on belongs to the file that defines it.
            if target and target != module and target != module[: len(target)]:
                found.add(target)
    return found


def circles(graph: dict[Module, set[Module]]) -> list[list[Module]]:
    """Strongly connected components of more than one module (Tarjan 1972)."""
    order: dict[Module, int] = {}
    low: dict[Module, int] = {}
    stack: list[Module] = []
    found: list[list[Module]] = []

    def visit(module: Module) -> None:
        order[module] = low[module] = len(order)
        stack.append(module)
        for other in sorted(graph[module]):
            if other not in order:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], order[other])
        if low[module] == order[module]:
            at = stack.index(module)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for module in sorted(graph):
        if module not in order:
            visit(module)
    return found


def examine(source: Path) -> list[str]:
    """A line for each circle of a crate."""
    known = modules(source)
    texts = {module: file.read_text() for module, file in known.items()}
    passed = {module: passes_on(module, text, known) for module, text in texts.items()}
    graph = {
        module: {other for other in uses(module, text, known, passed) if other in known}
        for module, text in texts.items()
    }
    lines = []
    for circle in circles(graph):
        ties = [
            f"  {known[one].relative_to(source)} uses {known[other].relative_to(source)}"
            for one in circle
            for other in sorted(graph[one].intersection(circle))
        ]
        lines.append("\n".join([f"{source}: a circle of {len(circle)} files", *ties]))
    return lines


def main(folders: list[str]) -> int:
    """Examine the crates of these folders, of the whole repository by default."""
    given = [Path(folder) for folder in folders] or [ROOT]
    manifests = sorted(
        manifest
        for folder in given
        for manifest in folder.rglob("Cargo.toml")
        if not {"target", ".venv"}.intersection(manifest.parts)
    )
    found = [
        line
        for manifest in manifests
        if (source := manifest.parent / "src").is_dir()
        for line in examine(source)
    ]
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
