"""What the documentation refers to exists: links, headings, paths, and the code it names."""

from __future__ import annotations

from pathlib import Path

import doc_links
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
