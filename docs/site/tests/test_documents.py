"""What the documentation refers to exists: links, headings, paths, and the code it names."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import doc_links
import doctor_findings
import pytest


def test_no_page_has_a_broken_reference() -> None:
    assert [str(p) for page in doc_links.pages() for p in doc_links.check(page)] == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[a](missing.md)", "page.md:1: link to missing.md: no such file"),
        ("[a](other.md#no)", "page.md:1: link to other.md#no: other.md has no such heading"),
        ("# One\n\n[a](#two)", "page.md:3: link to #two: page.md has no such heading"),
        ("see `src/gone.rs`", "page.md:1: `src/gone.rs`: no such path in the repository"),
        ("![a](gone.svg)", "page.md:1: link to gone.svg: no such file"),
    ],
)
def test_a_broken_reference_is_reported_with_its_line(
    tmp_path: Path, text: str, problem: str
) -> None:
    write(tmp_path, text)
    assert [str(each) for each in doc_links.check("page.md", tmp_path)] == [problem]


def test_references_that_hold_are_not_reported(tmp_path: Path) -> None:
    text = (
        "# A `b` §1\n\n[1](#a-b-1) [2](other.md#yes) [3](https://example.org) `src/a.rs` `src/*.rs`"
    )
    write(tmp_path, text)
    assert list(doc_links.check("page.md", tmp_path)) == []


def write(root: Path, text: str) -> None:
    (root / "page.md").write_text(text)
    (root / "other.md").write_text("# Yes\n")
    (root / "src").mkdir()
    (root / "src" / "a.rs").write_text("")


def test_the_findings_of_the_doctor_are_in_the_troubleshooting_page() -> None:
    page = doctor_findings.PAGE.read_text(encoding="utf-8")
    assert doctor_findings.written(page) == page


def test_every_module_that_judges_has_a_section() -> None:
    modules = {path.stem for path in doctor_findings.JUDGE.glob("*.py")}
    assert modules - set(doctor_findings.TITLES) == {"__init__"}


def test_a_finding_is_read_with_its_constants_and_alternatives() -> None:
    source = """
_WHY: Final = "Nothing works."
TABLE: Final = {1: ("refused ({detail})", "Start it.")}
check.fail(f"no {name}", _WHY, "Add it." if one else "Remove it.")
check.ok("fine")
"""
    assert list(doctor_findings.rows(ast.parse(source))) == [
        doctor_findings.Row("refused (…)", "", "Start it."),
        doctor_findings.Row("no …", "Nothing works.", "Add it. Or: Remove it."),
    ]


WALKS = {
    "A packet through the TC function": 6,
    "A report from the gNB to a decision": 7,
    "A control back to the pipeline": 6,
}
"""The walks of `docs/walks.md` with the most files each may need."""


def steps(walk: str) -> list[tuple[str, list[str]]]:
    """File and functions of each step of a walk."""
    page = (doc_links.ROOT / "docs" / "walks.md").read_text(encoding="utf-8")
    section = page.split(f"## {walk}\n")[1].split("\n## ")[0]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("|")][2:]
    return [(row[2].strip(" `"), re.findall(r"`([^`]+)`", row[3])) for row in rows]


@pytest.mark.parametrize("walk", WALKS)
def test_each_step_of_a_walk_is_where_the_page_says(walk: str) -> None:
    for file, functions in steps(walk):
        code = (doc_links.ROOT / file).read_text(encoding="utf-8")
        assert functions
        for name in functions:
            assert re.search(rf"\b(fn|def|class|struct) {name}\b", code), f"{file}: no {name}"


@pytest.mark.parametrize(("walk", "most"), WALKS.items())
def test_a_walk_needs_few_files(walk: str, most: int) -> None:
    assert 0 < len({file for file, _ in steps(walk)}) <= most


def test_every_extension_names_its_test() -> None:
    page = (doc_links.ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    extensions = page.split("## How to extend\n")[1].split("\n## ")[0].split("\n### ")[1:]
    assert len(extensions) == 10
    for extension in extensions:
        title, _, text = extension.partition("\n")
        files = re.findall(r"^\d\. `([^`]+)`", text, re.MULTILINE)
        assert 0 < len(files) <= 5, f"{title}: {len(files)} files"
        assert "Test:" in text, f"{title}: no test named"


def servers(page: str, heading: str) -> list[list[str]]:
    """The rows of the first table below a heading, without that of the column names."""
    text = (doc_links.ROOT / page).read_text(encoding="utf-8")
    table = re.search(r"^\|.*?(?=\n[^|])", text.split(f"{heading}\n")[1], re.DOTALL | re.MULTILINE)
    assert table is not None
    rows = table[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in rows]


def test_each_server_of_the_threat_model_names_the_tests_that_hold_it() -> None:
    for server, *cells in servers("docs/threats.md", "## Servers"):
        assert len(cells) == 4, server
        assert all(cells), server
        named = re.findall(r"`([^`]+)`", cells[3])
        assert named, f"{server}: no test named"
        for path in named:
            text = (doc_links.ROOT / path).read_text(encoding="utf-8")
            assert re.search(r"^ *(async )?def test_|#\[(tokio::)?test", text, re.MULTILINE), path


def test_the_threat_model_has_every_server_of_the_guide() -> None:
    modelled = " ".join(row[0] for row in servers("docs/threats.md", "## Servers"))
    for server, *_, serves in servers("docs/secure.md", "# Secure"):
        name = server.split(",")[0]
        assert name in modelled, f"{name} ({serves}) is not in docs/threats.md"


def test_the_navigation_has_every_runbook_and_no_page_that_is_not_there() -> None:
    navigation = (doc_links.ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    listed = set(re.findall(r"(?<=[ ])\S+\.md$", navigation, re.MULTILINE))
    pages = {page for page in listed if not page.startswith("reference/")}
    assert pages <= set(doc_links.pages())
    runbooks = {page for page in doc_links.pages() if page.startswith("docs/runbooks/")}
    assert runbooks <= pages
