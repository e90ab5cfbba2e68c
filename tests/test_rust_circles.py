"""The check for circles of imports between Rust files finds them, and finds none here."""

from __future__ import annotations

from pathlib import Path

import pytest
import rust_circles

FILES = {
    "lib.rs": "mod a;\nmod b;\nmod c;\npub use a::A;\n",
    "a.rs": "use crate::b::B;\npub struct A(B);\n",
    "b/mod.rs": "mod deep;\npub use deep::B;\n",
    "b/deep.rs": "use super::super::c::{self, C};\npub struct B(C);\n",
    "c.rs": "pub struct C;\n",
}


def crate(folder: Path, **changed: str) -> Path:
    for name, text in {**FILES, **changed}.items():
        file = folder / "src" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (folder / "Cargo.toml").write_text("[package]\n")
    return folder


def test_a_crate_without_circles(tmp_path: Path) -> None:
    assert rust_circles.examine(crate(tmp_path) / "src") == []


@pytest.mark.parametrize(
    "use",
    [
        "use crate::b::deep::B;",
        "use super::b::deep::{B as Deep, B};",
        "pub(crate) use crate::{b::deep};",
    ],
)
def test_a_circle_is_reported_with_its_imports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], use: str
) -> None:
    crate(tmp_path, **{"c.rs": f"{use}\npub struct C(B);\n"})
    assert rust_circles.main([str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert "a circle of 2 files" in printed
    assert "c.rs uses b/deep.rs" in printed
    assert "b/deep.rs uses c.rs" in printed
    assert "a.rs" not in printed


@pytest.mark.parametrize(
    "use",
    ["use crate::B;", "use crate::b::B as Other;", "use super::{b::B};"],
    ids=["passed on by the crate", "by a module", "by a sibling"],
)
def test_what_a_file_passes_on_counts_for_the_file_that_defines_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], use: str
) -> None:
    lib = FILES["lib.rs"] + "pub use b::B;\n"
    crate(tmp_path, **{"lib.rs": lib, "c.rs": f"{use}\npub struct C(B);\n"})
    assert rust_circles.main([str(tmp_path)]) == 1
    assert "c.rs uses b/deep.rs" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text",
    [
        "// use crate::a::A;\npub struct C;\n",
        "pub struct C;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n",
        "use std::fmt;\npub struct C;\n",
    ],
)
def test_comments_tests_and_other_crates_do_not_count(tmp_path: Path, text: str) -> None:
    assert rust_circles.examine(crate(tmp_path, **{"c.rs": text}) / "src") == []


def test_this_repository_has_no_circle() -> None:
    assert rust_circles.main([]) == 0
