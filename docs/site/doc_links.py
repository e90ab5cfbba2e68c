"""Checks the committed Markdown: relative links, anchors, and repository paths in backticks.

``python docs/site/doc_links.py`` prints each broken one as ``page:line: problem`` and exits with 1.
Anchors follow GitHub's rule, which the site uses as well.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[2]
PARSER = MarkdownIt("commonmark").enable("table")
EXTERNAL = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
PATH = re.compile(r"[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.*-]+)+/?")
"""Possible repository paths: no spaces, no placeholders such as ``<crate>``."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A broken reference."""

    page: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.text}"


def pages(root: Path = ROOT) -> list[str]:
    """The Markdown files of the repository that git does not ignore, by path."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.md"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    return sorted(path for path in set(listed.stdout.split("\n")) if (root / path).is_file())


def inline_tokens(text: str) -> Iterator[tuple[int, Token]]:
    """The tokens inside paragraphs, headings and cells, each with the line its block begins at."""
    for block in PARSER.parse(text):
        if block.type == "inline":
            line = (block.map or [0])[0] + 1
            for token in block.children or []:
                yield line, token


def links(text: str) -> Iterator[tuple[int, str]]:
    """Targets of links and images."""
    for line, token in inline_tokens(text):
        target = token.attrGet("href") or token.attrGet("src")
        if isinstance(target, str):
            yield line, target


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors of a page's headings, by GitHub's rule."""
    seen: Counter[str] = Counter()
    found = set()
    tokens = PARSER.parse(page.read_text(encoding="utf-8"))
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            words = "".join(token.content for token in inline.children or [])
            slug = re.sub(r"[^\w\- ]", "", words.strip().lower()).replace(" ", "-")
            found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
            seen[slug] += 1
    return frozenset(found)


def check(page: str, root: Path = ROOT) -> Iterator[Problem]:
    """Problems of one page."""
    here = root / page
    text = here.read_text(encoding="utf-8")
    for line, target in links(text):
        if EXTERNAL.match(target):
            continue
        path, _, anchor = unquote(target).partition("#")
        found = (here.parent / path).resolve() if path else here
        if not found.is_file():
            yield Problem(page, line, f"link to {target}: no such file")
        elif anchor and found.suffix == ".md" and anchor not in anchors(found):
            yield Problem(page, line, f"link to {target}: {found.name} has no such heading")
    if page == "CHANGELOG.md":
        return  # names removed paths
    folders = {entry.name for entry in root.iterdir() if entry.is_dir()} - {"out", "target"}
    for line, token in inline_tokens(text):
        words = token.content.split() if token.type == "code_inline" else []
        for word in words:
            folder = word.split("/")[0]
            if folder.startswith(".") or folder not in folders or not PATH.fullmatch(word):
                continue
            if not exists(root, word) and not exists(here.parent, word):
                yield Problem(page, line, f"`{word}`: no such path in the repository")


def exists(folder: Path, path: str) -> bool:
    """Whether a path, or a pattern with ``*``, is in a folder."""
    return any(folder.glob(path.rstrip("/"))) if "*" in path else (folder / path).exists()


def main() -> int:
    """Checks every page."""
    checked = pages()
    problems = [problem for page in checked for problem in check(page)]
    for problem in problems:
        print(problem)
    print(f"{len(checked)} pages, {len(problems)} broken references")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
