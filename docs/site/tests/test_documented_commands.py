"""Documented commands: those of `sh` blocks run, flags of those in `text` blocks exist."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import doc_links
import doc_references
import pytest

ROOT = Path(__file__).parents[3]
RUN_BY_CI = ("make demo", "make test")
GUIDES = ("docs/tutorial-forecaster.md", "docs/tutorial-own-data.md", "docs/secure.md")
"""Run as a whole by tests of their own."""


def lines(language: str) -> Iterator[tuple[str, str]]:
    """The commands of all pages' blocks of a language, without comments, each with its page."""
    blocks = re.compile(rf"^ *```{language}\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
    for page in doc_links.pages():
        for block in blocks.findall((ROOT / page).read_text(encoding="utf-8")):
            for line in block.replace("\\\n", " ").splitlines():
                if command := line.split("  #")[0].strip():
                    yield page, command


def runnable() -> list[tuple[str, str]]:
    return [
        (page, command)
        for page, command in lines("sh")
        if page not in GUIDES and not command.startswith(RUN_BY_CI)
    ]


@pytest.mark.parametrize(("page", "command"), runnable())
def test_a_documented_command_works(page: str, command: str) -> None:
    done = subprocess.run(
        command, shell=True, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, f"{page}: {command}\n{done.stderr}"
    assert done.stdout.strip(), f"{page}: {command} printed nothing"
    assert '"error"' not in done.stdout, f"{page}: {command}\n{done.stdout}"


def flagged() -> list[tuple[str, str, str]]:
    """Page, program with its subcommand, and flag, of every command in `text` and `sh` blocks."""
    found = set()
    for page, command in [*lines("text"), *lines("sh")]:
        for part in command.split("|"):
            words = part.replace(".venv/bin/", "").split()
            if words and words[0] in doc_references.PROGRAMS:
                flags = {word.split("=")[0] for word in words if word.startswith("--")}
                called = f"{words[0]} {subcommand(words)}".strip()
                found |= {(page, called, flag) for flag in flags - {"--help"}}
    return sorted(found)


def subcommand(words: list[str]) -> str:
    return words[1] if len(words) > 1 and re.fullmatch(r"[a-z][a-z-]*", words[1]) else ""


@cache
def usage(called: str) -> str:
    """Help of a program's command; of a program alone, also of the command that it then runs."""
    program, _, command = called.partition(" ")
    text = doc_references.run(program, *([command] if command else []), "--help")
    if not command and " run " in f" {' '.join(doc_references.subcommands(text))} ":
        text += doc_references.run(program, "run", "--help")
    return text


@pytest.mark.parametrize(("page", "called", "flag"), flagged())
def test_a_documented_flag_exists(page: str, called: str, flag: str) -> None:
    assert re.search(rf"{flag}\b(?!-)", usage(called)), f"{page}: {called} has no {flag}"


def test_ci_runs_the_commands_of_the_readme() -> None:
    ci = (ROOT / ".ci" / "run").read_text()
    assert all(command in ci for command in RUN_BY_CI)
